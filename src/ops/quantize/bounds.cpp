// SPDX-License-Identifier: Apache-2.0
// Which values the levels of a matrix stand for.
#include <bitgraph/core/error.hpp>
#include <bitgraph/ops/quantize.hpp>

#include "core/preconditions.hpp"
#include "core/threads/parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace bitgraph {

namespace {

void check(const QuantizeOptions& options) {
  const int most = number_traits(NumberKind::planes).most_bits;
  if (options.bits < 1 || options.bits > most)
    fail(ErrorCode::usage, fmt::format("quantize: {} bits, expected 1 to {}", options.bits, most));
  require(options.extent != ScaleExtent::none, "quantize: levels need a scale: of the tensor, of rows or of columns");
  require(options.percentile > 50 && options.percentile <= 100, "quantize: a percentile is above 50, up to 100");
  if (!options.given) return;
  const auto [least, greatest] = *options.given;
  if (!std::isfinite(least) || !std::isfinite(greatest) || least > greatest)
    fail(ErrorCode::bad_input, fmt::format("quantize: bounds {} and {}", least, greatest));
}

void require_finite(const DenseMatrix<float>& x) {
  for (std::size_t i = 0; i < x.nrows(); ++i) {
    for (std::size_t j = 0; j < x.ncols(); ++j) {
      if (!std::isfinite(x(i, j)))
        fail(ErrorCode::bad_input, fmt::format("quantize: row {}, column {} is {}", i, j, x(i, j)));
    }
  }
}

/// A step and an offset.
struct Grid {
  float step = 1;
  float offset = 0;
};

/// Steps from the least to the greatest level.
double steps_of(const QuantizeOptions& options) {
  return std::ldexp(1.0, options.bits) - (options.rounding == Rounding::nearest ? 1 : 0);
}

Grid grid_of(double least, double greatest, const QuantizeOptions& options) {
  if (options.keeps_zero) {
    least = std::min(least, 0.0);
    greatest = std::max(greatest, 0.0);
  }
  if (!(greatest > least)) return {1, static_cast<float>(least)};
  constexpr double least_step = std::numeric_limits<float>::min();
  constexpr double most_step = std::numeric_limits<float>::max();
  const auto step = static_cast<float>(std::clamp((greatest - least) / steps_of(options), least_step, most_step));
  if (!options.keeps_zero) return {step, static_cast<float>(least)};
  return {step, static_cast<float>(-std::nearbyint(-least / step) * step)};
}

/// The sum of squared errors. Those that are larger than rounding makes, of values beyond the levels, count `cut_off`
/// times.
double squared_error(std::span<const float> values, const Grid& grid, const QuantizeOptions& options, double cut_off) {
  const bool nearest = options.rounding == Rounding::nearest;
  const double most_rounding = nearest ? 0.5 : 1.0;  // steps
  const double most = std::ldexp(1.0, options.bits) - 1;
  double sum = 0;
  for (const float x : values) {
    const double exact = (static_cast<double>(x) - grid.offset) / grid.step;
    const double place = std::clamp(exact, 0.0, most);
    const double level = nearest ? std::nearbyint(place) : std::floor(place);
    const double error = level * grid.step + grid.offset - x;
    sum += error * error * (std::abs(exact - level) > most_rounding ? cut_off : 1.0);
  }
  return sum;
}

/// How often the error of a value that is cut off counts. Errors of rounding cancel out in sums, and the more so the
/// smaller they are beside the values; those of cutting off all have one sign. Up to 4 bits both are alike.
double weight_of_cut_off(const QuantizeOptions& options) {
  constexpr double alike = 4, tenfold = 4;  // bits; more of them for ten times the weight
  return options.bounds == BoundsOf::clipped ? std::pow(10.0, std::max(0.0, (options.bits - alike) / tenfold)) : 1.0;
}

/// The grid for the values of one extent, which may change their order.
Grid choose_grid(std::span<float> values, const QuantizeOptions& options) {
  if (options.given) return grid_of(options.given->least, options.given->greatest, options);
  if (values.empty()) return {};
  if (options.bounds == BoundsOf::percentile) {
    const auto last = static_cast<std::ptrdiff_t>(values.size() - 1);
    const auto above = static_cast<std::ptrdiff_t>(std::ceil(static_cast<double>(last) * options.percentile / 100));
    const auto nth = [&](std::ptrdiff_t n) {
      std::nth_element(values.begin(), values.begin() + n, values.end());
      return values[static_cast<std::size_t>(n)];
    };
    const float greatest = nth(above);
    return grid_of(nth(last - above), greatest, options);
  }
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  const double from = *least, to = *greatest;
  Grid best = grid_of(from, to, options);
  if (options.bounds == BoundsOf::range || !(to > from)) return best;
  const double cut_off = weight_of_cut_off(options);
  double least_error = squared_error(values, best, options, cut_off);
  const auto look = [&](double smaller_from, double smaller_to) {
    const Grid grid = grid_of(smaller_from, smaller_to, options);
    const double error = squared_error(values, grid, options, cut_off);
    if (error >= least_error) return;
    least_error = error;
    best = grid;
  };
  if (options.bounds == BoundsOf::clipped) {
    constexpr int tries = 40;
    constexpr double smaller = 0.89;
    for (int n = 1; n < tries; ++n) look(from * std::pow(smaller, n), to * std::pow(smaller, n));
    return best;
  }
  constexpr int tries = 32;
  for (int n = 1; n < tries; ++n) {
    const double cut = (to - from) * n / (2.0 * tries);
    look(from + cut, to - cut);
  }
  return best;
}

}  // namespace

LevelScale choose_scale(const DenseMatrix<float>& x, const QuantizeOptions& options) {
  check(options);
  require_host(x.device(), "choose_scale");
  require_finite(x);
  const Device& device = x.device();
  const std::size_t scales = num_scales(options.extent, x.nrows(), x.ncols());
  LevelScale scale{options.extent, Buffer<float>(scales, device), Buffer<float>(scales, device)};
  parallel_ranges(device, scales, 1, [&](Range range) {
    std::vector<float> values;
    for (std::size_t s = range.begin; s < range.end; ++s) {
      if (options.extent == ScaleExtent::tensor) {
        values.assign(x.values().begin(), x.values().end());
      } else if (options.extent == ScaleExtent::row) {
        values.assign(x.row(s).begin(), x.row(s).end());
      } else {
        values.resize(x.nrows());
        for (std::size_t i = 0; i < x.nrows(); ++i) values[i] = x(i, s);
      }
      const Grid grid = choose_grid(values, options);
      scale.steps[s] = grid.step;
      scale.offsets[s] = grid.offset;
    }
  });
  return scale;
}

}  // namespace bitgraph
