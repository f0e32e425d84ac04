// SPDX-License-Identifier: Apache-2.0
#include "ops/fake_quantize/fake_quantize.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace bitgraph {

namespace {

template <class Fn>
void for_each_element(const FakeQuantizeArgs& args, const Fn& fn) {
  for (std::size_t i = 0; i < args.x.nrows; ++i) {
    for (std::size_t j = 0; j < args.x.ncols; ++j) fn(i, j, args.place(i, j));
  }
}

}  // namespace

void fake_quantize(const Reference&, const FakeQuantizeArgs& args) {
  for_each_element(args, [&](std::size_t i, std::size_t j, float place) {
    const std::size_t s = args.scale_of(i, j);
    const float within = place > 0 ? std::min(place, args.most) : 0.0F;  // 0 for what is not a number
    args.out(i, j) = (std::nearbyint(within) * args.steps[s] + args.offsets[s]) / args.factor(i);
  });
}

void fake_quantize_backward(const Reference&, const FakeQuantizeArgs& args) {
  for_each_element(args, [&](std::size_t i, std::size_t j, float place) {
    if (!(place >= -0.5F && place <= args.most + 0.5F)) args.out(i, j) = 0;
  });
}

void learned_scale(const Reference&, DenseView<float> scale, DenseView<const float> learned) {
  for (std::size_t n = 0; n < learned.ncols; ++n) {
    scale(0, n) = std::exp(learned(0, n));
    scale(1, n) = learned(1, n) * scale(0, n);
  }
}

void learned_scale_backward(const Reference&, const LearnedScaleArgs& args) {
  std::vector<double> sums(2 * args.count, 0.0);
  for_each_element(args.at, [&](std::size_t i, std::size_t j, float place) {
    const std::size_t s = args.at.scale_of(i, j);
    const ScaleSlopes slopes =
        slopes_of(place, std::nearbyint(place), args.at.most, args.at.steps[s], args.at.offsets[s], args.at.factor(i));
    sums[s] += slopes.of_step * static_cast<double>(args.gradient(i, j));
    sums[args.count + s] += slopes.of_place * static_cast<double>(args.gradient(i, j));
  });
  std::transform(sums.begin(), sums.end(), args.sums, [](double sum) { return static_cast<float>(sum); });
}

}  // namespace bitgraph
