// SPDX-License-Identifier: Apache-2.0
#include "nn/updates/feature_updates.hpp"

#include <bitgraph/ops/dense.hpp>

#include "core/finite.hpp"
#include "core/threads/parallel.hpp"
#include "nn/model/feature_rules.hpp"
#include "nn/model/normalization.hpp"
#include "nn/model/some_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace bitgraph::nn {

namespace {

[[noreturn]] void refuse_row(std::size_t row) {
  fail(ErrorCode::bad_input, fmt::format("features: row {} has a value that is not finite", row));
}

/// Signs have the mean magnitude of their row beside them: where that is finite, so is the row.
void require_finite(const DenseMatrix<float>& x, std::span<const float> alpha, std::span<const NodeId> nodes) {
  for (std::size_t i = 0; i < alpha.size(); ++i) {
    const std::size_t row = nodes.empty() ? i : nodes[i];
    if (!std::isfinite(alpha[i]) && !all_finite(x.row(row))) refuse_row(row);
  }
}

template <class T>
void copy_row(T* to, const Device& device, const T* from, std::size_t count) {
  Device::copy(to, device, from, Device(), count * sizeof(T));
}

Dataset small_set(const SparseFeatures& x) {
  Dataset set;
  set.features = {x.pattern.clone(), x.values.clone()};
  return set;
}

SparseFeatures no_features(std::size_t rows, std::size_t width) {
  return {CsrPattern(static_cast<NodeId>(rows), static_cast<NodeId>(width), Buffer<EdgeOffset>(rows + 1, EdgeOffset{0}),
                     Buffer<NodeId>()),
          Buffer<float>()};
}

}  // namespace

void require_finite(const DenseMatrix<float>& x, const Device& host) {
  if (all_finite(x.values(), host)) return;
  for (std::size_t i = 0; i < x.nrows(); ++i) {
    if (!all_finite(x.row(i))) refuse_row(i);
  }
}

void require_finite(const SparseFeatures& x, const Device& host) {
  if (all_finite(x.values.span(), host)) return;
  const auto row_ptr = x.pattern.row_ptr();
  for (std::size_t i = 0; i < x.pattern.nrows(); ++i) {
    if (!all_finite(x.values.span().subspan(row_ptr[i], row_ptr[i + 1] - row_ptr[i]))) refuse_row(i);
  }
}

template <class T>
template <class Matrix>
Buffer<T> GrowingRows<T>::resize(Matrix& matrix, std::span<T> values, std::size_t size, std::size_t reserved,
                                 const Device& device) {
  if (!owner_) {
    data_ = values.data();
    capacity_ = values.size();
    owner_ = std::make_shared<Matrix>(std::move(matrix));
  }
  const std::size_t kept = std::min(size, values.size());
  if (size > capacity_) {
    auto larger = std::make_shared<Buffer<T>>(std::max(size, reserved), T{}, device);
    Device::copy(larger->data(), device, data_, device, kept * sizeof(T));
    data_ = larger->data();
    capacity_ = larger->size();
    owner_ = larger;
  } else if (size > kept) {
    Buffer<T> added = lent(data_ + kept, size - kept, device);
    added.fill(T{});
  }
  return Buffer<T>::borrow(data_, size, owner_, device);
}

FeatureUpdates::FeatureUpdates(InputFeatures& features, const Model& model, Precision form, FeatureStorage storage,
                               bool dense, std::size_t num_features, std::size_t reserved_rows, const Device& device)
    : features_(features),
      form_(form),
      storage_(storage),
      dense_(dense || form.input.kind == NumberKind::levels || model.thresholds > 1),
      width_(num_features),
      reserved_(reserved_rows),
      device_(device),
      host_(device.is_host() ? device : Device()) {
  header_.precision = model.precision;
  copy_feature_rules(header_, model);
}

void FeatureUpdates::set_all(const DenseMatrix<float>& x, std::span<const NodeId> nodes) {
  if (!dense_) return set_all(sparse_features(x), nodes);
  if (features_.levels || features_.sparse_levels) {
    require_finite(x, host_);
    moved_ = true;
    features_.sparse_levels.reset();
    const LevelPacking packing = features_.levels ? features_.levels->packing() : LevelPacking::places;
    features_.levels = level_features(x, float_rules(header_), nodes, form_.input.bits, packing, device_);
    return level_rows_.forget(), steps_.forget(), alpha_.forget();
  }
  if (!form_.multiplies_signs()) {
    DenseMatrix<float> copy = x.to(host_);
    return swap_all(copy, nodes);
  }
  if (header_.thresholds > 1) require_finite(x, host_);  // no scale would tell
  PackedFeatures made(x, header_.normalize_rows, nodes, map(), device_);
  const Buffer<float> alpha = device_.is_host() ? Buffer<float>() : made.dense->alpha.to(Device());
  require_finite(x, alpha.empty() ? made.alpha() : alpha.span(), nodes);
  moved_ = true;
  features_.packed->dense = std::move(made.dense);
  words_.forget();
  alpha_.forget();
}

