// SPDX-License-Identifier: Apache-2.0
// The float32 product over a graph, which sums of fewer bits are measured beside: cuSPARSE's on a CUDA device, this
// library's vectorised one on the host.
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include "cli/peers/spmm_rival.hpp"

#include <memory>
#include <string>

namespace bitgraph::cli {

class FloatSums {
 public:
  /// Of a graph on the host that outlives this; what is multiplied is on `device`.
  FloatSums(const CsrPattern& graph, const Device& device);

  [[nodiscard]] static std::string name(const Device& device) {
    return device.is_host() ? "float32 CSR product" : "cuSPARSE";
  }
  /// Why it is not there; empty: it is.
  [[nodiscard]] const std::string& absent() const noexcept { return absent_; }

  /// Makes out = A x ready, by the quickest way.
  void prepare(DenseMatrix<float>& out, const DenseMatrix<float>& x);
  /// out = A x, both as they were prepared.
  void multiply(DenseMatrix<float>& out, const DenseMatrix<float>& x);

 private:
  const CsrPattern& graph_;
  std::unique_ptr<SpmmRival> rival_;  ///< on a CUDA device
  std::string absent_;
};

}  // namespace bitgraph::cli
