// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>
#include <bitgraph/formats/bit_planes.hpp>

#include "core/preconditions.hpp"
#include "core/threads/parallel.hpp"
#include "formats/levels/level_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace bitgraph {

namespace {

constexpr std::size_t row_grain = 64;
constexpr std::size_t slab_rows = BitPlanesView<>::slab_rows, slab_words = BitPlanesView<>::slab_words;

void require_bits(int bits) {
  const int most = number_traits(NumberKind::planes).most_bits;
  if (bits < 1 || bits > most) fail(ErrorCode::usage, fmt::format("{} bit planes: expected 1 to {}", bits, most));
}

std::size_t words_of(std::size_t nrows, std::size_t ncols, int bits, PlanePacking packing) {
  const BitPlanesView<> shape{.nrows = nrows, .ncols = ncols, .bits = bits};
  return packing == PlanePacking::rows
             ? checked_product(checked_product(nrows, words_for_bits(ncols)), static_cast<std::size_t>(bits))
             : checked_product(checked_product(shape.num_slabs(), shape.num_octets()), shape.octet_words());
}

/// Bits of word `word` of a run of so many bits that hold nothing.
std::uint64_t padding_of(std::size_t size, std::size_t word) {
  const std::size_t first = word * 64;
  if (size >= first + 64) return 0;
  return size <= first ? ~std::uint64_t{0} : ~std::uint64_t{0} << (size - first);
}

void refuse_padding(const char* side, std::size_t at, int p) {
  fail(ErrorCode::bad_input, fmt::format("bit planes: {} {} of plane {}: a padding bit is set", side, at, p));
}

void check_padding_of_rows(const BitPlanesView<>& x) {
  const std::size_t last = words_for_bits(x.ncols) - 1;
  const std::uint64_t padding = padding_of(x.ncols, last);
  for (int p = 0; p < x.bits; ++p) {
    for (std::size_t i = 0; i < x.nrows; ++i) {
      if ((x.row(i, p)[last] & padding) != 0) refuse_padding("row", i, p);
    }
  }
}

void check_padding_of_columns(const BitPlanesView<>& x) {
  const std::size_t slabs = x.num_slabs(), columns = x.num_octets() * x.octet_columns;
  for (std::size_t s = 0; s < slabs; ++s) {
    const std::size_t rows = x.nrows - s * slab_rows;
    for (std::size_t j = s + 1 == slabs ? 0 : x.ncols; j < columns; ++j) {
      for (int p = 0; p < x.bits; ++p) {
        for (std::size_t word = 0; word < slab_words; ++word) {
          if ((x.column(s, p, j)[word] & padding_of(j < x.ncols ? rows : 0, word)) != 0) refuse_padding("column", j, p);
        }
      }
    }
  }
}

void check_padding(const BitPlanesView<>& x, PlanePacking packing) {
  if (x.nrows == 0 || x.ncols == 0) return;
  packing == PlanePacking::rows ? check_padding_of_rows(x) : check_padding_of_columns(x);
}

/// Where the bit of row i, column j is in planes that are packed by columns: the word in plane p, and the bit of it.
template <class Word>
Word& word_of_slab(const BitPlanesView<Word>& x, std::size_t i, std::size_t j, int p) {
  return x.column(i / slab_rows, p, j)[i % slab_rows / 64];
}

std::uint32_t level_of(const BitPlanesView<>& x, PlanePacking packing, std::size_t i, std::size_t j) {
  std::uint32_t level = 0;
  for (int p = 0; p < x.bits; ++p) {
    const bool by_rows = packing == PlanePacking::rows;
    const std::uint64_t word = by_rows ? x.row(i, p)[j / 64] : word_of_slab(x, i, j, p);
    level |= static_cast<std::uint32_t>((word >> ((by_rows ? j : i) % 64)) & 1U) << p;
  }
  return level;
}

/// Sets the bits of one row of levels in planes that hold zeros there. Rows of one slab are one thread's.
void put_row(const BitPlanesView<std::uint64_t>& x, PlanePacking packing, std::size_t i,
             std::span<const std::uint32_t> levels) {
  for (int p = 0; p < x.bits; ++p) {
    for (std::size_t j = 0; j < levels.size(); ++j) {
      const std::uint64_t bit = (levels[j] >> p) & 1U;
      if (packing == PlanePacking::rows) {
        x.row(i, p)[j / 64] |= bit << (j % 64);
      } else {
        word_of_slab(x, i, j, p) |= bit << (i % 64);
      }
    }
  }
}

/// Planes of rows of levels: row(i, to) writes those of row i.
template <class Row>
BitPlanes planes_of_rows(std::size_t nrows, std::size_t ncols, int bits, PlanePacking packing, const Device& device,
                         const Row& row) {
  BitPlanes planes(nrows, ncols, bits, packing, device);
  const BitPlanesView<std::uint64_t> view = planes.view();
  parallel_chunks(device, planes.view().num_slabs(), 1, [&](Range slabs) {
    std::vector<std::uint32_t> levels(ncols);
    for (std::size_t i = slabs.begin * slab_rows; i < std::min(nrows, slabs.end * slab_rows); ++i) {
      row(i, std::span(levels));
      put_row(view, packing, i, levels);
    }
  });
  return planes;
}

}  // namespace

