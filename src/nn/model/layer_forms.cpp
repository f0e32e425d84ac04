// SPDX-License-Identifier: Apache-2.0
#include "nn/model/layer_forms.hpp"

#include <algorithm>

namespace bitgraph::nn {

namespace {

/// Whether a layer behind one that aggregates as `ahead` reads signs without scales. What each costs and gains is in
/// docs/notebook/training-recipe.md.
bool reads_plain_signs(const Precision& form, Aggregation layer, Aggregation ahead) {
  switch (ahead) {
    case Aggregation::sum: return true;
    case Aggregation::sum_with_self: return is_sum(layer);  // a batch norm is between them: only a sum adds up hubs
    case Aggregation::mean:
    case Aggregation::mean_with_self: return !form.votes();
    default: return false;
  }
}

}  // namespace

std::vector<Precision> forms_of_layers(const Precision& form, std::span<const Aggregation> layers) {
  std::vector<Precision> forms;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const auto ahead = layers.first(l);
    forms.push_back(std::any_of(ahead.begin(), ahead.end(), grows_with_degree) ? form.with_input_by_degree() : form);
    const auto makes_plain = [&](Aggregation other) { return reads_plain_signs(form, layers[l], other); };
    if (std::any_of(ahead.begin(), ahead.end(), makes_plain)) forms.back() = forms.back().with_plain_input();
  }
  if (!forms.empty()) forms.back() = forms.back().of_last_layer();
  return forms;
}

}  // namespace bitgraph::nn
