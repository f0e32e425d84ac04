// SPDX-License-Identifier: Apache-2.0
// Rows of floats read once, by warps on their own, 64 columns of their rows at a time into registers. Rows may begin
// anywhere.
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>

#include <cstddef>
#include <cstdint>

namespace bitgraph::float_rows {

constexpr unsigned batch_columns = 64;
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

/// Reads batches. Columns behind the last one are 0; rows behind the last one are any.
template <unsigned Halves>
class Reader {
 public:
  static constexpr unsigned tile_rows = 8 * Halves;

  __device__ explicit Reader(const DenseView<const float>& x) : x_(x), width_(read_width(x)) {}

  /// The columns from `column` on, a multiple of 64 below their number, of the rows tile_rows * tile and on.
  __device__ void read(std::size_t tile, std::size_t column, Batch<Halves>& batch) const {
    if (column + batch_columns > x_.ncols) return read_last(tile, column, batch);
    switch (width_) {
      case 4: return read_whole<4>(tile, column, batch);
      case 2: return read_whole<2>(tile, column, batch);
      default: return read_whole<1>(tile, column, batch);
    }
  }

 private:
  [[nodiscard]] __device__ const float* from(std::size_t tile, std::size_t column, unsigned half) const {
    const std::size_t row = tile * tile_rows + 8 * half + threadIdx.x % 32 / 4;
    return x_.data + min(row, x_.nrows - 1) * x_.stride + column + 4 * (threadIdx.x % 4);
  }

  template <unsigned Width>
  __device__ void read_whole(std::size_t tile, std::size_t column, Batch<Halves>& batch) const {
#pragma unroll
    for (unsigned half = 0; half < Halves; ++half) {
      const float* const start = from(tile, column, half);
#pragma unroll
      for (unsigned i = 0; i < batch_parts; ++i) read_four<Width>(start + 16 * i, batch.of[half][i]);
    }
  }

  __device__ void read_last(std::size_t tile, std::size_t column, Batch<Halves>& batch) const {
    const std::size_t left = x_.ncols - column;
#pragma unroll
    for (unsigned half = 0; half < Halves; ++half) {
      const float* const start = from(tile, column, half);
#pragma unroll
      for (unsigned n = 0; n < 4 * batch_parts; ++n) {
        const unsigned at = n / 4 * 16 + n % 4;
        batch.of[half][n / 4][n % 4] = at + 4 * (threadIdx.x % 4) < left ? start[at] : 0.0F;
      }
    }
  }

  const DenseView<const float>& x_;
  const unsigned width_;
};

}  // namespace bitgraph::float_rows
