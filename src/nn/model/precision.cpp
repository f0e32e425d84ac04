// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>
#include <bitgraph/nn/precision.hpp>

#include "core/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace bitgraph::nn {

namespace {

constexpr Names<Precision, 3> presets{{{Precision::real, "float"}, {Precision::full, "full"}, {Precision::bin, "bin"}}};

}  // namespace

std::string to_string(const Precision& precision) {
  for (const auto& [preset, name] : presets) {
    if (precision == preset) return std::string(name);
  }
  return formats_of(precision);
}

std::string formats_of(const Precision& precision) {
  return fmt::format("{}/{}/{}/{}", to_string(precision.input), to_string(precision.weight),
                     to_string(precision.messages), to_string(precision.output));
}

void require_supported(const Precision& precision) {
  const bool supported =
      std::any_of(presets.begin(), presets.end(), [&](const auto& preset) { return preset.first == precision; });
  if (!supported) fail(ErrorCode::usage, "no layer computes in the formats " + formats_of(precision));
}

Precision precision_from_string(std::string_view text) {
  for (const auto& [preset, name] : presets) {
    if (text == formats_of(preset)) return preset;
  }
  return value_of(presets, "precision", text);
}

}  // namespace bitgraph::nn
