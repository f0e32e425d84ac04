// SPDX-License-Identifier: Apache-2.0
// The end of sums of levels over neighbours on a CUDA device: eight columns of some rows become numbers, values or
// levels, and are stored.
#pragma once

#include "ops/cuda_level_epilogue.cuh"
#include "ops/spmm/cuda/schedule/taken_row.cuh"
#include "ops/spmm/levels/args.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace bitgraph::level_cuda {

constexpr unsigned unit = 8;  ///< columns that a lane stores together: nibbles of a word
using spmm_cuda::no_row;
using spmm_cuda::TakenRow;

/// Which ends of sums a kernel has code for: a call of tanh costs registers wherever it stands.
enum class Ends : unsigned char {
  plain,    ///< all but late levels and values behind a tanh
  by_rows,  ///< late levels on scales by rows, without a tanh
  rare,     ///< late levels and values behind a tanh
  product   ///< levels that stay in the block, and are multiplied there
};
[[nodiscard]] constexpr bool are_late(Ends ends) { return ends == Ends::by_rows || ends == Ends::rare; }
/// What a kernel is given.
template <Ends ends>
using SumArgs = std::conditional_t<ends == Ends::product, SumProductArgs, LevelSpmmArgs>;

/// A row as it is stored.
template <Ends ends>
struct RowEnd {
  NodeId row = no_row;
  float row_scale = 1;
  float count = 0;    ///< of neighbours, by the scale
  OnScale late = {};  ///< the row's own scale

  __device__ RowEnd(const LevelSpmmArgs& args, const TakenRow& taken) : row(taken.row) {
    if (row == no_row) return;
    if (args.row_scale != nullptr) row_scale = __ldg(args.row_scale + row);
    count = row_scale * static_cast<float>(taken.n);
    if (ends == Ends::by_rows || (ends == Ends::rare && args.epilogue.late_by_rows))
      late = late_scale_of(args.epilogue, row);
  }
  /// That of another lane. For a whole warp.
  __device__ RowEnd(const RowEnd& its, unsigned lane)
      : row(__shfl_sync(full_warp, its.row, lane)),
        row_scale(__shfl_sync(full_warp, its.row_scale, lane)),
        count(__shfl_sync(full_warp, its.count, lane)) {
    if constexpr (are_late(ends))
      late = {__shfl_sync(full_warp, its.late.factor, lane), __shfl_sync(full_warp, its.late.shift, lane)};
  }
};

/// Sums that are numbers of their own: Small ones are below 2^23.
template <bool Small, class Sum>
struct PlainSums {
  const Sum* sums;

  [[nodiscard]] __device__ Sum sum(unsigned n) const { return sums[n]; }
  [[nodiscard]] __device__ float number(unsigned n) const {
    if constexpr (Small) return small_float(sums[n]);
    return static_cast<float>(sums[n]);
  }
};

/// Writes eight consecutive values of a row, as many as it has.
template <class ValueOf>
__device__ void store_values(const DenseView<float>& out, std::size_t row, std::size_t first, std::size_t ncols,
                             const ValueOf& value_of) {
  float* const to = out.data + row * out.stride + first;
  if (first + unit <= ncols && reinterpret_cast<std::uintptr_t>(to) % sizeof(float4) == 0) {
#pragma unroll
    for (unsigned n = 0; n < unit; n += 4)
      *reinterpret_cast<float4*>(to + n) = {value_of(n), value_of(n + 1), value_of(n + 2), value_of(n + 3)};
    return;
  }
#pragma unroll
  for (unsigned n = 0; n < unit; ++n) {
    if (first + n < ncols) to[n] = value_of(n);
  }
}

/// Eight columns from `first` on of `Rows` rows, as they are stored: all that the output has of them. row_of(m) is a
/// row, or none, sums_of(m) its sums; place_of(n) is the SumPlace of column first + n. put(row, value_of) stores values
/// of a row, or of none, value_of(n) that of column first + n; with Ends::product put(m, level_of) keeps levels.
template <Ends ends, unsigned Rows, class RowOf, class SumsOf, class PlaceOf, class Put>
struct UnitStore {
  const LevelSpmmArgs& args;
  std::size_t first;
  const RowOf& row_of;
  const SumsOf& sums_of;
  const PlaceOf& place_of;
  const Put& put;

  __device__ void store() const {
    if constexpr (ends == Ends::product) {
      store_plain_levels(LevelRule(args.epilogue, args.out.levels.bits));
    } else {
      store_any();
    }
  }

 private:
  __device__ void store_any() const {
    const LevelOut& out = args.out;
    if (out.sums.data != nullptr) return store_sums(out.sums);
    if (out.wide_sums.data != nullptr) return store_sums(out.wide_sums);
    const LevelRule rule(args.epilogue, out.levels.data == nullptr ? 1 : out.levels.bits);
    if constexpr (ends == Ends::by_rows) return store_late_levels(rule);
    if constexpr (ends == Ends::rare)
      return out.values.data != nullptr ? store_places<true>(rule) : store_late_levels(rule);
    if (out.values.data == nullptr) return store_plain_levels(rule);
    args.x_scale.offsets != nullptr ? store_places<true>(rule) : store_places<false>(rule);
  }

