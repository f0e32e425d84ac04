// SPDX-License-Identifier: Apache-2.0
// Bit rows of the long rows of a matrix, made for one call.
#pragma once

#include "ops/mxm/cuda/meet.cuh"

#include <algorithm>

namespace bitgraph::mxm_cuda {

/// Which rows of a matrix get bit rows, and the memory they take. The host knows no more than the longest row and the
/// number of entries: there is space for as many hubs as there could be.
class HubPlan {
 public:
  /// For `entries` pairs of rows; few are not worth it.
  HubPlan(const CsrPatternView& a, EdgeOffset entries)
      : row_words_((std::size_t{a.ncols} + 31) / 32),
        hub_size_(std::max(cuda_mxm_tuning().least_hub, row_words_ / cuda_mxm_tuning().words_a_hub_entry)) {
    const CudaMxmTuning& tuning = cuda_mxm_tuning();
    if (entries < tuning.entries_for_hubs || a.longest_row < 2 * hub_size_) return;
    num_rows_ = a.nrows;
    most_hubs_ = std::min<std::size_t>({a.nrows, a.num_entries / hub_size_, tuning.most_hub_bytes / (row_words_ * 4)});
    if (most_hubs_ == 0) num_rows_ = 0;
  }

  [[nodiscard]] std::size_t bytes() const { return aligned((1 + num_rows_ + most_hubs_ * (1 + row_words_)) * 4); }

  /// Makes them in `memory`.
  HubBits make(const Device& device, const CsrPatternView& a, std::byte* memory) const;

 private:
  static std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

  std::size_t row_words_;
  std::size_t hub_size_;
  std::size_t most_hubs_ = 0;
  NodeId num_rows_ = 0;
};

}  // namespace bitgraph::mxm_cuda
