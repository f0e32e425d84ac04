// SPDX-License-Identifier: Apache-2.0
// Numbers and lines of text formats. Lines are not counted on the way: a reader remembers where in the text it was, and
// the line's number is found when there is an error to report.
#pragma once

#include "io/file/file.hpp"

#include <fast_float/fast_float.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace bitgraph {

static_assert(std::endian::native == std::endian::little, "eight digits are read as one little-endian word");

/// A place in a text. Nothing but skip_line() and find_line() passes the end of a line.
struct TextCursor {
  const char* at = nullptr;
  const char* end = nullptr;

  explicit TextCursor(std::string_view text) : at(text.data()), end(text.data() + text.size()) {}
  TextCursor(const char* from, const char* to) : at(from), end(to) {}

  [[nodiscard]] bool done() const noexcept { return at == end; }
  [[nodiscard]] bool at_line_end() const noexcept { return at == end || *at == '\n'; }
  [[nodiscard]] std::string_view rest() const noexcept { return {at, static_cast<std::size_t>(end - at)}; }

  /// True where there was one or more.
  bool skip_blanks() noexcept {
    const char* from = at;
    while (at != end && (*at == ' ' || *at == '\t' || *at == '\r')) ++at;
    return at != from;
  }
  /// Blanks with at most one comma or semicolon among them. True where there was anything.
  bool skip_separator() noexcept {
    const char* from = at;
    skip_blanks();
    if (at != end && (*at == ',' || *at == ';')) {
      ++at;
      skip_blanks();
    }
    return at != from;
  }
  void skip_line() noexcept {
    const void* stop = at == end ? nullptr : std::memchr(at, '\n', static_cast<std::size_t>(end - at));
    at = stop == nullptr ? end : static_cast<const char*>(stop) + 1;
  }
  /// Passes empty lines, and lines that start with one of the two characters; stops at the first other one's first
  /// character that is no blank. False at the end of the text.
  bool find_line(char comment, char other_comment) noexcept {
    if (at != end && is_digit(*at)) return true;
    for (; at != end; skip_line()) {
      skip_blanks();
      if (!at_line_end() && *at != comment && *at != other_comment) return true;
    }
    return false;
  }

  /// A whole number below 2^64 made of digits. False, without moving, where there is none or it is too large.
  bool take_integer(std::uint64_t& value) noexcept {
    return (end - at >= 8 && take_short_integer(value)) || take_long_integer(value);
  }

  /// Two whole numbers of at most seven digits with a single blank between them, which is what most lines start with.
  /// False, without moving, for anything else.
  bool take_short_pair(std::uint64_t& first, std::uint64_t& second) noexcept {
    if (end - at < 16) return false;
    const char* const from = at;
    if (take_short_integer(first) && (*at == ' ' || *at == '\t') && (++at, take_short_integer(second))) return true;
    at = from;
    return false;
  }

  /// Any number as C writes it, with nan and inf. False, without moving, where there is none.
  bool take_number(double& value) noexcept {
    const char* from = at;
    if (from != end && *from == '+') {
      ++from;
      if (from != end && *from == '-') return false;
    }
    const auto [stop, error] = fast_float::from_chars(from, end, value);
    if (error != std::errc() && error != std::errc::result_out_of_range) return false;
    at = stop;
    return true;
  }

  /// Passes a number as take_number() does, without its value: several times as fast.
  bool skip_number() noexcept {
    const char* p = at;
    if (p != end && (*p == '+' || *p == '-')) ++p;
    const char* whole = p;
    p = past_digits(p);
    bool any = p != whole;
    if (p != end && *p == '.') {
      const char* fraction = ++p;
      p = past_digits(p);
      any |= p != fraction;
    }
    if (!any) {  // nan, inf, or no number
      double value = 0;
      return take_number(value);
    }
    if (p != end && (*p == 'e' || *p == 'E')) {
      const char* exponent = p + 1;
      if (exponent != end && (*exponent == '+' || *exponent == '-')) ++exponent;
      const char* stop = past_digits(exponent);
      if (stop != exponent) p = stop;
    }
    at = p;
    return true;
  }

