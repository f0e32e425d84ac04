// SPDX-License-Identifier: Apache-2.0
#include "ops/fake_quantize/fake_quantize.hpp"

#include <algorithm>
#include <cmath>

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

}  // namespace bitgraph
