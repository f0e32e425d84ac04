// SPDX-License-Identifier: Apache-2.0
#include "cli/ranges.hpp"

#include "io/file/file.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace bitgraph::cli {

namespace {

std::string refusal(const std::string& text, const std::string& expected) {
  return fmt::format("'{}' is not {}", printable(text), expected);
}

template <class Fits>
CLI::Validator finite_number(const std::string& expected, const std::string& name, Fits&& fits) {
  return CLI::Validator(
      [expected, fits](std::string& text) {
        const auto value = number_of<double>(text);
        return value && std::isfinite(*value) && fits(*value) ? std::string() : refusal(text, expected);
      },
      name);
}

}  // namespace

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  const std::string range = most == any_count ? fmt::format("from {} on", least) : fmt::format("{} to {}", least, most);
  return CLI::Validator(
      [least, most, range](std::string& text) {
        const auto value = number_of<std::uint64_t>(text);
        return value && *value >= least && *value <= most ? std::string() : refusal(text, "a whole number, " + range);
      },
      range);
}

CLI::Validator number_between(double least, double most) {
  const std::string range = fmt::format("{} to {}", least, most);
  return finite_number("a number, " + range, range,
                       [least, most](double value) { return value >= least && value <= most; });
}

CLI::Validator positive_number() {
  return finite_number("a positive number", "above 0", [](double value) { return value > 0; });
}

CLI::Validator not_negative() {
  return finite_number("a number from 0 on", "from 0 on", [](double value) { return value >= 0; });
}

}  // namespace bitgraph::cli
