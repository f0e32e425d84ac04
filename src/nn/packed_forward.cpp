// SPDX-License-Identifier: Apache-2.0
#include "nn/packed_forward.hpp"

#include <bitgraph/ops/spmm.hpp>

#include "nn/normalization.hpp"

namespace bitgraph::nn {

NormalizedGraph::NormalizedGraph(const CsrPattern& a, const Device& device)
    : pattern(with_self_loops(a)), scale(inverse_sqrt_degrees(pattern, device)) {}

PackedFeatures::PackedFeatures(const SparseFeatures& features, std::span<const float> values, const ColumnMap& map,
                               const Device& device)
    : sparse(binarize(features.pattern, values, map, device)) {
  const std::size_t dense_bytes = sparse->bits.nrows() * words_for_bits(sparse->bits.ncols()) * sizeof(std::uint64_t);
  if (sparse->bits.bytes() <= dense_bytes) return;
  dense = Binarized{to_bit_matrix(sparse->bits), std::move(sparse->alpha)};
  sparse.reset();
}

std::size_t PackedFeatures::bytes() const noexcept {
  return sparse ? sparse->bits.bytes() + sparse->alpha.bytes() : dense->bits.bytes() + dense->alpha.bytes();
}

PackedForward::PackedForward(const NormalizedGraph& graph, const PackedFeatures& features, std::size_t hidden,
                             std::size_t num_classes, Precision form, const Device& device)
    : graph_(graph), features_(features), form_(form), device_(device) {
  const std::size_t n = graph.pattern.nrows();
  if (form == Precision::full) {
    updated_ = DenseMatrix<float>(n, hidden, device);
    aggregated_ = DenseMatrix<float>(n, hidden, device);
    hidden_ = {BitMatrix<PlusMinusOne>(n, hidden, device), Buffer<float>(n, device)};
  } else {
    signs_ = BitMatrix<PlusMinusOne>(n, hidden, device);
    votes_ = BitMatrix<PlusMinusOne>(n, hidden, device);
  }
  scores_ = DenseMatrix<float>(n, num_classes, device);
  logits_ = DenseMatrix<float>(n, num_classes, device);
}

void PackedForward::set_weights(const BinaryLayer& first, const BinaryLayer& second) {
  first_ = &first;
  second_ = &second;
  if (features_.sparse) {
    sparse_weights_ = prepare_sparse_gemm(features_.sparse->bits.base, first.weight, first.scale.span(), device_);
  }
}

template <class Out>
void PackedForward::first_product(Out& out) {
  if (features_.sparse) {
    spmm_into(out, features_.sparse->bits.flips, sparse_weights_.u,
              {.row_scale = features_.alpha(),
               .feature_scale = sparse_weights_.feature_scale.span(),
               .feature_offset = sparse_weights_.feature_offset.span(),
               .bias = first_->bias.span()},
              device_);
  } else {
    gemm_into(out, features_.dense->bits, first_->weight,
              {.row_scale = features_.alpha(), .col_scale = first_->scale.span(), .bias = first_->bias.span()},
              device_);
  }
}

const DenseMatrix<float>& PackedForward::run() {
  const SpmmOptions normalization{.row_scale = graph_.scale.span(), .col_scale = graph_.scale.span()};
  if (form_ == Precision::full) {
    first_product(updated_);
    spmm_into(aggregated_, graph_.pattern, updated_, normalization, device_);
    binarize_into(hidden_, aggregated_, {}, device_);
    gemm_into(scores_, hidden_.bits, second_->weight,
              {.row_scale = hidden_.alpha.span(), .col_scale = second_->scale.span(), .bias = second_->bias.span()},
              device_);
  } else {
    first_product(signs_);
    spmm_into(votes_, graph_.pattern, signs_, {}, device_);
    gemm_into(scores_, votes_, second_->weight, {.col_scale = second_->scale.span(), .bias = second_->bias.span()},
              device_);
  }
  spmm_into(logits_, graph_.pattern, scores_, normalization, device_);
  return logits_;
}

}  // namespace bitgraph::nn
