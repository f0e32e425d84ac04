// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace bitgraph {

/// Rows of a table with commas between the fields (RFC 4180): a field in double quotes may hold commas, line ends and
/// doubled quotes. Empty lines are passed. The text must outlive the reader.
class CsvReader {
 public:
  CsvReader(std::string_view text, std::string name);

  /// The next row's fields; false at the end. Throws bad_input naming file and line for a quote that is not closed, and
  /// for letters behind one that is.
  bool next(std::vector<std::string>& fields);

  /// The line on which that row begins, from 1.
  [[nodiscard]] std::size_t line() const noexcept { return line_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  std::string take_quoted();
  std::string take_plain();
  [[nodiscard]] bool done() const noexcept { return at_ == text_.size(); }

  std::string_view text_;
  std::string name_;
  std::size_t at_ = 0;
  std::size_t line_ = 0;       ///< of the row
  std::size_t line_here_ = 1;  ///< of at_
};

}  // namespace bitgraph
