// SPDX-License-Identifier: Apache-2.0
// Batches of whole graphs, for a data set of many.
#pragma once

#include "nn/sampling/training_source.hpp"

#include <memory>

namespace bitgraph::nn {

/// Each step sees options.batch_size graphs along the diagonal of one, drawn anew in each epoch; the last step of an
/// epoch sees what is left. All graphs have a label. A batch is made on the host when it is asked
/// for. The other arguments are those of make_training_source(); data set, options and
/// metadata stay where they are.
[[nodiscard]] std::unique_ptr<TrainingSource> make_graph_batches(const Dataset& dataset, const TrainOptions& options,
                                                                 const Model& metadata, float feature_scale,
                                                                 DenseMatrix<float> teacher, const Device& device);

}  // namespace bitgraph::nn
