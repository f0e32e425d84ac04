// SPDX-License-Identifier: Apache-2.0
// Sums of levels on a CUDA device are the reference's to the last bit.
#include "ops/spmm/levels/level_spmm_cases.hpp"
#include "ops/spmm/levels/tuning.hpp"
#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/expect_error.hpp"
#include "support/out_rows.hpp"

#include <bitgraph/formats/row_order.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string_view>
#include <utility>

namespace bitgraph {
namespace {

using namespace level_cases;
using Floats = DenseMatrix<float>;

std::vector<GraphCase> cuda_graphs() {
  std::vector<GraphCase> all = graphs();
  all.push_back({"rows of all lengths", rows_of_all_lengths()});
  all.push_back({"many short rows", test::random_pattern(20000, 500, 0.01, 1)});
  return all;
}

/// body(graph, aggregation) with all bits and features, scales in turn.
template <class Fn>
void for_each_case(Fn&& fn) {
  constexpr ScaleExtent extents[] = {ScaleExtent::none, ScaleExtent::tensor, ScaleExtent::column};
  std::size_t turn = 0;
  for (const GraphCase& graph : cuda_graphs()) {
    for (const int bits : {1, 2, 4, 5, 8, 9, 16}) {
      for (const std::size_t width : {0U, 1U, 7U, 16U, 17U, 63U, 64U, 65U, 128U, 129U, 300U}) {
        const ScaleExtent extent = extents[turn++ % 3];
        SCOPED_TRACE(testing::Message() << graph.name << ", " << bits << " bits, " << width << " features, extent "
                                        << static_cast<int>(extent));
        Aggregation aggregation(graph.a, width, bits, extent, extent == ScaleExtent::column);
        fn(graph.a, aggregation);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(LevelSpmmCuda, SumsAndValuesAreThoseOfTheReference) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for_each_case([&](const CsrPattern& a, const Aggregation& aggregation) {
    const std::size_t width = aggregation.x.ncols();
    DenseMatrix<std::int64_t> sums(a.nrows(), width);
    Floats values(a.nrows(), width);
    LevelSpmmArgs args = aggregation.args(a);
    args.out.wide_sums = sums.view();
    level_spmm(Reference{}, args);
    args = aggregation.args(a);
    args.out.values = values.view();
    level_spmm(Reference{}, args);
    for (const bool ordered : {false, true}) {
      SCOPED_TRACE(ordered ? "ordered" : "as stored");
      const There there(a, aggregation, ordered, device);
      Floats of_device(a.nrows(), width, device);
      level_spmm_into(of_device, there.a, there.x, there.options);
      test::expect_identical(of_device.to(Device{}).values(), values.values());
      const std::vector<NodeId> places = test::other_places(a.nrows());
      const Buffer<NodeId> places_there = Buffer<NodeId>::copy_of(places, device);
      LevelSpmmOptions elsewhere = there.options;
      elsewhere.out_rows = places_there.span();
      level_spmm_into(of_device, there.a, there.x, elsewhere);
      test::expect_identical(of_device.to(Device{}).values(), test::stored_at(values, places).values());
      DenseMatrix<std::int64_t> wide(a.nrows(), width, device);
      level_spmm_into(wide, there.a, there.x);
      DenseMatrix<std::int32_t> narrow(a.nrows(), width, device);
      level_spmm_into(narrow, there.a, there.x);
      const auto wide_here = wide.to(Device{});
      const auto narrow_here = narrow.to(Device{});
      for (std::size_t n = 0; n < sums.values().size(); ++n) {
        ASSERT_EQ(wide_here.values()[n], sums.values()[n]) << "element " << n;
        ASSERT_EQ(narrow_here.values()[n], sums.values()[n]) << "element " << n;
      }
    }
  });
}

TEST(LevelSpmmCuda, LevelsOutAreThoseOfTheReference) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  std::size_t turn = 0;
  for_each_case([&](const CsrPattern& a, Aggregation& aggregation) {
    const std::size_t width = aggregation.x.ncols();
    for (const int bits : {2, 4, 8, 12}) {
      SCOPED_TRACE(testing::Message() << bits << " bits out");
      constexpr ScaleExtent extents[] = {ScaleExtent::tensor, ScaleExtent::column, ScaleExtent::row};
      const ScaleExtent extent = extents[(turn + turn / 12) % 3];
      aggregation.options.rounding = ++turn % 3 == 0 ? Rounding::floor : Rounding::nearest;
      QuantizedMatrix expected(a.nrows(), width, bits);
      LevelScale scale = test::random_scale(extent, num_scales(extent, a.nrows(), width), true, turn);
      for (float& step : scale.steps.span()) step *= 20.0F / static_cast<float>(1U << bits);
      expected.set_scale(std::move(scale));
      LevelSpmmArgs args = aggregation.args(a);
      args.out.levels = expected.view();
      take_out_scale(args.epilogue, expected, "level spmm");
      level_spmm(Reference{}, args);
      for (const bool ordered : {false, true}) {
        SCOPED_TRACE(ordered ? "ordered" : "as stored");
        const There there(a, aggregation, ordered, device);
        QuantizedMatrix out(a.nrows(), width, bits, device);
        out.levels().fill(0xFF);  // what was there does not matter
        out.set_scale(expected.scale().to(device));
        level_spmm_into(out, there.a, there.x, there.options);
        const QuantizedMatrix here = out.to(Device{});
        const auto [at, other] = std::mismatch(here.levels().begin(), here.levels().end(), expected.levels().begin());
        ASSERT_EQ(at - here.levels().begin(), static_cast<std::ptrdiff_t>(here.levels().size()))
            << int{*at} << ", expected " << int{*other};
      }
    }
  });
}

/// More than a million entries. Of the rows that warps are too small for, a block takes those below
/// entries / shared_part, and blocks share those above.
CsrPattern hubs_of_both_kinds() {
  std::vector<NodeId> rows, cols;
  constexpr NodeId columns = 3000;
  NodeId row = 0;
  for (unsigned turn = 0; turn < 90; ++turn) {
    for (const NodeId length :
         {9U, 3000U, 0U, 1999U, 300U, 1500U, 33U, 1100U, 2500U, 1025U, 700U, 100U, 600U, 520U, 513U, 257U}) {
      for (NodeId n = 0; n < length; ++n) rows.push_back(row), cols.push_back((n * 7 + row) % columns);
      ++row;
    }
  }
  return csr_from_edges(row, columns, rows, cols);
}

/// How many rows have so many entries, or more.
std::ptrdiff_t rows_from(const CsrPattern& a, std::size_t entries) {
  const auto ends = a.row_ptr();
  std::ptrdiff_t count = 0;
  for (std::size_t i = 0; i < a.nrows(); ++i) count += ends[i + 1] - ends[i] >= entries ? 1 : 0;
  return count;
}

TEST(LevelSpmmCuda, HubsOfOneBlockAndOfManyAreThoseOfTheReference) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const CsrPattern a = hubs_of_both_kinds();
  constexpr CudaLevelSpmmTuning tuning = cuda_level_spmm_tuning();
  const std::size_t shared = std::bit_ceil(a.nvals() / tuning.shared_part);
  const std::size_t lone = std::size_t{tuning.least_rounds} * tuning.batch * 32 / 2;  // of rows that two lanes have
  ASSERT_GT(rows_from(a, shared), 0);
  ASSERT_GT(rows_from(a, lone), rows_from(a, shared));
  struct Case {
    int bits;
    std::size_t width;
    ScaleExtent out;
  };
  for (const Case& its :
       {Case{2, 300, ScaleExtent::column}, Case{4, 32, ScaleExtent::row}, Case{4, 128, ScaleExtent::tensor},
        Case{4, 72, ScaleExtent::row}, Case{8, 16, ScaleExtent::column}, Case{8, 40, ScaleExtent::column},
        Case{8, 128, ScaleExtent::row}}) {
    SCOPED_TRACE(testing::Message() << its.bits << " bits, " << its.width << " features");
    const Aggregation aggregation(a, its.width, its.bits, ScaleExtent::column, true);
    const There there(a, aggregation, true, device);
    Floats values(a.nrows(), its.width), of_device(a.nrows(), its.width, device);
    LevelSpmmArgs args = aggregation.args(a);
    args.out.values = values.view();
    level_spmm(Reference{}, args);
    level_spmm_into(of_device, there.a, there.x, there.options);
    test::expect_identical(of_device.to(Device{}).values(), values.values());

    QuantizedMatrix levels(a.nrows(), its.width, its.bits), out(a.nrows(), its.width, its.bits, device);
    levels.set_scale(test::random_scale(its.out, num_scales(its.out, a.nrows(), its.width), true, 9));
    out.set_scale(levels.scale().to(device));
    args = aggregation.args(a);
    args.out.levels = levels.view();
    take_out_scale(args.epilogue, levels, "level spmm");
    level_spmm(Reference{}, args);
    level_spmm_into(out, there.a, there.x, there.options);
    const QuantizedMatrix here = out.to(Device{});
    EXPECT_TRUE(std::equal(here.levels().begin(), here.levels().end(), levels.levels().begin()));
  }
}

TEST(LevelSpmmCuda, LevelsByPlanesAreThoseOfTheReference) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  constexpr ScaleExtent extents[] = {ScaleExtent::tensor, ScaleExtent::column, ScaleExtent::row};
  constexpr RowScales kinds[] = {RowScales::by_length, RowScales::each, RowScales::by_length, RowScales::negative};
  std::size_t turn = 0;
  std::vector<GraphCase> all = cuda_graphs();
  all.push_back({"hubs", hubs_of_both_kinds()});
  for (const GraphCase& graph : all) {
    for (const std::size_t width : {64U, 128U, 192U, 256U, 576U}) {
      constexpr auto places = LevelPacking::places, planes = LevelPacking::planes;
      for (const auto& [x_bits, bits, packing] :
           {std::tuple(2, 1, places), std::tuple(1, 2, places), std::tuple(2, 2, planes)}) {
        const ScaleExtent extent = extents[turn % 3];
        const RowScales kind = kinds[turn++ % 4];
        SCOPED_TRACE(testing::Message() << graph.name << ", " << width << " features, " << x_bits << " to " << bits
                                        << " bits, extent " << static_cast<int>(extent) << ", row scales "
                                        << static_cast<int>(kind));
        Aggregation aggregation(graph.a, width, x_bits, turn % 2 == 0 ? ScaleExtent::tensor : ScaleExtent::column,
                                turn % 5 < 3);
        set_row_scales(aggregation, graph.a, kind);
        aggregation.options.rounding = turn % 7 == 0 ? Rounding::floor : Rounding::nearest;
        LevelScale scale = test::random_scale(extent, num_scales(extent, graph.a.nrows(), width), true, turn);
        expect_levels_by_planes(graph.a, aggregation, bits, std::move(scale), device, packing);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(LevelSpmmCuda, NumbersThatAreNoneByPlanesAreThoseOfTheReference) {
  BITGRAPH_REQUIRE_CUDA();
  const CsrPattern a = test::rmat_pattern(7, 1000, 2);
  for (const bool relu : {false, true}) {
    for (const bool by_rows : {false, true}) {
      Aggregation aggregation(a, 128, 2, ScaleExtent::column, true);
      aggregation.options.activation = relu ? Activation::relu : Activation::none;
      test::spoil(aggregation.row_scale, aggregation.bias);
      const ScaleExtent extent = by_rows ? ScaleExtent::row : ScaleExtent::column;
      expect_levels_by_planes(a, aggregation, 2,
                              test::random_scale(extent, num_scales(extent, a.nrows(), 128), true, 9),
                              *test::cuda_device());
    }
  }
}

TEST(LevelSpmmCuda, LevelsInPlanesAreRefusedWhereNoKernelTakesThem) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const CsrPattern a = one_long_row(300), a_there = a.to(device);
  const RowOrder order(a_there);
  const QuantizedMatrix x = to_packing(test::random_levels(300, 64, 2, 1), LevelPacking::planes);
  const QuantizedMatrix x_there = x.to(device);
  Buffer<std::uint64_t> planes(level_spmm_prepared_words(64, false), device);
  const auto refused = [](const auto& call) {
    test::expect_usage_error(call, "levels in planes go to levels in planes, with a row order");
  };
  Floats values(5, 64, device), values_here(5, 64);
  refused([&] { level_spmm_into(values, a_there, x_there, {.row_order = &order}); });
  refused([&] { level_spmm_into(values_here, a, x); });
  QuantizedMatrix out(5, 64, 2, device), out_in_planes(5, 64, 2, device, LevelPacking::planes);
  for (QuantizedMatrix* const to : {&out, &out_in_planes})
    to->set_scale(test::random_scale(ScaleExtent::tensor, 1, true, 9).to(device));
  refused([&] { level_spmm_into(out, a_there, x_there, {.row_order = &order, .planes = planes.span()}); });
  refused([&] { level_spmm_into(out_in_planes, a_there, x_there, {.planes = planes.span()}); });
  refused([&] { level_spmm_into(out_in_planes, a_there, x_there, {.row_order = &order}); });
  level_spmm_into(out_in_planes, a_there, x_there, {.row_order = &order, .planes = planes.span()});
}

TEST(LevelSpmmCuda, TooLittleMemoryForPlanesIsRefused) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const CsrPattern a = one_long_row(300).to(device);
  const QuantizedMatrix x = test::random_levels(300, 64, 2, 1).to(device);
  QuantizedMatrix out(5, 64, 2, device);
  out.set_scale(test::random_scale(ScaleExtent::tensor, 1, true, 9).to(device));
  Buffer<std::uint64_t> planes(level_spmm_plane_words(300, 64) - 1, device);
  test::expect_usage_error([&] { level_spmm_into(out, a, x, {.planes = planes.span()}); },
                           "memory for 2391 words of planes, expected 2392");
}

TEST(LevelSpmmCuda, NumbersThatAreNoneAreThoseOfTheReference) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const CsrPattern a = test::rmat_pattern(7, 1000, 2);
  for (const int bits : {4, 8}) {
    for (const bool relu : {false, true}) {
      Aggregation aggregation(a, 65, bits, ScaleExtent::column, true);
      aggregation.options.activation = relu ? Activation::relu : Activation::none;
      test::spoil(aggregation.row_scale, aggregation.bias);
      Floats values(a.nrows(), 65);
      LevelSpmmArgs args = aggregation.args(a);
      args.out.values = values.view();
      level_spmm(Reference{}, args);
      QuantizedMatrix levels(a.nrows(), 65, bits);
      levels.set_scale(test::random_scale(ScaleExtent::column, 65, true, 9));
      args = aggregation.args(a);
      args.out.levels = levels.view();
      take_out_scale(args.epilogue, levels, "level spmm");
      level_spmm(Reference{}, args);
      const There there(a, aggregation, true, device);
      Floats of_device(a.nrows(), 65, device);
      level_spmm_into(of_device, there.a, there.x, there.options);
      test::expect_identical(of_device.to(Device{}).values(), values.values());
      QuantizedMatrix out(a.nrows(), 65, bits, device);
      out.set_scale(levels.scale().to(device));
      level_spmm_into(out, there.a, there.x, there.options);
      const QuantizedMatrix here = out.to(Device{});
      ASSERT_TRUE(std::equal(here.levels().begin(), here.levels().end(), levels.levels().begin()));
    }
  }
}

TEST(LevelSpmmCuda, SumsPast32BitsHaveAKernelOfTheirOwn) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  constexpr NodeId neighbors = 70000;  // of 65,535 each: 4.6e9
  const CsrPattern a = one_long_row(neighbors).to(device);
  DenseMatrix<std::uint32_t> levels(neighbors, 3);
  for (std::uint32_t& level : levels.values()) level = 65535;
  const QuantizedMatrix x = quantized_from_levels(levels, 16).to(device);
  DenseMatrix<std::int64_t> sums(5, 3, device);
  level_spmm_into(sums, a, x);
  for (std::size_t f = 0; f < 3; ++f) ASSERT_EQ(sums.to(Device{})(3, f), std::int64_t{neighbors} * 65535);
  DenseMatrix<std::int32_t> narrow(5, 3, device);
  test::expect_usage_error([&] { level_spmm_into(narrow, a, x); }, "may pass int32: use int64");
}

TEST(LevelSpmmCuda, ExplainNamesTheKernelAndPredictsItsTime) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const CsrPattern a = one_long_row(300).to(device);
  EXPECT_EQ(level_spmm_explain(a, test::random_levels(300, 8, 8, 1).to(device)).kernel, "level_spmm_rows");
  EXPECT_EQ(level_spmm_explain(a, test::random_levels(300, 8, 9, 1).to(device)).kernel, "level_spmm_wide");
  EXPECT_GT(level_spmm_explain(a, test::random_levels(300, 8, 8, 1).to(device)).seconds, 1e-6);
}

TEST(LevelSpmmCuda, AnOrderOfAnotherGraphIsRefused) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const CsrPattern a = one_long_row(300).to(device);
  const QuantizedMatrix x = test::random_levels(300, 8, 8, 1).to(device);
  Floats out(5, 8, device);
  const RowOrder other(test::random_pattern(4, 300, 0.5, 1).to(device));
  test::expect_usage_error([&] { level_spmm_into(out, a, x, {.row_order = &other}); }, "row_order has 4 rows, A 5");
}

}  // namespace
}  // namespace bitgraph
