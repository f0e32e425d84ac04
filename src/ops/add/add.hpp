// SPDX-License-Identifier: Apache-2.0
// The kernels of add. See include/bitgraph/ops/add.hpp for what is computed. They leave the padding bits of a binary
// output zero.
#pragma once

#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/ops/activation.hpp>

#include "core/devices/backend.hpp"
#include "core/tanh.hpp"

namespace bitgraph {

/// Null pointers are ones and zeros. Products and sums are rounded one by one on every backend.
template <class In, class Out>
struct AddArgs {
  In a;
  In b;
  Out out;
  const float* a_row = nullptr;
  const float* a_col = nullptr;
  const float* b_row = nullptr;
  const float* b_col = nullptr;
  const float* bias = nullptr;
  Activation activation = Activation::none;

  [[nodiscard]] constexpr float apply(std::size_t i, std::size_t f, float x, float y) const noexcept {
    if (a_col != nullptr) x *= a_col[f];
    if (a_row != nullptr) x *= a_row[i];
    if (b_col != nullptr) y *= b_col[f];
    if (b_row != nullptr) y *= b_row[i];
    float sum = x + y;
    if (bias != nullptr) sum += bias[f];
    if (activation == Activation::tanh) return tanh_of(sum);
    return activation == Activation::relu && sum < 0 ? 0.0F : sum;
  }

  /// Whether all columns of a row are treated alike: then a sum of signs is one of four values.
  [[nodiscard]] constexpr bool same_in_all_columns() const noexcept {
    return a_col == nullptr && b_col == nullptr && bias == nullptr;
  }
};

using AddBitsToBits = AddArgs<BitMatrixView<PlusMinusOne>, BitMatrixView<PlusMinusOne, std::uint64_t>>;
using AddBitsToFloats = AddArgs<BitMatrixView<PlusMinusOne>, DenseView<float>>;
using AddFloatsToBits = AddArgs<DenseView<const float>, BitMatrixView<PlusMinusOne, std::uint64_t>>;
using AddFloatsToFloats = AddArgs<DenseView<const float>, DenseView<float>>;

/// The signs of the sums of a row whose columns are all treated alike: a function of two bits, for words of them.
struct SignTable {
  std::uint64_t neither = 0;  ///< all ones where -1 and -1 give +1
  std::uint64_t only_a = 0;
  std::uint64_t only_b = 0;
  std::uint64_t both = 0;

  constexpr SignTable(const AddBitsToBits& args, std::size_t i) noexcept
      : neither(word(args, i, -1, -1)),
        only_a(word(args, i, 1, -1)),
        only_b(word(args, i, -1, 1)),
        both(word(args, i, 1, 1)) {}

  [[nodiscard]] constexpr std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const noexcept {
    return (a & ((b & both) | (~b & only_a))) | (~a & ((b & only_b) | (~b & neither)));
  }

 private:
  static constexpr std::uint64_t word(const AddBitsToBits& args, std::size_t i, float a, float b) noexcept {
    return args.apply(i, 0, a, b) >= 0 ? ~std::uint64_t{0} : 0;
  }
};

/// The columns that exist of a word of a matrix.
constexpr std::uint64_t columns_of_word(std::size_t ncols, std::size_t word) noexcept {
  const std::size_t left = ncols - word * 64;
  return left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
}

template <class In, class Out>
void add(const Reference& backend, const AddArgs<In, Out>& args);
template <class In, class Out>
void add(const Cpu& backend, const AddArgs<In, Out>& args);
template <class In, class Out>
void add(const Cuda& backend, const AddArgs<In, Out>& args);

}  // namespace bitgraph
