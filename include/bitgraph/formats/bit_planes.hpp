// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/formats/level_scale.hpp>
#include <bitgraph/formats/level_view.hpp>
#include <bitgraph/formats/quantized_matrix.hpp>

#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// Which way the bits of a plane are packed into words (QGTC, section 4.2).
enum class PlanePacking : std::uint8_t {
  rows,  ///< along the columns of a row: the left operand of a product. Row i has its planes one after the other
  /// Along 128 rows, a slab, of a column: the right operand. A slab has octets of columns one after the other, an octet
  /// its planes, a plane two words of each column.
  columns
};

/// A matrix of whole numbers of q bits as q stacked bit matrices (QGTC, section 4.2): plane p has bit p of each level.
/// Bits are packed least significant first into 64-bit words; what is behind the last column and row is zero, always.
class BitPlanes {
 public:
  BitPlanes() = default;

  /// nrows x ncols levels 0 without a scale. Throws usage unless `bits` is 1 to 32; not_possible when memory runs out.
  BitPlanes(std::size_t nrows, std::size_t ncols, int bits, PlanePacking packing = PlanePacking::rows,
            const Device& device = {});

  /// Takes packed words. Throws usage where their number or the scale's does not fit; bad_input where a padding bit is
  /// set or a step is not positive. O(words).
  BitPlanes(std::size_t nrows, std::size_t ncols, int bits, PlanePacking packing, Buffer<std::uint64_t> words,
            LevelScale scale = {});

  /// The same without a look at words and scale: they keep the rules.
  BitPlanes(std::size_t nrows, std::size_t ncols, int bits, PlanePacking packing, Buffer<std::uint64_t> words,
            LevelScale scale, Trusted trusted) noexcept;

  /// Bytes of the words of such planes.
  [[nodiscard]] static std::size_t bytes_of(std::size_t nrows, std::size_t ncols, int bits, PlanePacking packing);

  [[nodiscard]] std::size_t nrows() const noexcept { return nrows_; }
  [[nodiscard]] std::size_t ncols() const noexcept { return ncols_; }
  [[nodiscard]] int bits() const noexcept { return bits_; }
  [[nodiscard]] PlanePacking packing() const noexcept { return packing_; }
  [[nodiscard]] const Device& device() const noexcept { return words_.device(); }
  /// Words, steps and offsets.
  [[nodiscard]] std::size_t bytes() const noexcept { return words_.bytes() + scale_.bytes(); }
  [[nodiscard]] NumberFormat format() const noexcept {
    return {NumberKind::planes, bits_, scale_.extent, scale_.has_offsets()};
  }

  [[nodiscard]] const LevelScale& scale() const noexcept { return scale_; }
  /// Throws as require_valid() does, and for a scale on another device.
  void set_scale(LevelScale scale);

  /// Of levels on the host; throws usage elsewhere.
  [[nodiscard]] std::uint32_t level(std::size_t i, std::size_t j) const;
  [[nodiscard]] float value(std::size_t i, std::size_t j) const {
    return scale_.step(i, j) * static_cast<float>(level(i, j)) + scale_.offset(i, j);
  }

  [[nodiscard]] Buffer<std::uint64_t>& words() noexcept { return words_; }
  [[nodiscard]] const Buffer<std::uint64_t>& words() const noexcept { return words_; }
  [[nodiscard]] BitPlanesView<> view() const noexcept { return {nrows_, ncols_, bits_, words_.data()}; }
  [[nodiscard]] BitPlanesView<std::uint64_t> view() noexcept { return {nrows_, ncols_, bits_, words_.data()}; }

  /// Planes packed by rows, side by side, as one bit matrix of the same storage: plane p of column j is column
  /// p * 64 * words_for_bits(ncols) + j. A sum over its rows counts the bits of all planes at once. Throws usage for
  /// planes that are packed by columns.
  [[nodiscard]] BitMatrix<ZeroOne> side_by_side() const;

  [[nodiscard]] BitPlanes clone() const { return to(device()); }
  [[nodiscard]] BitPlanes to(const Device& device) const { return with(words_.to(device), scale_.to(device)); }
  /// The same storage, not copied, under a handle of the same place: see Buffer::share.
  [[nodiscard]] BitPlanes share(const Device& device) const { return with(words_.share(device), scale_.share(device)); }
  [[nodiscard]] BitPlanes share() const { return share(device()); }

 private:
  /// The same shape and width with other storage of the same size.
  [[nodiscard]] BitPlanes with(Buffer<std::uint64_t> words, LevelScale scale) const;

  std::size_t nrows_ = 0;
  std::size_t ncols_ = 0;
  int bits_ = 1;
  PlanePacking packing_ = PlanePacking::rows;
  Buffer<std::uint64_t> words_;
  LevelScale scale_;
};

/// Numbers as planes of so many bits, without a scale: QGTC's Tensor.to_bit. Throws bad_input, naming the place, for a
/// number above 2^bits - 1. O(nrows * ncols * bits), on the host.
[[nodiscard]] BitPlanes planes_from_levels(const DenseMatrix<std::uint32_t>& levels, int bits,
                                           PlanePacking packing = PlanePacking::rows);

/// The levels as numbers: QGTC's Tensor.to_val.
[[nodiscard]] DenseMatrix<std::uint32_t> to_levels(const BitPlanes& x);

/// The same levels and scale, packed otherwise. On the host.
[[nodiscard]] BitPlanes to_planes(const QuantizedMatrix& x, PlanePacking packing = PlanePacking::rows);
[[nodiscard]] BitPlanes to_packing(const BitPlanes& x, PlanePacking packing);
/// Throws usage for more than 16 bits.
[[nodiscard]] QuantizedMatrix to_quantized(const BitPlanes& x);

/// The values that the levels mean.
[[nodiscard]] DenseMatrix<float> to_dense(const BitPlanes& x);

/// Zero-one bits as one plane without a scale; -1 and +1 as one plane of step 2 and offset -1.
template <BitDomain Domain>
[[nodiscard]] BitPlanes to_planes(const BitMatrix<Domain>& x);

}  // namespace bitgraph
