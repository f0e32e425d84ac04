// SPDX-License-Identifier: Apache-2.0
#include "io/dataset/published/targets.hpp"

#include "io/text/csv.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

namespace bitgraph {

namespace {

/// A whole number and nothing else.
std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Five classes of nearly equal size; equal numbers are of one class.
std::vector<std::optional<std::uint64_t>> cut_in_five(const std::vector<std::optional<std::uint64_t>>& numbers) {
  constexpr std::size_t bins = 5;
  std::vector<std::uint64_t> sorted;
  for (const auto& number : numbers) {
    if (number) sorted.push_back(*number);
  }
  std::sort(sorted.begin(), sorted.end());
  std::array<std::uint64_t, bins - 1> limits{};
  for (std::size_t k = 1; k < bins; ++k) limits[k - 1] = sorted[sorted.size() * k / bins];
  std::vector<std::optional<std::uint64_t>> cut;
  cut.reserve(numbers.size());
  for (const auto& number : numbers) {
    cut.push_back(
        number ? std::optional<std::uint64_t>(std::upper_bound(limits.begin(), limits.end(), *number) - limits.begin())
               : std::nullopt);
  }
  return cut;
}

}  // namespace

std::optional<NodeId> Targets::row_of(std::uint64_t id) const {
  const auto found = std::lower_bound(ids.begin(), ids.end(), id);
  if (found == ids.end() || *found != id) return std::nullopt;
  return static_cast<NodeId>(found - ids.begin());
}

Targets read_targets(const NamedText& file, const std::string& what) {
  CsvReader reader(file.text, file.name);
  std::vector<std::string> fields;
  if (!reader.next(fields)) fail_in(file.name, "an empty file, expected a header");
  const std::size_t columns = fields.size();
  if (columns < 2)
    fail_on_line(file.name, reader.line(), fmt::format("found one column, expected a {} and a class at least", what));
  struct Row {
    std::uint64_t id;
    std::size_t line;
    std::string value;
  };
  std::vector<Row> rows;
  while (reader.next(fields)) {
    if (fields.size() != columns) {
      fail_on_line(file.name, reader.line(),
                   fmt::format("found {} fields, expected {} as in the header", fields.size(), columns));
    }
    const auto id = whole_number(fields.front());
    if (!id) {
      fail_at_line(file.name, reader.line(), fields.front(),
                   fmt::format("a {}, a whole number from 0 to 2^64 - 1", what));
    }
    rows.push_back({*id, reader.line(), std::move(fields.back())});
  }
  if (rows.empty()) fail_in(file.name, "holds no " + what);
  if (rows.size() >= std::numeric_limits<NodeId>::max()) fail_in(file.name, "2^32 - 1 or more " + what + "s");
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.id < b.id; });
  Targets targets;
  for (std::size_t n = 0; n < rows.size(); ++n) {
    if (n > 0 && rows[n].id == rows[n - 1].id) {
      fail_on_line(file.name, rows[n].line,
                   fmt::format("{} {} stands on line {} before", what, rows[n].id, rows[n - 1].line));
    }
    targets.ids.push_back(rows[n].id);
    targets.values.push_back(std::move(rows[n].value));
  }
  return targets;
}

void read_classes(Dataset& dataset, const Targets& targets, const NamedText& file, const std::string& what) {
  constexpr std::size_t most_numbers = 64;
  std::vector<std::optional<std::string>> words;
  std::vector<std::optional<std::uint64_t>> numbers;
  bool all_numbers = true;
  std::vector<std::uint64_t> different;
  for (const std::string& value : targets.values) {
    words.push_back(value.empty() ? std::nullopt : std::optional(value));
    numbers.push_back(value.empty() ? std::nullopt : whole_number(value));
    all_numbers &= value.empty() || numbers.back().has_value();
    if (numbers.back()) different.push_back(*numbers.back());
  }
  if (!all_numbers) return number_classes(dataset, words, file.name, what);
  std::sort(different.begin(), different.end());
  different.erase(std::unique(different.begin(), different.end()), different.end());
  number_classes(dataset, different.size() > most_numbers ? cut_in_five(numbers) : numbers, file.name, what);
}

}  // namespace bitgraph