void require_levels(const DenseMatrix<std::uint32_t>& levels, int bits) {
  const std::uint64_t most = (std::uint64_t{1} << bits) - 1;
  for (std::size_t i = 0; i < levels.nrows(); ++i) {
    for (std::size_t j = 0; j < levels.ncols(); ++j) {
      if (levels(i, j) > most) {
        fail(ErrorCode::bad_input,
             fmt::format("level {} in row {}, column {}: {} bits hold at most {}", levels(i, j), i, j, bits, most));
      }
    }
  }
}

BitPlanes::BitPlanes(std::size_t nrows, std::size_t ncols, int bits, PlanePacking packing, const Device& device)
    : nrows_(nrows), ncols_(ncols), bits_(bits), packing_(packing) {
  require_bits(bits);
  words_ = Buffer<std::uint64_t>(words_of(nrows, ncols, bits, packing), std::uint64_t{0}, device);
}

BitPlanes::BitPlanes(std::size_t nrows, std::size_t ncols, int bits, PlanePacking packing, Buffer<std::uint64_t> words,
                     LevelScale scale)
    : nrows_(nrows), ncols_(ncols), bits_(bits), packing_(packing), words_(std::move(words)) {
  require_bits(bits);
  const std::size_t expected = words_of(nrows, ncols, bits, packing);
  if (words_.size() != expected) {
    fail(ErrorCode::usage, fmt::format("bit planes: {} words for {} planes of {} x {} bits, expected {}", words_.size(),
                                       bits, nrows, ncols, expected));
  }
  if (device().is_host()) {
    check_padding(std::as_const(*this).view(), packing);
  } else {
    const Buffer<std::uint64_t> here = words_.to(Device{});
    check_padding({nrows, ncols, bits, here.data()}, packing);
  }
  set_scale(std::move(scale));
}

BitPlanes::BitPlanes(std::size_t nrows, std::size_t ncols, int bits, PlanePacking packing, Buffer<std::uint64_t> words,
                     LevelScale scale, Trusted) noexcept
    : nrows_(nrows),
      ncols_(ncols),
      bits_(bits),
      packing_(packing),
      words_(std::move(words)),
      scale_(std::move(scale)) {}

void BitPlanes::set_scale(LevelScale scale) {
  if (scale.extent != ScaleExtent::none)
    require_same_place("bit planes", "the planes", device(), "the scale", scale.steps.device());
  require_valid(scale, nrows_, ncols_);
  scale_ = std::move(scale);
}

std::uint32_t BitPlanes::level(std::size_t i, std::size_t j) const {
  require_on_host("reading a level", device());
  return level_of(view(), packing_, i, j);
}

BitMatrix<ZeroOne> BitPlanes::side_by_side() const {
  require(packing_ == PlanePacking::rows, "planes that are packed by columns are not one bit matrix");
  return {nrows_, static_cast<std::size_t>(bits_) * words_for_bits(ncols_) * 64, words_.share()};
}

