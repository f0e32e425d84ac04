// SPDX-License-Identifier: Apache-2.0
// A step of training in plain double arithmetic, over dense matrices: the forward pass, the loss, all gradients by the
// rules of docs/architecture.md, and Adam. It shares no code with the trainers.
#pragma once

#include "support/double_matrix.hpp"

#include <bitgraph/nn/model.hpp>
#include <bitgraph/nn/precision.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace bitgraph::test {

/// What a layer is given in one step.
struct OracleLayer {
  nn::Precision form;
  bool plain = false;        ///< signs of the input have no scales
  DoubleMatrix aggregation;  ///< targets x inputs, with its normalization; empty: a linear layer
  DoubleMatrix entries;      ///< the same with 1 for each entry: what a vote sums over
  DoubleMatrix dropout;      ///< of the layer's input: 0 or 1 / (1 - rate). Of the first layer it is not read
};

/// What a step is given.
struct OracleStep {
  DoubleMatrix input;  ///< of the first layer's products: after dropout, and less the center
  std::vector<OracleLayer> layers;
  std::vector<std::int32_t> labels;  ///< one a row of the logits
  std::vector<std::size_t> counted;  ///< rows that count in the loss; those without a label do not
  std::vector<double> loss_weight;   ///< of each row; empty: 1
  DoubleMatrix taught;               ///< a teacher's probabilities; empty: none
  double divergence_weight = 1;      ///< of the divergence from them
};

/// A trained tensor.
struct OracleTensor {
  DoubleMatrix value, gradient, first_moment, second_moment, average;
  double decay = 0;
};

class NetworkOracle {
 public:
  /// Tensors stand in the trainers' order: of each layer weight and bias of its neighbours, then of the node itself.
  /// Real layers have no bias of the node itself. Then scale, mean and variance of a batch norm, whose shift is the
  /// bias of the neighbours.
  NetworkOracle(std::vector<nn::LayerShape> shapes, bool real, bool concatenates)
      : shapes_(std::move(shapes)), real_(real), concatenates_(concatenates), states_(shapes_.size()) {
    for (std::size_t l = 0; l < shapes_.size(); ++l) {
      State& state = states_[l];
      state.neighbor = add_map(shapes_[l], true);
      if (shapes_[l].root) state.root = add_map(shapes_[l], !real_);
      if (!shapes_[l].norm) continue;
      state.norm = static_cast<int>(tensors.size());
      tensors.resize(tensors.size() + 3,
                     {.value = DoubleMatrix(1, shapes_[l].outputs), .gradient = DoubleMatrix(1, shapes_[l].outputs)});
    }
  }

  std::vector<OracleTensor> tensors;

  /// The loss as trainers tell it: the mean over the counted rows, whatever their weights, without the teacher's part.
  [[nodiscard]] double loss() const { return loss_; }
  [[nodiscard]] const DoubleMatrix& logits() const { return states_.back().output; }

  /// How near a number of all steps so far came to a place where a rule jumps: a sign, a limit of 1, relu's 0. Rounding
  /// to floats may take a number that is nearer than some 1e-6 to the other side.
  [[nodiscard]] double margin() const { return margin_; }

  /// Which hidden units were on in the last step.
  [[nodiscard]] std::vector<bool> units_on() const {
    std::vector<bool> on;
    for (std::size_t l = 0; l + 1 < states_.size(); ++l) {
      for (const double value : states_[l].output.values) on.push_back(value > 0);
    }
    return on;
  }

  /// Forward and backward: leaves the gradients in the tensors.
  void step(const OracleStep& given) {
    for (std::size_t l = 0; l < shapes_.size(); ++l) {
      State& state = states_[l];
      const bool of_signs = l != 0 && given.layers[l - 1].form.votes();
      state.plain = of_signs || given.layers[l].plain;
      state.of_votes = of_signs && !given.layers[l - 1].aggregation.empty();
      state.before = l == 0 ? DoubleMatrix() : joins(l) ? joined(l) : states_[l - 1].output;
      state.input = l == 0 ? given.input : layer_input(state, given.layers[l].dropout);
      forward(l, given.layers[l]);
    }
    backward(given, logits_gradient(given));
  }

