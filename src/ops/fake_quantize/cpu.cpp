// SPDX-License-Identifier: Apache-2.0
// Plain loops over a row, which the compiler turns into vectors: a training step spends little of its time here.
#include "core/threads/parallel.hpp"
#include "ops/fake_quantize/fake_quantize.hpp"
#include "ops/row_sums.hpp"

#include <algorithm>
#include <vector>

namespace bitgraph {

namespace {

constexpr std::size_t row_grain = 64;

/// To nearest, ties to even, of 0 .. 2^22: behind the sum no bit of a fraction is left.
float nearest(float x) {
  constexpr float shift = 12582912.0F;  // 1.5 * 2^23
  return (x + shift) - shift;
}

/// fn(row i, factor, stride of the scale in a row, first scale).
template <class Fn>
void for_each_row(const Cpu& backend, const FakeQuantizeArgs& args, const Fn& fn) {
  parallel_for(backend.device, args.x.nrows, row_grain,
               [&](std::size_t i) { fn(i, args.factor(i), args.scale_of(i, 0), args.extent == ScaleExtent::column); });
}

}  // namespace

void fake_quantize(const Cpu& backend, const FakeQuantizeArgs& args) {
  for_each_row(backend, args, [&](std::size_t i, float factor, std::size_t first, bool by_column) {
    const float* const x = args.x.row(i);
    float* const out = args.out.row(i);
    const auto quantized = [&](float value, float step, float offset) {
      const float place = (value * factor - offset) / step;
      const float within = place > 0 ? std::min(place, args.most) : 0.0F;
      return (nearest(within) * step + offset) / factor;
    };
    if (by_column) {
      for (std::size_t j = 0; j < args.x.ncols; ++j) out[j] = quantized(x[j], args.steps[j], args.offsets[j]);
    } else {
      const float step = args.steps[first], offset = args.offsets[first];
      for (std::size_t j = 0; j < args.x.ncols; ++j) out[j] = quantized(x[j], step, offset);
    }
  });
}

void fake_quantize_backward(const Cpu& backend, const FakeQuantizeArgs& args) {
  for_each_row(backend, args, [&](std::size_t i, float factor, std::size_t first, bool by_column) {
    const float* const x = args.x.row(i);
    float* const out = args.out.row(i);
    for (std::size_t j = 0; j < args.x.ncols; ++j) {
      const std::size_t s = by_column ? j : first;
      const float place = (x[j] * factor - args.offsets[s]) / args.steps[s];
      const bool passes = place >= -0.5F && place <= args.most + 0.5F;
      out[j] = passes ? out[j] : 0.0F;
    }
  });
}

void learned_scale(const Cpu&, DenseView<float> scale, DenseView<const float> learned) {
  learned_scale(Reference{}, scale, learned);
}

namespace {

/// Sums of one row: those of its elements' scales, or of its own.
void add_slopes(const LearnedScaleArgs& args, std::size_t i, double* of_steps, double* of_places) {
  const FakeQuantizeArgs& at = args.at;
  const std::size_t first = at.scale_of(i, 0);
  const bool by_column = at.extent == ScaleExtent::column;
  const float factor = at.factor(i);
  const float* const x = at.x.row(i);
  const float* const gradient = args.gradient.row(i);
  for (std::size_t j = 0; j < at.x.ncols; ++j) {
    const std::size_t s = by_column ? j : first;
    const float place = (x[j] * factor - at.offsets[s]) / at.steps[s];
    const ScaleSlopes slopes = slopes_of(place, nearest(place), at.most, at.steps[s], at.offsets[s], factor);
    of_steps[by_column ? j : 0] += slopes.of_step * static_cast<double>(gradient[j]);
    of_places[by_column ? j : 0] += slopes.of_place * static_cast<double>(gradient[j]);
  }
}

}  // namespace

void learned_scale_backward(const Cpu& backend, const LearnedScaleArgs& args) {
  const std::size_t count = args.count;
  if (args.at.extent == ScaleExtent::row) {
    return parallel_for(backend.device, count, row_grain, [&](std::size_t i) {
      double of_step = 0, of_place = 0;
      add_slopes(args, i, &of_step, &of_place);
      args.sums[i] = static_cast<float>(of_step);
      args.sums[count + i] = static_cast<float>(of_place);
    });
  }
  const std::vector<double> sums =
      sum_over_rows(backend.device, args.at.x.nrows, 2 * count, [&](double* part, std::size_t first, std::size_t end) {
        for (std::size_t i = first; i < end; ++i) add_slopes(args, i, part, part + count);
      });
  std::transform(sums.begin(), sums.end(), args.sums, [](double sum) { return static_cast<float>(sum); });
}

}  // namespace bitgraph
