// SPDX-License-Identifier: Apache-2.0
#include "ops/quantize/quantize.hpp"

#include "formats/levels/level_rows.hpp"

#include <algorithm>
#include <cmath>

namespace bitgraph {

void quantize(const Reference&, const QuantizeArgs& args) {
  const auto most = static_cast<float>((1U << args.out.bits) - 1);
  for (std::size_t i = 0; i < args.x.nrows; ++i) {
    const float factor = args.row_scale == nullptr ? 1.0F : args.row_scale[i];
    std::fill_n(args.out.row(i), args.out.row_bytes, std::uint8_t{0});
    for (std::size_t j = 0; j < args.x.ncols; ++j) {
      const std::size_t s = args.extent == ScaleExtent::row ? i : args.extent == ScaleExtent::column ? j : 0;
      const float scaled = args.x(i, j) * factor;
      const float x = args.offsets == nullptr ? scaled : scaled - args.offsets[s];
      const float place = x / args.steps[s];
      const float within = place >= 0 ? std::min(place, most) : 0.0F;  // 0 for what is not a number
      const float level = args.rounding == Rounding::nearest ? std::nearbyint(within) : std::floor(within);
      put_level(args.out.row(i), j, args.out.bits, static_cast<std::uint32_t>(level));
    }
  }
}

}  // namespace bitgraph
