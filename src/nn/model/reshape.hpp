// SPDX-License-Identifier: Apache-2.0
// Matrices that are filled anew again and again, as in every step of training: their memory stays while their shape
// does.
#pragma once

#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/formats/level_scale.hpp>
#include <bitgraph/ops/binarize.hpp>

#include "core/memory/lent.hpp"

#include <cstddef>

namespace bitgraph::nn {

/// What is in it does not count, before or behind.
template <class Matrix>
void reshape(Matrix& matrix, std::size_t nrows, std::size_t ncols, const Device& device) {
  if (matrix.nrows() != nrows || matrix.ncols() != ncols) matrix = Matrix(nrows, ncols, device);
}

inline void reshape(Buffer<float>& values, std::size_t size, const Device& device) {
  if (values.size() != size) values = Buffer<float>(size, device);
}

inline void reshape(Binarized& x, std::size_t nrows, std::size_t ncols, const Device& device) {
  reshape(x.bits, nrows, ncols, device);
  reshape(x.alpha, nrows, device);
}

/// kept = from, on `device`.
inline void assign(Buffer<float>& kept, const Buffer<float>& from, const Device& device) {
  reshape(kept, from.size(), device);
  Device::copy(kept.data(), device, from.data(), from.device(), from.bytes());
}
inline void assign(DenseMatrix<float>& kept, const DenseMatrix<float>& from, const Device& device) {
  reshape(kept, from.nrows(), from.ncols(), device);
  Device::copy(kept.values().data(), device, from.values().data(), from.device(), from.bytes());
}
inline void assign(BitMatrix<PlusMinusOne>& kept, const BitMatrix<PlusMinusOne>& from, const Device& device) {
  reshape(kept, from.nrows(), from.ncols(), device);
  Device::copy(kept.words().data(), device, from.words().data(), from.device(), from.words().size_bytes());
}
inline void assign(Binarized& kept, const Binarized& from, const Device& device) {
  assign(kept.bits, from.bits, device);
  assign(kept.alpha, from.alpha, device);
}

inline void assign(LevelScale& kept, const LevelScale& from, const Device& device) {
  kept.extent = from.extent;
  for (Buffer<float>* part : {&kept.steps, &kept.offsets}) {
    if (part->empty()) *part = Buffer<float>(0, device);  // what is not there is there, too
  }
  assign(kept.steps, from.steps, device);
  assign(kept.offsets, from.offsets, device);
}

/// The same where shapes change from step to step: memory grows to that of the largest and stays.
class KeptFloats {
 public:
  DenseMatrix<float>& reshape(std::size_t nrows, std::size_t ncols, const Device& device) {
    if (matrix_.nrows() == nrows && matrix_.ncols() == ncols) return matrix_;
    const std::size_t size = checked_product(nrows, ncols);
    if (memory_.size() < size) {
      const std::size_t room = memory_.empty() ? 0 : size / 8;  // it has grown before, and will again
      matrix_ = {};
      memory_ = {};
      memory_ = Buffer<float>(size + room, device);
    }
    matrix_ = DenseMatrix<float>(nrows, ncols, lent(memory_.data(), size, device));
    return matrix_;
  }

  [[nodiscard]] DenseMatrix<float>& get() noexcept { return matrix_; }

 private:
  Buffer<float> memory_;
  DenseMatrix<float> matrix_;
};

}  // namespace bitgraph::nn
