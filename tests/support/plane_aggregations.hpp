// SPDX-License-Identifier: Apache-2.0
// Sums of levels over neighbours that end as floats or levels, by products of bit planes and over pattern CSR.
#pragma once

#include "support/everywhere.hpp"
#include "support/out_rows.hpp"
#include "support/plane_products.hpp"
#include "support/random_levels.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/bit_planes.hpp>
#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/ops/level_spmm.hpp>
#include <bitgraph/ops/plane_gemm.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bitgraph::test {

/// A graph and levels, with everything that an epilogue has; every third one without scales of rows and a bias.
struct PlaneAggregation {
  CsrPattern graph;
  QuantizedMatrix x;
  std::vector<float> row_scale, bias;
  Activation activation;
  Rounding rounding;

  PlaneAggregation(CsrPattern pattern, std::size_t columns, int bits, std::size_t turn)
      : graph(std::move(pattern)),
        x(random_levels(graph.ncols(), columns, bits, 3)),
        activation(turn % 2 == 1 ? Activation::relu : Activation::none),
        rounding(turn % 5 == 4 ? Rounding::floor : Rounding::nearest) {
    constexpr std::array extents{ScaleExtent::column, ScaleExtent::tensor, ScaleExtent::none};
    const ScaleExtent extent = extents[turn / 2 % 3];
    const bool offsets = extent != ScaleExtent::none && turn % 4 != 3;
    x.set_scale(random_scale(extent, num_scales(extent, graph.ncols(), columns), offsets, 6));
    if (turn % 3 == 2) return;
    row_scale = random_floats(graph.nrows(), 4, 0.1F, 1);
    bias = random_floats(columns, 5, -1, 1);
  }

  /// A scale of levels out whose range the sums do not fill, and partly leave. By rows, of 16 bits, it has no offsets.
  [[nodiscard]] LevelScale scale_out(int bits, ScaleExtent extent) const {
    const bool offsets = extent != ScaleExtent::row || bits != 16;
    LevelScale scale = random_scale(extent, num_scales(extent, graph.nrows(), x.ncols()), offsets, 8);
    for (float& step : scale.steps.span()) step *= 20.0F / static_cast<float>(1U << bits);
    return scale;
  }
};

/// The operands on a device: the graph as pattern CSR, as dense bits and as tiles.
struct PlaneAggregationThere {
  CsrPattern pattern;
  BitMatrix<ZeroOne> dense;
  BitTileMatrix tiles;
  QuantizedMatrix levels;
  BitPlanes planes;
  Buffer<float> row_scale, bias;
  LevelSpmmOptions options;

  PlaneAggregationThere(const PlaneAggregation& of, const Device& device)
      : pattern(of.graph.to(device)),
        dense(to_bit_matrix(of.graph).to(device)),
        tiles(pack(pattern, {.tile_dim = 64})),
        levels(of.x.to(device)),
        planes(of.x.nrows(), of.x.ncols(), of.x.bits(), PlanePacking::columns, device),
        row_scale(Buffer<float>::copy_of(of.row_scale, device)),
        bias(Buffer<float>::copy_of(of.bias, device)) {
    planes.words().fill(~std::uint64_t{0});  // what was there does not matter
    pack_planes_into(planes, levels);
    planes.set_scale(of.x.scale().to(device));
    options = {.row_scale = std::as_const(row_scale).span(),
               .bias = std::as_const(bias).span(),
               .activation = of.activation,
               .rounding = of.rounding};
  }
};

/// Dense bits and tiles give the floats that pattern CSR gives, to the last bit.
inline void expect_plane_values(const PlaneAggregation& of, const Device& device) {
  const PlaneAggregationThere there(of, device);
  const std::size_t rows = of.graph.nrows(), columns = of.x.ncols();
  DenseMatrix<float> expected(rows, columns, device), dense(rows, columns, device), tiles(rows, columns, device);
  level_spmm_into(expected, there.pattern, there.levels, there.options);
  plane_gemm_into(dense, there.dense, there.planes, there.options);
  plane_gemm_into(tiles, there.tiles, there.planes, there.options);
  const DenseMatrix<float> right = expected.to(Device{});
  expect_identical(dense.to(Device{}).values(), right.values());
  expect_identical(tiles.to(Device{}).values(), right.values());
  const std::vector<NodeId> places = other_places(rows);
  const Buffer<NodeId> places_there = Buffer<NodeId>::copy_of(places, device);
  LevelSpmmOptions elsewhere = there.options;
  elsewhere.out_rows = places_there.span();
  plane_gemm_into(dense, there.dense, there.planes, elsewhere);
  plane_gemm_into(tiles, there.tiles, there.planes, elsewhere);
  const DenseMatrix<float> moved = stored_at(right, places);
  expect_identical(dense.to(Device{}).values(), moved.values());
  expect_identical(tiles.to(Device{}).values(), moved.values());
}