void FeatureUpdates::swap_all(DenseMatrix<float>& x, std::span<const NodeId> nodes) {
  if (!dense_ || form_.multiplies_signs() || form_.input.kind == NumberKind::levels) return set_all(x, nodes);
  require_finite(x, host_);
  moved_ = true;
  DenseMatrix<float> in_order(nodes.empty() ? 0 : x.nrows(), width_, host_);
  if (!nodes.empty()) gather_rows_into(in_order, x, nodes);
  DenseMatrix<float>& made = nodes.empty() ? x : in_order;
  const FloatRules rules = float_rules(header_);
  if (rules.change())
    parallel_chunks(host_, made.nrows(), 32, [&](Range r) { rules.apply(made.view(), r.begin, r.end); });
  if (device_.is_host()) {
    std::swap(features_.real->dense, made);
  } else {
    features_.real->dense = made.to(device_);
  }
  floats_.forget();
}

void FeatureUpdates::set_all(const SparseFeatures& x, std::span<const NodeId> nodes) {
  if (dense_) return set_all(dense_features(x, x.values.span(), host_), nodes);
  require_finite(x, host_);
  moved_ = true;
  InputFeatures made(header_, small_set(x), form_, storage_, device_, nodes);
  if (!form_.multiplies_signs()) {
    *features_.real = std::move(*made.real);
  } else {
    *features_.packed = std::move(*made.packed);
  }
  entries_.reset();
  flips_.reset();
  floats_.forget();
  words_.forget();
  alpha_.forget();
}

void FeatureUpdates::set_rows(std::span<const NodeId> rows, const DenseMatrix<float>& x) {
  if (rows.empty()) return;
  require_finite(x, host_);
  dense_ ? set_dense_rows(rows, x) : set_sparse_rows(rows, sparse_features(x));
}

void FeatureUpdates::set_rows(std::span<const NodeId> rows, const SparseFeatures& x) {
  if (rows.empty()) return;
  require_finite(x, host_);
  dense_ ? set_dense_rows(rows, dense_features(x, x.values.span(), host_)) : set_sparse_rows(rows, x);
}

template <class Features>
void FeatureUpdates::set_all_as(const Model& model, const Features& x, std::span<const NodeId> nodes) {
  Model rules;
  rules.precision = header_.precision;
  copy_feature_rules(rules, model);
  std::swap(header_, rules);
  try {
    set_all(x, nodes);
  } catch (...) {
    std::swap(header_, rules);
    throw;
  }
  base_ = {};
}
template void FeatureUpdates::set_all_as(const Model&, const DenseMatrix<float>&, std::span<const NodeId>);
template void FeatureUpdates::set_all_as(const Model&, const SparseFeatures&, std::span<const NodeId>);

/// Rows that change are dense: the same levels, and the same results.
void FeatureUpdates::make_levels_dense() {
  if (!features_.sparse_levels) return;
  moved_ = true;
  const SparseLevels& entries = *features_.sparse_levels;
  features_.levels = device_.is_host() ? to_quantized(entries) : to_quantized(entries.to(host_)).to(device_);
  features_.sparse_levels.reset();
}

void FeatureUpdates::set_levels(std::span<const NodeId> rows, const QuantizedMatrix& x) {
  QuantizedMatrix& kept = *features_.levels;
  const std::size_t bytes = kept.row_bytes();
  LevelScale scale = kept.scale().share(device_);  // the same arrays
  for (std::size_t i = 0; i < rows.size(); ++i) {
    copy_row(kept.levels().data() + rows[i] * bytes, device_, x.levels().data() + i * bytes, bytes);
    copy_row(scale.steps.data() + rows[i], device_, x.scale().steps.data() + i, 1);
    copy_row(scale.offsets.data() + rows[i], device_, x.scale().offsets.data() + i, 1);
  }
}

