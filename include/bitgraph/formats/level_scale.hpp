// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/number_format.hpp>

#include <cstddef>

namespace bitgraph {

/// What the levels of a matrix mean: value(i, j) = step * level(i, j) + offset. A step, and an offset where there are
/// any, belong to the whole matrix, to a row or to a column; without a scale a level is its own value.
struct LevelScale {
  ScaleExtent extent = ScaleExtent::none;
  Buffer<float> steps;    ///< none, 1, nrows or ncols of them; positive and finite
  Buffer<float> offsets;  ///< as many, finite; or none

  [[nodiscard]] bool has_offsets() const noexcept { return !offsets.empty(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return steps.bytes() + offsets.bytes(); }

  /// Of values on the host.
  [[nodiscard]] float step(std::size_t i, std::size_t j) const { return steps.empty() ? 1.0F : steps[place(i, j)]; }
  [[nodiscard]] float offset(std::size_t i, std::size_t j) const {
    return offsets.empty() ? 0.0F : offsets[place(i, j)];
  }

  [[nodiscard]] LevelScale to(const Device& device) const { return {extent, steps.to(device), offsets.to(device)}; }
  [[nodiscard]] LevelScale share(const Device& device) const {
    return {extent, steps.share(device), offsets.share(device)};
  }

 private:
  [[nodiscard]] std::size_t place(std::size_t i, std::size_t j) const noexcept {
    if (extent == ScaleExtent::row) return i;
    return extent == ScaleExtent::column ? j : 0;
  }
};

/// Steps and offsets that one extent of an nrows x ncols matrix has.
[[nodiscard]] std::size_t num_scales(ScaleExtent extent, std::size_t nrows, std::size_t ncols) noexcept;

/// The same scale, where offsets that are all 0 are none: kernels add nothing then. On the host.
[[nodiscard]] LevelScale without_zero_offsets(LevelScale scale);

/// Throws bad_input, naming the first one, where a step is not positive or not finite or an offset is not finite; usage
/// where there are not as many as the extent has.
void require_valid(const LevelScale& scale, std::size_t nrows, std::size_t ncols);

}  // namespace bitgraph
