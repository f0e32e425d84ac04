// SPDX-License-Identifier: Apache-2.0
// What the kernels of products of levels are given.
#pragma once

#include <bitgraph/core/types.hpp>

#include "core/devices/backend.hpp"
#include "ops/gemm/levels/wgmma/order.hpp"
#include "ops/level_views.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// The entries of a sparse X.
struct SparseLevelView {
  const EdgeOffset* row_ptr = nullptr;  ///< null: X is not sparse
  const NodeId* col_ind = nullptr;
  const std::uint16_t* levels = nullptr;
};

struct LevelGemmArgs {
  QuantizedView<> x;  ///< of a sparse one without data
  SparseLevelView sparse;
  LevelScaleView x_scale;

  std::size_t outputs = 0;
  int w_bits = 1;
  const std::int8_t* panels = nullptr;
  std::size_t panel_bytes = 0;
  std::size_t num_panels = 0;
  const std::int16_t* w_table = nullptr;  ///< for a sparse X: rows of whole panels
  const std::uint8_t* w_rows = nullptr;   ///< on a CUDA device
  std::size_t w_row_bytes = 0;
  const std::uint8_t* w_image = nullptr;                  ///< the same, for X of these bits; null: there is none
  level_image::Order w_order = level_image::Order::none;  ///< of the image
  const std::uint8_t* w_columns = nullptr;                ///< the same, for a sparse X: columns of whole panels
  std::size_t w_column_bytes = 0;
  const std::int64_t* w_sums = nullptr;
  LevelScaleView w_scale;

  LevelEpilogue epilogue;
  LevelOut out;
};

void level_gemm(const Cuda& backend, const LevelGemmArgs& args);

/// How a CUDA device multiplies dense levels. Where levels have at most 8 bits, sums are below 2^31 and rows of W fit
/// shared memory: by the matrix instructions of compute capability 9.0, on planes of bits where W has an image of
/// planes (wgmma/image_order.hpp), which X in planes needs, else on bytes; or by those of all devices. By halves of up
/// to 16 bits, where rows are not too long; else plainly.
enum class LevelGemmKernel : std::uint8_t { packed, planes, wgmma, tiles, halves, plain };

/// An X of `x_bits` bits by a W of which there may be an image for X of those bits.
struct LevelGemmShape {
  int x_bits = 0, w_bits = 0;
  std::size_t columns = 0;
  level_image::Order image = level_image::Order::none;
  LevelPacking packing = LevelPacking::places;  ///< of X
};
[[nodiscard]] inline LevelGemmShape shape_of(const LevelGemmArgs& args) {
  return {args.x.bits, args.w_bits, args.x.ncols, args.w_order, args.x.packing};
}

[[nodiscard]] bool level_gemm_can(const Cuda& backend, LevelGemmKernel kernel, const LevelGemmShape& shape);
/// The first that can.
[[nodiscard]] LevelGemmKernel level_gemm_kernel(const Cuda& backend, const LevelGemmShape& shape);
/// By one that can.
void level_gemm_by(const Cuda& backend, LevelGemmKernel kernel, const LevelGemmArgs& args);

/// By LevelGemmKernel::halves, of rows of X of which halves_can() is true.
[[nodiscard]] bool halves_can(std::size_t columns) noexcept;
void level_gemm_by_halves(const Cuda& backend, const LevelGemmArgs& args);

/// By LevelGemmKernel::plain.
void level_gemm_plainly(const Cuda& backend, const LevelGemmArgs& args);

/// Products of a sparse X.
void level_gemm_of_entries(const Cuda& backend, const LevelGemmArgs& args);

/// Whether they have the fast kernel: bytes of W, and sums below 2^31 of levels that have 16 bits once that of 0 is
/// taken off.
[[nodiscard]] constexpr bool entries_have_narrow_sums(int x_bits, int w_bits, std::size_t columns) noexcept {
  return x_bits < 16 && w_bits <= 8 && sums_fit(x_bits, w_bits, columns, 31);
}

}  // namespace bitgraph
