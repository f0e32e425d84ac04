// SPDX-License-Identifier: Apache-2.0
#include "nn/inference/input_features.hpp"

#include <bitgraph/ops/dense.hpp>
#include <bitgraph/ops/quantize.hpp>

#include "core/threads/parallel.hpp"
#include "nn/model/normalization.hpp"
#include "nn/model/some_rows.hpp"
#include "nn/program/layers.hpp"
#include "nn/program/passes/passes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bitgraph::nn {

namespace {

constexpr std::size_t rows_at_once = 32;

/// Some rows at a time, as `prepare(rows, first)` makes them; several threads call it.
template <class Prepare>
Binarized binarize_by_parts(std::size_t n, std::size_t ncols, const ColumnMap& map, const Device& host,
                            const Prepare& prepare) {
  Binarized made{BitMatrix<PlusMinusOne>(n, ncols, host), Buffer<float>(n, host)};
  parallel_chunks(host, n, rows_at_once, [&](Range range) {
    DenseMatrix<float> some(range.size(), ncols, host);
    prepare(some, range.begin);
    Binarized to{some_rows(made.bits, range.begin, range.size()),
                 lent(made.alpha.data() + range.begin, range.size(), host)};
    binarize_into(to, some, map);
  });
  return made;
}

/// Copies rows first .. of dense features, as a model sees them.
void copy_rows(DenseMatrix<float>& rows, std::size_t first, const DenseMatrix<float>& features, const FloatRules& rules,
               std::span<const NodeId> nodes) {
  if (nodes.empty()) {
    std::copy_n(features.row(first).data(), rows.values().size(), rows.values().data());
  } else {
    gather_rows_into(rows, features, nodes.subspan(first, rows.nrows()));
  }
  rules.apply(rows);
}

/// Some rows at a time, as `prepare(rows, first)` makes them; several threads call it.
template <class Prepare>
QuantizedMatrix quantize_by_parts(std::size_t nrows, std::size_t ncols, int bits, LevelPacking packing,
                                  const Device& device, const Prepare& prepare) {
  constexpr std::size_t most_rows = 32;
  const Device host = device.is_host() ? device : Device();
  QuantizedMatrix made(nrows, ncols, bits, host, packing);
  LevelScale scale{ScaleExtent::row, Buffer<float>(nrows, host), Buffer<float>(nrows, host)};
  parallel_chunks(host, nrows, most_rows, [&](Range range) {
    DenseMatrix<float> some(range.size(), ncols, Device::host(1));
    prepare(some, range.begin);
    QuantizedMatrix levels = quantize(some, features_in_levels(bits));
    if (made.in_planes()) levels = to_packing(levels, packing);
    std::copy(levels.levels().begin(), levels.levels().end(), made.view().row(range.begin));
    for (std::size_t i = 0; i < range.size(); ++i) {
      scale.steps[range.begin + i] = levels.scale().step(i, 0);
      scale.offsets[range.begin + i] = levels.scale().offset(i, 0);
    }
  });
  made.set_scale(std::move(scale));
  return device.is_host() ? std::move(made) : made.to(device);
}

}  // namespace

std::size_t binarized_rows_bytes(std::size_t num_features, int threads) noexcept {
  return static_cast<std::size_t>(threads) * rows_at_once * num_features * sizeof(float);
}

QuantizedMatrix level_features(const DenseMatrix<float>& features, const FloatRules& rules,
                               std::span<const NodeId> nodes, int bits, LevelPacking packing, const Device& device) {
  const std::size_t nrows = nodes.empty() ? features.nrows() : nodes.size();
  return quantize_by_parts(
      nrows, features.ncols(), bits, packing, device,
      [&](DenseMatrix<float>& rows, std::size_t first) { copy_rows(rows, first, features, rules, nodes); });
}

