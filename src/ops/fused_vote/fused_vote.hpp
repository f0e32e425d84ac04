// SPDX-License-Identifier: Apache-2.0
// The kernels of include/bitgraph/ops/fused_vote.hpp. Rows of bits as words of 32.
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>

#include "core/devices/backend.hpp"
#include "ops/fused_vote/plan.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// Rows of weights: `count` of them, `stride` words apart.
struct FusedWeights {
  const std::uint32_t* words = nullptr;
  std::size_t stride = 0;
  unsigned count = 0;
};

/// Rows by falling length: hubs, then rows that have a warp each, then those that a few threads share, then short ones.
struct FusedOrder {
  const NodeId* rows = nullptr;
  NodeId hubs = 0, warps = 0, groups = 0;  ///< where each ends
};
inline constexpr unsigned fused_short = 64;   ///< short rows have fewer entries
inline constexpr unsigned fused_group = 256;  ///< and those that a few threads share

/// Null pointers: there is none of it.
struct FusedVote {
  CsrPatternView a;
  FusedOrder order;
  unsigned words = 0;  ///< of a row of X
  std::size_t ncols = 0;
  std::size_t stride = 0;  ///< words from one row of X to the next
  const std::uint32_t* x = nullptr;
  const std::uint32_t* own = nullptr;
  std::size_t own_stride = 0;
  std::uint32_t* votes = nullptr;

  FusedWeights scored;
  std::uint16_t* scores = nullptr;     ///< rows of 8, or of 16 where more are scored
  const float* score_scale = nullptr;  ///< not null: as scaled RowScores are

  FusedWeights multiplied, multiplied_before;
  const std::uint32_t* before = nullptr;
  const float* scale = nullptr;
  const float* bias = nullptr;
  float* products = nullptr;
};

struct FusedScoreSum {
  CsrPatternView a;
  FusedOrder order;
  std::size_t ncols = 0;  ///< bits that a score counts
  unsigned count = 0;
  const std::uint16_t* scores = nullptr;
  bool scaled = false;  ///< rows of scores have scales
  const float* row_scale = nullptr;
  const float* scale = nullptr;
  const float* bias = nullptr;
  float* out = nullptr;
  bool add = false;
};

/// Rows of ScaledScores from bits.
struct FusedScoreRows {
  std::size_t nrows = 0;
  unsigned words = 0;  ///< of a row of X, without gaps
  std::size_t ncols = 0;
  const std::uint32_t* x = nullptr;
  FusedWeights weights;
  const float* scale = nullptr;  ///< of each row
  std::size_t row_bytes = 0;
  std::uint8_t* scores = nullptr;
};

/// Their sums: out = row_scale * (scale * sum + bias * the sum of the scales).
struct FusedScaledSum {
  CsrPatternView a;
  FusedOrder order;
  std::size_t ncols = 0;  ///< bits that a score counts
  unsigned count = 0;
  std::size_t row_bytes = 0;
  const std::uint8_t* scores = nullptr;
  const float* row_scale = nullptr;
  const float* scale = nullptr;
  const float* bias = nullptr;
  float* out = nullptr;
};

/// Counts times weights: out = row_scale * (scale * counts w^T + n bias) + own's product.
struct FusedCounts {
  CsrPatternView a;
  FusedOrder order;  ///< without short rows
  unsigned words = 0;
  std::size_t ncols = 0;
  std::size_t stride = 0;  ///< words from one row of X to the next
  const std::uint32_t* x = nullptr;
  FusedWeights weights;
  const float* row_scale = nullptr;
  const float* scale = nullptr;
  const float* bias = nullptr;
  FusedWeights own_weights;  ///< of the row's own bits in X
  const float* own_scale = nullptr;
  const float* own_bias = nullptr;
  float* out = nullptr;
};

/// In the shape that was chosen.
void fused(const Cuda& backend, const FusedVote& args, const fused_cuda::Plan& chosen);
void fused(const Cuda& backend, const FusedScoreSum& args, const fused_cuda::Plan& chosen);
void fused(const Cuda& backend, const FusedScoreRows& args, const fused_cuda::Plan& chosen);
void fused(const Cuda& backend, const FusedScaledSum& args, const fused_cuda::Plan& chosen);
void fused(const Cuda& backend, const FusedCounts& args, const fused_cuda::Plan& chosen);

}  // namespace bitgraph