  /// A number behind an edge; sets `weighted` where it is not 1.
  bool take_weight(bool& weighted) noexcept {
    if (at != end && *at == '1' && (at + 1 == end || at[1] == '\n' || at[1] == '\r')) {
      ++at;
      return true;
    }
    if (weighted) return skip_number();
    double value = 0;
    if (!take_number(value)) return false;
    weighted = value != 1;
    return true;
  }

  /// The same with its value.
  bool take_weight(bool& weighted, float& weight) noexcept {
    double value = 0;
    if (!take_number(value)) return false;
    weighted |= value != 1;
    weight = static_cast<float>(value);
    return true;
  }

 private:
  static bool is_digit(char c) noexcept { return static_cast<unsigned char>(c) - unsigned{'0'} <= 9; }
  /// The next eight characters less '0', the first one in the lowest byte: digits become 0 .. 9.
  static std::uint64_t eight_characters(const char* p) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, p, 8);
    return word ^ 0x3030303030303030U;
  }
  /// How many bytes of such a word, from the lowest one on, are digits.
  static int leading_digits(std::uint64_t word) noexcept {
    const std::uint64_t others = (word | (word + 0x7676767676767676U)) & 0x8080808080808080U;
    return others == 0 ? 8 : std::countr_zero(others) / 8;
  }
  template <int digits>
  static std::uint64_t number_of(std::uint64_t word) noexcept {
    word <<= 64 - 8 * digits;        // zeros in front
    word = word * 10 + (word >> 8);  // pairs, in every other byte
    constexpr std::uint64_t pairs = 0x000000FF000000FFU;
    return (((word & pairs) * ((std::uint64_t{1000000} << 32) + 100)) +
            (((word >> 16) & pairs) * ((std::uint64_t{10000} << 32) + 1))) >>
           32;
  }
  template <int digits>
  bool take_digits(std::uint64_t word, std::uint64_t& value) noexcept {
    value = number_of<digits>(word);
    at += digits;
    return true;
  }
  /// A number of at most seven digits, where eight characters are left. One case a length, though all do the same: the
  /// processor guesses the length and goes on to what stands behind the number before it is known.
  bool take_short_integer(std::uint64_t& value) noexcept {
    const std::uint64_t word = eight_characters(at);
    switch (leading_digits(word)) {
      case 1: return take_digits<1>(word, value);
      case 2: return take_digits<2>(word, value);
      case 3: return take_digits<3>(word, value);
      case 4: return take_digits<4>(word, value);
      case 5: return take_digits<5>(word, value);
      case 6: return take_digits<6>(word, value);
      case 7: return take_digits<7>(word, value);
      default: return false;
    }
  }
  bool take_long_integer(std::uint64_t& value) noexcept {
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    const char* p = at;
    std::uint64_t v = 0;
    if (end - at >= 8 && leading_digits(eight_characters(at)) == 8) {
      v = number_of<8>(eight_characters(at));
      p += 8;
    }
    for (; p != end; ++p) {
      const unsigned digit = static_cast<unsigned char>(*p) - unsigned{'0'};
      if (digit > 9) break;
      if (v > (most - digit) / 10) return false;
      v = v * 10 + digit;
    }
    if (p == at) return false;
    at = p;
    value = v;
    return true;
  }
  const char* past_digits(const char* p) const noexcept {
    while (end - p >= 8) {
      const int digits = leading_digits(eight_characters(p));
      p += digits;
      if (digits != 8) return p;
    }
    while (p != end && is_digit(*p)) ++p;
    return p;
  }
};

/// Where and why a piece of text could not be read.
struct TextError {
  const char* at = nullptr;
  const char* expected = nullptr;
};

/// The number of the line that `at` is in, from 1.
[[nodiscard]] inline std::size_t line_of(std::string_view text, const char* at) {
  return 1 + static_cast<std::size_t>(std::count(text.data(), at, '\n'));
}

