// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/model.hpp>

#include "core/finite.hpp"
#include "nn/model/architectures.hpp"
#include "nn/program/layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <utility>

namespace bitgraph::nn {

namespace {

class ModelCheck {
 public:
  explicit ModelCheck(const Model& model) : m_(model) {}

  void run() const {
    require(!m_.layers.empty(), "it has no layers");
    require((m_.layers.size() - (m_.concatenates() ? 1 : 0)) % convolution_ == 0,
            "its {} layers are not whole convolutions of {}", m_.layers.size(), convolution_);
    require(!m_.readout || (!m_.network && m_.layer_builder == nullptr && !traits_of(m_.architecture).sampled()),
            "it classifies graphs: expected a gcn or a gin, without a network of its own");
    std::size_t before = m_.layers.front().inputs();
    std::size_t side_by_side = 0;
    for (std::size_t l = 0; l < m_.layers.size(); ++l) {
      const bool last = l + 1 == m_.layers.size();
      const std::size_t inputs = last && m_.concatenates() ? side_by_side : before;
      m_.network ? own_layer(l) : layer(l, inputs);
      before = m_.layers[l].outputs();
      if ((l + 1) % convolution_ == 0) side_by_side += before;
    }
    input();
    if (m_.network || m_.layer_builder != nullptr) program_of(m_).validate();
  }

 private:
  template <class... Args>
  void require(bool holds, fmt::format_string<Args...> what, Args&&... args) const {
    if (!holds) fail(ErrorCode::bad_input, "the model: " + fmt::format(what, std::forward<Args>(args)...));
  }

  /// Of a network of its own.
  void own_layer(std::size_t l) const {
    precision(l);
    level_scales(l, false);
    weights(l, m_.layers[l].neighbor, m_.layers[l].precision.weight);
    if (!m_.layers[l].root.empty()) weights(l, m_.layers[l].root, m_.layers[l].precision.weight);
  }

  void precision(std::size_t l) const {
    const Layer& layer = m_.layers[l];
    const bool last = l + 1 == m_.layers.size();
    require(layer.precision.multiplies_signs() == m_.precision.multiplies_signs() &&
                (m_.has_levels() || !layer.precision.has_levels()),
            "layer {} is of precision {} in a model of precision {}", l, to_string(layer.precision),
            to_string(m_.precision));
    require(!last || !layer.precision.votes(), "its last layer votes, and logits are numbers");
    require(l != 0 || m_.network || !layer.precision.has_plain_input(),
            "layer 0 reads features, whose signs have scales");
  }

  /// The first layer's input is the features, whose scales are those of their rows. The shapes of a network of its own
  /// are checked where it is run.
  void level_scales(std::size_t l, bool known_shapes) const {
    const Layer& layer = m_.layers[l];
    const auto check = [&](const LevelScale& scale, bool there, ScaleExtent extent, std::size_t count, const char* of) {
      const std::size_t found = scale.steps.size();
      require(found == 0 || scale.extent == extent, "layer {}: its {} have steps of another extent", l, of);
      require(scale.offsets.empty() || scale.offsets.size() == found, "layer {}: {} steps and {} offsets of its {}", l,
              found, scale.offsets.size(), of);
      require(scale.steps.device().is_host() && scale.offsets.device().is_host(), "layer {} has steps on a device", l);
      require(known_shapes ? found == (there ? count : 0) : !there || found != 0, "layer {}: {} steps of its {}", l,
              found, of);
      if (found != 0) require_valid(scale, found, found);
    };
    const bool reads_features = known_shapes && l == 0;
    check(layer.input_scale, known_shapes && layer.precision.multiplies_levels() && !reads_features,
          ScaleExtent::tensor, 1, "inputs");
    const bool sums = layer.aggregation != Aggregation::none && layer.precision.sums_levels();
    check(layer.message_scale, known_shapes && sums, ScaleExtent::column, layer.outputs(), "messages");
  }

