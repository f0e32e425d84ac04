// SPDX-License-Identifier: Apache-2.0
// Levels to bit planes on the host. Eight levels of a row, as bytes of a word, are a step: bit p of each byte, shifted
// by the row's place among eight rows, is or-ed to a word of plane p, whose bytes then have eight rows of a column
// each.
#include "core/threads/parallel.hpp"
#include "ops/gemm/planes/planes.hpp"

#include <algorithm>
#include <cstring>

namespace bitgraph {

namespace {

constexpr std::size_t octet = BitPlanesView<>::octet_columns;
constexpr std::size_t slab_rows = BitPlanesView<>::slab_rows;
constexpr std::uint64_t each_byte = 0x0101010101010101U;

/// The eight nibbles of a word of 32 bits as bytes.
std::uint64_t spread(std::uint64_t nibbles) {
  nibbles = (nibbles | nibbles << 16) & 0x0000FFFF0000FFFFU;
  nibbles = (nibbles | nibbles << 8) & 0x00FF00FF00FF00FFU;
  return (nibbles | nibbles << 4) & 0x0F0F0F0F0F0F0F0FU;
}

/// Bits 8 `part` on of the levels of columns 8 o .. 8 o + 7 of a row, a byte each; 0 behind the end of the row.
std::uint64_t bytes_of(const QuantizedView<>& x, std::size_t row, std::size_t o, int part) {
  const auto place_bits = static_cast<std::size_t>(level_place_bits(x.bits));
  const std::size_t first = o * octet * place_bits / 8;
  std::uint8_t bytes[2 * octet] = {};
  std::memcpy(bytes, x.row(row) + first, std::min(place_bits, x.row_bytes - first));
  std::uint64_t word = 0;
  if (place_bits == 16) {
    for (std::size_t c = 0; c < octet; ++c)
      word |= std::uint64_t{bytes[2 * c + static_cast<std::size_t>(part)]} << (8 * c);
    return word;
  }
  std::memcpy(&word, bytes, sizeof(word));
  return place_bits == 4 ? spread(word) : word;
}

/// Octet o of a slab.
void pack_octet(const PackPlanesArgs& args, std::size_t slab, std::size_t o) {
  constexpr int part_bits = 8;
  const std::size_t first_row = slab * slab_rows, rows = std::min(slab_rows, args.x.nrows - first_row);
  std::uint64_t* const to = args.out.octet(slab, o);
  std::fill_n(to, args.out.octet_words(), std::uint64_t{0});
  for (int part = 0; part * part_bits < args.x.bits; ++part) {
    const int planes = std::min(part_bits, args.x.bits - part * part_bits);
    for (std::size_t r = 0; r < rows; r += 8) {
      std::uint64_t columns[part_bits] = {};  // of each plane: eight rows of a column a byte
      for (std::size_t n = 0; n < std::min<std::size_t>(8, rows - r); ++n) {
        const std::uint64_t levels = bytes_of(args.x, first_row + r + n, o, part);
        for (int p = 0; p < planes; ++p) columns[p] |= (levels >> p & each_byte) << n;
      }
      for (int p = 0; p < planes; ++p) {
        std::uint64_t* const plane = to + static_cast<std::size_t>(part * part_bits + p) * octet * args.out.slab_words;
        for (std::size_t c = 0; c < octet; ++c)
          plane[c * args.out.slab_words + r / 64] |= (columns[p] >> (8 * c) & 0xFFU) << (r % 64);
      }
    }
  }
}

}  // namespace

void pack_planes(const Cpu& backend, const PackPlanesArgs& args) {
  parallel_chunks(backend.device, args.out.num_slabs(), 1, [&](Range slabs) {
    for (std::size_t slab = slabs.begin; slab < slabs.end; ++slab) {
      for (std::size_t o = 0; o < args.out.num_octets(); ++o) pack_octet(args, slab, o);
    }
  });
}

}  // namespace bitgraph
