// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/quantized/level_data.hpp"

#include <bitgraph/core/error.hpp>

#include "core/threads/parallel.hpp"
#include "formats/levels/level_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace bitgraph::cli {

LevelScale centred_scale(ScaleExtent extent, std::size_t count, int bits, float step, RandomKey key) {
  LevelScale scale{extent, Buffer<float>(count), Buffer<float>(count)};
  for (std::size_t s = 0; s < count; ++s) {
    scale.steps[s] = step * (0.5F + random_uniform(key, s));
    scale.offsets[s] = -static_cast<float>(middle_level(bits)) * scale.steps[s];
  }
  return scale;
}

QuantizedMatrix random_level_matrix(std::size_t nrows, std::size_t ncols, int bits, ScaleExtent extent, float step,
                                    RandomKey key, const Device& host) {
  QuantizedMatrix made(nrows, ncols, bits, host);
  const QuantizedView<std::uint8_t> view = made.view();
  const std::size_t words = (ncols + 7) / 8;  // of a row: eight levels of at most 8 bits each
  parallel_for(host, nrows, 64, [&](std::size_t i) {
    for (std::size_t j = 0; j < ncols; ++j) {
      const std::uint64_t word = bitgraph::random_bits(key, i * words + j / 8);
      put_level(view.row(i), j, bits, static_cast<std::uint32_t>(word >> (8 * (j % 8))) & ((1U << bits) - 1));
    }
  });
  const std::size_t count = num_scales(extent, nrows, ncols);
  made.set_scale(centred_scale(extent, count, bits, step, {key.seed, key.tensor, key.step + 1}).to(host));
  return made;
}

Buffer<std::int8_t> centred_bytes(const QuantizedMatrix& levels) {
  Buffer<std::int8_t> bytes(levels.nrows() * levels.ncols());
  const int middle = middle_level(levels.bits());
  parallel_for(levels.device(), levels.nrows(), 64, [&](std::size_t i) {
    for (std::size_t j = 0; j < levels.ncols(); ++j) {
      const auto level = static_cast<int>(level_at(levels.view().row(i), j, levels.bits()));
      bytes[i * levels.ncols() + j] = static_cast<std::int8_t>(level - middle);
    }
  });
  return bytes;
}

DenseMatrix<float> values_of(const QuantizedMatrix& levels, const Device& host) {
  DenseMatrix<float> values(levels.nrows(), levels.ncols(), host);
  parallel_for(host, levels.nrows(), 64, [&](std::size_t i) {
    for (std::size_t j = 0; j < levels.ncols(); ++j) values(i, j) = levels.value(i, j);
  });
  return values;
}

std::vector<std::size_t> rows_to_check(std::size_t nrows) {
  constexpr std::size_t some = 64;
  std::vector<std::size_t> rows;
  for (std::size_t n = 0; n < std::min(some, nrows); ++n)
    rows.push_back(nrows <= some ? n : n * (nrows - 1) / (some - 1));
  return rows;
}

void check_levels(const std::string& what, const QuantizedMatrix& out, const std::vector<std::size_t>& rows,
                  const std::function<double(std::size_t, std::size_t)>& value_of) {
  constexpr double rounding = 0.01;  // of a step, by which a place in float32 may differ
  const QuantizedMatrix found = out.to(Device());
  const double most = (1 << found.bits()) - 1;
  for (const std::size_t i : rows) {
    for (std::size_t j = 0; j < found.ncols(); ++j) {
      const double place = (value_of(i, j) - found.scale().offset(i, j)) / found.scale().step(i, j);
      const std::uint32_t level = found.level(i, j);
      if (std::abs(std::clamp(place, 0.0, most) - level) <= 0.5 + rounding) continue;
      fail(ErrorCode::internal,
           fmt::format("{}: level {} at row {}, column {}, expected about {:.3f}", what, level, i, j, place));
    }
  }
}

}  // namespace bitgraph::cli
