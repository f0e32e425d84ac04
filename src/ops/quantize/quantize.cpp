// SPDX-License-Identifier: Apache-2.0
#include "ops/quantize/quantize.hpp"

#include <bitgraph/ops/quantize.hpp>

#include "core/preconditions.hpp"
#include "core/threads/parallel.hpp"
#include "ops/operands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace bitgraph {

namespace {

/// Levels of more bits than floats have digits.
BitPlanes wide_planes(const DenseMatrix<float>& x, const LevelScale& scale, const QuantizeOptions& options,
                      PlanePacking packing) {
  DenseMatrix<std::uint32_t> levels(x.nrows(), x.ncols(), x.device());
  const double most = std::ldexp(1.0, options.bits) - 1;
  parallel_for(x.device(), x.nrows(), 64, [&](std::size_t i) {
    for (std::size_t j = 0; j < x.ncols(); ++j) {
      const double place = (static_cast<double>(x(i, j)) - scale.offset(i, j)) / scale.step(i, j);
      const double within = std::clamp(place, 0.0, most);
      levels(i, j) = static_cast<std::uint32_t>(options.rounding == Rounding::nearest ? std::nearbyint(within)
                                                                                      : std::floor(within));
    }
  });
  return planes_from_levels(levels, options.bits, packing);
}

}  // namespace

void quantize_into(QuantizedMatrix& out, const DenseMatrix<float>& x, Rounding rounding,
                   std::span<const float> row_scale) {
  const Device& device = out.device();
  if (out.nrows() != x.nrows() || out.ncols() != x.ncols()) {
    fail(ErrorCode::usage,
         fmt::format("quantize: X is {} x {}, the output is {} x {}", x.nrows(), x.ncols(), out.nrows(), out.ncols()));
  }
  if (out.scale().extent == ScaleExtent::none) fail(ErrorCode::usage, "quantize: the output has no scale");
  check_in_places("quantize", out, "the output");
  check_device("quantize", device, x.device(), "X");
  if (!row_scale.empty() && row_scale.size() != x.nrows())
    fail(ErrorCode::usage, fmt::format("quantize: {} row scales for {} rows", row_scale.size(), x.nrows()));
  const LevelScale& scale = out.scale();
  const QuantizeArgs args{x.view(),
                          out.view(),
                          scale.extent,
                          scale.steps.data(),
                          scale.has_offsets() ? scale.offsets.data() : nullptr,
                          rounding,
                          row_scale.empty() ? nullptr : row_scale.data()};
  with_backend(device, "quantize", [&](const auto& backend) { quantize(backend, args); });
}

QuantizedMatrix quantize(const DenseMatrix<float>& x, const QuantizeOptions& options) {
  require_host(x.device(), "quantize");
  QuantizedMatrix out(x.nrows(), x.ncols(), options.bits, x.device());
  out.set_scale(choose_scale(x, options));
  quantize_into(out, x, options.rounding);
  return out;
}

BitPlanes quantize_to_planes(const DenseMatrix<float>& x, const QuantizeOptions& options, PlanePacking packing) {
  require_host(x.device(), "quantize_to_planes");
  if (options.bits <= number_traits(NumberKind::levels).most_bits) return to_planes(quantize(x, options), packing);
  LevelScale scale = choose_scale(x, options);
  BitPlanes planes = wide_planes(x, scale, options, packing);
  planes.set_scale(std::move(scale));
  return planes;
}

}  // namespace bitgraph
