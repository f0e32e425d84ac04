// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/levels/levels.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace bitgraph {

namespace {

/// The level of W that a panel has at its place.
std::uint32_t packed_level(const LevelGemmArgs& args, std::size_t output, std::size_t c) {
  constexpr std::size_t outputs = LevelWeights::panel_outputs, group = LevelWeights::group;
  const std::size_t place = (c / group * outputs + output % outputs) * group + c % group;
  std::uint32_t level = 0;
  for (std::size_t half = 0; half < (args.w_bits > 8 ? 2 : 1); ++half) {
    const std::size_t panel = half * args.num_panels + output / outputs;
    const int byte = args.panels[panel * args.panel_bytes + place] + LevelWeights::shift_of(args.w_bits);
    level |= static_cast<std::uint32_t>(byte) << (8 * half);
  }
  return level;
}

/// A row of X as numbers.
std::vector<std::uint32_t> row_of(const LevelGemmArgs& args, std::size_t i) {
  std::vector<std::uint32_t> row(args.x.ncols);
  if (args.sparse.row_ptr == nullptr) {
    unpack_levels(args.x, i, row);
    return row;
  }
  std::fill(row.begin(), row.end(), zero_level(args.x_scale.step(i), args.x_scale.offset(i), args.x.bits));
  for (EdgeOffset e = args.sparse.row_ptr[i]; e < args.sparse.row_ptr[i + 1]; ++e)
    row[args.sparse.col_ind[e]] = args.sparse.levels[e];
  return row;
}

/// Where the product of row i of X and output j lies on the output's scale.
float place_of(const LevelGemmArgs& args, std::size_t i, std::size_t j, std::int64_t sum, std::int64_t x_sum) {
  const float factor = args.epilogue.factor(j);
  const float x_step = args.x_scale.step(i), x_offset = args.x_scale.offset(i);
  const float by_step = args.w_scale.step(j) * factor;
  const float by_offset = args.w_scale.offset(j) * factor;
  const float w_by_step = args.w_scale.step(j) * static_cast<float>(args.w_sums[j]);
  const float w_by_offset = args.w_scale.offset(j) * static_cast<float>(args.x.ncols);
  const float of_w = (w_by_step + w_by_offset) * factor;
  const float shift = std::fma(x_offset, of_w, args.epilogue.shift(j, factor));
  const float rest = std::fma(by_offset, x_step * static_cast<float>(x_sum), shift);
  return std::fma(by_step * x_step, static_cast<float>(sum), rest);
}

}  // namespace

void level_gemm(const Reference&, const LevelGemmArgs& args) {
  for (std::size_t i = 0; i < args.x.nrows; ++i) {
    const std::vector<std::uint32_t> x = row_of(args, i);
    const std::int64_t x_sum = std::accumulate(x.begin(), x.end(), std::int64_t{0});
    clear_levels(args.out, i);
    for (std::size_t j = 0; j < args.outputs; ++j) {
      std::int64_t sum = 0;
      for (std::size_t c = 0; c < args.x.ncols; ++c) sum += std::int64_t{x[c]} * packed_level(args, j, c);
      const float least = args.epilogue.least(j, args.epilogue.factor(j));
      put_sum(args.out, args.epilogue, i, j, sum, place_of(args, i, j, sum, x_sum), least);
    }
  }
}

}  // namespace bitgraph
