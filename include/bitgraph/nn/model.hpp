// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/io/dataset.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace bitgraph::nn {

/// In which numbers a model computes (BitGNN, section 4.2): full precision; binary products with full-precision
/// aggregation; binary products and, in the first layer, a binary vote as aggregation.
enum class Precision { real, full, bin };

[[nodiscard]] std::string_view to_string(Precision precision) noexcept;  ///< "float", "full", "bin"
[[nodiscard]] Precision precision_from_string(std::string_view name);    ///< throws usage

/// A full-precision layer: x W + b.
struct RealLayer {
  DenseMatrix<float> weight;  ///< inputs x outputs
  Buffer<float> bias;
};

/// A binary layer: the signs of the weights, the mean magnitude m of each output's weights, the bias.
struct BinaryLayer {
  BitMatrix<PlusMinusOne> weight;  ///< outputs x inputs
  Buffer<float> scale;
  Buffer<float> bias;
};

/// A trained graph convolutional network, packed: all that inference needs.
struct Model {
  Precision precision = Precision::real;
  std::string dataset;  ///< name of the data set it was trained on
  std::uint64_t seed = 0;
  bool normalize_rows = false;  ///< features of a node are divided by their sum
  Buffer<float> input_mean;     ///< binary models: batch norm of the features
  Buffer<float> input_inverse_deviation;
  std::vector<RealLayer> real;      ///< real models
  std::vector<BinaryLayer> binary;  ///< full and bin models

  [[nodiscard]] std::size_t num_features() const;
  [[nodiscard]] std::size_t hidden() const;
  [[nodiscard]] std::size_t num_classes() const;

  /// Exact size of the weights as held for inference.
  [[nodiscard]] std::size_t bytes() const noexcept;

  /// Throws bad_input naming what does not fit: the width of the features, the number of classes.
  void require_fit(const Dataset& dataset) const;

  /// One safetensors file: packed weights, and metadata that says everything needed to run it. docs/formats.md lists
  /// both.
  void save(const std::filesystem::path& path) const;

  /// Throws bad_input naming the tensor that is missing or misshapen.
  [[nodiscard]] static Model load(const std::filesystem::path& path);
};

}  // namespace bitgraph::nn
