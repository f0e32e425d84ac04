// SPDX-License-Identifier: Apache-2.0
#include "nn/inference/runtime/runtime.hpp"

#include "nn/inference/runtime/kernels.hpp"
#include "nn/model/some_rows.hpp"

#include <algorithm>
#include <type_traits>

namespace bitgraph::nn {

void Runtime::find(const Compiled& compiled, CallerOrder& back, bool streamed) {
  compiled_ = &compiled;
  back_ = &back;
  streamed_ = streamed;
  values_.clear();
  prepared_.clear();
  prepared_.resize(program().operators.size());
  for (std::size_t n = 0; n < prepared_.size(); ++n) {
    if (const auto find_of = operator_traits(op(n).kind).find) find_of(*this, op(n), prepared_[n]);
  }
  layout_ = place(program(), num_nodes(), compiled_->shares_memory);
}

void Runtime::bind(std::size_t capacity) {
  layout_ = place(program(), std::max(num_nodes(), capacity), compiled_->shares_memory);
  const std::size_t words = (layout_.bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
  values_.clear();
  scales_.clear();
  for (Prepared& prepared : prepared_) {  // what comes in their place may lie where they were
    prepared.scaled = {};
    prepared.scaled_entries = {};
  }
  if (memory_.size() != words) {
    memory_ = Buffer<std::uint64_t>();  // before the new memory is there
    memory_ = Buffer<std::uint64_t>(words, device_);
  }
  for (ValueId v = 0; v < program().values.size(); ++v) values_.push_back(view_of(v));
  for (std::size_t n = 0; n < prepared_.size(); ++n) {
    if (const auto bind_of = operator_traits(op(n).kind).bind) bind_of(*this, op(n), prepared_[n]);
  }
  prepare_runs();
}

void Runtime::prepare_runs() {
  for (std::size_t n = 0; n < prepared_.size(); ++n) {
    const Operator& its = op(n);
    if (adds_planes(program(), its) && program().value(its.outputs.back()).prepared_words != 0)
      prepare_sum(*this, its, prepared_[n]);
  }
}

void Runtime::bind_result() {
  values_.clear();
  values_.resize(program().values.size());
  memory_ = Buffer<std::uint64_t>();
  values_[program().result] = Floats(num_nodes(), program().value(program().result).columns, device_);
}

void Runtime::find_scales() {
  scales_.clear();
  for (ValueId v = 0; v < program().values.size(); ++v)
    scales_.push_back(makes_levels(v) && !is_features(v) ? scale_of(program().value(v)) : LevelScale());
}

LevelScale Runtime::scale_of(const Value& value) const {
  if (!value.by_degree()) return weights_.scale_of(value).share(device_);
  const LevelScale one = weights_.scale_of(value).to(Device());
  const std::span<const float> there = graph_.degree_roots(degree_root_of(program().operators));
  Buffer<float> roots(there.size());
  Device::copy(roots.data(), Device(), there.data(), device_, roots.bytes());
  LevelScale scale{ScaleExtent::row, roots.clone(), one.has_offsets() ? roots.clone() : Buffer<float>()};
  for (float& step : scale.steps) step *= one.steps[0];
  for (float& offset : scale.offsets) offset *= one.offsets[0];
  return scale.to(device_);
}

Runtime::Memory Runtime::view_of(ValueId v) {
  const Value& value = program().value(v);
  if (is_features(v) || value.in_kernel || layout_.offset[v] == Layout::nowhere) return {};
  const std::size_t rows = value.rows(num_nodes());
  auto* const at = reinterpret_cast<std::byte*>(memory_.data()) + layout_.offset[v];
  const auto scores = [&](auto empty, std::size_t row_size) {
    using Number = std::remove_pointer_t<decltype(empty.values.data())>;
    empty.nrows = rows;
    empty.count = value.columns;
    empty.ncols = value.scored_bits;
    empty.values = lent(reinterpret_cast<Number*>(at), rows * row_size, device_);
    return empty;
  };
  if (value.scaled_scores) return scores(ScaledScores(), ScaledScores::row_bytes(value.columns));
  if (value.scored_bits != 0) return scores(RowScores(), RowScores::row_size(value.columns));
  if (value.is_levels()) {
    const std::size_t bytes = rows * level_row_bytes(value.columns, value.format.bits, value.packing);
    return QuantizedMatrix(rows, value.columns, value.format.bits,
                           lent(reinterpret_cast<std::uint8_t*>(at), bytes, device_), scale_of(value), trusted,
                           value.packing);
  }
  if (value.is_sum_memory())
    return lent(reinterpret_cast<std::uint64_t*>(at), value.bytes(num_nodes()) / sizeof(std::uint64_t), device_);
  if (value.is_planes()) {
    const std::size_t words = value.bytes(num_nodes()) / sizeof(std::uint64_t);
    return BitPlanes(rows, value.columns, value.format.bits, PlanePacking::columns,
                     lent(reinterpret_cast<std::uint64_t*>(at), words, device_),
                     weights_.scale_of(value).share(device_), trusted);
  }
  if (!value.is_signs()) {
    return Floats(rows, value.columns, lent(reinterpret_cast<float*>(at), rows * value.columns, device_));
  }
  const std::size_t words = rows * words_for_bits(value.columns);
  Bits bits(rows, value.columns, lent(reinterpret_cast<std::uint64_t*>(at), words, device_), trusted);
  if (value.format.scale == ScaleExtent::none) return bits;
  auto* const scales = reinterpret_cast<float*>(at + words * sizeof(std::uint64_t));
  return Binarized{std::move(bits), lent(scales, rows, device_)};
}

const Runtime::Floats& Runtime::floats_in(ValueId v) const {
  return is_features(v) ? features_.real->dense : std::get<Floats>(values_[v]);
}

const QuantizedMatrix& Runtime::levels_in(ValueId v) const {
  return is_features(v) ? *features_.levels : std::get<QuantizedMatrix>(values_[v]);
}

const LevelScale& Runtime::scale_of_levels(ValueId v) const {
  if (!is_features(v)) return scales_[v];
  return features_.sparse_levels ? features_.sparse_levels->scale : features_.levels->scale();
}

Runtime::Bits& Runtime::bits(ValueId v) {
  if (auto* const scaled = std::get_if<Binarized>(&values_[v])) return scaled->bits;
  return std::get<Bits>(values_[v]);
}

const Runtime::Bits& Runtime::bits_in(ValueId v) const {
  if (is_features(v)) return features_.packed->dense->bits;
  if (const auto* const scaled = std::get_if<Binarized>(&values_[v])) return scaled->bits;
  return std::get<Bits>(values_[v]);
}

std::span<const float> Runtime::row_scales(ValueId v) const {
  if (is_features(v)) return features_.packed->alpha();
  const auto* const scaled = std::get_if<Binarized>(&values_[v]);
  return scaled == nullptr ? std::span<const float>() : scaled->alpha.span();
}

std::vector<LaunchStep> Runtime::launch_steps(std::size_t n) const {
  return operator_traits(op(n).kind).launch(*this, op(n), prepared_[n]);
}

}  // namespace bitgraph::nn
