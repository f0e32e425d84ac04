// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/formats/views.hpp>

#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// Dense bits, row-packed: element j of a row is bit j % 64 (least significant first) of the row's word j / 64.
/// Every row starts on a word. The padding bits behind the last column are zero, always.
template <BitDomain Domain = PlusMinusOne>
class BitMatrix {
 public:
  using domain = Domain;

  BitMatrix() = default;

  /// nrows x ncols, all stored bits zero. Throws not_possible when memory runs out. O(nrows * ncols / 64).
  BitMatrix(std::size_t nrows, std::size_t ncols, Device device = {})
      : nrows_(nrows),
        ncols_(ncols),
        words_(checked_product(nrows, words_for_bits(ncols)), std::uint64_t{0}, std::move(device)) {}

  /// Takes packed words. Throws usage where their number does not fit, bad_input where a padding bit is set.
  BitMatrix(std::size_t nrows, std::size_t ncols, Buffer<std::uint64_t> words);

  /// The same without a look at the words: of a device's they would come to the host for it.
  BitMatrix(std::size_t nrows, std::size_t ncols, Buffer<std::uint64_t> words, Trusted);

  [[nodiscard]] std::size_t nrows() const noexcept { return nrows_; }
  [[nodiscard]] std::size_t ncols() const noexcept { return ncols_; }
  [[nodiscard]] std::size_t words_per_row() const noexcept { return words_for_bits(ncols_); }
  [[nodiscard]] std::size_t bytes() const noexcept { return words_.bytes(); }
  [[nodiscard]] const Device& device() const noexcept { return words_.device(); }

  /// Elements one by one, and comparison, are for values on the host. They throw usage elsewhere.
  [[nodiscard]] bool bit(std::size_t i, std::size_t j) const {
    require_on_host("reading a bit", device());
    return view().bit(i, j);
  }
  [[nodiscard]] float value(std::size_t i, std::size_t j) const { return Domain::value(bit(i, j)); }
  void set_bit(std::size_t i, std::size_t j, bool bit) {
    require_on_host("setting a bit", device());
    std::uint64_t& word = words_[i * words_per_row() + j / 64];
    const std::uint64_t mask = std::uint64_t{1} << (j % 64);
    word = bit ? (word | mask) : (word & ~mask);
  }

  /// Row-major words: nrows * words_per_row of them; addresses of the device where they are on one.
  [[nodiscard]] std::span<const std::uint64_t> words() const noexcept { return words_.span(); }
  [[nodiscard]] std::span<std::uint64_t> words() noexcept { return words_.span(); }

  [[nodiscard]] BitMatrixView<Domain> view() const noexcept { return {nrows_, ncols_, words_per_row(), words_.data()}; }
  [[nodiscard]] BitMatrixView<Domain, std::uint64_t> view() noexcept {
    return {nrows_, ncols_, words_per_row(), words_.data()};
  }

  [[nodiscard]] BitMatrix clone() const { return to(device()); }

  /// A copy on `device`.
  [[nodiscard]] BitMatrix to(const Device& device) const {
    BitMatrix copy;
    copy.nrows_ = nrows_;
    copy.ncols_ = ncols_;
    copy.words_ = words_.to(device);
    return copy;
  }

  /// The same storage, not copied, under a handle of the same place: see Buffer::share.
  [[nodiscard]] BitMatrix share(const Device& device) const {
    BitMatrix shared;
    shared.nrows_ = nrows_;
    shared.ncols_ = ncols_;
    shared.words_ = words_.share(device);
    return shared;
  }
  [[nodiscard]] BitMatrix share() const { return share(device()); }

  friend bool operator==(const BitMatrix& a, const BitMatrix& b) {
    require_on_host("comparing bit matrices", a.device());
    require_on_host("comparing bit matrices", b.device());
    return a.nrows_ == b.nrows_ && a.ncols_ == b.ncols_ &&
           std::equal(a.words_.begin(), a.words_.end(), b.words_.begin());
  }

 private:
  std::size_t nrows_ = 0;
  std::size_t ncols_ = 0;
  Buffer<std::uint64_t> words_;
};

/// The same bits, rows and columns exchanged. O(nrows * ncols / 64) word operations on 64 x 64 blocks, parallel.
template <BitDomain Domain>
[[nodiscard]] BitMatrix<Domain> transpose(const BitMatrix<Domain>& a);

/// Dense bits of a sparse pattern.
[[nodiscard]] BitMatrix<ZeroOne> to_bit_matrix(const CsrPattern& a);

/// The ones of a bit matrix as a pattern. Throws usage where a side exceeds 2^32 - 1.
[[nodiscard]] CsrPattern to_csr(const BitMatrix<ZeroOne>& a);

/// The values that the bits mean: 0/1 or -1/+1.
template <BitDomain Domain>
[[nodiscard]] DenseMatrix<float> to_dense(const BitMatrix<Domain>& a);

}  // namespace bitgraph
