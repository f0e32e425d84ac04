// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace bitgraph {

/// out(i, c) = x(i, c) - log(sum over c of exp(x(i, c))), without overflow. out may be x.
void log_softmax_into(DenseMatrix<float>& out, const DenseMatrix<float>& x);

/// Mean negative log likelihood over some nodes, and how many of them have their label as the first largest logit.
struct Score {
  double loss = 0;
  std::size_t correct = 0;
  std::size_t total = 0;
  [[nodiscard]] double accuracy() const noexcept {
    return total == 0 ? 0 : static_cast<double>(correct) / static_cast<double>(total);
  }
};

/// Of logits or log probabilities; labels and nodes are where the logits are. Nodes without a label (-1) are left out.
/// Waits for a CUDA device. Throws usage for a node or label out of range.
[[nodiscard]] Score score(const DenseMatrix<float>& logits, std::span<const std::int32_t> labels,
                          std::span<const NodeId> nodes);

/// Gradient of Score::loss with respect to the logits: (softmax - onehot) / count on `nodes`, zero elsewhere. Returns
/// the score as well. Throws as score().
Score cross_entropy_backward_into(DenseMatrix<float>& gradient, const DenseMatrix<float>& logits,
                                  std::span<const std::int32_t> labels, std::span<const NodeId> nodes);

/// A score that a CUDA device may still be adding up, so that more can be asked of the device meanwhile. It may be used
/// again: the last function that was given it counts.
class PendingScore {
 public:
  /// Waits for the device. Throws as score(): what is out of range is found only then.
  [[nodiscard]] Score get() const;

 private:
  friend void score_into(PendingScore&, const DenseMatrix<float>&, std::span<const std::int32_t>,
                         std::span<const NodeId>);
  friend void cross_entropy_backward_into(DenseMatrix<float>&, PendingScore&, const DenseMatrix<float>&,
                                          std::span<const std::int32_t>, std::span<const NodeId>);

  Score here_;
  Buffer<std::uint64_t> there_;  ///< what a CUDA device adds up; empty: the score is here
  std::size_t num_nodes_ = 0;
};

/// As score() and cross_entropy_backward_into() above, but they wait for no device and, of one device, allocate in the
/// first call only. The gradient, too, is still being worked out when they return.
void score_into(PendingScore& out, const DenseMatrix<float>& logits, std::span<const std::int32_t> labels,
                std::span<const NodeId> nodes);
void cross_entropy_backward_into(DenseMatrix<float>& gradient, PendingScore& out, const DenseMatrix<float>& logits,
                                 std::span<const std::int32_t> labels, std::span<const NodeId> nodes);

}  // namespace bitgraph