inline void expect_same_levels(const QuantizedMatrix& actual, const QuantizedMatrix& expected, const char* what) {
  const QuantizedMatrix a = actual.to(Device{}), b = expected.to(Device{});
  const auto [at, other] = std::mismatch(a.levels().begin(), a.levels().end(), b.levels().begin());
  ASSERT_EQ(at - a.levels().begin(), static_cast<std::ptrdiff_t>(a.levels().size()))
      << what << ": " << int{*at} << ", expected " << int{*other};
}

/// The same of levels of so many bits.
inline void expect_plane_levels(const PlaneAggregation& of, int bits, ScaleExtent extent, const Device& device) {
  SCOPED_TRACE(testing::Message() << bits << " bits out");
  const PlaneAggregationThere there(of, device);
  std::array<QuantizedMatrix, 3> out;
  for (QuantizedMatrix& each : out) {
    each = QuantizedMatrix(of.graph.nrows(), of.x.ncols(), bits, device);
    each.levels().fill(0xFF);  // what was there does not matter
    each.set_scale(of.scale_out(bits, extent).to(device));
  }
  level_spmm_into(out[0], there.pattern, there.levels, there.options);
  plane_gemm_into(out[1], there.dense, there.planes, there.options);
  plane_gemm_into(out[2], there.tiles, there.planes, there.options);
  expect_same_levels(out[1], out[0], "dense bits");
  expect_same_levels(out[2], out[0], "tiles");
}

/// fn(aggregation, turn) of every graph and number of bits, the number of columns in turn.
template <class Fn>
void for_each_plane_aggregation(Fn&& fn) {
  constexpr std::array<std::size_t, 6> columns{65, 1, 64, 7, 63, 129};
  std::size_t turn = 0;
  for (const auto& each : plane_product_graphs()) {
    for (const int bits : {1, 2, 4, 5, 8, 12, 16}) {
      const std::size_t width = columns[turn % columns.size()];
      const PlaneAggregation aggregation(each.first(), width, bits, turn);
      SCOPED_TRACE(testing::Message() << "graph of " << aggregation.graph.nrows() << " x " << aggregation.graph.ncols()
                                      << ", " << width << " columns of " << bits << " bits, turn " << turn);
      fn(aggregation, turn);
      ++turn;
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

/// The same of numbers that are none, with a relu and without.
template <class Fn>
void for_each_spoilt_aggregation(Fn&& fn) {
  for (const int bits : {4, 12}) {
    for (const bool relu : {false, true}) {
      PlaneAggregation aggregation(rmat_pattern(7, 1000, 2), 65, bits, 0);
      if (relu) aggregation.activation = Activation::relu;
      test::spoil(aggregation.row_scale, aggregation.bias);
      fn(aggregation);
    }
  }
}

/// One row of 70,000 neighbours of the greatest level of 16 bits: a sum that 32 bits do not hold.
inline PlaneAggregation long_plane_aggregation() {
  constexpr NodeId columns = 70000;
  std::vector<NodeId> rows(columns, 3), cols(columns);
  for (NodeId j = 0; j < columns; ++j) cols[j] = j;
  PlaneAggregation all(csr_from_edges(5, columns, rows, cols), 3, 16, 0);
  DenseMatrix<std::uint32_t> levels(columns, 3);
  for (std::uint32_t& level : levels.values()) level = 65535;
  LevelScale scale = all.x.scale().to(Device{});
  all.x = quantized_from_levels(levels, 16);
  all.x.set_scale(std::move(scale));
  return all;
}

}  // namespace bitgraph::test
