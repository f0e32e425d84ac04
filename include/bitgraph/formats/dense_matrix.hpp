// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/views.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace bitgraph {

/// A dense row-major matrix without padding between rows.
template <class T = float>
class DenseMatrix {
 public:
  DenseMatrix() = default;

  /// nrows x ncols zeros. Throws not_possible when memory runs out.
  DenseMatrix(std::size_t nrows, std::size_t ncols, Device device = {})
      : nrows_(nrows), ncols_(ncols), values_(checked_product(nrows, ncols), T{}, std::move(device)) {}

  /// Takes the values, row after row. Throws usage unless there are nrows * ncols of them.
  DenseMatrix(std::size_t nrows, std::size_t ncols, Buffer<T> values)
      : nrows_(nrows), ncols_(ncols), values_(std::move(values)) {
    require(values_.size() == checked_product(nrows, ncols), "a dense matrix needs nrows * ncols values");
  }

  [[nodiscard]] std::size_t nrows() const noexcept { return nrows_; }
  [[nodiscard]] std::size_t ncols() const noexcept { return ncols_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return values_.bytes(); }
  [[nodiscard]] const Device& device() const noexcept { return values_.device(); }

  /// Elements are for values on the host. They throw usage elsewhere, but in builds without NDEBUG only: loops over
  /// them are hot. A row or span of values on a CUDA device has the device's addresses.
  [[nodiscard]] T& operator()(std::size_t i, std::size_t j) { return values_[i * ncols_ + j]; }
  [[nodiscard]] const T& operator()(std::size_t i, std::size_t j) const { return values_[i * ncols_ + j]; }
  [[nodiscard]] std::span<T> row(std::size_t i) noexcept { return values_.span().subspan(i * ncols_, ncols_); }
  [[nodiscard]] std::span<const T> row(std::size_t i) const noexcept {
    return values_.span().subspan(i * ncols_, ncols_);
  }
  [[nodiscard]] std::span<T> values() noexcept { return values_.span(); }
  [[nodiscard]] std::span<const T> values() const noexcept { return values_.span(); }

  [[nodiscard]] DenseView<const T> view() const noexcept { return {nrows_, ncols_, ncols_, values_.data()}; }
  [[nodiscard]] DenseView<T> view() noexcept { return {nrows_, ncols_, ncols_, values_.data()}; }
  [[nodiscard]] DenseMatrix clone() const { return {nrows_, ncols_, values_.clone()}; }
  [[nodiscard]] DenseMatrix to(const Device& device) const { return {nrows_, ncols_, values_.to(device)}; }

  /// The same storage, not copied, under a handle of the same place: see Buffer::share.
  [[nodiscard]] DenseMatrix share(const Device& device) const { return {nrows_, ncols_, values_.share(device)}; }
  [[nodiscard]] DenseMatrix share() const { return share(device()); }

 private:
  std::size_t nrows_ = 0;
  std::size_t ncols_ = 0;
  Buffer<T> values_;
};

/// Some rows and columns of a DenseMatrix as an operand, and the device that they are on. Made from a whole matrix
/// where one is given. The matrix must outlive it.
template <class T>
struct DenseSlice {
  DenseView<T> view;
  Device device;

  DenseSlice(DenseView<T> values, Device place) : view(values), device(std::move(place)) {}
  // NOLINTBEGIN(google-explicit-constructor)
  DenseSlice(DenseMatrix<std::remove_const_t<T>>& matrix)
      : DenseSlice({matrix.nrows(), matrix.ncols(), matrix.ncols(), matrix.values().data()}, matrix.device()) {}
  DenseSlice(const DenseMatrix<std::remove_const_t<T>>& matrix) requires std::is_const_v<T>
      : DenseSlice(matrix.view(), matrix.device()) {}
  // NOLINTEND(google-explicit-constructor)

  /// Some rows, or some columns, of it. They must be there.
  [[nodiscard]] DenseSlice rows(std::size_t first, std::size_t count) const {
    return {{count, view.ncols, view.stride, view.row(first)}, device};
  }
  [[nodiscard]] DenseSlice cols(std::size_t first, std::size_t count) const {
    return {{view.nrows, count, view.stride, view.data + first}, device};
  }
};

}  // namespace bitgraph
