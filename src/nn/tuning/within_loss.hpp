// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace bitgraph::nn {

/// True where an accuracy is at most `max_loss` below the best one. Accuracies are shares of whole nodes: a difference
/// that equals max_loss but for the rounding of the shares is within it.
[[nodiscard]] constexpr bool within_loss(double accuracy, double best, double max_loss) noexcept {
  constexpr double rounding = 1e-12;
  return best - accuracy <= max_loss + rounding;
}

}  // namespace bitgraph::nn