void FeatureUpdates::set_dense_rows(std::span<const NodeId> rows, const DenseMatrix<float>& x) {
  make_levels_dense();
  if (features_.levels) {
    moved_ = true;  // a copy of the scales stands in the plan
    return set_levels(
        rows, level_features(x, float_rules(header_), {}, form_.input.bits, features_.levels->packing(), host_));
  }
  if (form_.multiplies_signs())
    return set_signs(rows, *PackedFeatures(x, header_.normalize_rows, {}, map(), host_).dense);
  DenseMatrix<float> values = x.clone();
  float_rules(header_).apply(values);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    copy_row(features_.real->dense.values().data() + rows[i] * width_, device_, std::as_const(values).row(i).data(),
             width_);
  }
}

void FeatureUpdates::set_sparse_rows(std::span<const NodeId> rows, const SparseFeatures& x) {
  const Buffer<float> values = model_features(x, float_rules(header_));
  if (!form_.multiplies_signs()) {
    if (!features_.real->is_dense()) return replace_entries(rows, x.pattern, values.span());
    const DenseMatrix<float> dense = dense_features(x, values.span(), host_);
    for (std::size_t i = 0; i < rows.size(); ++i)
      copy_row(features_.real->dense.values().data() + rows[i] * width_, device_, dense.row(i).data(), width_);
    return;
  }
  set_flips(rows, binarize(x.pattern, values.span(), map()));
  choose_format();
}

void FeatureUpdates::set_signs(std::span<const NodeId> rows, const Binarized& signs) {
  Binarized& kept = *features_.packed->dense;
  const std::size_t words = kept.bits.words_per_row();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    copy_row(kept.bits.words().data() + rows[i] * words, device_, signs.bits.words().data() + i * words, words);
    copy_row(kept.alpha.data() + rows[i], device_, signs.alpha.data() + i, 1);
  }
}

void FeatureUpdates::set_flips(std::span<const NodeId> rows, const SparseBinarized& signs) {
  PackedFeatures& packed = *features_.packed;
  if (packed.dense) {
    const std::size_t words = packed.dense->bits.words_per_row();
    Buffer<std::uint64_t> row(words);
    for (std::size_t i = 0; flips_ && i < rows.size(); ++i) {
      const std::uint64_t* const before = packed.dense->bits.words().data() + rows[i] * words;
      Device::copy(row.data(), Device(), before, device_, row.bytes());
      *flips_ += signs.bits.flips.row(static_cast<NodeId>(i)).size() - flips_of(row.data());
    }
    SparseBitMatrix bits{signs.bits.base.clone(), signs.bits.flips.clone()};
    return set_signs(rows, {to_bit_matrix(bits), signs.alpha.clone()});
  }
  replace_entries(rows, signs.bits.flips, {});
  for (std::size_t i = 0; i < rows.size(); ++i)
    copy_row(packed.sparse->alpha.data() + rows[i], device_, signs.alpha.data() + i, 1);
}

/// The entries of sparse features, to be changed. They are copied once.
ChangingRows& FeatureUpdates::entries() {
  if (entries_) return *entries_;
  const bool real = !form_.multiplies_signs();
  const CsrPattern& pattern = real ? features_.real->pattern : features_.packed->sparse->bits.flips;
  // As many entries a row as there are now, and some for rows that change.
  const std::size_t n = std::max<std::size_t>(1, pattern.nrows());
  const std::size_t reserved = (pattern.nvals() / n + 1) * std::max(reserved_, n) + pattern.nvals() / 16;
  if (real) {
    entries_.emplace(pattern, features_.real->values.span(), reserved_, reserved, host_);
  } else if (device_.is_host()) {
    entries_.emplace(pattern, reserved_, reserved, host_);
  } else {
    entries_.emplace(pattern.to(Device()), reserved_, reserved, host_);
  }
  return *entries_;
}

/// The plan's features are views of the entries, or a copy on the device.
void FeatureUpdates::show_entries() {
  moved_ |= !device_.is_host();
  const CsrPattern& rows = entries_->pattern();
  const auto view = [&] {
    const auto lend = [&](const auto& span) {
      using T = std::remove_const_t<typename std::remove_reference_t<decltype(span)>::value_type>;
      return lent(const_cast<T*>(span.data()), span.size(), host_);  // nobody writes through a pattern
    };
    return CsrPattern(rows.nrows(), rows.ncols(), lend(rows.row_ptr()), lend(rows.col_ind()), trusted);
  };
  if (!form_.multiplies_signs()) {
    const auto values = entries_->values();
    features_.real->pattern = view();
    features_.real->values = lent(const_cast<float*>(values.data()), values.size(), host_);
  } else {
    features_.packed->sparse->bits.flips = device_.is_host() ? view() : rows.to(device_);
  }
}

