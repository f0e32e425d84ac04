// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/level_scale.hpp>
#include <bitgraph/formats/quantized_matrix.hpp>

#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// Levels of a matrix most of whose values are 0: those of its entries. All other places have the level of the value 0
/// on the scale of their row, or of the matrix.
struct SparseLevels {
  CsrPattern pattern;
  Buffer<std::uint16_t> levels;  ///< one an entry
  int bits = 1;                  ///< 1 to 16
  LevelScale scale;              ///< of the tensor or by rows; 0 lies between its least and its greatest value

  [[nodiscard]] std::size_t nrows() const noexcept { return pattern.nrows(); }
  [[nodiscard]] std::size_t ncols() const noexcept { return pattern.ncols(); }
  [[nodiscard]] const Device& device() const noexcept { return pattern.device(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return pattern.bytes() + levels.bytes() + scale.bytes(); }

  [[nodiscard]] SparseLevels to(const Device& device) const {
    return {pattern.to(device), levels.to(device), bits, scale.to(device)};
  }
};

/// The entries that `pattern` names of x, whose other places must have the level of 0: what quantize() with keeps_zero
/// makes of zeros. On the host. O(entries).
[[nodiscard]] SparseLevels to_sparse(const QuantizedMatrix& x, CsrPattern pattern);

/// All levels. On the host. O(nrows * ncols).
[[nodiscard]] QuantizedMatrix to_quantized(const SparseLevels& x);

}  // namespace bitgraph
