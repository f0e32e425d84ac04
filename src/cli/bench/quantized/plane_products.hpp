// SPDX-License-Identifier: Apache-2.0
// Products of a dense graph of one bit with levels of a few bits, and their rivals, measured.
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/bit_planes.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include "cli/bench/quantized/call_timer.hpp"
#include "cli/peers/byte_rival.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace bitgraph::cli {

class PlaneProducts {
 public:
  PlaneProducts(CallTimer timer, std::uint64_t seed);

  /// Seconds of a product of a random A of N x N by N x D levels, one call among many.
  [[nodiscard]] double dense(std::size_t nodes, std::size_t columns, int bits);
  /// The same, a call a plane: A is read anew for each. The counts of the planes are not joined.
  [[nodiscard]] double plane_by_plane(std::size_t nodes, std::size_t columns, int bits);
  /// Of a graph, as a bit matrix and as tiles.
  [[nodiscard]] double dense(const CsrPattern& graph, std::size_t columns, int bits);
  [[nodiscard]] double tiles(const CsrPattern& graph, std::size_t columns, int bits);

  /// The rival on the same shape: cuBLASLt in bytes; on the host OpenBLAS in floats. 0 where it is not there.
  [[nodiscard]] double rival(std::size_t nodes, std::size_t columns);
  /// cuBLAS in bfloat16; 0 on the host.
  [[nodiscard]] double bfloat16(std::size_t nodes, std::size_t columns);
  [[nodiscard]] std::string rival_name() const;

 private:
  [[nodiscard]] Buffer<std::uint64_t> random_words(std::size_t count) const;
  template <class T>
  [[nodiscard]] DenseMatrix<T> random_matrix(std::size_t nrows, std::size_t ncols) const;
  [[nodiscard]] BitMatrix<ZeroOne> random_graph(std::size_t nodes) const;
  [[nodiscard]] BitPlanes random_planes(std::size_t nodes, std::size_t columns, int bits) const;

  CallTimer timer_;
  Device device_;
  std::uint64_t seed_;
  std::string absent_;
  std::unique_ptr<ByteRival> rival_;
};

}  // namespace bitgraph::cli