namespace {

/// Rows first .. of sparse features, dense.
void expand_rows(DenseMatrix<float>& rows, std::size_t first, const CsrPattern& pattern,
                 std::span<const float> values) {
  const auto row_ptr = pattern.row_ptr();
  std::fill(rows.values().begin(), rows.values().end(), 0.0F);
  for (std::size_t i = 0; i < rows.nrows(); ++i) {
    for (EdgeOffset e = row_ptr[first + i]; e < row_ptr[first + i + 1]; ++e) rows(i, pattern.col_ind()[e]) = values[e];
  }
}

}  // namespace

QuantizedMatrix level_features(const SparseFeatures& features, std::span<const float> values, int bits,
                               LevelPacking packing, const Device& device) {
  const CsrPattern& pattern = features.pattern;
  return quantize_by_parts(
      pattern.nrows(), pattern.ncols(), bits, packing, device,
      [&](DenseMatrix<float>& rows, std::size_t first) { expand_rows(rows, first, pattern, values); });
}

SparseLevels sparse_level_features(const SparseFeatures& features, std::span<const float> values, int bits,
                                   const Device& device) {
  constexpr std::size_t most_rows = 32;
  const Device host = device.is_host() ? device : Device();
  const CsrPattern& pattern = features.pattern;
  const std::size_t n = pattern.nrows();
  SparseLevels made{pattern.to(host),
                    Buffer<std::uint16_t>(pattern.nvals(), host),
                    bits,
                    {ScaleExtent::row, Buffer<float>(n, host), Buffer<float>(n, host)}};
  parallel_chunks(host, n, most_rows, [&](Range range) {
    DenseMatrix<float> some(range.size(), pattern.ncols(), Device::host(1));
    expand_rows(some, range.begin, pattern, values);
    const QuantizedMatrix levels = quantize(some, features_in_levels(bits));
    for (std::size_t i = range.begin; i < range.end; ++i) {
      made.scale.steps[i] = levels.scale().step(i - range.begin, 0);
      made.scale.offsets[i] = levels.scale().offset(i - range.begin, 0);
      for (EdgeOffset e = pattern.row_ptr()[i]; e < pattern.row_ptr()[i + 1]; ++e)
        made.levels[e] = static_cast<std::uint16_t>(levels.level(i - range.begin, pattern.col_ind()[e]));
    }
  });
  return device.is_host() ? std::move(made) : made.to(device);
}

void round_to_levels(std::span<float> values, const SparseFeatures& features, int bits) {
  const SparseLevels levels = sparse_level_features(features, values, bits, Device());
  const auto row_ptr = features.pattern.row_ptr();
  for (NodeId i = 0; i < features.pattern.nrows(); ++i) {
    const float step = levels.scale.step(i, 0), offset = levels.scale.offset(i, 0);
    for (EdgeOffset e = row_ptr[i]; e < row_ptr[i + std::size_t{1}]; ++e)
      values[e] = step * static_cast<float>(levels.levels[e]) + offset;
  }
}

bool keeps_level_entries(std::size_t entries, std::size_t nrows, std::size_t ncols, FeatureStorage storage,
                         const Device& device) {
  // Costs in columns of dense rows. On the host an entry takes a multiplication for each output, and so do four
  // columns, of bytes. On a CUDA device a row takes 230 instructions of a warp and an entry 4, while memory brings 4 to
  // 8 columns an instruction; half of a row's counts, since small graphs wait for memory in both kernels.
  constexpr std::size_t an_entry = 16;
  const std::size_t a_row = device.is_host() ? 0 : 512;
  return storage == FeatureStorage::sparse && entries * an_entry + nrows * a_row <= nrows * ncols;
}

FeatureStorage storage_of_features(const InferenceOptions& options, const NumberFormat& format) noexcept {
  const bool grows = options.capacity.nodes != 0 || options.capacity.entries != 0;
  return grows && format.kind == NumberKind::levels ? FeatureStorage::dense : options.features;
}

