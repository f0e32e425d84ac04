// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/number_format.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace bitgraph::nn {

/// In which numbers a layer, or a whole model, computes: the presets of BitGNN (section 4.2), or levels of any number
/// of bits (QGTC, section 3).
struct Precision {
  NumberFormat input;     ///< of the layer's input, as its products read it
  NumberFormat weight;    ///< of its weights; the extent `row` is one scale an output
  NumberFormat messages;  ///< of what is aggregated over neighbours
  NumberFormat output;    ///< of what the next layer gets; layers of levels quantize their inputs themselves

  static const Precision real;  ///< "float": full precision everywhere
  static const Precision full;  ///< "full": binary products, full-precision aggregation
  static const Precision bin;   ///< "bin": binary products, a binary vote as aggregation; logits stay numbers

  /// Levels of so many bits each, 1 to 16; 32 bits are floats. Weights have one scale an output, inputs one for all,
  /// messages one a column. Throws usage for other bits, and where only one factor of the products is floats.
  [[nodiscard]] static Precision of_levels(int weight_bits, int input_bits, int message_bits);

  /// The same for a layer whose input is, or comes from, sums over neighbours, D^-1/2 (A + I) D^-1/2 x among them: its
  /// rows grow with the number of neighbours. The step of row i is the layer's step times degree_root() of node i; the
  /// input's extent says so: row.
  [[nodiscard]] constexpr Precision with_input_by_degree() const noexcept {
    Precision precision = *this;
    if (multiplies_levels()) precision.input.scale = ScaleExtent::row;
    return precision;
  }

  /// Whether input rows have steps by degree. The features, input of the first layer, have rows' own steps anyway.
  [[nodiscard]] constexpr bool input_by_degree() const noexcept {
    return multiplies_levels() && input.scale == ScaleExtent::row;
  }

  /// The same for a layer of signs that stands behind sums or means over neighbours: the signs of a row have no scale
  /// of their own. Behind sums it would grow with the number of neighbours, and hubs would drown all others.
  [[nodiscard]] constexpr Precision with_plain_input() const noexcept {
    Precision precision = *this;
    if (multiplies_signs()) precision.input.scale = ScaleExtent::none;
    return precision;
  }

  /// Whether products read signs without scales of their rows.
  [[nodiscard]] constexpr bool has_plain_input() const noexcept {
    return multiplies_signs() && input.scale == ScaleExtent::none;
  }

  /// Products are of signs: XNOR and popcount.
  [[nodiscard]] constexpr bool multiplies_signs() const noexcept { return weight.kind == NumberKind::sign; }

  /// The aggregation is a vote of signs, and the layer's output is signs.
  [[nodiscard]] constexpr bool votes() const noexcept { return messages.kind == NumberKind::sign; }

  /// Products are of levels: sums of whole numbers.
  [[nodiscard]] constexpr bool multiplies_levels() const noexcept { return weight.kind == NumberKind::levels; }

  /// The aggregation adds up levels.
  [[nodiscard]] constexpr bool sums_levels() const noexcept { return messages.kind == NumberKind::levels; }

  /// Levels anywhere.
  [[nodiscard]] constexpr bool has_levels() const noexcept { return multiplies_levels() || sums_levels(); }

  /// The same for a layer whose output is logits: these are sums of floats, or of levels of at least 8 bits, because
  /// nothing behind them corrects an error.
  [[nodiscard]] constexpr Precision of_last_layer() const noexcept {
    Precision last{input, weight, {}, {}};
    if (sums_levels()) last.messages = messages;
    if (sums_levels() && messages.bits < least_last_message_bits) last.messages.bits = least_last_message_bits;
    return last;
  }
  static constexpr int least_last_message_bits = 8;

  friend constexpr bool operator==(const Precision&, const Precision&) = default;
};

namespace precision_formats {
inline constexpr NumberFormat float32{};
inline constexpr NumberFormat sign{NumberKind::sign, 1};
inline constexpr NumberFormat scaled_sign{NumberKind::sign, 1, ScaleExtent::row};
}  // namespace precision_formats

inline constexpr Precision Precision::real{precision_formats::float32, precision_formats::float32,
                                           precision_formats::float32, precision_formats::float32};
inline constexpr Precision Precision::full{precision_formats::scaled_sign, precision_formats::scaled_sign,
                                           precision_formats::float32, precision_formats::float32};
inline constexpr Precision Precision::bin{precision_formats::scaled_sign, precision_formats::scaled_sign,
                                          precision_formats::sign, precision_formats::sign};

/// How steps by degree grow with it.
enum class DegreeRoot : std::uint8_t {
  square,  ///< behind plain sums
  fourth   ///< behind D^-1/2 (A + I) D^-1/2 alone
};
/// The root of 1 + neighbours: what the step of a node's row is multiplied by, where steps are by degree.
[[nodiscard]] float degree_root(std::size_t neighbors, DegreeRoot root) noexcept;

/// The preset's name, "float", "full" or "bin"; of levels their bits: "w4a4" has weights, inputs and messages of 4
/// bits, "w8a4m2" messages of 2, and a "d" behind says that steps of inputs are by degree; of another precision
/// formats_of().
[[nodiscard]] std::string to_string(const Precision& precision);

/// Its four formats, "input/weight/messages/output": "sign*row/sign*row/float32/float32".
[[nodiscard]] std::string formats_of(const Precision& precision);

/// Throws usage, naming the formats, unless layers have kernels for the precision: a preset, whose signs of inputs may
/// be plain, or Precision::of_levels, whose input may have steps by degree.
void require_supported(const Precision& precision);

/// A precision by its name, as to_string() gives it, or four formats with slashes between them. Throws usage for
/// another text, and for a precision that no layer computes in.
[[nodiscard]] Precision precision_from_string(std::string_view text);

}  // namespace bitgraph::nn
