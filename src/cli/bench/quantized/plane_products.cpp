// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/quantized/plane_products.hpp"

#include <bitgraph/core/random.hpp>
#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/ops/gemm.hpp>
#include <bitgraph/ops/plane_gemm.hpp>

#include <utility>
#include <vector>

namespace bitgraph::cli {

namespace {

using Sums = DenseMatrix<std::int32_t>;

/// Words of a slab hold 128 rows: those behind the last one are zero.
void clear_padding(Buffer<std::uint64_t>& words, std::size_t nodes, std::size_t columns, int bits) {
  const BitPlanesView<std::uint64_t> x{nodes, columns, bits, words.data()};
  for (std::size_t s = 0; s < x.num_slabs(); ++s) {
    for (std::size_t j = 0; j < x.num_octets() * x.octet_columns; ++j) {
      for (int p = 0; p < bits; ++p) {
        for (std::size_t w = 0; w < x.slab_words; ++w) {
          const std::size_t first = s * x.slab_rows + w * 64;
          const std::size_t rows = j >= columns || first >= nodes ? 0 : nodes - first;
          if (rows < 64) x.column(s, p, j)[w] &= (std::uint64_t{1} << rows) - 1;
        }
      }
    }
  }
}

}  // namespace

PlaneProducts::PlaneProducts(CallTimer timer, std::uint64_t seed)
    : timer_(std::move(timer)), device_(timer_.device()), seed_(seed) {
  if (!device_.is_host()) rival_ = make_byte_rival(device_, absent_);
}

Buffer<std::uint64_t> PlaneProducts::random_words(std::size_t count) const {
  Buffer<std::uint64_t> words(count);
  for (std::size_t n = 0; n < count; ++n) words[n] = bitgraph::random_bits({seed_, 0, 0}, n);
  return words;
}

BitPlanes PlaneProducts::random_planes(std::size_t nodes, std::size_t columns, int bits) const {
  BitPlanes x(nodes, columns, bits, PlanePacking::columns);
  Buffer<std::uint64_t> words = random_words(x.words().size());
  clear_padding(words, nodes, columns, bits);
  return BitPlanes(nodes, columns, bits, PlanePacking::columns, std::move(words)).to(device_);
}

BitMatrix<ZeroOne> PlaneProducts::random_graph(std::size_t nodes) const {
  Buffer<std::uint64_t> words = random_words(nodes * words_for_bits(nodes));
  for (std::size_t i = 0; nodes % 64 != 0 && i < nodes; ++i)
    words[(i + 1) * words_for_bits(nodes) - 1] &= (std::uint64_t{1} << (nodes % 64)) - 1;
  return BitMatrix<ZeroOne>(nodes, nodes, std::move(words)).to(device_);
}

double PlaneProducts::dense(std::size_t nodes, std::size_t columns, int bits) {
  const BitMatrix<ZeroOne> a = random_graph(nodes);
  const BitPlanes x = random_planes(nodes, columns, bits);
  Sums out(nodes, columns, device_);
  return timer_.seconds([&] { plane_gemm_into(out, a, x); });
}

double PlaneProducts::plane_by_plane(std::size_t nodes, std::size_t columns, int bits) {
  const BitMatrix<ZeroOne> a = random_graph(nodes);
  const BitPlanes plane = random_planes(nodes, columns, 1);
  Sums out(nodes, columns, device_);
  return timer_.seconds([&] {
    for (int p = 0; p < bits; ++p) plane_gemm_into(out, a, plane);
  });
}

template <class T>
DenseMatrix<T> PlaneProducts::random_matrix(std::size_t nrows, std::size_t ncols) const {
  DenseMatrix<T> made(nrows, ncols);
  for (std::size_t n = 0; n < made.values().size(); ++n)
    made.values()[n] = static_cast<T>(random_uniform({seed_, 3, 0}, n));
  return made.to(device_);
}

double PlaneProducts::dense(const CsrPattern& graph, std::size_t columns, int bits) {
  const BitMatrix<ZeroOne> a = to_bit_matrix(graph).to(device_);
  const BitPlanes x = random_planes(graph.ncols(), columns, bits);
  Sums out(graph.nrows(), columns, device_);
  return timer_.seconds([&] { plane_gemm_into(out, a, x); });
}

double PlaneProducts::tiles(const CsrPattern& graph, std::size_t columns, int bits) {
  const BitTileMatrix a = pack(graph, {.tile_dim = 64}).to(device_);
  const BitPlanes x = random_planes(graph.ncols(), columns, bits);
  Sums out(graph.nrows(), columns, device_);
  return timer_.seconds([&] { plane_gemm_into(out, a, x); });
}

std::string PlaneProducts::rival_name() const {
  if (device_.is_host()) return "OpenBLAS float32";
  return rival_ == nullptr ? "cuBLASLt int8: " + absent_ : "cuBLASLt int8";
}

double PlaneProducts::rival(std::size_t nodes, std::size_t columns) {
  if (device_.is_host()) {
    const auto a = random_matrix<float>(nodes, nodes), x = random_matrix<float>(columns, nodes);
    DenseMatrix<float> out(nodes, columns, device_);
    return timer_.seconds([&] { float_gemm(out, a, false, x, true); });
  }
  if (rival_ == nullptr || nodes % 4 != 0 || columns % 4 != 0) return 0;
  const auto bytes = [&](std::size_t count) {
    Buffer<std::int8_t> made(count);
    for (std::size_t n = 0; n < count; ++n)
      made[n] = static_cast<std::int8_t>(bitgraph::random_bits({seed_, 1, 0}, n) & 1U);
    return made.to(device_);
  };
  const Buffer<std::int8_t> a = bytes(nodes * nodes), x = bytes(columns * nodes);
  Sums out(nodes, columns, device_);
  if (!rival_->prepare(out, a, x, nodes)) return 0;
  return timer_.seconds([&] { rival_->multiply(out, a, x); });
}

double PlaneProducts::bfloat16(std::size_t nodes, std::size_t columns) {
  if (device_.is_host()) return 0;
  const auto a = random_matrix<Bfloat16>(nodes, nodes), x = random_matrix<Bfloat16>(columns, nodes);
  DenseMatrix<Bfloat16> out(nodes, columns, device_);
  return timer_.seconds([&] { gemm_into(out, a, x); });
}

}  // namespace bitgraph::cli