namespace {

/// Signs that a map makes of each of `columns` features.
std::size_t signs_of_a_feature(const ColumnMap& map, std::size_t columns) {
  return map.shift.empty() || columns == 0 ? 1 : map.shift.size() / columns;
}

/// The same columns, each several times side by side, as many as there is room for.
void repeat_columns(DenseMatrix<float>& wide, const DenseMatrix<float>& x) {
  const std::size_t times = wide.ncols() / x.ncols();
  for (std::size_t i = 0; i < wide.nrows(); ++i) {
    for (std::size_t j = 0; j < x.ncols(); ++j) std::fill_n(wide.row(i).data() + j * times, times, x(i, j));
  }
}

/// Signs of several columns of the map for each feature; rows have no scale of their own. prepare(rows, first) makes
/// rows of features.
template <class Prepare>
Binarized binarize_repeated(std::size_t nrows, std::size_t num_features, const ColumnMap& map, const Device& host,
                            const Prepare& prepare) {
  Binarized made =
      binarize_by_parts(nrows, map.shift.size(), map, host, [&](DenseMatrix<float>& wide, std::size_t first) {
        DenseMatrix<float> rows(wide.nrows(), num_features, host);
        prepare(rows, first);
        repeat_columns(wide, rows);
      });
  made.alpha.fill(1.0F);
  return made;
}

}  // namespace

PackedFeatures::PackedFeatures(const SparseFeatures& features, std::span<const float> values, const ColumnMap& map,
                               const Device& device) {
  const CsrPattern& pattern = features.pattern;
  const Device host = device.is_host() ? device : Device();
  if (signs_of_a_feature(map, pattern.ncols()) > 1) {
    dense = binarize_repeated(
        pattern.nrows(), pattern.ncols(), map, host,
        [&](DenseMatrix<float>& rows, std::size_t first) { expand_rows(rows, first, pattern, values); });
    make_dense(device);
    return;
  }
  sparse = SparseBinarized{{}, Buffer<float>(pattern.nrows(), host)};
  binarize_into(*sparse, pattern, values, map);
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

PackedFeatures::PackedFeatures(const DenseMatrix<float>& features, bool normalize_rows, std::span<const NodeId> nodes,
                               const ColumnMap& map, const Device& device) {
  const Device host = device.is_host() ? device : Device();
  const bool repeats = signs_of_a_feature(map, features.ncols()) > 1;
  if (repeats || normalize_rows || !nodes.empty()) {
    const std::size_t n = nodes.empty() ? features.nrows() : nodes.size();
    const auto prepare = [&](DenseMatrix<float>& rows, std::size_t first) {
      copy_rows(rows, first, features, {.normalize_rows = normalize_rows}, nodes);
    };
    dense = repeats ? binarize_repeated(n, features.ncols(), map, host, prepare)
                    : binarize_by_parts(n, features.ncols(), map, host, prepare);
  } else {
    dense = Binarized{{features.nrows(), features.ncols(), host}, Buffer<float>(features.nrows(), host)};
    binarize_into(*dense, features, map);
  }
  if (!device.is_host()) dense = Binarized{dense->bits.to(device), dense->alpha.to(device)};
}

void PackedFeatures::make_dense(const Device& device) {
  if (sparse) {
    CsrPattern& flips = sparse->bits.flips;
    const SparseBitMatrix here{sparse->bits.base.clone(),
                               flips.device().is_host() ? std::move(flips) : flips.to(Device())};
    Buffer<float> scales = std::move(sparse->alpha);
    sparse.reset();  // gives its memory back before more is asked for
    dense = Binarized{to_bit_matrix(here), std::move(scales)};
  }
  if (device.is_host()) return;
  if (dense->bits.device().is_host()) dense->bits = dense->bits.to(device);
  if (dense->alpha.device().is_host()) dense->alpha = dense->alpha.to(device);
}

std::size_t PackedFeatures::bytes() const noexcept {
  return sparse ? sparse->bits.bytes() + sparse->alpha.bytes() : dense->bits.bytes() + dense->alpha.bytes();
}

SparseFeatures features_of(const SparseFeatures& features, std::span<const NodeId> nodes) {
  const CsrPattern& from = features.pattern;
  Buffer<EdgeOffset> row_ptr(nodes.size() + 1, EdgeOffset{0});
  for (std::size_t n = 0; n < nodes.size(); ++n) row_ptr[n + 1] = row_ptr[n] + from.row(nodes[n]).size();
  Buffer<NodeId> col_ind(row_ptr[nodes.size()]);
  Buffer<float> values(row_ptr[nodes.size()]);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const auto row = from.row(nodes[n]);
    std::copy(row.begin(), row.end(), col_ind.data() + row_ptr[n]);
    std::copy_n(features.values.data() + from.row_ptr()[nodes[n]], row.size(), values.data() + row_ptr[n]);
  }
  return {CsrPattern(static_cast<NodeId>(nodes.size()), from.ncols(), std::move(row_ptr), std::move(col_ind), trusted),
          std::move(values)};
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

DenseMatrix<float> dense_features(const Dataset& dataset, const FloatRules& rules, const Device& device,
                                  std::span<const NodeId> nodes) {
  if (!dataset.has_dense_features()) {
    const SparseFeatures some = nodes.empty() ? SparseFeatures() : features_of(dataset.features, nodes);
    const SparseFeatures& features = nodes.empty() ? dataset.features : some;
    const Buffer<float> values = model_features(features, rules);
    return dense_features(features, values.span(), device);
  }
  DenseMatrix<float> x = nodes.empty() ? dataset.dense_features.to(device)
                                       : DenseMatrix<float>(nodes.size(), dataset.num_features(), device);
  if (!nodes.empty()) gather_rows_into(x, dataset.dense_features, nodes);
  rules.apply(x);
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
    values = model_values.to(device);
  }
}

