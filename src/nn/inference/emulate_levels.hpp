// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/model.hpp>

#include <vector>

namespace bitgraph::nn {

/// The logits of a model of levels in plain double arithmetic, as include/bitgraph/nn/model.hpp defines them: no two
/// machines differ. `features` are as the model takes them.
[[nodiscard]] DenseMatrix<float> emulate_levels(const Model& model, const Dataset& dataset,
                                                const DenseMatrix<float>& features,
                                                const std::vector<Precision>& forms);

}  // namespace bitgraph::nn