void FeatureUpdates::replace_entries(std::span<const NodeId> rows, const CsrPattern& pattern,
                                     std::span<const float> values) {
  std::vector<ChangingRows::Row> changed;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = pattern.row(static_cast<NodeId>(i));
    changed.push_back({rows[i], row, values.empty() ? values : values.subspan(pattern.row_ptr()[i], row.size())});
  }
  ChangingRows& kept = entries();
  kept.replace(changed, kept.pattern().nrows(), kept.pattern().ncols());
  show_entries();
}

void FeatureUpdates::resize_entries(NodeId rows) {
  ChangingRows& kept = entries();
  kept.replace({}, rows, kept.pattern().ncols());
  show_entries();
}

void FeatureUpdates::resize(std::size_t rows) {
  moved_ = true;
  const auto resized = [&](auto& storage, auto& matrix, auto values, std::size_t per_row) {
    return storage.resize(matrix, values, rows * per_row, reserved_ * per_row, device_);
  };
  std::size_t before = 0;
  make_levels_dense();
  if (features_.levels) {
    QuantizedMatrix& kept = *features_.levels;
    before = kept.nrows();
    LevelScale scale = kept.scale().share(device_);
    const std::span<std::uint8_t> levels = kept.levels().span();
    const std::size_t row_bytes = kept.row_bytes();
    const auto [bits, packing] = std::pair(kept.bits(), kept.packing());
    Buffer<float> steps = resized(steps_, scale.steps, scale.steps.span(), 1);
    Buffer<float> offsets = resized(alpha_, scale.offsets, scale.offsets.span(), 1);
    Buffer<std::uint8_t> bytes = resized(level_rows_, kept, levels, row_bytes);
    kept = QuantizedMatrix(rows, width_, bits, std::move(bytes),
                           {ScaleExtent::row, std::move(steps), std::move(offsets)}, trusted, packing);
  } else if (features_.real) {
    RealFeatures& real = *features_.real;
    before = real.is_dense() ? real.dense.nrows() : real.pattern.nrows();
    if (real.is_dense()) {
      Buffer<float> values = resized(floats_, real.dense, real.dense.values(), width_);
      real.dense = DenseMatrix<float>(rows, width_, std::move(values));
    } else {
      resize_entries(static_cast<NodeId>(rows));
    }
  } else if (features_.packed->dense) {
    Binarized& dense = *features_.packed->dense;
    before = dense.bits.nrows();
    Buffer<std::uint64_t> words = resized(words_, dense.bits, dense.bits.words(), dense.bits.words_per_row());
    dense.bits = BitMatrix<PlusMinusOne>(rows, width_ * header_.thresholds, std::move(words));
    dense.alpha = resized(alpha_, dense.alpha, dense.alpha.span(), 1);
  } else {
    SparseBinarized& sparse = *features_.packed->sparse;
    before = sparse.bits.nrows();
    resize_entries(static_cast<NodeId>(rows));
    sparse.alpha = resized(alpha_, sparse.alpha, sparse.alpha.span(), 1);
  }
  flips_.reset();
  if (rows <= before) return choose_format();
  std::vector<NodeId> added(rows - before);
  std::iota(added.begin(), added.end(), static_cast<NodeId>(before));
  set_rows(added, no_features(added.size(), width_));
}

const BitMatrix<PlusMinusOne>& FeatureUpdates::base() {
  if (base_.nrows() == 0) base_ = binarize(no_features(0, width_).pattern, {}, map()).bits.base.to(host_);
  return base_;
}

/// How many signs of a row differ from the base row.
std::size_t FeatureUpdates::flips_of(const std::uint64_t* words) {
  const auto base_words = base().words();
  std::size_t count = 0;
  for (std::size_t w = 0; w < base_words.size(); ++w)
    count += static_cast<std::size_t>(std::popcount(words[w] ^ base_words[w]));
  return count;
}

/// The same of all rows. Counted once: rows that change add their difference.
std::size_t FeatureUpdates::count_flips() {
  if (flips_) return *flips_;
  const BitMatrix<PlusMinusOne> bits = features_.packed->dense->bits.to(host_);
  flips_ = 0;
  for (std::size_t i = 0; i < bits.nrows(); ++i) *flips_ += flips_of(bits.words().data() + i * bits.words_per_row());
  return *flips_;
}

