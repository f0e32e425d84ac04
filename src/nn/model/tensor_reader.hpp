// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/io/array.hpp>
#include <bitgraph/nn/model.hpp>

#include "io/file/file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bitgraph::nn {

/// Takes tensors out of a file by name, checking type and shape.
class TensorReader {
 public:
  TensorReader(const TensorFile& file, std::string name) : file_(file), name_(std::move(name)) {}

  [[nodiscard]] std::string text(const std::string& key) const {
    const auto found = file_.metadata.find(key);
    if (found == file_.metadata.end()) refuse("the metadata lack '" + key + "'");
    return found->second;
  }

  [[nodiscard]] std::uint64_t number(const std::string& key) const {
    const std::string value = text(key);
    std::uint64_t parsed = 0;
    const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
    if (error != std::errc() || stop != value.data() + value.size())
      refuse(fmt::format("metadata '{}': '{}' is not a whole number", key, printable(value)));
    return parsed;
  }

  /// 0 or 1.
  [[nodiscard]] bool flag(const std::string& key) const {
    const std::uint64_t value = number(key);
    if (value > 1) refuse(fmt::format("{} is {}, expected 0 or 1", key, value));
    return value == 1;
  }

  [[nodiscard]] const Array& tensor(const std::string& key, ElementType type,
                                    const std::vector<std::uint64_t>& shape) const {
    const auto found = file_.tensors.find(key);
    if (found == file_.tensors.end()) refuse("the tensor '" + key + "' is missing");
    taken_.insert(key);
    if (found->second.type != type || found->second.shape != shape) {
      refuse(fmt::format("the tensor '{}' is {} [{}], expected {} [{}]", key, to_string(found->second.type),
                         fmt::join(found->second.shape, ", "), to_string(type), fmt::join(shape, ", ")));
    }
    return found->second;
  }

  [[nodiscard]] Buffer<float> floats(const std::string& key, const std::vector<std::uint64_t>& shape) const {
    Buffer<float> values = tensor(key, ElementType::f32, shape).as<float>();
    for (const float value : values.span()) {
      if (!std::isfinite(value)) refuse("the tensor '" + key + "' holds a value that is not finite");
    }
    return values;
  }

  /// Floats of which none is negative.
  [[nodiscard]] Buffer<float> scales(const std::string& key, const std::vector<std::uint64_t>& shape) const {
    Buffer<float> values = floats(key, shape);
    if (std::any_of(values.begin(), values.end(), [](float v) { return v < 0; }))
      refuse("the tensor '" + key + "' holds a negative scale");
    return values;
  }

  [[nodiscard]] BitMatrix<PlusMinusOne> bits(const std::string& key, std::uint64_t nrows, std::uint64_t ncols) const {
    auto words = tensor(key, ElementType::u64, {nrows, words_for_bits(ncols)}).as<std::uint64_t>();
    try {
      return {nrows, ncols, std::move(words)};
    } catch (const Error& error) {
      refuse("the tensor '" + key + "': " + error.what());
    }
  }

  /// Steps, and offsets where the file has them.
  [[nodiscard]] LevelScale level_scale(const std::string& name, ScaleExtent extent, std::uint64_t count) const {
    LevelScale scale{extent, floats(name + "_step", {count}), {}};
    if (file_.tensors.contains(name + "_offset")) scale.offsets = floats(name + "_offset", {count});
    try {
      require_valid(scale, count, count);
    } catch (const Error& error) {
      refuse("the tensor '" + name + "_step': " + error.what());
    }
    return scale;
  }

  [[nodiscard]] QuantizedMatrix levels(const std::string& key, std::uint64_t nrows, std::uint64_t ncols,
                                       const NumberFormat& format) const {
    auto bytes = tensor(key, ElementType::u8, {nrows, level_row_bytes(ncols, format.bits)}).as<std::uint8_t>();
    LevelScale scale = level_scale(key, format.scale, nrows);
    if (scale.has_offsets() != format.offset) refuse("the tensor '" + key + "_offset' is missing");
    try {
      return {nrows, ncols, format.bits, std::move(bytes), std::move(scale)};
    } catch (const Error& error) {
      refuse("the tensor '" + key + "': " + error.what());
    }
  }

  /// Throws where there is a tensor that nobody took: attention, a second batch norm, a layer of another kind would
  /// change the logits. Names that end in `but_for` say nothing.
  void refuse_what_is_left(std::string_view but_for = {}) const {
    for (const auto& [name, array] : file_.tensors) {
      if (!taken_.contains(name) && (but_for.empty() || !name.ends_with(but_for)))
        refuse("the tensor '" + printable(name) + "' belongs to no layer that is known here");
    }
  }

  [[noreturn]] void refuse(const std::string& what) const { fail(ErrorCode::bad_input, name_ + ": " + what); }

 private:
  const TensorFile& file_;
  std::string name_;
  mutable std::set<std::string> taken_;
};

/// A model out of the tensors of a PyTorch state dictionary. Throws bad_input naming what is missing or not understood.
[[nodiscard]] Model model_of_state(const TensorFile& file, const TensorReader& reader);

}  // namespace bitgraph::nn
