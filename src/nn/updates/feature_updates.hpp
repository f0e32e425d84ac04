// SPDX-License-Identifier: Apache-2.0
// Input features that change while a plan stands.
#pragma once

#include "nn/inference/input_features.hpp"
#include "nn/updates/changing_rows.hpp"

#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace bitgraph::nn {

/// Storage of a dense matrix that grows to a reserved number of rows at once, and lends out the rows that are in use.
template <class T>
class GrowingRows {
 public:
  /// `size` values over the storage, of which the first are those of `values`, and the new ones 0. The first call takes
  /// `values` over from `matrix`, which owns them.
  template <class Matrix>
  Buffer<T> resize(Matrix& matrix, std::span<T> values, std::size_t size, std::size_t reserved, const Device& device);
  void forget() { owner_.reset(); }  ///< the matrix has storage of its own again

 private:
  std::shared_ptr<void> owner_;
  T* data_ = nullptr;
  std::size_t capacity_ = 0;
};

/// Changes the features of a plan in place, and keeps them as a new plan would hold them. Rows are the plan's rows.
class FeatureUpdates {
 public:
  /// `features` must outlive it. `dense`: the data set's features are dense.
  FeatureUpdates(InputFeatures& features, const Model& model, Precision form, FeatureStorage storage, bool dense,
                 std::size_t num_features, std::size_t reserved_rows, const Device& device);

  /// All rows: row i is that of nodes[i] (empty: of node i). Throws bad_input for values that are not finite.
  void set_all(const DenseMatrix<float>& x, std::span<const NodeId> nodes);
  void set_all(const SparseFeatures& x, std::span<const NodeId> nodes);

  /// The same, as another model sees them, with as many signs of each: from now on rows that are set are seen so, too.
  template <class Features>
  void set_all_as(const Model& model, const Features& x, std::span<const NodeId> nodes);

  /// The same; x may be put in the place of the features, and get what was there before.
  void swap_all(DenseMatrix<float>& x, std::span<const NodeId> nodes);

  /// Row x[i] becomes that of the plan's row rows[i]. The rows ascend.
  void set_rows(std::span<const NodeId> rows, const DenseMatrix<float>& x);
  void set_rows(std::span<const NodeId> rows, const SparseFeatures& x);

  /// New rows are nodes without any feature.
  void resize(std::size_t rows);

  /// Row r becomes what row from[r] is.
  void permute(std::span<const NodeId> from);

  /// Whether arrays or formats are other ones than at the last call: steps that know them must be made anew.
  [[nodiscard]] bool take_moved() { return std::exchange(moved_, false); }

 private:
  [[nodiscard]] ColumnMap map() const { return {header_.input_mean.span(), header_.input_inverse_deviation.span()}; }
  void set_dense_rows(std::span<const NodeId> rows, const DenseMatrix<float>& x);
  void set_sparse_rows(std::span<const NodeId> rows, const SparseFeatures& x);
  void make_levels_dense();
  void set_levels(std::span<const NodeId> rows, const QuantizedMatrix& x);
  void set_signs(std::span<const NodeId> rows, const Binarized& signs);
  void set_flips(std::span<const NodeId> rows, const SparseBinarized& signs);
  void replace_entries(std::span<const NodeId> rows, const CsrPattern& pattern, std::span<const float> values);
  void resize_entries(NodeId rows);
  ChangingRows& entries();
  void show_entries();
  void choose_format();
  const BitMatrix<PlusMinusOne>& base();
  [[nodiscard]] std::size_t flips_of(const std::uint64_t* words);
  [[nodiscard]] std::size_t count_flips();
  void make_sparse();

  InputFeatures& features_;
  Model header_;  ///< what is done to features; no layers
  Precision form_;
  FeatureStorage storage_;
  bool dense_;
  std::size_t width_;
  std::size_t reserved_;
  bool moved_ = false;
  Device device_;
  Device host_;
  std::optional<ChangingRows> entries_;  ///< sparse floats, or where bits differ from the base row
  BitMatrix<PlusMinusOne> base_;         ///< the signs of a node without features, of features that came sparse
  std::optional<std::size_t> flips_;     ///< of signs that came sparse and are kept dense, once counted
  GrowingRows<float> floats_, alpha_;    ///< the scales of signs; of levels the offsets
  GrowingRows<float> steps_;             ///< of levels
  GrowingRows<std::uint8_t> level_rows_;
  GrowingRows<std::uint64_t> words_;
};

/// Throws bad_input naming the first row that has a value that is not finite.
void require_finite(const DenseMatrix<float>& x, const Device& host);
void require_finite(const SparseFeatures& x, const Device& host);

}  // namespace bitgraph::nn