  /// One step of Adam (Kingma and Ba 2015) for all tensors; `number` counts from 1.
  void adam(double learning_rate, std::size_t number) {
    const auto count = static_cast<double>(number);
    for (OracleTensor& t : tensors) {
      for (std::size_t n = 0; n < t.value.values.size(); ++n) {
        const double slope = t.gradient.values[n] + t.decay * t.value.values[n];
        double& m = t.first_moment.values[n];
        double& v = t.second_moment.values[n];
        m = 0.9 * m + 0.1 * slope;
        v = 0.999 * v + 0.001 * slope * slope;
        const double mean = m / (1 - std::pow(0.9, count));
        const double square = v / (1 - std::pow(0.999, count));
        t.value.values[n] -= learning_rate * mean / (std::sqrt(square) + 1e-8);
      }
      const double kept = std::min(0.99, count / (count + 10));
      for (std::size_t n = 0; n < t.average.values.size(); ++n)
        t.average.values[n] = kept * t.average.values[n] + (1 - kept) * t.value.values[n];
    }
  }

 private:
  /// The places of a linear map's tensors.
  struct Map {
    int weight = -1, bias = -1;
    [[nodiscard]] bool there() const { return weight >= 0; }
  };

  struct State {
    Map neighbor, root;
    int norm = -1;        ///< the place of its scale
    DoubleMatrix normal;  ///< less the mean and by the deviation
    std::vector<double> deviation;
    DoubleMatrix before;            ///< what the layer below gave
    DoubleMatrix input;             ///< the same as products take it
    DoubleMatrix updated, rooted;   ///< before their signs, where the layer votes
    DoubleMatrix output, gradient;  ///< and the loss by the output
    bool plain = false;             ///< signs of the input have no scales
    bool of_votes = false;          ///< and are those of votes
  };

  Map add_map(const nn::LayerShape& shape, bool bias) {
    Map map{.weight = static_cast<int>(tensors.size())};
    tensors.push_back({.value = DoubleMatrix(shape.outputs, shape.inputs)});
    if (!bias) return map;
    map.bias = static_cast<int>(tensors.size());
    tensors.push_back({.value = DoubleMatrix(1, shape.outputs)});
    return map;
  }

  /// Each row divided by how many entries it has: after a sum of signs, so that a tie is 0.
  static DoubleMatrix divided(const DoubleMatrix& sums, const DoubleMatrix& entries) {
    return mapped(sums, [&](std::size_t i, std::size_t f) {
      const double count = static_cast<double>(entries.ncols) * row_mean(entries, i);
      return count == 0 ? 0.0 : sums(i, f) / std::round(count);
    });
  }

  [[nodiscard]] OracleTensor& tensor(int place) { return tensors[static_cast<std::size_t>(place)]; }
  [[nodiscard]] bool is_last(std::size_t l) const { return l + 1 == shapes_.size(); }
  [[nodiscard]] bool joins(std::size_t l) const { return is_last(l) && concatenates_; }

  void see(double distance) { margin_ = std::min(margin_, std::fabs(distance)); }
  /// Of numbers whose sign is taken, and whose gradient passes where they are within 1.
  void see_signs(const DoubleMatrix& x) {
    for (const double value : x.values) see(value), see(std::fabs(value) - 1);
  }

  /// Whether a layer's output is that of a convolution, of which the last layer takes all.
  [[nodiscard]] bool is_part(std::size_t l) const {
    return l + 2 == shapes_.size() || shapes_[l + 1].aggregation != nn::Aggregation::none;
  }

  /// The outputs of all convolutions side by side, of the last one's nodes.
  [[nodiscard]] DoubleMatrix joined(std::size_t last) const {
    DoubleMatrix out(states_[last - 1].output.nrows, shapes_[last].inputs);
    std::size_t column = 0;
    for (std::size_t l = 0; l < last; ++l) {
      if (!is_part(l)) continue;
      const DoubleMatrix& part = states_[l].output;
      for (std::size_t f = 0; f < part.ncols; ++f, ++column) {
        for (std::size_t i = 0; i < out.nrows; ++i) out(i, column) = part(i, f);
      }
    }
    return out;
  }

  DoubleMatrix layer_input(const State& state, const DoubleMatrix& dropout) {
    const DoubleMatrix& x = state.before;
    if (real_) return scaled(x, dropout);
    if (!state.of_votes) see_signs(x);
    return scaled(state.plain ? signs_of(x) : scaled_signs(x), dropout);
  }

  DoubleMatrix weight_of(const Map& map) {
    const DoubleMatrix& w = tensor(map.weight).value;
    if (real_) return w;
    see_signs(w);
    return scaled_signs(w);
  }

