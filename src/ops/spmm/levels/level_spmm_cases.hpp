// SPDX-License-Identifier: Apache-2.0
// What the tests of sums of levels go over, on the host and on a CUDA device.
#pragma once

#include "ops/spmm/levels/levels.hpp"
#include "support/random_levels.hpp"
#include "support/random_matrices.hpp"
#include "support/sanitized.hpp"

#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/row_order.hpp>
#include <bitgraph/ops/level_spmm.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::level_cases {

struct GraphCase {
  std::string name;
  CsrPattern a;
};

/// One row of all columns, behind rows of none: more neighbours than counters of 8 bits hold, and than those of 16.
inline CsrPattern one_long_row(NodeId columns) {
  std::vector<NodeId> rows(columns, 3), cols(columns);
  for (NodeId j = 0; j < columns; ++j) cols[j] = j;
  return csr_from_edges(5, columns, rows, cols);
}

/// Rows of all lengths up to some thousand, so that sets of lanes, warps and blocks have some, and all counters.
inline CsrPattern rows_of_all_lengths() {
  std::vector<NodeId> rows, cols;
  constexpr NodeId columns = 3000;
  NodeId row = 0;
  for (const NodeId length : {0U,   1U,   7U,   8U,   9U,   31U,  63U,  64U,   65U,   127U,  128U, 129U,
                              255U, 256U, 257U, 300U, 511U, 512U, 513U, 1023U, 1024U, 1025U, 3000U}) {
    for (NodeId n = 0; n < length; ++n) rows.push_back(row), cols.push_back((n * 7 + row) % columns);
    ++row;
  }
  return csr_from_edges(row, columns, rows, cols);
}

inline std::vector<GraphCase> graphs() {
  std::vector<GraphCase> all;
  all.push_back({"nothing", test::random_pattern(0, 0, 0, 1)});
  all.push_back({"no entries", test::random_pattern(4, 9, 0, 1)});
  all.push_back({"rectangular", test::random_pattern(90, 33, 0.2, 1)});
  all.push_back({"skewed", test::rmat_pattern(7, 1000, 2)});
  all.push_back({"300 neighbours", one_long_row(300)});
  all.push_back({"5000 neighbours", one_long_row(5000)});
  return all;
}

/// An aggregation with everything that an epilogue has.
struct Aggregation {
  QuantizedMatrix x;
  std::vector<float> row_scale, bias;
  LevelSpmmOptions options;

  Aggregation(const CsrPattern& a, std::size_t width, int bits, ScaleExtent extent, bool offsets)
      : x(test::random_levels(a.ncols(), width, bits, 3)),
        row_scale(test::random_floats(a.nrows(), 4, 0.1F, 1)),
        bias(test::random_floats(width, 5, -1, 1)) {
    x.set_scale(test::random_scale(extent, num_scales(extent, a.ncols(), width), offsets, 6));
    options = {.row_scale = row_scale, .bias = bias, .activation = offsets ? Activation::relu : Activation::none};
  }

  [[nodiscard]] LevelSpmmArgs args(const CsrPattern& a) const {
    LevelSpmmArgs args = level_spmm_args(a, x, a.nrows(), x.ncols(), Device{});
    args.row_scale = row_scale.data();
    args.epilogue.bias = bias.data();
    args.epilogue.activation = options.activation;
    args.epilogue.rounding = options.rounding;
    return args;
  }
};

/// Every graph, width and number of features, with the scales of X in turn.
template <class Fn>
void for_each_aggregation(Fn&& fn) {
  constexpr ScaleExtent extents[] = {ScaleExtent::none, ScaleExtent::tensor, ScaleExtent::column};
  std::size_t turn = 0;
  for (const GraphCase& graph : graphs()) {
    for (const int bits : {2, 4, 8, 12}) {
      for (const std::size_t width : {7U, 63U, 64U, 65U, 129U, 300U}) {
        const ScaleExtent extent = extents[(turn + turn / 6) % 3];
        ++turn;
        if (test::sanitized && (width == 63 || width == 64)) continue;
        SCOPED_TRACE(testing::Message() << graph.name << ", " << bits << " bits, " << width << " features, extent "
                                        << static_cast<int>(extent));
        Aggregation aggregation(graph.a, width, bits, extent, extent == ScaleExtent::column);
        fn(graph.a, aggregation);
      }
    }
  }
}

