// SPDX-License-Identifier: Apache-2.0
// Votes over rows so long that a counter of the kernels is full, or nearly so: 255 and 4,095 neighbours for each of the
// R parts of a row that stand side by side in a vector, and powers of two.
#include <bitgraph/ops/spmm.hpp>

#include "support/everywhere.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace bitgraph {
namespace {

using Bits = BitMatrix<PlusMinusOne>;

/// Degrees at which counters of 8 and 12 slices are full, for 1 to 8 parts, and one less and one more.
std::vector<std::size_t> border_degrees() {
  std::set<std::size_t> degrees;
  for (const std::size_t parts : {1U, 2U, 4U, 8U}) {
    for (const std::size_t full : {63U, 127U, 254U, 255U, 256U, 511U, 1023U, 4094U, 4095U, 4096U}) {
      for (const std::size_t degree : {full * parts - 1, full * parts, full * parts + 1}) degrees.insert(degree);
    }
  }
  return {degrees.begin(), degrees.end()};
}

/// Row i has the first degrees[i] columns.
CsrPattern rows_of(const std::vector<std::size_t>& degrees) {
  Buffer<EdgeOffset> row_ptr(degrees.size() + 1, EdgeOffset{0});
  for (std::size_t i = 0; i < degrees.size(); ++i) row_ptr[i + 1] = row_ptr[i] + degrees[i];
  Buffer<NodeId> col_ind(row_ptr[degrees.size()]);
  for (std::size_t i = 0; i < degrees.size(); ++i) {
    std::iota(col_ind.data() + row_ptr[i], col_ind.data() + row_ptr[i + 1], NodeId{0});
  }
  return {static_cast<NodeId>(degrees.size()), static_cast<NodeId>(degrees.back()), std::move(row_ptr),
          std::move(col_ind)};
}

/// Feature f of node j: all ones, none, every other one, or one in three.
bool bit_of(std::size_t j, std::size_t f) {
  switch (f % 4) {
    case 0: return true;
    case 1: return false;
    case 2: return j % 2 == 0;
    default: return j % 3 == 0;
  }
}

std::size_t ones_among(std::size_t degree, std::size_t f) {
  switch (f % 4) {
    case 0: return degree;
    case 1: return 0;
    case 2: return (degree + 1) / 2;
    default: return (degree + 2) / 3;
  }
}

TEST(SpmmCounters, CountAllNeighboursOfLongRows) {
  const std::vector<std::size_t> degrees = border_degrees();
  const CsrPattern a = rows_of(degrees);
  const SellPattern sell = to_sell(a);
  for (const std::size_t width : {64U, 128U, 256U, 512U}) {
    SCOPED_TRACE(std::to_string(width) + " features");
    Bits x(a.ncols(), width);
    for (std::size_t j = 0; j < x.nrows(); ++j) {
      for (std::size_t f = 0; f < width; ++f) x.set_bit(j, f, bit_of(j, f));
    }
    for (const Isa isa : available_isas()) {
      const ScopedIsa scope(isa);
      SCOPED_TRACE(std::string(to_string(isa)));
      const auto sums = spmm<DenseMatrix>(a, x);
      const Bits votes = spmm<BitMatrix>(a, x);
      const Bits sell_votes = spmm<BitMatrix>(sell, x);
      for (std::size_t i = 0; i < degrees.size(); ++i) {
        for (std::size_t f = 0; f < 8; ++f) {
          const std::size_t ones = ones_among(degrees[i], f);
          const float sum = static_cast<float>(2 * ones) - static_cast<float>(degrees[i]);
          ASSERT_EQ(sums(i, f), sum) << degrees[i] << " neighbours, feature " << f;
          ASSERT_EQ(votes.bit(i, f), sum >= 0) << degrees[i] << " neighbours, feature " << f;
        }
        ASSERT_EQ(sums(i, width - 4), static_cast<float>(degrees[i]));
      }
      ASSERT_EQ(sell_votes, votes);
    }
  }
}

}  // namespace
}  // namespace bitgraph
