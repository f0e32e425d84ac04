// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>
#include <bitgraph/nn/precision.hpp>

#include "core/names.hpp"
#include "io/file/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

namespace bitgraph::nn {

namespace {

constexpr Names<Precision, 3> presets{{{Precision::real, "float"}, {Precision::full, "full"}, {Precision::bin, "bin"}}};

constexpr int float_bits = 32;

int bits_of(const NumberFormat& format) { return format.kind == NumberKind::levels ? format.bits : float_bits; }

NumberFormat levels_or_float(int bits, ScaleExtent extent) {
  if (bits == float_bits) return {};
  return {NumberKind::levels, bits, extent, true};
}

/// Reads `letter` and the number behind it. False where the text does not begin so.
bool take_bits(std::string_view& text, char letter, int& bits) {
  if (!text.starts_with(letter)) return false;
  const auto [stop, error] = std::from_chars(text.data() + 1, text.data() + text.size(), bits);
  if (error != std::errc() || bits < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return true;
}

/// "w8a4m2", or without the last part, which is then as the second. Empty: it is not such a name.
std::optional<Precision> precision_of_bits(std::string_view text) {
  int weight = 0, input = 0, messages = 0;
  if (!take_bits(text, 'w', weight) || !take_bits(text, 'a', input)) return std::nullopt;
  messages = input;
  if (text.starts_with('m') && !take_bits(text, 'm', messages)) return std::nullopt;
  const Precision precision = Precision::of_levels(weight, input, messages);
  if (text == "d") return precision.with_input_by_degree();
  return text.empty() ? std::optional(precision) : std::nullopt;
}

/// Four formats with slashes between them. Empty: these are not four parts.
std::optional<Precision> precision_of_formats(std::string_view text) {
  std::array<NumberFormat, 4> formats;
  for (std::size_t n = 0; n < formats.size(); ++n) {
    const std::size_t end = text.find('/');
    const bool last = n + 1 == formats.size();
    if ((end == std::string_view::npos) != last) return std::nullopt;
    formats[n] = number_format_from_string(text.substr(0, end));
    if (!last) text.remove_prefix(end + 1);
  }
  const Precision precision{formats[0], formats[1], formats[2], formats[3]};
  require_supported(precision);
  return precision;
}

/// What of_levels() makes of the bits of a precision; empty: it has no levels, or in one factor of the products alone.
std::optional<Precision> of_same_bits(const Precision& p) {
  const bool together = (p.input.kind == NumberKind::levels) == p.multiplies_levels();
  if (!p.has_levels() || !together) return std::nullopt;
  return Precision::of_levels(bits_of(p.weight), bits_of(p.input), bits_of(p.messages));
}

}  // namespace

Precision Precision::of_levels(int weight_bits, int input_bits, int message_bits) {
  const int most = number_traits(NumberKind::levels).most_bits;
  for (const int bits : {weight_bits, input_bits, message_bits}) {
    if (bits < 1 || (bits > most && bits != float_bits)) {
      fail(ErrorCode::usage,
           fmt::format("levels of {} bits: expected 1 to {}, or {} for floats", bits, most, float_bits));
    }
  }
  if ((weight_bits == float_bits) != (input_bits == float_bits)) {
    fail(ErrorCode::usage,
         fmt::format("weights of {} bits and inputs of {}: floats are multiplied by floats", weight_bits, input_bits));
  }
  return {levels_or_float(input_bits, ScaleExtent::tensor),
          levels_or_float(weight_bits, ScaleExtent::row),
          levels_or_float(message_bits, ScaleExtent::column),
          {}};
}

float degree_root(std::size_t neighbors, DegreeRoot root) noexcept {
  const float square = std::sqrt(1.0F + static_cast<float>(neighbors));
  return root == DegreeRoot::square ? square : std::sqrt(square);
}

std::string to_string(const Precision& precision) {
  for (const auto& [preset, name] : presets) {
    if (precision == preset) return std::string(name);
  }
  const auto levels = of_same_bits(precision);
  const bool by_degree = levels != precision && levels && levels->with_input_by_degree() == precision;
  if (levels != precision && !by_degree) return formats_of(precision);
  const int input = bits_of(precision.input);
  const int messages = bits_of(precision.messages);
  std::string name = fmt::format("w{}a{}", bits_of(precision.weight), input);
  if (messages != input) name += fmt::format("m{}", messages);
  return by_degree ? name + "d" : name;
}

std::string formats_of(const Precision& precision) {
  return fmt::format("{}/{}/{}/{}", to_string(precision.input), to_string(precision.weight),
                     to_string(precision.messages), to_string(precision.output));
}

void require_supported(const Precision& precision) {
  const bool preset = std::any_of(presets.begin(), presets.end(), [&](const auto& row) {
    return precision == row.first || precision == row.first.with_plain_input();
  });
  const auto levels = of_same_bits(precision);
  if (!preset && !(levels && (precision == *levels || precision == levels->with_input_by_degree())))
    fail(ErrorCode::usage, "no layer computes in the formats " + formats_of(precision));
}

Precision precision_from_string(std::string_view text) {
  if (const auto preset = find_name(presets, text)) return *preset;
  if (const auto precision = precision_of_bits(text)) return *precision;
  if (const auto precision = precision_of_formats(text)) return *precision;
  fail(ErrorCode::usage, fmt::format("unknown precision '{}': use float, full, bin, or bits such as w8a8, w4a4 or "
                                     "w8a4m2 (weights, inputs, messages)",
                                     printable(text)));
}

}  // namespace bitgraph::nn