/// Operands of an aggregation on the device. `ordered`: with an order of the rows.
struct There {
  CsrPattern a;
  QuantizedMatrix x;
  Buffer<float> row_scale, bias;
  RowOrder order;
  LevelSpmmOptions options;

  There(const CsrPattern& graph, const Aggregation& aggregation, bool ordered, const Device& device)
      : a(graph.to(device)),
        x(aggregation.x.to(device)),
        row_scale(Buffer<float>::copy_of(aggregation.row_scale, device)),
        bias(Buffer<float>::copy_of(aggregation.bias, device)),
        options(aggregation.options) {
    options.row_scale = row_scale.span();
    options.bias = bias.span();
    if (!ordered) return;
    order = RowOrder(a);
    options.row_order = &order;
  }
};

/// Scales of rows: rows of one length have one, or each its own, or one that turns levels around.
enum class RowScales : unsigned char { by_length, each, negative };

inline void set_row_scales(Aggregation& aggregation, const CsrPattern& a, RowScales kind) {
  for (NodeId i = 0; i < a.nrows() && kind != RowScales::each; ++i) {
    const float scale = 1.0F / static_cast<float>(std::max<std::size_t>(1, a.row(i).size()));
    aggregation.row_scale[i] = kind == RowScales::negative && i % 2 == 1 ? -scale : scale;
  }
}

/// Levels of the reference, on that scale.
inline QuantizedMatrix levels_of_reference(const CsrPattern& a, const Aggregation& aggregation, int bits,
                                           LevelScale scale) {
  QuantizedMatrix expected(a.nrows(), aggregation.x.ncols(), bits);
  expected.set_scale(std::move(scale));
  LevelSpmmArgs args = aggregation.args(a);
  args.out.levels = expected.view();
  take_out_scale(args.epilogue, expected, "level spmm");
  level_spmm(Reference{}, args);
  return expected;
}

inline void expect_levels(const QuantizedMatrix& out, const QuantizedMatrix& expected) {
  const QuantizedMatrix here = to_packing(out.to(Device{}), LevelPacking::places);
  const auto [at, other] = std::mismatch(here.levels().begin(), here.levels().end(), expected.levels().begin());
  ASSERT_EQ(at - here.levels().begin(), static_cast<std::ptrdiff_t>(here.levels().size()))
      << int{*at} << ", expected " << int{*other};
}

/// Levels of `bits` bits with memory for planes are the reference's, and the memory is used. X and the levels out are
/// packed so.
inline void expect_levels_by_planes(const CsrPattern& a, const Aggregation& aggregation, int bits, LevelScale scale,
                                    const Device& device, LevelPacking packing = LevelPacking::places) {
  const std::size_t width = aggregation.x.ncols();
  const QuantizedMatrix expected = levels_of_reference(a, aggregation, bits, std::move(scale));
  QuantizedMatrix out(a.nrows(), width, bits, device, packing);
  out.levels().fill(0xFF);
  out.set_scale(expected.scale().to(device));
  There there(a, aggregation, true, device);
  if (out.in_planes()) there.x = to_packing(aggregation.x, packing).to(device);
  Buffer<std::uint64_t> planes(out.in_planes() ? level_spmm_prepared_words(width, device.is_host())
                                               : level_spmm_plane_words(there.x.nrows(), width),
                               device);
  planes.fill(~std::uint64_t{0});
  there.options.planes = planes.span();
  level_spmm_into(out, there.a, there.x, there.options);
  if (out.in_planes()) {  // the same by thresholds that were found before
    out.levels().fill(0xFF);
    there.options.prepared = true;
    level_spmm_into(out, there.a, there.x, there.options);
  }
  expect_levels(out, expected);
  const Buffer<std::uint64_t> used = planes.to(Device{});
  EXPECT_TRUE(a.nrows() == 0 || std::ranges::any_of(used.span(), [](std::uint64_t word) { return ~word != 0; }));
}

}  // namespace bitgraph::level_cases