BitPlanes BitPlanes::with(Buffer<std::uint64_t> words, LevelScale scale) const {
  BitPlanes same;
  same.nrows_ = nrows_;
  same.ncols_ = ncols_;
  same.bits_ = bits_;
  same.packing_ = packing_;
  same.words_ = std::move(words);
  same.scale_ = std::move(scale);
  return same;
}

std::size_t BitPlanes::bytes_of(std::size_t nrows, std::size_t ncols, int bits, PlanePacking packing) {
  return words_of(nrows, ncols, bits, packing) * sizeof(std::uint64_t);
}

BitPlanes planes_from_levels(const DenseMatrix<std::uint32_t>& levels, int bits, PlanePacking packing) {
  require_host(levels.device(), "planes_from_levels");
  require_bits(bits);
  require_levels(levels, bits);
  return planes_of_rows(levels.nrows(), levels.ncols(), bits, packing, levels.device(),
                        [&](std::size_t i, std::span<std::uint32_t> to) {
                          std::copy(levels.row(i).begin(), levels.row(i).end(), to.begin());
                        });
}

DenseMatrix<std::uint32_t> to_levels(const BitPlanes& x) {
  require_host(x.device(), "to_levels");
  DenseMatrix<std::uint32_t> levels(x.nrows(), x.ncols(), x.device());
  parallel_for(x.device(), x.nrows(), row_grain, [&](std::size_t i) {
    for (std::size_t j = 0; j < x.ncols(); ++j) levels(i, j) = level_of(x.view(), x.packing(), i, j);
  });
  return levels;
}

BitPlanes to_planes(const QuantizedMatrix& x, PlanePacking packing) {
  require_host(x.device(), "to_planes");
  BitPlanes planes =
      planes_of_rows(x.nrows(), x.ncols(), x.bits(), packing, x.device(),
                     [&](std::size_t i, std::span<std::uint32_t> to) { unpack_levels(x.view(), i, to); });
  planes.set_scale(x.scale().to(x.device()));
  return planes;
}

BitPlanes to_packing(const BitPlanes& x, PlanePacking packing) {
  require_host(x.device(), "to_packing");
  BitPlanes planes = planes_of_rows(x.nrows(), x.ncols(), x.bits(), packing, x.device(),
                                    [&](std::size_t i, std::span<std::uint32_t> to) {
                                      for (std::size_t j = 0; j < to.size(); ++j)
                                        to[j] = level_of(x.view(), x.packing(), i, j);
                                    });
  planes.set_scale(x.scale().to(x.device()));
  return planes;
}

QuantizedMatrix to_quantized(const BitPlanes& x) {
  QuantizedMatrix levels = quantized_from_levels(to_levels(x), x.bits());
  levels.set_scale(x.scale().to(x.device()));
  return levels;
}

DenseMatrix<float> to_dense(const BitPlanes& x) {
  require_host(x.device(), "to_dense");
  DenseMatrix<float> values(x.nrows(), x.ncols(), x.device());
  parallel_for(x.device(), x.nrows(), row_grain, [&](std::size_t i) {
    for (std::size_t j = 0; j < x.ncols(); ++j) values(i, j) = x.value(i, j);
  });
  return values;
}

template <BitDomain Domain>
BitPlanes to_planes(const BitMatrix<Domain>& x) {
  Buffer<std::uint64_t> words(x.words().size(), x.device());
  Device::copy(words.data(), x.device(), x.words().data(), x.device(), x.bytes());
  LevelScale scale;
  if constexpr (std::is_same_v<Domain, PlusMinusOne>)
    scale = {ScaleExtent::tensor, Buffer<float>(1, 2.0F, x.device()), Buffer<float>(1, -1.0F, x.device())};
  return {x.nrows(), x.ncols(), 1, PlanePacking::rows, std::move(words), std::move(scale)};
}

template BitPlanes to_planes(const BitMatrix<ZeroOne>&);
template BitPlanes to_planes(const BitMatrix<PlusMinusOne>&);

}  // namespace bitgraph
