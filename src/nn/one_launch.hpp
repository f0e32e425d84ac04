// SPDX-License-Identifier: Apache-2.0
// The steps of a small graph's model as one cooperative launch of a CUDA device (BitGNN, section 3.4).
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/device.hpp>
#include <bitgraph/core/types.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace bitgraph::nn {

/// One step, on every row of its output. What a kind does not use is null. Bits have `width` columns in rows of whole
/// 64-bit words; the output's kind is told by which of bits_out and floats_out is set.
struct LaunchStep {
  enum class Kind : std::uint8_t {
    product,         ///< bits_in times `weight`, rows of bits; y = row_scale (col_scale s) + bias
    sparse_product,  ///< the sum of rows of `weight` over the pattern; y = row_scale (col_scale v + col_offset) + bias
    vote,            ///< the majority of bits_in over the pattern, a tie being +1
    sum,             ///< of floats_in times neighbor_scale over the pattern; y = row_scale v + bias
    binarize,        ///< signs of floats_in, and their mean magnitude to scale_out
    either,          ///< bits_out |= bits_in
    add              ///< floats_out += floats_in
  };
  Kind kind = Kind::product;
  std::size_t in_width = 0;
  std::size_t out_width = 0;
  const EdgeOffset* row_ptr = nullptr;
  const NodeId* col_ind = nullptr;
  const std::uint64_t* bits_in = nullptr;
  const float* floats_in = nullptr;
  const std::uint64_t* weight = nullptr;
  const float* row_scale = nullptr;
  const float* neighbor_scale = nullptr;
  const float* col_scale = nullptr;
  const float* col_offset = nullptr;
  const float* bias = nullptr;
  std::uint64_t* bits_out = nullptr;
  float* floats_out = nullptr;
  float* scale_out = nullptr;
  bool waits = false;  ///< all blocks meet ahead of it; set by LaunchSteps::add
};

inline constexpr std::size_t most_launch_steps = 20;

struct LaunchSteps {
  std::array<LaunchStep, most_launch_steps> steps;
  std::size_t count = 0;
  std::size_t num_rows = 0;

  /// Blocks wait where a step reads other rows of what was written since they last did, and where one writes what was
  /// so read. Throws usage behind the most steps.
  void add(LaunchStep step);
};

/// A graph of that size is quicker in one launch than in one for each step.
[[nodiscard]] constexpr bool fits_one_launch(std::size_t num_rows, std::size_t entries) noexcept {
  return num_rows <= 16384 && entries <= 16 * 16384;
}

/// The steps on the device, ready to be put on its stream. A warp takes the same rows in every step.
class OneLaunch {
 public:
  OneLaunch(const LaunchSteps& steps, const Device& device);
  void run() const;

 private:
  Buffer<LaunchStep> steps_;
  [[maybe_unused]] std::size_t num_rows_ = 0;  // of kernels that are not in every build
  [[maybe_unused]] unsigned blocks_ = 0;
  [[maybe_unused]] unsigned warps_ = 0;  ///< a block
};

}  // namespace bitgraph::nn
