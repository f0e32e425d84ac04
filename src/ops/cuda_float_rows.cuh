// SPDX-License-Identifier: Apache-2.0
// Rows of floats read once, by warps on their own: while a warp works on 128 columns of some rows, the next ones are on
// their way to shared memory (cp.async). Rows may begin anywhere.
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>

#include <cstddef>
#include <cstdint>

namespace bitgraph::float_rows {

constexpr unsigned chunk_columns = 128;
constexpr unsigned row_floats = chunk_columns + 16;  ///< rows side by side are in different banks

/// Floats that can be copied at a time: rows begin at multiples of them.
__device__ inline unsigned copy_width(const DenseView<const float>& x) {
  const auto start = reinterpret_cast<std::uintptr_t>(x.data);
  if (x.stride % 4 == 0 && start % 16 == 0) return 4;
  return x.stride % 2 == 0 && start % 8 == 0 ? 2 : 1;
}

/// Copies `have` bytes of Width floats, zeros for the rest.
template <unsigned Width>
__device__ void copy_floats(float* to, const float* from, unsigned have) {
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (Width == 4) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(have));
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from), "n"(4 * Width), "r"(have));
  }
}

/// The chunks of tiles first, first + step, ... of RowsPerTile rows, tile by tile. Columns behind the last one and rows
/// behind the last one are zero.
template <unsigned RowsPerTile>
class Stream {
 public:
  static constexpr std::size_t shared_bytes = 2 * RowsPerTile * row_floats * sizeof(float);  ///< of a warp

  __device__ Stream(const DenseView<const float>& x, float* buffers, std::size_t first, std::size_t step)
      : x_(x), buffers_(buffers), width_(copy_width(x)), tile_(first), step_(step) {
    fetch();
  }

  /// The next chunk, for the whole warp: row r at [r * row_floats]. It stays until the next call.
  __device__ const float* next() {
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncwarp();
    const float* const ready = buffers_ + (odd_ ? 0 : RowsPerTile * row_floats);
    fetch();
    return ready;
  }

 private:
  __device__ void fetch() {
    float* const to = buffers_ + (odd_ ? RowsPerTile * row_floats : 0);
    odd_ = !odd_;
    const std::size_t row = tile_ * RowsPerTile;
    if (row >= x_.nrows || x_.ncols == 0) return;
    switch (width_) {
      case 4: fetch_rows<4>(to, row); break;
      case 2: fetch_rows<2>(to, row); break;
      default: fetch_rows<1>(to, row); break;
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    column_ += chunk_columns;
    if (column_ >= x_.ncols) {
      column_ = 0;
      tile_ += step_;
    }
  }

  template <unsigned Width>
  __device__ void fetch_rows(float* to, std::size_t first_row) const {
#pragma unroll
    for (unsigned k = 0; k < 4 / Width; ++k) {
      const unsigned at = (32 * k + threadIdx.x % 32) * Width;
      const std::size_t column = column_ + at;
      const auto left = static_cast<unsigned>(column < x_.ncols ? min(x_.ncols - column, std::size_t{Width}) : 0);
#pragma unroll
      for (unsigned r = 0; r < RowsPerTile; ++r) {
        const bool exists = left != 0 && first_row + r < x_.nrows;
        const float* const from = exists ? x_.data + (first_row + r) * x_.stride + column : x_.data;
        copy_floats<Width>(to + r * row_floats + at, from, exists ? 4 * left : 0);
      }
    }
  }

  const DenseView<const float>& x_;
  float* const buffers_;
  const unsigned width_;
  std::size_t tile_;
  const std::size_t step_;
  std::size_t column_ = 0;
  bool odd_ = false;
};

}  // namespace bitgraph::float_rows