InputFeatures::InputFeatures(const Model& model, const Dataset& dataset, Precision form, FeatureStorage storage,
                             const Device& device, std::span<const NodeId> nodes, LevelPacking packing) {
  const ColumnMap map{model.input_mean.span(), model.input_inverse_deviation.span()};
  const bool in_levels = form.input.kind == NumberKind::levels;
  if (dataset.has_dense_features() && in_levels) {
    levels = level_features(dataset.dense_features, float_rules(model), nodes, form.input.bits, packing, device);
    return;
  }
  if (dataset.has_dense_features()) {
    // On the way to bits no more than some rows are copied.
    if (!form.multiplies_signs()) {
      const Device host = device.is_host() ? device : Device();
      DenseMatrix<float> x = dense_features(dataset, float_rules(model), host, nodes);
      real.emplace(device.is_host() ? std::move(x) : x.to(device));
    } else {
      packed.emplace(dataset.dense_features, model.normalize_rows, nodes, map, device);
    }
    return;
  }
  const SparseFeatures in_order = nodes.empty() ? SparseFeatures() : features_of(dataset.features, nodes);
  const SparseFeatures& features = nodes.empty() ? dataset.features : in_order;
  Buffer<float> values = model_features(features, float_rules(model));
  const CsrPattern& pattern = features.pattern;
  if (in_levels && keeps_level_entries(pattern.nvals(), pattern.nrows(), pattern.ncols(), storage, device)) {
    sparse_levels = sparse_level_features(features, values.span(), form.input.bits, device);
  } else if (in_levels) {
    levels = level_features(features, values.span(), form.input.bits, packing, device);
  } else if (!form.multiplies_signs()) {
    real.emplace(features, std::move(values), storage, device);
  } else {
    // Bits that are to be dense reach a device dense: memory for both is not asked for.
    const bool dense_on_device = storage == FeatureStorage::dense && !device.is_host();
    packed.emplace(features, values.span(), map, dense_on_device ? Device() : device);
    if (storage == FeatureStorage::dense) packed->make_dense(device);
  }
}

Precision form_of_features(const Model& model, std::span<const Precision> forms) {
  Precision form = forms.front();
  if (!form.multiplies_signs()) form = {format_of_features(program_of(model), forms), {}, {}, {}};
  return form;
}

std::string InputFeatures::format() const {
  if (sparse_levels) return fmt::format("sparse levels of {} bits", sparse_levels->bits);
  if (levels) return fmt::format("levels of {} bits", levels->bits());
  if (packed) return packed->sparse ? "sparse bits" : "bits";
  return real->is_dense() ? "float" : "sparse float";
}

}  // namespace bitgraph::nn
