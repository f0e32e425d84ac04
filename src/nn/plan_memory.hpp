// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/nn/infer.hpp>

namespace bitgraph::nn {

/// The forms asked for, or the model's own. Throws usage where the model has none such.
[[nodiscard]] std::vector<Precision> checked_forms(const Model& model, const std::vector<Precision>& wanted);

}  // namespace bitgraph::nn
