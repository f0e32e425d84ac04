// SPDX-License-Identifier: Apache-2.0
// A rival's product of a weighted sparse matrix with a dense one in float32: what a full-precision network aggregates
// by.
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include "cli/peers/peer.hpp"

#include <memory>
#include <span>
#include <string>

namespace bitgraph::cli {

class SpmmRival {
 public:
  SpmmRival() = default;
  SpmmRival(const SpmmRival&) = delete;
  SpmmRival& operator=(const SpmmRival&) = delete;
  virtual ~SpmmRival() = default;

  /// Makes out = A x ready by the quickest way, which it finds by trying: `out` changes. Shapes and places stay as they
  /// are. Allocates.
  virtual void prepare(DenseMatrix<float>& out, const DenseMatrix<float>& x) = 0;

  /// out = A x, both as they were prepared.
  virtual void multiply(DenseMatrix<float>& out, const DenseMatrix<float>& x) = 0;
};

/// cuSPARSE's, on the device's stream; null where it is not there, `absent` then says why.
[[nodiscard]] std::unique_ptr<SpmmRival> make_spmm_rival(const PeerMatrix& a, std::span<const float> values,
                                                         const Device& device, std::string& absent);

}  // namespace bitgraph::cli