  /// x W^T + b, b where there is one.
  DoubleMatrix product(const Map& map, const DoubleMatrix& x) {
    const DoubleMatrix none(1, tensor(map.weight).value.nrows);
    return update(x, weight_of(map), map.bias < 0 ? none : tensor(map.bias).value);
  }

  /// Batch norm of a product where the layer has one: the product's bias goes with the mean, and comes back as shift.
  DoubleMatrix normalized(State& state, const DoubleMatrix& x) {
    if (state.norm < 0) return x;
    const auto rows = static_cast<double>(x.nrows);
    const DoubleMatrix& scale = tensor(state.norm).value;
    DoubleMatrix mean = sums_of_columns(x), variance(1, x.ncols);
    for (double& value : mean.values) value /= rows;
    for (std::size_t i = 0; i < x.nrows; ++i) {
      for (std::size_t f = 0; f < x.ncols; ++f) variance(0, f) += std::pow(x(i, f) - mean(0, f), 2) / rows;
    }
    state.deviation.resize(x.ncols);
    for (std::size_t f = 0; f < x.ncols; ++f) state.deviation[f] = std::sqrt(variance(0, f) + 1e-5);
    state.normal = mapped(x, [&](auto i, auto f) { return (x(i, f) - mean(0, f)) / state.deviation[f]; });
    // The bias is no part of the mean that is kept.
    for (std::size_t f = 0; f < x.ncols; ++f) mean(0, f) -= tensor(state.neighbor.bias).value(0, f);
    tensor(state.norm + 1).value = mean;
    tensor(state.norm + 2).value = variance;
    return mapped(
        x, [&](auto i, auto f) { return scale(0, f) * state.normal(i, f) + tensor(state.neighbor.bias).value(0, f); });
  }

  /// From the gradient of what batch norm makes to that of what it takes.
  DoubleMatrix norm_backward(const State& state, const DoubleMatrix& g) {
    if (state.norm < 0) return g;
    const auto rows = static_cast<double>(g.nrows);
    const DoubleMatrix slopes =
        sums_of_columns(mapped(g, [&](auto i, auto f) { return g(i, f) * state.normal(i, f); }));
    const DoubleMatrix sums = sums_of_columns(g);
    tensor(state.norm).gradient = slopes;
    tensor(state.neighbor.bias).gradient = sums;
    return mapped(g, [&](auto i, auto f) {
      const double off = g(i, f) - sums(0, f) / rows - state.normal(i, f) * slopes(0, f) / rows;
      return tensor(state.norm).value(0, f) * off / state.deviation[f];
    });
  }

  void forward(std::size_t l, const OracleLayer& given) {
    State& state = states_[l];
    const bool aggregates = !given.aggregation.empty();
    const std::size_t targets = aggregates ? given.aggregation.nrows : state.input.nrows;
    const DoubleMatrix own = first_of(state.input, targets);
    if (real_) {
      const DoubleMatrix x = aggregates ? times(given.aggregation, state.input) : state.input;
      state.output = normalized(state, product(state.neighbor, x));
      if (state.root.there()) state.output = plus(state.output, product(state.root, own));
      if (is_last(l)) return;
      for (double& value : state.output.values) see(value), value = std::max(0.0, value);
      return;
    }
    state.updated = normalized(state, product(state.neighbor, state.input));
    const bool votes = given.form.votes() && aggregates;
    if (votes) see_signs(state.updated);
    state.output = !aggregates ? state.updated
                   : votes     ? divided(times(given.entries, signs_of(state.updated)), given.entries)
                               : times(given.aggregation, state.updated);
    if (!state.root.there()) return;
    state.rooted = product(state.root, own);
    if (votes) see_signs(state.rooted);
    state.output = mapped(state.output, [&](std::size_t i, std::size_t f) {
      return votes ? std::max(state.output(i, f), state.rooted(i, f)) : state.output(i, f) + state.rooted(i, f);
    });
  }