/// Throws fail_at_line with the line of `error`.
[[noreturn]] inline void fail_in_text(const std::string& name, std::string_view text, const TextError& error) {
  const char* begin = error.at;
  while (begin != text.data() && begin[-1] != '\n') --begin;
  const char* end = text.data() + text.size();
  const std::size_t line = line_of(text, begin);
  if (begin == end) fail_on_line(name, line, std::string("found the end of the file, expected ") + error.expected);
  fail_at_line(name, line, {begin, static_cast<std::size_t>(end - begin)}, error.expected);
}

/// Refuses more nodes than NodeId counts, and more than a file of this size can reasonably mean: a header is only a
/// promise, and every node costs memory.
inline void check_node_count(const std::string& name, std::string_view text, const char* line, std::uint64_t nodes) {
  if (nodes >= std::numeric_limits<std::uint32_t>::max()) fail_in_text(name, text, {line, "fewer than 2^32 - 1 nodes"});
  if (nodes > 64 * text.size() + (std::uint64_t{1} << 20)) {
    fail_in_text(name, text, {line, "no more nodes than a file of this size can mean"});
  }
}

/// The text without the mark that some editors put in front of UTF-8.
[[nodiscard]] inline std::string_view without_byte_order_mark(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return text;
}

/// Cuts a text at line ends into about `pieces` pieces of at least 64 KiB.
[[nodiscard]] inline std::vector<std::string_view> cut_at_lines(std::string_view text, std::size_t pieces) {
  std::vector<std::string_view> cut;
  const std::size_t step = std::max<std::size_t>(text.size() / std::max<std::size_t>(pieces, 1), std::size_t{1} << 16);
  while (!text.empty()) {
    std::size_t stop = std::min(step, text.size());
    if (stop != text.size()) stop = std::min(text.find('\n', stop - 1), text.size() - 1) + 1;
    cut.push_back(text.substr(0, stop));
    text.remove_prefix(stop);
  }
  return cut;
}

/// Places p of the text where starts(text[p - 1], text[p]); a line end stands before the text. A loop that compilers
/// turn into vectors, which counts at the speed of memory.
template <class Starts>
[[nodiscard]] std::size_t count_places(std::string_view text, Starts&& starts) {
  constexpr std::size_t lanes = 32;
  constexpr std::size_t rounds = 255;  // what a byte counts
  if (text.empty()) return 0;
  std::size_t total = starts('\n', text[0]) ? 1 : 0;
  std::size_t p = 1;
  while (text.size() - p >= lanes) {
    unsigned char counts[lanes] = {};
    const std::size_t stop = p + std::min(rounds, (text.size() - p) / lanes) * lanes;
    for (; p != stop; p += lanes) {
      const char* const before = text.data() + p - 1;
      for (std::size_t l = 0; l < lanes; ++l)
        counts[l] = static_cast<unsigned char>(counts[l] + starts(before[l], before[l + 1]));
    }
    for (const unsigned char count : counts) total += count;
  }
  for (; p < text.size(); ++p) total += starts(text[p - 1], text[p]) ? 1 : 0;
  return total;
}

/// Lines of a text; the last one may lack its end.
[[nodiscard]] inline std::size_t count_lines(std::string_view text) {
  return count_places(text, [](char before, char) { return before == '\n'; });
}

/// Words of a text: what stands between blanks and line ends.
[[nodiscard]] inline std::size_t count_words(std::string_view text) {
  return count_places(text, [](char before, char c) { return (c > ' ') & !(before > ' '); });
}

/// Whether all of a field is a number as texts write it: 7, -1.5, +2e3. What a reader of floats takes beside these, as
/// nan and inf, is a word.
[[nodiscard]] inline bool is_number(std::string_view field) noexcept {
  if (field.find_first_not_of("+-.0123456789eE") != std::string_view::npos) return false;
  TextCursor cursor(field);
  return !field.empty() && cursor.skip_number() && cursor.done();
}

}  // namespace bitgraph
