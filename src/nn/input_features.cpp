// SPDX-License-Identifier: Apache-2.0
#include "nn/input_features.hpp"

#include "nn/normalization.hpp"
#include "nn/some_rows.hpp"

#include <algorithm>
#include <utility>

namespace bitgraph::nn {

namespace {

Binarized binarize_normalized(const DenseMatrix<float>& features, const ColumnMap& map, const Device& host) {
  constexpr std::size_t most_rows = 256;
  const std::size_t n = features.nrows();
  const std::size_t d = features.ncols();
  Binarized made{BitMatrix<PlusMinusOne>(n, d, host), Buffer<float>(n, host)};
  for (std::size_t first = 0; first < n; first += most_rows) {
    const std::size_t rows = std::min(most_rows, n - first);
    DenseMatrix<float> some(rows, d, host);
    std::copy_n(features.values().data() + first * d, rows * d, some.values().data());
    normalize_dense_rows(some);
    Binarized to{some_rows(made.bits, first, rows), lent(made.alpha.data() + first, rows, host)};
    binarize_into(to, some, map, host);
  }
  return made;
}

}  // namespace

PackedFeatures::PackedFeatures(const SparseFeatures& features, std::span<const float> values, const ColumnMap& map,
                               const Device& device)
    : sparse(binarize(features.pattern, values, map, device.is_host() ? device : Device())) {
  const std::size_t dense_bytes = sparse->bits.nrows() * words_for_bits(sparse->bits.ncols()) * sizeof(std::uint64_t);
  if (sparse->bits.bytes() > dense_bytes) {
    dense = Binarized{to_bit_matrix(sparse->bits), std::move(sparse->alpha)};
    sparse.reset();
    if (!device.is_host()) dense = Binarized{dense->bits.to(device), dense->alpha.to(device)};
  } else if (!device.is_host()) {
    sparse->bits.flips = sparse->bits.flips.to(device);
    sparse->alpha = sparse->alpha.to(device);
  }
}

PackedFeatures::PackedFeatures(const DenseMatrix<float>& features, bool normalize_rows, const ColumnMap& map,
                               const Device& device) {
  const Device host = device.is_host() ? device : Device();
  dense = normalize_rows ? binarize_normalized(features, map, host) : binarize(features, map, host);
  if (!device.is_host()) dense = Binarized{dense->bits.to(device), dense->alpha.to(device)};
}

void PackedFeatures::make_dense(const Device& device) {
  if (!sparse) return;
  const bool host = device.is_host();
  SparseBitMatrix here{sparse->bits.base.clone(),
                       host ? std::move(sparse->bits.flips) : sparse->bits.flips.to(Device())};
  BitMatrix<PlusMinusOne> bits = to_bit_matrix(here);
  dense = Binarized{host ? std::move(bits) : bits.to(device), std::move(sparse->alpha)};
  sparse.reset();
}

std::size_t PackedFeatures::bytes() const noexcept {
  return sparse ? sparse->bits.bytes() + sparse->alpha.bytes() : dense->bits.bytes() + dense->alpha.bytes();
}

DenseMatrix<float> dense_features(const SparseFeatures& features, std::span<const float> values, const Device& device) {
  DenseMatrix<float> x(features.pattern.nrows(), features.pattern.ncols(), device);
  for (NodeId i = 0; i < features.pattern.nrows(); ++i) {
    for (EdgeOffset e = features.pattern.row_ptr()[i]; e < features.pattern.row_ptr()[i + 1]; ++e) {
      x(i, features.pattern.col_ind()[e]) = values[e];
    }
  }
  return x;
}

DenseMatrix<float> dense_features(const Dataset& dataset, bool normalize_rows, const Device& device) {
  if (!dataset.has_dense_features()) {
    const Buffer<float> values = model_features(dataset.features, normalize_rows);
    return dense_features(dataset.features, values.span(), device);
  }
  DenseMatrix<float> x = dataset.dense_features.to(device);
  if (normalize_rows) normalize_dense_rows(x);
  return x;
}

RealFeatures::RealFeatures(const SparseFeatures& features, Buffer<float> model_values, FeatureStorage storage,
                           const Device& device) {
  if (!device.is_host()) {
    dense = dense_features(features, model_values.span(), {}).to(device);
  } else if (storage == FeatureStorage::dense) {
    dense = dense_features(features, model_values.span(), device);
  } else {
    pattern = features.pattern.to(device);
    values = std::move(model_values);
  }
}

InputFeatures::InputFeatures(const Model& model, const Dataset& dataset, Precision form, FeatureStorage storage,
                             const Device& device) {
  const ColumnMap map{model.input_mean.span(), model.input_inverse_deviation.span()};
  if (dataset.has_dense_features()) {
    // Nothing is copied on the way to bits but rows that have to be divided by their sums first.
    if (form == Precision::real) {
      DenseMatrix<float> x = dense_features(dataset, model.normalize_rows, device.is_host() ? device : Device());
      real.emplace(device.is_host() ? std::move(x) : x.to(device));
    } else {
      packed.emplace(dataset.dense_features, model.normalize_rows, map, device);
    }
    return;
  }
  Buffer<float> values = model_features(dataset.features, model.normalize_rows);
  if (form == Precision::real) {
    real.emplace(dataset.features, std::move(values), storage, device);
  } else {
    packed.emplace(dataset.features, values.span(), map, device);
    if (storage == FeatureStorage::dense) packed->make_dense(device);
  }
}

std::string InputFeatures::format() const {
  if (packed) return packed->sparse ? "sparse bits" : "bits";
  return real->is_dense() ? "float" : "sparse float";
}

}  // namespace bitgraph::nn
