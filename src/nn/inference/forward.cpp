// SPDX-License-Identifier: Apache-2.0
#include "nn/inference/forward.hpp"

#include <bitgraph/ops/add.hpp>
#include <bitgraph/ops/concat.hpp>
#include <bitgraph/ops/gradient.hpp>
#include <bitgraph/ops/spmm.hpp>

#include "nn/inference/sparse_product.hpp"
#include "nn/model/side_by_side.hpp"
#include "nn/one_launch/launch_parts.hpp"
#include "nn/updates/some_rows.hpp"

#include <algorithm>
#include <utility>

namespace bitgraph::nn {

namespace {

void copy_into(Buffer<float>& kept, const Buffer<float>& made) {
  Device::copy(kept.data(), kept.device(), made.data(), made.device(), made.bytes());
}
void copy_into(BitMatrix<PlusMinusOne>& kept, const BitMatrix<PlusMinusOne>& made) {
  Device::copy(kept.words().data(), kept.device(), made.words().data(), made.device(), made.words().size_bytes());
}
void copy_into(DenseMatrix<float>& kept, const DenseMatrix<float>& made) {
  Device::copy(kept.values().data(), kept.device(), made.values().data(), made.device(), made.bytes());
}
void copy_into(Binarized& kept, const Binarized& made) {
  copy_into(kept.bits, made.bits);
  copy_into(kept.alpha, made.alpha);
}

/// Other weights: moved in, or copied to where kernels know the old ones, which are of the same shapes.
void renew(Linear& kept, Linear made, bool in_place) {
  if (!in_place) {
    kept = std::move(made);
    return;
  }
  std::visit([&](auto& weight) { copy_into(weight, std::get<std::remove_reference_t<decltype(weight)>>(made.weight)); },
             kept.weight);
  copy_into(kept.bias, made.bias);
}
void renew(SparseGemmWeights& kept, SparseGemmWeights made, bool in_place) {
  if (!in_place) {
    kept = std::move(made);
    return;
  }
  copy_into(kept.u, made.u);
  copy_into(kept.feature_scale, made.feature_scale);
  copy_into(kept.feature_offset, made.feature_offset);
}

/// The layers' shapes and aggregations; weights come with set_weights.
Model without_weights(const Model& model) {
  Model shape;
  shape.architecture = model.architecture;
  shape.precision = model.precision;
  for (const Layer& layer : model.layers) {
    shape.layers.push_back({.aggregation = layer.aggregation, .precision = layer.precision});
  }
  return shape;
}

}  // namespace

Forward::Forward(const Model& model, InferenceOptions options, GraphOperands& graph, const InputFeatures& features,
                 const Device& device, CsrPattern back, std::size_t parts)
    : graph_(graph),
      features_(features),
      device_(device),
      options_(std::move(options)),
      back_(std::move(back)),
      sequences_(decide_sequences(model, options_, graph.graph(), device, parts == 1)),
      parts_(std::max(parts, sequences_.blocks)),
      streamed_(parts > 1),
      model_(without_weights(model)) {
  for (Layer& l : model_.layers) weights_.push_back({.neighbor = l.neighbor, .root = l.root});
  for (const Layer& l : model.layers) shapes_.push_back({l.aggregation, !l.root.empty(), l.inputs(), l.outputs()});
  set_weights(model);
  make_steps();
}

void Forward::remake(CsrPattern back, bool other_graph) {
  recording_.clear();
  one_launch_.reset();
  steps_.clear();
  float_parts_.clear();
  bit_parts_.clear();
  joined_rows_.clear();
  float_rows_.clear();
  bit_rows_.clear();
  scores_.clear();
  binarized_.clear();
  floats_.clear();
  bits_.clear();
  signs_ = nullptr;
  logits_ = nullptr;
  next_storage_ = 0;
  back_ = std::move(back);
  if (other_graph) {
    sequences_ = decide_sequences(model_, options_, graph_.graph(), device_, !streamed_);
    parts_ = std::max(streamed_ ? parts_ : 1, sequences_.blocks);
  }
  for (std::size_t l = 0; l < weights_.size(); ++l) {
    const bool joined = joins_signs(l) && weights_[l].both.empty();
    const bool sparse =
        l == 0 && features_.packed && features_.packed->sparse && weights_[l].sparse_neighbor.u.nrows() == 0;
    if (!joined && !sparse) continue;
    const Layer& there = model_.layers[l];
    const Layer here{there.aggregation, there.precision, there.neighbor.to(Device()), there.root.to(Device())};
    if (joined) weights_[l].both = side_by_side(here).to(device_);
    if (sparse) prepare_features(l, here, false);
  }
  make_steps();
}

/// The next intermediate's storage on the host, rows * per_row values.
template <class T>
Buffer<T> Forward::stored(std::size_t columns, std::size_t per_row) {
  const std::size_t row_bytes = per_row * sizeof(T);
  if (next_storage_ == storages_.size()) storages_.push_back({columns, row_bytes, Buffer<std::uint64_t>()});
  Storage& kept = storages_[next_storage_++];
  // Of another shape it might leave bits where padding is.
  if (kept.columns != columns || kept.row_bytes != row_bytes || kept.storage.bytes() < num_nodes() * row_bytes) {
    const std::size_t bytes = std::max(num_nodes(), options_.capacity.nodes) * row_bytes;
    kept = {columns, row_bytes, Buffer<std::uint64_t>()};
    kept.storage = Buffer<std::uint64_t>((bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t), 0, device_);
  }
  return lent(reinterpret_cast<T*>(kept.storage.data()), num_nodes() * per_row, device_);
}

Forward::Floats Forward::stored_floats(std::size_t width) {
  if (!device_.is_host()) return {num_nodes(), width, device_};
  return {num_nodes(), width, stored<float>(width, width)};
}

Forward::Bits Forward::stored_bits(std::size_t width) {
  if (!device_.is_host()) return {num_nodes(), width, device_};
  return {num_nodes(), width, stored<std::uint64_t>(width, words_for_bits(width))};
}

void Forward::make_steps() {
  Activation x{.features = &features_};
  std::vector<Activation> outputs;
  for (std::size_t l = 0; l < weights_.size(); ++l) {
    if (is_last(l) && joins_rows(model_, options_, device_)) {
      x = product_of_joined(l, outputs);
      break;
    }
    if (sequences_.post_op[l] != VotePostOp::none) {
      x = fused_last_layers(l, x, outputs.empty() ? nullptr : outputs.front().bits);
      break;
    }
    if (is_last(l) && model_.concatenates()) x = concatenated(outputs);
    x = layer(l, x);
    outputs.push_back(x);
  }
  logits_ = x.floats;
  if (back_.nrows() != 0) {
    Floats& in_order = floats(logits_->ncols());
    add_sum(in_order, *logits_, {.pattern = &back_});
    logits_ = &in_order;
  }
  if (streamed_) options_.launching = Launching::steps;
  const bool small = options_.launching == Launching::automatic && fits_one_launch(num_nodes(), graph_.entries());
  if (!device_.is_host() && (small || options_.launching == Launching::one)) make_one_launch();
}

void Forward::make_one_launch() {
  LaunchSteps all{.steps = {}, .num_rows = num_nodes(), .result = std::as_const(*logits_).view().data};
  for (const Step& s : steps_) {
    if (!s.as_parts) return;
    const auto parts = s.as_parts();
    all.steps.insert(all.steps.end(), parts.begin(), parts.end());
  }
  // What stands between the steps is not in these matrices then. They stay where references to them are.
  const auto give_back = [this] {
    for (Floats& m : floats_) {
      if (&m != logits_) m = Floats();
    }
    for (Bits& m : bits_) m = Bits();
    for (Binarized& m : binarized_) m = Binarized();
  };
  one_launch_ = with_cuda<std::unique_ptr<OneLaunch>>(
      device_, "one launch", [&](const auto& cuda) { return nn::make_one_launch(cuda, all, give_back); });
}

void Forward::set_weights(const Model& model) {
  recording_.clear();
  const bool in_place = one_launch_ != nullptr;
  for (std::size_t l = 0; l < weights_.size(); ++l) {
    Weights& w = weights_[l];
    renew(w.neighbor, model.layers[l].neighbor.to(device_), in_place);
    renew(w.root, model.layers[l].root.to(device_), in_place);
    if (joins_signs(l)) w.both = side_by_side(model.layers[l]).to(device_);
    if (!options_.forms[l].multiplies_signs()) {
      Buffer<float> bias = model.layers[l].neighbor.bias.clone();
      if (shapes_[l].root) {
        for (std::size_t f = 0; f < bias.size(); ++f) bias[f] += model.layers[l].root.bias[f];
      }
      w.bias = bias.to(device_);
    }
    if (l == 0) prepare_features(l, model.layers[l], in_place);
  }
}

/// What the first layer's weights are for sparse features. `layer` is on the host.
void Forward::prepare_features(std::size_t l, const Layer& layer, bool in_place) {
  Weights& w = weights_[l];
  if (features_.packed && features_.packed->sparse) {
    renew(w.sparse_neighbor, sparse_weights(layer.neighbor), in_place);
    if (shapes_[l].root) renew(w.sparse_root, sparse_weights(layer.root), in_place);
  }
  if (features_.real && !features_.real->is_dense()) {
    w.transposed_neighbor = transposed(w.neighbor.floats());
    if (shapes_[l].root) w.transposed_root = transposed(w.root.floats());
  }
}

/// Made on the host, where models are.
SparseGemmWeights Forward::sparse_weights(const Linear& linear) const {
  SparseGemmWeights made =
      prepare_sparse_gemm(features_.packed->sparse->bits.base, linear.signs().bits, linear.signs().alpha.span());
  if (device_.is_host()) return made;
  return {made.u.to(device_), made.feature_scale.to(device_), made.feature_offset.to(device_)};
}

Forward::Activation Forward::layer(std::size_t l, Activation in) {
  const Precision& form = options_.forms[l];
  if (!form.multiplies_signs()) return real_layer(l, in);
  return form.votes() ? bin_layer(l, in) : full_layer(l, in);
}

Forward::Activation Forward::concatenated(const std::vector<Activation>& parts) {
  const auto joined = [&](auto& kept, auto&& part, auto&& make) -> auto& {
    auto& list = kept.emplace_back();
    std::size_t width = 0;
    for (const Activation& p : parts) {
      list.push_back(part(p));
      width += list.back()->ncols();
    }
    auto& out = make(width);
    steps_.push_back({"CONCAT", [&out, &list] { concat_into(out, std::span(std::as_const(list))); },
                      [&out, &list] { return side_by_side(out, list); }});
    return out;
  };
  if (parts.front().bits != nullptr) {
    return {
        .bits = &joined(
            bit_parts_, [](const Activation& a) { return a.bits; }, [&](std::size_t w) -> Bits& { return bits(w); })};
  }
  return {.floats = &joined(
              float_parts_, [](const Activation& a) { return a.floats; },
              [&](std::size_t w) -> Floats& { return floats(w); })};
}

/// out = in W^T.
void Forward::real_product(Floats& out, const Activation& in, std::size_t l, bool root) {
  const Weights& w = weights_[l];
  if (in.features != nullptr && !in.features->real->is_dense()) {
    const RealFeatures& x = *in.features->real;
    const Floats& weight = root ? w.transposed_root : w.transposed_neighbor;
    step("MM", [this, &out, &x, &weight] { sparse_product(out, x.pattern, x.values.span(), weight, device_); });
    return;
  }
  const Floats& x = in.features != nullptr ? in.features->real->dense : *in.floats;
  const Linear& linear = root ? w.root : w.neighbor;
  step("MM", [&out, &x, &linear] { float_gemm(out, x, false, linear.floats(), true); });
}

Forward::Activation Forward::real_layer(std::size_t l, const Activation& in) {
  const Weights& w = weights_[l];
  const bool rectified = !is_last(l);
  const bool root = shapes_[l].root;
  Floats& product = floats(shapes_[l].outputs);
  if (shapes_[l].aggregation == Aggregation::none) {  // it follows other layers
    step("MM", [&product, &w, x = in.floats] { gemm_into(product, *x, w.neighbor.floats(), {.bias = w.bias.span()}); });
    return {.floats = &product};
  }
  real_product(product, in, l, false);
  Floats& sums = floats(shapes_[l].outputs);
  aggregate(sums, product, shapes_[l].aggregation, root ? nullptr : &w.bias);
  if (root) {
    real_product(product, in, l, true);
    step("ADD.FFF", [&sums, &product, &w, rectified] {
      add_into(sums, sums, product, {.bias = w.bias.span(), .relu = rectified});
    });
  } else if (rectified) {
    step("RELU", [&sums] { relu(sums); });
  }
  return {.floats = &sums};
}

/// The input as signs: binarized where it is floats.
Forward::Activation Forward::as_signs(const Activation& in) {
  if (in.floats == nullptr) return in;
  Binarized& signs = binarized_.emplace_back(Binarized{
      stored_bits(in.floats->ncols()), device_.is_host() ? stored<float>(1, 1) : Buffer<float>(num_nodes(), device_)});
  step(
      "BIN", [&signs, x = in.floats] { binarize_into(signs, *x); },
      [&signs, x = in.floats] {
        LaunchStep s{.kind = LaunchStep::Kind::binarize, .in_width = x->ncols(), .out_width = x->ncols()};
        s.floats_in = x->view().data;
        s.bits_out = signs.bits.view().words;
        s.scale_out = signs.alpha.data();
        return s;
      });
  return {.bits = &signs.bits, .alpha = std::as_const(signs.alpha).span()};
}

template <class Out>
void Forward::binary_product(Out& out, const Activation& in, std::size_t l, bool root) {
  const Weights& w = weights_[l];
  const Linear& linear = root ? w.root : w.neighbor;
  const char* const name = std::is_same_v<Out, Bits> ? "BMM.BBB" : "BMM.BBF";
  if (in.features != nullptr && in.features->packed->sparse) {
    const PackedFeatures& x = *in.features->packed;
    const SparseGemmWeights& sparse = root ? w.sparse_root : w.sparse_neighbor;
    step(
        name,
        [&out, &x, &sparse, &linear] {
          spmm_into(out, x.sparse->bits.flips, sparse.u,
                    {.row_scale = x.alpha(),
                     .feature_scale = sparse.feature_scale.span(),
                     .feature_offset = sparse.feature_offset.span(),
                     .bias = linear.bias.span()});
        },
        [&out, &x, &sparse, &linear] {
          LaunchStep s = over(LaunchStep::Kind::sparse_product, x.sparse->bits.flips, out);
          s.weight = std::as_const(sparse.u).view().words;
          s.row_scale = x.alpha().data();
          s.col_scale = sparse.feature_scale.data();
          s.col_offset = sparse.feature_offset.data();
          s.bias = linear.bias.data();
          return s;
        });
    return;
  }
  const Bits& x = in.features != nullptr ? in.features->packed->dense->bits : *in.bits;
  const auto alpha = in.features != nullptr ? in.features->packed->alpha() : in.alpha;
  step(
      name,
      [&out, &x, alpha, &linear] {
        gemm_into(out, x, linear.signs().bits,
                  {.row_scale = alpha, .col_scale = linear.signs().alpha.span(), .bias = linear.bias.span()});
      },
      [&out, &x, alpha, &linear] {
        LaunchStep s = into(LaunchStep::Kind::product, out);
        s.in_width = x.ncols();
        s.bits_in = x.view().words;
        s.weight = std::as_const(linear.signs().bits).view().words;
        s.row_scale = alpha.data();
        s.col_scale = linear.signs().alpha.data();
        s.bias = linear.bias.data();
        return s;
      });
}

Forward::Activation Forward::full_layer(std::size_t l, const Activation& in) {
  const Activation x = as_signs(in);
  const bool counts_first = sequences_.aggregate_first[l] && x.bits != nullptr && x.alpha.empty();
  Floats* y = &floats(shapes_[l].outputs);
  Floats* product = nullptr;
  if (counts_first && sequences_.fused[l]) {
    fused_counts(*y, *x.bits, l);
    return {.floats = y};
  }
  if (counts_first) {
    count_and_multiply(*y, *x.bits, l);
  } else {
    binary_product(*y, x, l, false);
    if (shapes_[l].aggregation != Aggregation::none) {
      product = y;
      y = &floats(shapes_[l].outputs);
      aggregate(*y, *product, shapes_[l].aggregation);
    }
  }
  if (shapes_[l].root) {
    Floats& own = product != nullptr ? *product : floats(shapes_[l].outputs);
    binary_product(own, x, l, true);
    step(
        "ADD.FFF", [y, &own] { add_into(*y, *y, own); },
        [y, &own] {
          LaunchStep s = into(LaunchStep::Kind::add, *y);
          s.floats_in = std::as_const(own).view().data;
          return s;
        });
  }
  return {.floats = y};
}

Forward::Activation Forward::bin_layer(std::size_t l, const Activation& in) {
  if (sequences_.fused[l]) return fused_vote(l, in);
  const Activation x = as_signs(in);
  Bits& signs = signs_ahead_of_vote(shapes_[l].outputs);
  Bits& votes = bits(shapes_[l].outputs);
  binary_product(signs, x, l, false);
  vote(votes, signs, shapes_[l].aggregation);
  if (shapes_[l].root) {
    binary_product(signs, x, l, true);
    step(
        "ADD.BBB", [&votes, &signs] { add_into(votes, votes, signs); },
        [&votes, &signs] {
          LaunchStep s = into(LaunchStep::Kind::either, votes);
          s.bits_in = std::as_const(signs).view().words;
          return s;
        });
  }
  return {.bits = &votes};
}

void Forward::run_steps() {
  for (const Step& s : steps_) s.run();
}

const DenseMatrix<float>& Forward::run() {
  if (device_.is_host() || options_.launching == Launching::steps) {
    run_steps();
  } else if (one_launch_) {
    one_launch_->run();
  } else if (recording_.usable()) {
    recording_.launch();
  } else {
    run_steps();  // whatever the operators keep is allocated now
    recording_.record(device_, [this] { run_steps(); });
  }
  return *logits_;
}

}  // namespace bitgraph::nn
