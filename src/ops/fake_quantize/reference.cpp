// SPDX-License-Identifier: Apache-2.0
#include "ops/fake_quantize/fake_quantize.hpp"

#include <algorithm>
#include <cmath>

namespace bitgraph {

void fake_quantize(const Reference&, const FakeQuantizeArgs& args) {
  for (std::size_t i = 0; i < args.x.nrows; ++i) {
    const float factor = args.row_scale == nullptr ? 1.0F : args.row_scale[i];
    for (std::size_t j = 0; j < args.x.ncols; ++j) {
      const std::size_t s = args.scale_of(i, j);
      const float place = (args.x(i, j) * factor - args.offsets[s]) / args.steps[s];
      const float within = place > 0 ? std::min(place, args.most) : 0.0F;  // 0 for what is not a number
      args.out(i, j) = (std::nearbyint(within) * args.steps[s] + args.offsets[s]) / factor;
    }
  }
}

void fake_quantize_backward(const Reference&, const FakeQuantizeArgs& args) {
  for (std::size_t i = 0; i < args.x.nrows; ++i) {
    const float factor = args.row_scale == nullptr ? 1.0F : args.row_scale[i];
    for (std::size_t j = 0; j < args.x.ncols; ++j) {
      const std::size_t s = args.scale_of(i, j);
      const float place = (args.x(i, j) * factor - args.offsets[s]) / args.steps[s];
      if (!(place >= -0.5F && place <= args.most + 0.5F)) args.out(i, j) = 0;
    }
  }
}

}  // namespace bitgraph