  void layer(std::size_t l, std::size_t inputs) const {
    const Layer& layer = m_.layers[l];
    const bool last = l + 1 == m_.layers.size();
    precision(l);
    require(layer.inputs() == inputs && inputs > 0, "layer {} takes {} inputs, {} come to it", l, layer.inputs(),
            inputs);
    const bool linear = layer.aggregation == Aggregation::none;
    require(linear == (l % convolution_ != 0 || (last && m_.concatenates())), "layer {} {}", l,
            linear ? "aggregates nothing" : "aggregates, expected a linear layer");
    weights(l, layer.neighbor, layer.precision.weight);
    level_scales(l, true);
    if (layer.root.empty()) {
      require(layer.root.bytes() == 0, "layer {} has scales or biases of a weight that is not there", l);
      return;
    }
    require(!linear, "layer {} is linear and has a second weight", l);
    require(layer.root.inputs() == layer.inputs() && layer.root.outputs() == layer.outputs(),
            "layer {} has weights of {} x {} and {} x {}", l, layer.outputs(), layer.inputs(), layer.root.outputs(),
            layer.root.inputs());
    weights(l, layer.root, layer.precision.weight);
  }

  void weights(std::size_t l, const Linear& w, const NumberFormat& expected) const {
    require(!w.empty() && w.outputs() > 0, "layer {} has no weights", l);
    require(w.format() == expected, "layer {} has weights in {}, expected {}", l, to_string(w.format()),
            to_string(expected));
    const Buffer<float> none;
    const Buffer<float>& scale = w.binary() ? w.signs().alpha : none;
    require(scale.size() == (w.binary() ? w.outputs() : 0) && w.bias.size() == w.outputs(),
            "layer {} has {} outputs, {} scales, {} biases", l, w.outputs(), scale.size(), w.bias.size());
    const Device& device = w.binary()      ? w.signs().bits.device()
                           : w.in_levels() ? w.levels().device()
                                           : w.floats().device();
    for (const Device* place : {&device, &scale.device(), &w.bias.device()}) {
      require(place->is_host(), "layer {} has weights on {}, expected the host", l, place->name());
    }
    const bool floats = !w.binary() && !w.in_levels();
    require((!floats || all_finite(w.floats().values())) && all_finite(scale.span()) && all_finite(w.bias.span()),
            "layer {} has a weight that is infinite or not a number", l);
    require(std::none_of(scale.begin(), scale.end(), [](float s) { return s < 0; }), "layer {} has a negative scale",
            l);
  }

  void input() const {
    const Buffer<float>& mean = m_.input_mean;
    const Buffer<float>& deviation = m_.input_inverse_deviation;
    const std::size_t inputs = m_.layers.front().inputs();
    require(m_.thresholds != 0 && m_.thresholds <= most_thresholds && inputs % m_.thresholds == 0,
            "its {} inputs are not {} of each feature", inputs, m_.thresholds);
    require(m_.thresholds == 1 || (m_.precision.multiplies_signs() && !mean.empty()),
            "{} thresholds of a feature, but no signs are of them", m_.thresholds);
    require(mean.size() == deviation.size() && (mean.empty() || mean.size() == inputs),
            "{} means and {} deviations for {} features", mean.size(), deviation.size(), inputs);
    require(mean.device().is_host() && deviation.device().is_host(), "its means are not on the host");
    require(all_finite(mean.span()) && all_finite(deviation.span()), "a mean or deviation is infinite or not a number");
    require(std::isfinite(m_.input_limit) && m_.input_limit >= 0,
            "its limit of features, {}, is not a number from 0 on", m_.input_limit);
    require(m_.input_limit == 0 || (!m_.precision.multiplies_signs() && !mean.empty()),
            "a limit of features that it takes without means");
  }

  const Model& m_;
  std::size_t convolution_ = layers_of_convolution(traits_of(m_.architecture));
};

}  // namespace

void Model::validate() const { ModelCheck(*this).run(); }

}  // namespace bitgraph::nn
