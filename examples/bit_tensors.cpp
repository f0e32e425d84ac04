// SPDX-License-Identifier: Apache-2.0
// Products of your own matrices of few bits, with the names of QGTC beside them: to_bit, to_val, bitMM2Int, bitMM2Bit,
// and sums over the neighbours of a graph. Every result is compared with plain loops.
#include <bitgraph/bitgraph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace {

using namespace bitgraph;
using Numbers = DenseMatrix<std::uint32_t>;

/// Numbers 0 .. 2^bits - 1.
Numbers some_numbers(std::size_t nrows, std::size_t ncols, int bits, std::uint32_t factor) {
  Numbers x(nrows, ncols);
  for (std::size_t i = 0; i < nrows; ++i) {
    for (std::size_t j = 0; j < ncols; ++j)
      x(i, j) = (static_cast<std::uint32_t>(i * ncols + j) * factor >> 5) & ((1U << bits) - 1);
  }
  return x;
}

/// The loop that defines the product: row i of x times row j of w.
DenseMatrix<std::int32_t> plain_product(const Numbers& x, const Numbers& w) {
  DenseMatrix<std::int32_t> out(x.nrows(), w.nrows());
  for (std::size_t i = 0; i < x.nrows(); ++i) {
    for (std::size_t j = 0; j < w.nrows(); ++j) {
      std::uint32_t sum = 0;
      for (std::size_t c = 0; c < x.ncols(); ++c) sum += x(i, c) * w(j, c);
      out(i, j) = static_cast<std::int32_t>(sum);
    }
  }
  return out;
}

/// Rows and columns exchanged.
Numbers turned(const Numbers& w) {
  Numbers out(w.ncols(), w.nrows());
  for (std::size_t i = 0; i < w.nrows(); ++i) {
    for (std::size_t j = 0; j < w.ncols(); ++j) out(j, i) = w(i, j);
  }
  return out;
}

/// Whether the products of x (3 bits) and w (2 bits) are right: as whole numbers, and as levels of 4 bits.
bool products_are_right(const Numbers& x, const Numbers& w) {
  const BitPlanes x_planes = planes_from_levels(x, 3);  // Tensor.to_bit(3)
  const Numbers back = to_levels(x_planes);             // Tensor.to_val(3)
  if (!std::ranges::equal(back.values(), x.values())) return false;

  // From the bits alone (QGTC, Equations 6 and 7): the right side is packed along its columns.
  const BitPlanes w_planes = planes_from_levels(turned(w), 2, PlanePacking::columns);
  DenseMatrix<std::int32_t> from_planes(x.nrows(), w.nrows());
  plane_gemm_into(from_planes, x_planes, w_planes);  // bitMM2Int

  // From levels as bytes: W has a row for each output, and is put in the order of the kernels once.
  const QuantizedMatrix x_levels = to_quantized(x_planes);
  const LevelWeights weights = prepare_level_weights(quantized_from_levels(w, 2));
  DenseMatrix<std::int32_t> sums(x.nrows(), w.nrows());
  level_gemm_into(sums, x_levels, weights);  // bitMM2Int again

  // The output has 4 bits and a step of 32: level = sum / 32, rounded down, 15 at most.
  QuantizedMatrix levels(x.nrows(), w.nrows(), 4);
  levels.set_scale({ScaleExtent::tensor, Buffer<float>(1, 32.0F), {}});
  level_gemm_into(levels, x_levels, weights, {.rounding = Rounding::floor});  // bitMM2Bit
  const Numbers as_numbers = to_levels(levels);

  const DenseMatrix<std::int32_t> expected = plain_product(x, w);
  for (std::size_t i = 0; i < sums.nrows(); ++i) {
    for (std::size_t j = 0; j < sums.ncols(); ++j) {
      const std::int32_t level = std::min(expected(i, j) / 32, 15);
      if (sums(i, j) != expected(i, j) || from_planes(i, j) != expected(i, j)) return false;
      if (as_numbers(i, j) != static_cast<std::uint32_t>(level)) return false;
    }
  }
  std::printf("products: %zu x %zu sums, %zu bytes of planes, %zu of levels out\n", sums.nrows(), sums.ncols(),
              x_planes.bytes() + w_planes.bytes(), levels.bytes());
  return true;
}

/// Whether the sums over the neighbours of each node are right: the product of a graph of 1 bit with x.
bool sums_are_right(const CsrPattern& graph, const Numbers& x) {
  DenseMatrix<std::int32_t> sums(graph.nrows(), x.ncols());
  level_spmm_into(sums, graph, quantized_from_levels(x, 3));
  for (NodeId i = 0; i < graph.nrows(); ++i) {
    for (std::size_t c = 0; c < x.ncols(); ++c) {
      std::uint32_t expected = 0;
      for (const NodeId j : graph.row(i)) expected += x(j, c);
      if (sums(i, c) != static_cast<std::int32_t>(expected)) return false;
    }
  }
  std::printf("sums over neighbours: %zu x %zu\n", sums.nrows(), sums.ncols());
  return true;
}

}  // namespace

int main() {
  const CsrPattern graph = generate_grid(20, 10);
  const Numbers x = some_numbers(graph.nrows(), 70, 3, 2654435761U);
  const Numbers w = some_numbers(9, 70, 2, 2246822519U);
  return products_are_right(x, w) && sums_are_right(graph, x) ? 0 : 1;
}
