// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/model.hpp>

#include <memory>
#include <span>
#include <string>

namespace bitgraph::nn {

/// How the features of a real model are held; those of binary models are packed.
enum class FeatureStorage { dense, sparse };

struct InferenceBytes {
  std::size_t model = 0;
  std::size_t graph = 0;
  std::size_t features = 0;
};

/// A model, a data set and a form made ready to run: features binarized and packed, the graph as the pattern of A + I
/// with its normalization as two vectors, every intermediate allocated. run() allocates nothing.
///
/// full: BMM.BBF, BSpMM.FFF with the normalization as scales, binarize, BMM.BBF, BSpMM.FFF.
/// bin:  BMM.BBB, BSpMM.BBB (a vote), BMM.BBF, BSpMM.FFF (BitGNN, section 4.2).
class InferencePlan {
 public:
  /// Throws bad_input where the model does not fit the data set, usage where it has no such form (a real model in
  /// bits).
  InferencePlan(const Model& model, const Dataset& dataset, Precision form, const Device& device = {},
                FeatureStorage storage = FeatureStorage::sparse);
  ~InferencePlan();
  InferencePlan(InferencePlan&&) noexcept;

  /// Computes the logits, num_nodes x num_classes.
  const DenseMatrix<float>& run();

  [[nodiscard]] InferenceBytes bytes() const noexcept;

  /// How the features are held: "bits", "sparse bits", "float", "sparse float".
  [[nodiscard]] std::string feature_format() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Class with the largest logit of each node.
[[nodiscard]] Buffer<std::int32_t> predict(const DenseMatrix<float>& logits);

/// The same network in plain float arithmetic, signs as +-1.0f and products by the float gemm: what the packed forms
/// are tested against. `form` is full or bin.
[[nodiscard]] DenseMatrix<float> emulate(const Model& model, const Dataset& dataset, Precision form);

}  // namespace bitgraph::nn
