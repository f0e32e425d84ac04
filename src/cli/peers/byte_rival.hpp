// SPDX-License-Identifier: Apache-2.0
// A rival's product of dense matrices of bytes with sums of 32 bits: what quantized networks without bits are made of.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/device.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace bitgraph::cli {

class ByteRival {
 public:
  ByteRival() = default;
  ByteRival(const ByteRival&) = delete;
  ByteRival& operator=(const ByteRival&) = delete;
  virtual ~ByteRival() = default;

  /// Makes out = A X^T ready, of an A of out.nrows() x depth and an X of out.ncols() x depth, row by row: both operands
  /// as the library's kernels read them. The rival names some ways, and the quickest is found by trying: `out` changes.
  /// False where it has no way for the shape. Allocates.
  [[nodiscard]] virtual bool prepare(DenseMatrix<std::int32_t>& out, const Buffer<std::int8_t>& a,
                                     const Buffer<std::int8_t>& x, std::size_t depth) = 0;

  /// The product of the shapes that were prepared last. Puts work on the device's stream.
  virtual void multiply(DenseMatrix<std::int32_t>& out, const Buffer<std::int8_t>& a, const Buffer<std::int8_t>& x) = 0;
};

/// cuBLASLt's, on the device's stream; null where it is not there, `absent` then says why.
[[nodiscard]] std::unique_ptr<ByteRival> make_byte_rival(const Device& device, std::string& absent);

}  // namespace bitgraph::cli