  /// Cross entropy, its mean over the counted rows weighted row by row; and the teacher's divergence, over all rows.
  DoubleMatrix logits_gradient(const OracleStep& given) {
    const DoubleMatrix p = mapped(logits(), [&](std::size_t i, std::size_t c) {
      double sum = 0;
      for (std::size_t d = 0; d < logits().ncols; ++d) sum += std::exp(logits()(i, d) - logits()(i, c));
      return 1 / sum;
    });
    DoubleMatrix g(p.nrows, p.ncols);
    std::size_t labelled = 0;
    for (const std::size_t i : given.counted) labelled += given.labels[i] >= 0 ? 1 : 0;
    loss_ = 0;
    for (const std::size_t i : given.counted) {
      if (given.labels[i] < 0) continue;
      const auto label = static_cast<std::size_t>(given.labels[i]);
      const double share = 1 / static_cast<double>(labelled);
      const double weight = given.loss_weight.empty() ? 1 : given.loss_weight[i];
      loss_ -= share * std::log(p(i, label));
      for (std::size_t c = 0; c < p.ncols; ++c) g(i, c) = weight * share * (p(i, c) - (c == label ? 1 : 0));
    }
    if (given.taught.empty()) return g;
    return mapped(g, [&](std::size_t i, std::size_t c) {
      return g(i, c) + given.divergence_weight * (p(i, c) - given.taught(i, c)) / static_cast<double>(p.nrows);
    });
  }

  void backward(const OracleStep& given, const DoubleMatrix& logits_gradient) {
    for (State& state : states_) state.gradient = DoubleMatrix(state.output.nrows, state.output.ncols);
    states_.back().gradient = logits_gradient;
    for (std::size_t l = shapes_.size(); l-- > 0;) {
      const DoubleMatrix below = layer_backward(l, given.layers[l]);
      if (l == 0) return;
      if (!joins(l)) {
        states_[l - 1].gradient = plus(states_[l - 1].gradient, below);
        continue;
      }
      std::size_t column = 0;
      for (std::size_t part = 0; part < l; ++part) {
        if (!is_part(part)) continue;
        DoubleMatrix& to = states_[part].gradient;
        for (std::size_t f = 0; f < to.ncols; ++f, ++column) {
          for (std::size_t i = 0; i < below.nrows; ++i) to(i, f) += below(i, column);
        }
      }
    }
  }

  /// Of the map's tensors, and what comes to its input.
  DoubleMatrix map_backward(const Map& map, const DoubleMatrix& g, const DoubleMatrix& input, bool biased) {
    OracleTensor& weight = tensor(map.weight);
    const DoubleMatrix of_product = times(flipped(g), input);
    weight.gradient = real_ ? of_product : weight_rule(of_product, weight.value);
    if (!real_ && biased) tensor(map.bias).gradient = sums_of_columns(g);
    return times(g, real_ ? weight.value : signs_of(weight.value));
  }

  /// The gradients of the layer's tensors; returns that of what the layer below gave.
  DoubleMatrix layer_backward(std::size_t l, const OracleLayer& given) {
    State& state = states_[l];
    const bool votes = given.form.votes() && !given.aggregation.empty();
    DoubleMatrix g = state.gradient;
    if (real_ && !is_last(l))
      g = mapped(g, [&](std::size_t i, std::size_t f) { return state.output(i, f) > 0 ? g(i, f) : 0.0; });
    const bool normal = state.norm >= 0;
    if (real_ && normal) g = norm_backward(state, g);
    if (real_ && !normal) tensor(state.neighbor.bias).gradient = sums_of_columns(g);  // outside of the aggregation
    DoubleMatrix of_updated = g;
    if (!given.aggregation.empty())
      of_updated = times(flipped(votes ? divided(given.entries, given.entries) : given.aggregation), g);
    if (votes) of_updated = through_sign(of_updated, state.updated);
    if (!real_ && normal) of_updated = norm_backward(state, of_updated);
    DoubleMatrix below = map_backward(state.neighbor, of_updated, state.input, !normal);
    if (state.root.there()) {
      const DoubleMatrix of_rooted = votes ? through_sign(g, state.rooted) : g;
      const DoubleMatrix more = map_backward(state.root, of_rooted, first_of(state.input, g.nrows), true);
      for (std::size_t n = 0; n < more.values.size(); ++n) below.values[n] += more.values[n];
    }
    if (l == 0) return below;
    below = scaled(below, given.dropout);
    return real_ || state.of_votes ? below : through_sign(below, state.before);
  }

  std::vector<nn::LayerShape> shapes_;
  bool real_, concatenates_;
  std::vector<State> states_;
  double loss_ = 0;
  double margin_ = std::numeric_limits<double>::infinity();
};

}  // namespace bitgraph::test
