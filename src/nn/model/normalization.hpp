// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/model.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace bitgraph::nn {

/// D^-1/2 of a pattern with self loops: 1 / sqrt(entries of the row).
inline Buffer<float> inverse_sqrt_degrees(const CsrPattern& a, const Device& device) {
  Buffer<float> scale(a.nrows(), device);
  for (NodeId i = 0; i < a.nrows(); ++i) {
    const auto degree = static_cast<float>(a.row(i).size());
    scale[i] = degree == 0 ? 0.0F : 1.0F / std::sqrt(degree);
  }
  return scale;
}

/// The features' values, each row divided by its sum where that is not zero.
inline Buffer<float> row_normalized(const SparseFeatures& features) {
  Buffer<float> values = features.values.clone();
  for (NodeId i = 0; i < features.pattern.nrows(); ++i) {
    const EdgeOffset begin = features.pattern.row_ptr()[i];
    const EdgeOffset end = features.pattern.row_ptr()[i + 1];
    double sum = 0;
    for (EdgeOffset e = begin; e < end; ++e) sum += values[e];
    if (sum == 0) continue;
    for (EdgeOffset e = begin; e < end; ++e) values[e] = static_cast<float>(values[e] / sum);
  }
  return values;
}

/// The same for rows first .. last - 1 of a dense matrix, in place. Several rows are summed side by side: one sum would
/// wait for each of its additions. Each row's sum is taken in order.
inline void normalize_dense_rows(DenseView<float> x, std::size_t first, std::size_t last) {
  constexpr std::size_t together = 8;
  for (std::size_t i = first; i < last; i += together) {
    const std::size_t rows = std::min(together, last - i);
    std::array<double, together> sums{};
    if (rows == together) {
      const float* const data = x.row(i);
      for (std::size_t j = 0; j < x.ncols; ++j) {
        for (std::size_t r = 0; r < together; ++r) sums[r] += data[r * x.stride + j];
      }
    } else {
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t j = 0; j < x.ncols; ++j) sums[r] += x(i + r, j);
      }
    }
    for (std::size_t r = 0; r < rows; ++r) {
      if (sums[r] == 0) continue;
      float* const row = x.row(i + r);
      for (std::size_t j = 0; j < x.ncols; ++j) row[j] = static_cast<float>(row[j] / sums[r]);
    }
  }
}

/// What a model that reads floats, or levels of them, does to features first.
struct FloatRules {
  bool normalize_rows = false;
  std::span<const float> mean = {}, inverse_deviation = {};  ///< of each feature; empty: none
  float limit = 0;  ///< what is then further from 0 is brought to this distance; 0: none

  [[nodiscard]] bool change() const noexcept { return normalize_rows || !mean.empty(); }

  /// Rows first .. last - 1, in place.
  void apply(DenseView<float> x, std::size_t first, std::size_t last) const {
    if (normalize_rows) normalize_dense_rows(x, first, last);
    if (mean.empty()) return;
    for (std::size_t i = first; i < last; ++i) {
      float* const row = x.row(i);
      for (std::size_t j = 0; j < x.ncols; ++j) row[j] = limited((row[j] - mean[j]) * inverse_deviation[j]);
    }
  }
  [[nodiscard]] float limited(float value) const { return limit == 0 ? value : std::clamp(value, -limit, limit); }
  void apply(DenseMatrix<float>& x) const { apply(x.view(), 0, x.nrows()); }
};

/// The means and deviations of a binary model are those of its signs, not of floats.
inline FloatRules float_rules(const Model& model) {
  if (model.precision.multiplies_signs()) return {.normalize_rows = model.normalize_rows};
  return {model.normalize_rows, model.input_mean.span(), model.input_inverse_deviation.span(), model.input_limit};
}

/// The values that a model sees. Sparse features can have no means.
inline Buffer<float> model_features(const SparseFeatures& features, const FloatRules& rules) {
  Buffer<float> values = rules.normalize_rows ? row_normalized(features) : features.values.clone();
  if (rules.inverse_deviation.empty()) return values;
  for (std::size_t e = 0; e < values.size(); ++e)
    values[e] = rules.limited(values[e] * rules.inverse_deviation[features.pattern.col_ind()[e]]);
  return values;
}

/// A graph as the transductive trainers see it: the pattern of A + I, and D^-1/2.
struct NormalizedGraph {
  CsrPattern pattern;
  Buffer<float> scale;

  NormalizedGraph(const CsrPattern& a, const Device& device)
      : pattern(with_self_loops(a)), scale(inverse_sqrt_degrees(pattern, device)) {}
};

}  // namespace bitgraph::nn
