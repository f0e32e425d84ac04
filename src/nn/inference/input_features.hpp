// SPDX-License-Identifier: Apache-2.0
// A data set's features as a model's first layer takes them.
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/formats/quantized_matrix.hpp>
#include <bitgraph/formats/sparse_levels.hpp>
#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/model.hpp>
#include <bitgraph/ops/binarize.hpp>
#include <bitgraph/ops/quantize.hpp>

#include "nn/model/normalization.hpp"

#include <optional>
#include <span>
#include <string>
#include <utility>

namespace bitgraph::nn {

/// Binarized features, kept dense or as differences from one row, whichever is smaller. The base row stays on the host.
/// A map may have several columns for each feature, side by side: Model::thresholds. Their signs are dense.
struct PackedFeatures {
  std::optional<SparseBinarized> sparse;
  std::optional<Binarized> dense;

  PackedFeatures(const SparseFeatures& features, std::span<const float> values, const ColumnMap& map,
                 const Device& device);
  /// Rows are taken in the order of `nodes`, where there are some, and divided by their sums first where
  /// `normalize_rows`, some at a time: no copy of all is made.
  PackedFeatures(const DenseMatrix<float>& features, bool normalize_rows, std::span<const NodeId> nodes,
                 const ColumnMap& map, const Device& device);
  void make_dense(const Device& device);  ///< whatever is smaller
  [[nodiscard]] std::span<const float> alpha() const { return sparse ? sparse->alpha.span() : dense->alpha.span(); }
  [[nodiscard]] std::size_t bytes() const noexcept;
};

/// Features in floats: dense, or a pattern with its values.
struct RealFeatures {
  DenseMatrix<float> dense;
  CsrPattern pattern;
  Buffer<float> values;

  /// A device other than the host holds them dense.
  RealFeatures(const SparseFeatures& features, Buffer<float> model_values, FeatureStorage storage,
               const Device& device);
  explicit RealFeatures(DenseMatrix<float> features) : dense(std::move(features)) {}
  [[nodiscard]] bool is_dense() const noexcept { return pattern.nrows() == 0; }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return dense.bytes() + (is_dense() ? 0 : pattern.bytes()) + values.bytes();
  }
};

/// Dense features as levels with a step and an offset for each row, in which 0 is a level's value. Rows in the order of
/// `nodes`, where there are some, and as the rules make them first. Some rows at a time become floats.
[[nodiscard]] QuantizedMatrix level_features(const DenseMatrix<float>& features, const FloatRules& rules,
                                             std::span<const NodeId> nodes, int bits, LevelPacking packing,
                                             const Device& device);
/// The same of sparse features, whose values are as the model takes them; and their entries alone.
[[nodiscard]] QuantizedMatrix level_features(const SparseFeatures& features, std::span<const float> values, int bits,
                                             LevelPacking packing, const Device& device);
[[nodiscard]] SparseLevels sparse_level_features(const SparseFeatures& features, std::span<const float> values,
                                                 int bits, const Device& device);

/// How features become levels: each row, a node's, by its own range.
[[nodiscard]] inline QuantizeOptions features_in_levels(int bits) {
  return {.bits = bits, .extent = ScaleExtent::row, .keeps_zero = true};
}

/// The values of entries of features become those that they have in levels, where 0 stays 0: training then sees what a
/// plan will.
void round_to_levels(std::span<float> values, const SparseFeatures& features, int bits);

/// What threads hold of floats while dense features of which not all are taken, or whose rows are divided by their
/// sums, become bits on the host.
[[nodiscard]] std::size_t binarized_rows_bytes(std::size_t num_features, int threads) noexcept;

/// Whether levels of features are kept as entries: so few of them that products of entries are quicker.
[[nodiscard]] bool keeps_level_entries(std::size_t entries, std::size_t nrows, std::size_t ncols,
                                       FeatureStorage storage, const Device& device);

/// How a plan holds its features: levels that are to change are dense from the start, as they would become.
[[nodiscard]] FeatureStorage storage_of_features(const InferenceOptions& options, const NumberFormat& format) noexcept;

/// The features as a first layer takes them, whose form has `form.input`: row i is node nodes[i]'s, where nodes are
/// given.
struct InputFeatures {
  std::optional<PackedFeatures> packed;
  std::optional<RealFeatures> real;
  std::optional<QuantizedMatrix> levels;
  std::optional<SparseLevels> sparse_levels;

  InputFeatures(const Model& model, const Dataset& dataset, Precision form, FeatureStorage storage,
                const Device& device, std::span<const NodeId> nodes = {}, LevelPacking packing = LevelPacking::places);
  explicit InputFeatures(PackedFeatures features) : packed(std::move(features)) {}
  [[nodiscard]] std::size_t bytes() const noexcept {
    if (levels) return levels->bytes();
    if (sparse_levels) return sparse_levels->bytes();
    return packed ? packed->bytes() : real->bytes();
  }
  [[nodiscard]] std::string format() const;  ///< "bits", "sparse levels of 4 bits", "float" ...
};

/// A form with the format in which a program takes its features: that of its first layer; or floats, where not only
/// products of levels read them.
[[nodiscard]] Precision form_of_features(const Model& model, std::span<const Precision> forms);

/// The features of some nodes.
[[nodiscard]] SparseFeatures features_of(const SparseFeatures& features, std::span<const NodeId> nodes);

[[nodiscard]] DenseMatrix<float> dense_features(const SparseFeatures& features, std::span<const float> values,
                                                const Device& device);

/// A copy of the data set's features as a model sees them, dense whatever they are; in the order of `nodes`, where
/// there are some. Sparse ones can have no means.
[[nodiscard]] DenseMatrix<float> dense_features(const Dataset& dataset, const FloatRules& rules, const Device& device,
                                                std::span<const NodeId> nodes = {});

}  // namespace bitgraph::nn
