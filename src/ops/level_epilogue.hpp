// SPDX-License-Identifier: Apache-2.0
// What products and aggregations of levels on the host have in common: their options, and how they store an element.
#pragma once

#include <bitgraph/formats/quantized_matrix.hpp>
#include <bitgraph/ops/quantize.hpp>

#include "formats/levels/level_rows.hpp"
#include "ops/level_views.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bitgraph {

struct LevelSpmmOptions;

[[nodiscard]] LevelScaleView view_of(const LevelScale& scale);

/// Takes the options that products and aggregations have in common. Throws usage for a bias of another length.
void take_options(LevelEpilogue& epilogue, std::span<const float> bias, Activation activation, Rounding rounding,
                  std::size_t columns, const char* op);

/// Takes where rows of values go. Throws usage for rows of another number or, on the host, one that is not there.
void take_value_rows(LevelOut& out, std::span<const NodeId> rows, bool on_host, const char* op);

/// Throws usage where there are rows: those of levels have their own places.
void require_no_value_rows(std::span<const NodeId> rows, const char* op);

/// Takes those of sums over neighbours, of nrows x ncols. Throws usage for a scale or a bias of another length.
void take_options(LevelSumEnd& end, const LevelSpmmOptions& options, std::size_t nrows, std::size_t ncols,
                  const char* op);

/// Takes the scale of levels out, when the activation is there. Throws usage where there is none.
void take_out_scale(LevelEpilogue& epilogue, const LevelScale& scale, const char* op);
void take_out_scale(LevelEpilogue& epilogue, const QuantizedMatrix& out, const char* op);

/// Stores one element of the output, in a loop over all of them: rows of levels hold zeros before. `place` is on the
/// output's scale, and `least` the least one for levels.
inline void put_sum(const LevelOut& out, const LevelEpilogue& epilogue, std::size_t i, std::size_t j, std::int64_t sum,
                    float place, float least) {
  if (epilogue.adds()) place += epilogue.addend(i, j);
  if (out.sums.data != nullptr) {
    out.sums(i, j) = static_cast<std::int32_t>(sum);
  } else if (out.wide_sums.data != nullptr) {
    out.wide_sums(i, j) = sum;
  } else if (out.values.data != nullptr) {
    out.values(out.value_row(i), j) = epilogue.value(place);
  } else {
    const int bits = out.levels.bits;
    put_level(out.levels, i, j,
              epilogue.is_late() ? epilogue.late_level(epilogue.late_scale(i, j), place, bits)
                                 : epilogue.level(place, least, bits));
  }
}

/// The same of a sum of levels over so many neighbours.
inline void put_sum(const LevelSumEnd& end, std::size_t i, std::size_t j, std::int64_t sum, std::size_t neighbors) {
  const float factor = end.epilogue.factor(j);
  const float row_scale = end.row_scale_of(i);
  const float by_step = end.x_scale.step(j) * factor, by_offset = end.x_scale.offset(j) * factor;
  const float rest = std::fma(by_offset, row_scale * static_cast<float>(neighbors), end.epilogue.shift(j, factor));
  put_sum(end.out, end.epilogue, i, j, sum, std::fma(by_step * row_scale, static_cast<float>(sum), rest),
          end.epilogue.least(j, factor));
}

inline void clear_levels(const LevelOut& out, std::size_t i) {
  if (out.levels.data != nullptr) std::fill_n(out.levels.row(i), out.levels.row_bytes, std::uint8_t{0});
}

}  // namespace bitgraph
