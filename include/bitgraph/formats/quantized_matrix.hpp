// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/formats/level_scale.hpp>
#include <bitgraph/formats/level_view.hpp>
#include <bitgraph/formats/number_format.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bitgraph {

/// "places", "planes".
[[nodiscard]] constexpr std::string_view to_string(LevelPacking packing) noexcept {
  return packing == LevelPacking::planes ? "planes" : "places";
}

/// Whole numbers of few bits, row by row: levels 0 .. 2^bits - 1 in nibbles (1 to 4 bits), bytes (5 to 8) or 16 bits
/// (9 to 16; the low byte first). Of two nibbles in a byte the lower half is the even column. Every row starts on a
/// multiple of 8 bytes; what is behind the last column is zero, always. Levels of 2 bits may be packed in planes:
/// LevelPacking. Products and sums of levels take these; other operators refuse them.
class QuantizedMatrix {
 public:
  QuantizedMatrix() = default;

  /// nrows x ncols levels 0 without a scale. Throws usage unless `bits` is 1 to 16, and 2 for planes; not_possible when
  /// memory runs out.
  QuantizedMatrix(std::size_t nrows, std::size_t ncols, int bits, const Device& device = {},
                  LevelPacking packing = LevelPacking::places);

  /// Takes levels packed in places. Throws usage where their number or the scale's does not fit; bad_input where a
  /// level is above 2^bits - 1, what is behind the last column is not zero, or a step is not positive. O(bytes).
  QuantizedMatrix(std::size_t nrows, std::size_t ncols, int bits, Buffer<std::uint8_t> levels, LevelScale scale = {});

  /// The same without a look at levels and scale: they keep the rules.
  QuantizedMatrix(std::size_t nrows, std::size_t ncols, int bits, Buffer<std::uint8_t> levels, LevelScale scale,
                  Trusted, LevelPacking packing = LevelPacking::places) noexcept;

  [[nodiscard]] std::size_t nrows() const noexcept { return nrows_; }
  [[nodiscard]] std::size_t ncols() const noexcept { return ncols_; }
  [[nodiscard]] int bits() const noexcept { return bits_; }
  [[nodiscard]] std::size_t row_bytes() const noexcept { return level_row_bytes(ncols_, bits_, packing_); }
  [[nodiscard]] LevelPacking packing() const noexcept { return packing_; }
  [[nodiscard]] bool in_planes() const noexcept { return packing_ == LevelPacking::planes; }
  [[nodiscard]] const Device& device() const noexcept { return levels_.device(); }
  /// Levels, steps and offsets.
  [[nodiscard]] std::size_t bytes() const noexcept { return levels_.bytes() + scale_.bytes(); }
  [[nodiscard]] NumberFormat format() const noexcept {
    return {NumberKind::levels, bits_, scale_.extent, scale_.has_offsets()};
  }

  [[nodiscard]] const LevelScale& scale() const noexcept { return scale_; }
  /// Throws as require_valid() does, and for a scale on another device.
  void set_scale(LevelScale scale);

  /// Of levels on the host; throws usage elsewhere.
  [[nodiscard]] std::uint32_t level(std::size_t i, std::size_t j) const;
  /// Throws usage for a level above 2^bits - 1, too.
  void set_level(std::size_t i, std::size_t j, std::uint32_t level);
  [[nodiscard]] float value(std::size_t i, std::size_t j) const {
    return scale_.step(i, j) * static_cast<float>(level(i, j)) + scale_.offset(i, j);
  }

  [[nodiscard]] Buffer<std::uint8_t>& levels() noexcept { return levels_; }
  [[nodiscard]] const Buffer<std::uint8_t>& levels() const noexcept { return levels_; }
  [[nodiscard]] QuantizedView<> view() const noexcept {
    return {nrows_, ncols_, row_bytes(), bits_, levels_.data(), packing_};
  }
  [[nodiscard]] QuantizedView<std::uint8_t> view() noexcept {
    return {nrows_, ncols_, row_bytes(), bits_, levels_.data(), packing_};
  }

  [[nodiscard]] QuantizedMatrix clone() const { return to(device()); }
  [[nodiscard]] QuantizedMatrix to(const Device& device) const { return with(levels_.to(device), scale_.to(device)); }
  /// The same storage, not copied, under a handle of the same place: see Buffer::share.
  [[nodiscard]] QuantizedMatrix share(const Device& device) const {
    return with(levels_.share(device), scale_.share(device));
  }
  [[nodiscard]] QuantizedMatrix share() const { return share(device()); }

 private:
  /// The same shape and width with other storage of the same size.
  [[nodiscard]] QuantizedMatrix with(Buffer<std::uint8_t> levels, LevelScale scale) const;

  std::size_t nrows_ = 0;
  std::size_t ncols_ = 0;
  int bits_ = 1;
  LevelPacking packing_ = LevelPacking::places;
  Buffer<std::uint8_t> levels_;
  LevelScale scale_;
};

/// The levels as numbers: QGTC's Tensor.to_val. O(nrows * ncols), on the host.
[[nodiscard]] DenseMatrix<std::uint32_t> to_levels(const QuantizedMatrix& x);

/// Numbers as levels of so many bits, without a scale. Throws bad_input, naming the place, for a number above
/// 2^bits - 1. On the host.
[[nodiscard]] QuantizedMatrix quantized_from_levels(const DenseMatrix<std::uint32_t>& levels, int bits);

/// The same levels and scale, packed otherwise. Throws usage for planes of other than 2 bits. On the host.
[[nodiscard]] QuantizedMatrix to_packing(const QuantizedMatrix& x, LevelPacking packing);

/// The values that the levels mean. O(nrows * ncols), on the host.
[[nodiscard]] DenseMatrix<float> to_dense(const QuantizedMatrix& x);

}  // namespace bitgraph
