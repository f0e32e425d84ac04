// SPDX-License-Identifier: Apache-2.0
#include "nn/model/layer_forms.hpp"

namespace bitgraph::nn {

std::vector<Precision> forms_of_layers(const Precision& form, std::span<const Aggregation> layers) {
  std::vector<Precision> forms;
  bool grows = false, sums = false;
  for (const Aggregation aggregation : layers) {
    forms.push_back(grows ? form.with_input_by_degree() : form);
    if (sums) forms.back() = forms.back().with_plain_input();
    grows = grows || grows_with_degree(aggregation);
    sums = sums || aggregation == Aggregation::sum;  // not of gin: docs/notebook/training-recipe.md
  }
  if (!forms.empty()) forms.back() = forms.back().of_last_layer();
  return forms;
}

}  // namespace bitgraph::nn
