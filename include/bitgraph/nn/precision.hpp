// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/number_format.hpp>

#include <string>
#include <string_view>

namespace bitgraph::nn {

/// In which numbers a layer, or a whole model, computes. The presets are those of BitGNN, section 4.2.
struct Precision {
  NumberFormat input;     ///< of the layer's input, as its products read it
  NumberFormat weight;    ///< of its weights; the extent `row` is one scale an output
  NumberFormat messages;  ///< of what is aggregated over neighbours
  NumberFormat output;    ///< of what the next layer gets

  static const Precision real;  ///< "float": full precision everywhere
  static const Precision full;  ///< "full": binary products, full-precision aggregation
  static const Precision bin;   ///< "bin": binary products, a binary vote as aggregation; logits stay numbers

  /// Products are of signs: XNOR and popcount.
  [[nodiscard]] constexpr bool multiplies_signs() const noexcept { return weight.kind == NumberKind::sign; }

  /// The aggregation is a vote of signs, and the layer's output is signs.
  [[nodiscard]] constexpr bool votes() const noexcept { return messages.kind == NumberKind::sign; }

  /// The same for a layer whose output is logits: these are sums of floats.
  [[nodiscard]] constexpr Precision of_last_layer() const noexcept { return {input, weight, {}, {}}; }

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

/// The preset's name, "float", "full" or "bin"; of another precision formats_of().
[[nodiscard]] std::string to_string(const Precision& precision);

/// Its four formats, "input/weight/messages/output": "sign*row/sign*row/float32/float32".
[[nodiscard]] std::string formats_of(const Precision& precision);

/// Throws usage, naming the formats, unless layers have kernels for the precision: it is one of the presets.
void require_supported(const Precision& precision);

/// A preset by its name, or four formats with slashes between them. Throws usage for another text, and for a precision
/// that no layer computes in: those of the presets are all there are.
[[nodiscard]] Precision precision_from_string(std::string_view text);

}  // namespace bitgraph::nn