/// Signs that came sparse are kept in the format that is smaller, as in a new plan.
void FeatureUpdates::choose_format() {
  if (!form_.multiplies_signs() || dense_ || storage_ == FeatureStorage::dense) return;
  PackedFeatures& packed = *features_.packed;
  const std::size_t rows = packed.sparse ? packed.sparse->bits.nrows() : packed.dense->bits.nrows();
  const std::size_t row_bytes = words_for_bits(width_) * sizeof(std::uint64_t);
  const std::size_t flips = packed.sparse ? packed.sparse->bits.flips.nvals() : count_flips();
  const bool sparse = row_bytes + (rows + 1) * sizeof(EdgeOffset) + flips * sizeof(NodeId) <= rows * row_bytes;
  if (sparse == packed.sparse.has_value()) return;
  moved_ = true;
  if (sparse) return make_sparse();
  packed.make_dense(device_);
  entries_.reset();
  alpha_.forget();
  flips_.reset();
}

void FeatureUpdates::make_sparse() {
  PackedFeatures& packed = *features_.packed;
  const BitMatrix<PlusMinusOne> bits = packed.dense->bits.to(host_);
  BitMatrix<ZeroOne> differs(bits.nrows(), width_, host_);
  const auto base_words = base().words();
  const std::size_t words = bits.words_per_row();
  for (std::size_t w = 0; w < bits.words().size(); ++w) differs.words()[w] = bits.words()[w] ^ base_words[w % words];
  CsrPattern flips = to_csr(differs);
  packed.sparse = SparseBinarized{{base().clone(), device_.is_host() ? std::move(flips) : flips.to(device_)},
                                  packed.dense->alpha.clone()};
  packed.dense.reset();
  words_.forget();
  alpha_.forget();
}

void FeatureUpdates::permute(std::span<const NodeId> from) {
  moved_ = true;
  const auto gathered = [&](const Buffer<float>& values) {
    const Buffer<float> here = values.to(Device());
    Buffer<float> moved(from.size(), host_);
    for (std::size_t i = 0; i < from.size(); ++i) moved[i] = here[from[i]];
    return device_.is_host() ? std::move(moved) : moved.to(device_);
  };
  make_levels_dense();
  if (features_.levels) {
    const QuantizedMatrix here = features_.levels->to(Device());
    QuantizedMatrix moved(from.size(), width_, here.bits(), host_, here.packing());
    for (std::size_t i = 0; i < from.size(); ++i)
      std::copy_n(here.view().row(from[i]), here.row_bytes(), moved.view().row(i));
    LevelScale scale{ScaleExtent::row, gathered(here.scale().steps), gathered(here.scale().offsets)};
    if (!device_.is_host()) moved = moved.to(device_);
    moved.set_scale(std::move(scale));
    features_.levels = std::move(moved);
    return level_rows_.forget(), steps_.forget(), alpha_.forget();
  }
  if (features_.real) {
    RealFeatures& real = *features_.real;
    if (real.is_dense()) {
      DenseMatrix<float> moved(from.size(), width_, host_);
      gather_rows_into(moved, real.dense.to(host_), from);
      real.dense = device_.is_host() ? std::move(moved) : moved.to(device_);
      return floats_.forget();
    }
    SparseFeatures moved = features_of({real.pattern.clone(), real.values.clone()}, from);
    real.pattern = std::move(moved.pattern);
    real.values = std::move(moved.values);
    return entries_.reset();
  }
  alpha_.forget();
  if (features_.packed->dense) {
    Binarized& dense = *features_.packed->dense;
    BitMatrix<PlusMinusOne> moved(from.size(), width_, host_);
    gather_rows_into(moved, dense.bits.to(host_), from);
    dense.bits = device_.is_host() ? std::move(moved) : moved.to(device_);
    dense.alpha = gathered(dense.alpha);
    return words_.forget();
  }
  SparseBinarized& sparse = *features_.packed->sparse;
  const CsrPattern flips = sparse.bits.flips.to(host_);
  CsrPattern moved = features_of({flips.clone(), Buffer<float>(flips.nvals(), 0.0F)}, from).pattern;
  sparse.bits.flips = device_.is_host() ? std::move(moved) : moved.to(device_);
  sparse.alpha = gathered(sparse.alpha);
  entries_.reset();
}

}  // namespace bitgraph::nn
