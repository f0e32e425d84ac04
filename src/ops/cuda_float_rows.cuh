// SPDX-License-Identifier: Apache-2.0
// Rows of floats read once, by warps on their own: while a warp works on 32 columns of its rows, the next ones are on
// their way to its registers. Rows may begin anywhere.
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>

#include <cstddef>
#include <cstdint>

namespace bitgraph::float_rows {

constexpr unsigned batch_columns = 32;
constexpr unsigned batch_parts = batch_columns / 16;

/// Floats that can be read at a time: rows begin at multiples of them.
__device__ inline unsigned read_width(const DenseView<const float>& x) {
  const auto start = reinterpret_cast<std::uintptr_t>(x.data);
  if (x.stride % 4 == 0 && start % sizeof(float4) == 0) return 4;
  return x.stride % 2 == 0 && start % sizeof(float2) == 0 ? 2 : 1;
}

template <unsigned Width>
__device__ void read_four(const float* from, float (&to)[4]) {
  if constexpr (Width == 4) {
    const float4 four = __ldcs(reinterpret_cast<const float4*>(from));
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
  } else {
#pragma unroll
    for (unsigned k = 0; k < 4; k += Width) {
      if constexpr (Width == 2) {
        const float2 two = __ldcs(reinterpret_cast<const float2*>(from + k));
        to[k] = two.x;
        to[k + 1] = two.y;
      } else {
        to[k] = __ldcs(from + k);
      }
    }
  }
}

/// A thread's parts of a batch: of its row, and of the one eight behind it where Halves is 2, the columns
/// 16 i + 4 q + 0..3. Lane 4 g + q of a warp has row g.
template <unsigned Halves>
struct Batch {
  float of[Halves][batch_parts][4];  ///< [half][i][k]
};

/// The batches of tiles first, first + step, ... of 8 Halves rows each, tile by tile. Columns behind the last one are
/// 0; rows behind the last one are any.
template <unsigned Halves>
class Stream {
 public:
  static constexpr unsigned tile_rows = 8 * Halves;

  __device__ Stream(const DenseView<const float>& x, std::size_t first, std::size_t step)
      : x_(x), width_(read_width(x)), tile_(first), step_(step) {
    if (x.ncols != 0) read();
  }

  /// The next batch, while the one behind it is read.
  __device__ Batch<Halves> next() {
    const Batch<Halves> ready = batch_;
    column_ += batch_columns;
    if (column_ >= x_.ncols) {
      column_ = 0;
      tile_ += step_;
    }
    read();
    return ready;
  }

 private:
  __device__ void read() {
    if (tile_ * tile_rows >= x_.nrows) return;
    if (column_ + batch_columns > x_.ncols) return read_last();
    switch (width_) {
      case 4: return read_whole<4>();
      case 2: return read_whole<2>();
      default: return read_whole<1>();
    }
  }

  [[nodiscard]] __device__ const float* row(unsigned half) const {
    const std::size_t at = tile_ * tile_rows + 8 * half + threadIdx.x % 32 / 4;
    return x_.data + min(at, x_.nrows - 1) * x_.stride + column_ + 4 * (threadIdx.x % 4);
  }

  template <unsigned Width>
  __device__ void read_whole() {
#pragma unroll
    for (unsigned half = 0; half < Halves; ++half) {
      const float* const from = row(half);
#pragma unroll
      for (unsigned i = 0; i < batch_parts; ++i) read_four<Width>(from + 16 * i, batch_.of[half][i]);
    }
  }

  __device__ void read_last() {
    const std::size_t left = x_.ncols - column_;
#pragma unroll
    for (unsigned half = 0; half < Halves; ++half) {
      const float* const from = row(half);
#pragma unroll
      for (unsigned n = 0; n < 4 * batch_parts; ++n) {
        const unsigned at = n / 4 * 16 + n % 4;
        batch_.of[half][n / 4][n % 4] = at + 4 * (threadIdx.x % 4) < left ? from[at] : 0.0F;
      }
    }
  }

  const DenseView<const float>& x_;
  const unsigned width_;
  std::size_t tile_;
  const std::size_t step_;
  std::size_t column_ = 0;
  Batch<Halves> batch_;
};

}  // namespace bitgraph::float_rows
