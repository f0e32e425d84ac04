// SPDX-License-Identifier: Apache-2.0
// The steps of a small graph's model as one launch of a CUDA device (BitGNN, section 3.4).
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/device.hpp>
#include <bitgraph/core/types.hpp>

#include "nn/row_program.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace bitgraph::nn {

/// A graph of that size is quicker in one launch than in one for each step.
[[nodiscard]] constexpr bool fits_one_launch(std::size_t num_rows, std::size_t entries) noexcept {
  return num_rows <= 16384 && entries <= 16 * 16384;
}

/// The steps on the device, ready to be put on its stream. A warp has the same rows in every step and keeps on chip
/// what it makes of them; rows of others it finds in the exchange.
class OneLaunch {
 public:
  /// Null where the steps cannot be run so, or need more shared memory than there is. Of what the steps write only the
  /// result is used: `before_allocating` may give the rest back.
  [[nodiscard]] static std::unique_ptr<OneLaunch> make(const LaunchSteps& steps, const Device& device,
                                                       const std::function<void()>& before_allocating);

  /// `result` of the steps; waits for nothing. Runs of one object follow each other in the device's stream.
  void run() const;

 private:
  OneLaunch(const RowProgram& program, const Placement& placement, const std::vector<RowRange>& ranges,
            std::size_t shared_bytes, const Device& device);

  Buffer<RowStep> steps_;
  Buffer<Place> places_;
  Buffer<RowRange> ranges_;
  Buffer<std::uint64_t> exchange_;
  Buffer<std::uint32_t> runs_;  ///< how many there were, as each block counts them
  unsigned patterns_ = 0;
  unsigned row_words_ = 0;
  unsigned blocks_ = 0;
  unsigned warps_ = 0;  ///< a block
  unsigned slots_ = 0;  ///< a warp
  std::size_t shared_bytes_ = 0;
};

}  // namespace bitgraph::nn
