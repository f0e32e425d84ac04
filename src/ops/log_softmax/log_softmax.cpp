// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/ops/log_softmax.hpp>

#include "core/threads/parallel.hpp"
#include "ops/log_softmax/cuda.hpp"
#include "ops/operands.hpp"
#include "ops/row_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace bitgraph {

namespace {

struct Normalizer {
  double largest = 0;
  double log_sum = 0;  ///< log of the sum of exp(x - largest)
};

Normalizer normalizer(std::span<const float> row) {
  Normalizer n;
  n.largest = row.empty() ? 0 : *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (const float x : row) sum += std::exp(x - n.largest);
  n.log_sum = std::log(sum);
  return n;
}

/// The label of a node that counts, -1 for one without; throws for what is out of range.
std::int32_t label_of(const DenseMatrix<float>& logits, std::span<const std::int32_t> labels, NodeId node) {
  if (node >= logits.nrows() || node >= labels.size()) {
    fail(ErrorCode::usage, fmt::format("loss: node {} of {} rows and {} labels", node, logits.nrows(), labels.size()));
  }
  const std::int32_t label = labels[node];
  if (label < -1 || label >= static_cast<std::int64_t>(logits.ncols())) {
    fail(ErrorCode::usage, fmt::format("loss: label {} of node {} with {} classes", label, node, logits.ncols()));
  }
  return label;
}

/// fn(node, label) for the nodes that have a label.
template <class Fn>
void for_labelled(const DenseMatrix<float>& logits, std::span<const std::int32_t> labels, std::span<const NodeId> nodes,
                  Fn&& fn) {
  for (const NodeId node : nodes) {
    const std::int32_t label = label_of(logits, labels, node);
    if (label >= 0) fn(node, static_cast<std::size_t>(label));
  }
}

// In a build without CUDA nobody asks for these two.
[[maybe_unused]] LossArgs loss_args(const DenseMatrix<float>& logits, std::span<const std::int32_t> labels,
                                    std::span<const NodeId> nodes) {
  return {logits.view(), labels.data(), labels.size(), nodes.data(), nodes.size()};
}

/// The score that a device's sums give, or the error that they tell of.
Score score_of(const LossSums& sums, std::size_t num_nodes) {
  if (sums.first_bad < num_nodes) {
    fail(ErrorCode::usage,
         fmt::format("loss: node number {} of the list, or its label, is out of range", sums.first_bad));
  }
  Score result{sums.loss, sums.correct, sums.total};
  if (result.total != 0) result.loss /= static_cast<double>(result.total);
  return result;
}

}  // namespace

void log_softmax_into(DenseMatrix<float>& out, const DenseMatrix<float>& x) {
  const Device& device = out.device();
  if (out.nrows() != x.nrows() || out.ncols() != x.ncols()) {
    fail(ErrorCode::usage, fmt::format("log_softmax: X is {} x {}, the output is {} x {}", x.nrows(), x.ncols(),
                                       out.nrows(), out.ncols()));
  }
  check_device("log_softmax", device, x.device(), "X");
  if (on_cuda("log_softmax", device, [&](const auto& cuda) { log_softmax(cuda, out.view(), x.view()); })) return;
  parallel_for(device, x.nrows(), 512, [&](std::size_t i) {
    const Normalizer n = normalizer(x.row(i));
    for (std::size_t c = 0; c < x.ncols(); ++c) out(i, c) = static_cast<float>(x(i, c) - n.largest - n.log_sum);
  });
}

Score score(const DenseMatrix<float>& logits, std::span<const std::int32_t> labels, std::span<const NodeId> nodes) {
  PendingScore pending;
  score_into(pending, logits, labels, nodes);
  return pending.get();
}

Score PendingScore::get() const {
  if (there_.size() == 0) return here_;
  LossSums sums;
  Device::copy(&sums, Device{}, there_.data(), there_.device(), sizeof(sums));
  return score_of(sums, num_nodes_);
}

void score_into(PendingScore& out, const DenseMatrix<float>& logits, std::span<const std::int32_t> labels,
                std::span<const NodeId> nodes) {
  out.num_nodes_ = nodes.size();
  if (on_cuda("log_softmax", logits.device(), [&](const auto& cuda) {
        constexpr std::size_t words = sizeof(LossSums) / sizeof(std::uint64_t);
        if (out.there_.size() != words || !(out.there_.device() == logits.device()))
          out.there_ = Buffer<std::uint64_t>(words, logits.device());
        add_losses(cuda, loss_args(logits, labels, nodes), reinterpret_cast<LossSums*>(out.there_.data()));
      })) {
    return;
  }
  for_labelled(logits, labels, nodes, [](NodeId, std::size_t) {});  // throws before threads begin
  enum Sum { loss, correct, total, num_sums };
  const auto sums =
      sum_over_rows(logits.device(), nodes.size(), num_sums, [&](double* sum, std::size_t first, std::size_t end) {
        for_labelled(logits, labels, nodes.subspan(first, end - first), [&](NodeId node, std::size_t label) {
          const auto row = logits.row(node);
          const Normalizer n = normalizer(row);
          sum[loss] -= row[label] - n.largest - n.log_sum;
          sum[correct] +=
              std::max_element(row.begin(), row.end()) - row.begin() == static_cast<std::ptrdiff_t>(label) ? 1 : 0;
          ++sum[total];
        });
      });
  Score result{sums[loss], static_cast<std::size_t>(sums[correct]), static_cast<std::size_t>(sums[total])};
  if (result.total != 0) result.loss /= static_cast<double>(result.total);
  out.here_ = result;
  out.there_ = {};
}

Score cross_entropy_backward_into(DenseMatrix<float>& gradient, const DenseMatrix<float>& logits,
                                  std::span<const std::int32_t> labels, std::span<const NodeId> nodes) {
  PendingScore pending;
  cross_entropy_backward_into(gradient, pending, logits, labels, nodes);
  return pending.get();
}

void cross_entropy_backward_into(DenseMatrix<float>& gradient, PendingScore& out, const DenseMatrix<float>& logits,
                                 std::span<const std::int32_t> labels, std::span<const NodeId> nodes) {
  if (gradient.nrows() != logits.nrows() || gradient.ncols() != logits.ncols()) {
    fail(ErrorCode::usage, fmt::format("loss: logits are {} x {}, the gradient is {} x {}", logits.nrows(),
                                       logits.ncols(), gradient.nrows(), gradient.ncols()));
  }
  check_device("log_softmax", gradient.device(), logits.device(), "logits");
  score_into(out, logits, labels, nodes);
  if (on_cuda("log_softmax", logits.device(), [&](const auto& cuda) {
        const float zero = 0;
        logits.device().fill(gradient.values().data(), gradient.bytes(), &zero, sizeof(zero));
        add_gradients(cuda, loss_args(logits, labels, nodes), gradient.view(),
                      reinterpret_cast<const LossSums*>(out.there_.data()));
      })) {
    return;
  }
  const double weight = out.here_.total == 0 ? 0 : 1.0 / static_cast<double>(out.here_.total);
  std::fill(gradient.values().begin(), gradient.values().end(), 0.0F);
  for_labelled(logits, labels, nodes, [&](NodeId node, std::size_t label) {
    const Normalizer n = normalizer(logits.row(node));
    for (std::size_t c = 0; c < logits.ncols(); ++c) {
      const double probability = std::exp(logits(node, c) - n.largest - n.log_sum);
      gradient(node, c) += static_cast<float>(weight * (probability - (c == label ? 1.0 : 0.0)));
    }
  });
}

}  // namespace bitgraph
