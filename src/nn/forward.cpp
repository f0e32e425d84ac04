// SPDX-License-Identifier: Apache-2.0
#include "nn/forward.hpp"

#include <bitgraph/ops/add.hpp>
#include <bitgraph/ops/concat.hpp>
#include <bitgraph/ops/spmm.hpp>

#include "core/parallel.hpp"
#include "nn/sparse_product.hpp"

#include <algorithm>
#include <utility>

namespace bitgraph::nn {

namespace {

void add_bias(DenseMatrix<float>& x, std::span<const float> bias, bool rectified, const Device& device) {
  parallel_for(device, x.nrows(), 256, [&](std::size_t i) {
    const auto row = x.row(i);
    for (std::size_t f = 0; f < row.size(); ++f) {
      const float y = bias.empty() ? row[f] : row[f] + bias[f];
      row[f] = rectified ? std::max(0.0F, y) : y;
    }
  });
}

}  // namespace

Forward::Forward(const Model& model, std::vector<Precision> forms, GraphOperands& graph, const InputFeatures& features,
                 const Device& device)
    : graph_(graph), features_(features), device_(device), forms_(std::move(forms)), weights_(model.layers.size()) {
  for (const Layer& l : model.layers) shapes_.push_back({l.aggregation, !l.root.empty(), l.inputs(), l.outputs()});
  set_weights(model);
  Activation x{.features = &features_};
  std::vector<Activation> outputs;
  for (std::size_t l = 0; l < weights_.size(); ++l) {
    if (is_last(l) && model.concatenates()) x = concatenated(outputs);
    x = layer(l, x);
    outputs.push_back(x);
  }
  logits_ = x.floats;
}

void Forward::set_weights(const Model& model) {
  for (std::size_t l = 0; l < weights_.size(); ++l) {
    Weights& w = weights_[l];
    w.neighbor = model.layers[l].neighbor.to(device_);
    w.root = model.layers[l].root.to(device_);
    if (forms_[l] == Precision::real) {
      Buffer<float> bias = model.layers[l].neighbor.bias.clone();
      if (shapes_[l].root) {
        for (std::size_t f = 0; f < bias.size(); ++f) bias[f] += model.layers[l].root.bias[f];
      }
      w.bias = bias.to(device_);
    }
    if (l != 0) continue;
    if (features_.packed && features_.packed->sparse) {
      const auto& base = features_.packed->sparse->bits.base;
      w.sparse_neighbor = prepare_sparse_gemm(base, w.neighbor.bits, w.neighbor.scale.span(), device_);
      if (shapes_[l].root) w.sparse_root = prepare_sparse_gemm(base, w.root.bits, w.root.scale.span(), device_);
    }
    if (features_.real && !features_.real->is_dense()) {
      w.transposed_neighbor = transposed(w.neighbor.weight);
      if (shapes_[l].root) w.transposed_root = transposed(w.root.weight);
    }
  }
}

std::size_t Forward::weight_bytes() const noexcept {
  std::size_t total = 0;
  for (const Weights& w : weights_) total += w.neighbor.bytes() + w.root.bytes();
  return total;
}

Forward::Activation Forward::layer(std::size_t l, Activation in) {
  switch (forms_[l]) {
    case Precision::real: return real_layer(l, in);
    case Precision::full: return full_layer(l, in);
    case Precision::bin: break;
  }
  return bin_layer(l, in);
}

Forward::Activation Forward::concatenated(const std::vector<Activation>& parts) {
  const auto joined = [&](auto& kept, auto&& part, auto&& make) -> auto& {
    auto& list = kept.emplace_back();
    std::size_t width = 0;
    for (const Activation& p : parts) {
      if (part(p) == nullptr)
        fail(ErrorCode::usage, "layers whose outputs stand side by side must all be bin, or none of them");
      list.push_back(part(p));
      width += list.back()->ncols();
    }
    auto& out = make(width);
    step("CONCAT", [this, &out, &list] { concat_into(out, std::span(std::as_const(list)), device_); });
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
  step("MM", [this, &out, &x, &linear] {
    float_gemm(out.view(), x.view(), false, linear.weight.view(), true, 1, 0, device_);
  });
}

Forward::Activation Forward::real_layer(std::size_t l, const Activation& in) {
  const Weights& w = weights_[l];
  const bool rectified = !is_last(l);
  const bool root = shapes_[l].root;
  Floats& product = floats(shapes_[l].outputs);
  real_product(product, in, l, false);
  if (shapes_[l].aggregation == Aggregation::none) {
    step("ADD bias", [this, &product, &w, rectified] { add_bias(product, w.bias.span(), rectified, device_); });
    return {.floats = &product};
  }
  const AggregationOperand a = graph_.of(shapes_[l].aggregation);
  Floats& sums = floats(shapes_[l].outputs);
  step("SpMM", [this, &sums, &product, a, &w, root] {
    const std::span<const float> none;
    spmm_into(sums, *a.pattern, product,
              {.row_scale = a.row_scale, .col_scale = a.col_scale, .bias = root ? none : w.bias.span()}, device_);
  });
  if (root) {
    real_product(product, in, l, true);
    step("ADD.FFF", [this, &sums, &product, &w, rectified] {
      add_into(sums, sums, product, {.bias = w.bias.span(), .relu = rectified}, device_);
    });
  } else if (rectified) {
    step("RELU", [this, &sums] { add_bias(sums, {}, true, device_); });
  }
  return {.floats = &sums};
}

/// The input as signs: binarized where it is floats.
Forward::Activation Forward::as_signs(const Activation& in) {
  if (in.floats == nullptr) return in;
  Binarized& signs = binarized_.emplace_back(
      Binarized{Bits(num_nodes(), in.floats->ncols(), device_), Buffer<float>(num_nodes(), device_)});
  step("BIN", [this, &signs, x = in.floats] { binarize_into(signs, *x, {}, device_); });
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
    step(name, [this, &out, &x, &sparse, &linear] {
      spmm_into(out, x.sparse->bits.flips, sparse.u,
                {.row_scale = x.alpha(),
                 .feature_scale = sparse.feature_scale.span(),
                 .feature_offset = sparse.feature_offset.span(),
                 .bias = linear.bias.span()},
                device_);
    });
    return;
  }
  const Bits& x = in.features != nullptr ? in.features->packed->dense->bits : *in.bits;
  const auto alpha = in.features != nullptr ? in.features->packed->alpha() : in.alpha;
  step(name, [this, &out, &x, alpha, &linear] {
    gemm_into(out, x, linear.bits, {.row_scale = alpha, .col_scale = linear.scale.span(), .bias = linear.bias.span()},
              device_);
  });
}

Forward::Activation Forward::full_layer(std::size_t l, const Activation& in) {
  const Activation x = as_signs(in);
  Floats& product = floats(shapes_[l].outputs);
  Floats* y = &product;
  binary_product(product, x, l, false);
  if (shapes_[l].aggregation != Aggregation::none) {
    const AggregationOperand a = graph_.of(shapes_[l].aggregation);
    Floats& sums = floats(shapes_[l].outputs);
    step("BSpMM.FBF", [this, &sums, &product, a] {
      spmm_into(sums, *a.pattern, product, {.row_scale = a.row_scale, .col_scale = a.col_scale}, device_);
    });
    y = &sums;
  }
  if (shapes_[l].root) {
    Floats& own = product;
    binary_product(own, x, l, true);
    step("ADD.FFF", [this, y, &own] { add_into(*y, *y, own, {}, device_); });
  }
  return {.floats = y};
}

Forward::Activation Forward::bin_layer(std::size_t l, const Activation& in) {
  const Activation x = as_signs(in);
  Bits& signs = bits(shapes_[l].outputs);
  Bits& votes = bits(shapes_[l].outputs);
  binary_product(signs, x, l, false);
  const AggregationOperand a = graph_.of(shapes_[l].aggregation);
  step("BSpMM.BBB", [this, &votes, &signs, a] { spmm_into(votes, *a.pattern, signs, {}, device_); });
  if (shapes_[l].root) {
    binary_product(signs, x, l, true);
    step("ADD.BBB", [this, &votes, &signs] { add_into(votes, votes, signs, {}, device_); });
  }
  return {.bits = &votes};
}

const DenseMatrix<float>& Forward::run() {
  for (const Step& s : steps_) s.run();
  return *logits_;
}

}  // namespace bitgraph::nn