  __device__ void store_plain_levels(const LevelRule& rule) const {
    const bool offsets = args.x_scale.offsets != nullptr;
    rule.dispatch([&]<bool nearest, Limits limits>() {
      // What is rare has one piece of code.
      constexpr bool rare = !nearest || limits == Limits::both;
      rare || offsets ? store_levels_of<nearest, limits, true>(rule) : store_levels_of<nearest, limits, rare>(rule);
    });
  }

  template <class T>
  __device__ void store_sums(const DenseView<T>& out) const {
#pragma unroll
    for (unsigned m = 0; m < Rows; ++m) {
      const RowEnd<ends> end = row_of(m);
      const auto sums = sums_of(m);
#pragma unroll
      for (unsigned n = 0; n < unit; ++n) {
        if (end.row != no_row && first + n < args.x.ncols)
          out.data[end.row * out.stride + first + n] = static_cast<T>(sums.sum(n));
      }
    }
  }

  template <bool offsets>
  __device__ void store_places(const LevelRule& rule) const {
    SumPlace at[unit];
    fill(at);
#pragma unroll
    for (unsigned m = 0; m < Rows; ++m) {
      const RowEnd<ends> end = row_of(m);
      const auto sums = sums_of(m);
      put(end.row, [&](unsigned n) {
        return rule.template value<ends == Ends::rare>(at[n].place<offsets>(sums.number(n), end.count, end.row_scale));
      });
    }
  }

  template <bool nearest, Limits limits, bool offsets>
  __device__ void store_levels_of(const LevelRule& rule) const {
    store_levels_as([&](const SumPlace& at, float number, const RowEnd<ends>& end, unsigned) {
      return rule.unlimited<nearest, limits>(at.place<offsets>(number, end.count, end.row_scale), at.least);
    });
  }

  __device__ void store_late_levels(const LevelRule& rule) const {
    store_levels_as([&](const SumPlace& at, float number, const RowEnd<ends>& end, unsigned n) {
      const LateRow<ends == Ends::rare> late(args.epilogue, end.late);
      const float exists = ends != Ends::rare || first + n < args.x.ncols ? 1.0F : 0.0F;
      return late.level(rule, at.template place<true>(number, end.count, end.row_scale), first + n, exists);
    });
  }

  /// level_of(place of a column, sum, row, n) is a level once it is brought into the range of its place.
  template <class LevelOf>
  __device__ void store_levels_as(const LevelOf& level_of) const {
    SumPlace at[unit];
    fill(at);
    const bool is_last = first + unit > args.x.ncols;
#pragma unroll
    for (unsigned m = 0; m < Rows; ++m) {
      const RowEnd<ends> end = row_of(m);
      const auto sums = sums_of(m);
      int level[unit];
#pragma unroll
      for (unsigned n = 0; n < unit; ++n) level[n] = level_of(at[n], sums.number(n), end, n);
      if (is_last) clear_behind_row(level);
      if constexpr (ends == Ends::product) {
        put(m, [&](unsigned n) { return level[n]; });
      } else if (end.row != no_row) {
        store_levels<unit>(args.out.levels, end.row, first, [&](unsigned n) { return level[n]; });
      }
    }
  }

  /// Places without a column have zeros, whatever the scale of the row.
  __device__ void clear_behind_row(int (&level)[unit]) const {
#pragma unroll
    for (unsigned n = 0; n < unit; ++n) {
      if (first + n >= args.x.ncols) level[n] = 0;
    }
  }

  __device__ void fill(SumPlace (&at)[unit]) const {
#pragma unroll
    for (unsigned n = 0; n < unit; ++n) at[n] = place_of(n);
  }
};

template <Ends ends, unsigned Rows, class RowOf, class SumsOf, class PlaceOf, class Put>
__device__ void store_unit(const LevelSpmmArgs& args, std::size_t first, const RowOf& row_of, const SumsOf& sums_of,
                           const PlaceOf& place_of, const Put& put) {
  UnitStore<ends, Rows, RowOf, SumsOf, PlaceOf, Put>{args, first, row_of, sums_of, place_of, put}.store();
}
/// A lane stores the values of its rows.
template <Ends ends, unsigned Rows, class RowOf, class SumsOf, class PlaceOf>
__device__ void store_unit(const LevelSpmmArgs& args, std::size_t first, const RowOf& row_of, const SumsOf& sums_of,
                           const PlaceOf& place_of) {
  store_unit<ends, Rows>(args, first, row_of, sums_of, place_of, [&](NodeId row, const auto& value_of) {
    if (row != no_row) store_values(args.out.values, value_row_of(args.out, row), first, args.x.ncols, value_of);
  });
}

}  // namespace bitgraph::level_cuda
