// SPDX-License-Identifier: Apache-2.0
// The little of JSON that data sets are: objects of lists of whole numbers, read in one pass without a tree in memory.
#pragma once

#include "io/file/file.hpp"
#include "io/text/named_text.hpp"
#include "io/text/text_scanner.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace bitgraph {

/// A place in a JSON text. Everything throws bad_input with the file and the byte: "f.json: byte 6: found '1}',
/// expected a list". The text must outlive the cursor.
class JsonCursor {
 public:
  explicit JsonCursor(const NamedText& file) : file_(file), cursor_(without_byte_order_mark(file.text)) {}

  /// Passes `mark` where it comes next, behind white space.
  bool take(char mark) {
    skip_space();
    if (cursor_.done() || *cursor_.at != mark) return false;
    ++cursor_.at;
    return true;
  }

  void expect(char mark, const std::string& what) {
    if (!take(mark)) refuse_found(what);
  }

  void expect_end() {
    skip_space();
    if (!cursor_.done()) refuse_found("the end of the file");
  }

  /// A key that is a whole number in quotes; `what` says of what.
  std::uint64_t take_key(const std::string& what) {
    std::uint64_t id = 0;
    expect('"', what + " in quotes");
    if (!cursor_.take_integer(id) || cursor_.done() || *cursor_.at != '"')
      refuse_found(what + ", a whole number in quotes");
    ++cursor_.at;
    return id;
  }

  /// A whole number below `limit`.
  std::uint64_t take_whole(std::uint64_t limit, const std::string& what) {
    skip_space();
    const TextCursor before = cursor_;
    std::uint64_t value = 0;
    const bool whole = cursor_.take_integer(value) &&
                       (cursor_.done() || (*cursor_.at != '.' && *cursor_.at != 'e' && *cursor_.at != 'E'));
    if (whole && value < limit) return value;
    cursor_ = before;
    refuse_found(whole || value >= limit ? what + " that a file of this size can mean" : what + ", a whole number");
  }

  [[noreturn]] void refuse(const std::string& what) const {
    fail_at_byte(file_.name, static_cast<std::uint64_t>(cursor_.at - file_.text.data()), what);
  }

 private:
  void skip_space() {
    while (!cursor_.done() && (*cursor_.at == ' ' || *cursor_.at == '\t' || *cursor_.at == '\r' || *cursor_.at == '\n'))
      ++cursor_.at;
  }

  [[noreturn]] void refuse_found(const std::string& expected) const {
    constexpr std::size_t longest = 20;
    if (cursor_.done()) refuse(fmt::format("found the end of the file, expected {}", expected));
    refuse(fmt::format("found '{}', expected {}", printable(cursor_.rest(), longest), expected));
  }

  const NamedText& file_;
  TextCursor cursor_;
};

}  // namespace bitgraph
