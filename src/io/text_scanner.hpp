// SPDX-License-Identifier: Apache-2.0
// Numbers and lines of text formats. Every function stops at the end of a line.
#pragma once

#include "core/parallel.hpp"
#include "io/file.hpp"

#include <fast_float/fast_float.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace bitgraph {

/// A place in a text.
struct TextCursor {
  const char* at = nullptr;
  const char* end = nullptr;

  [[nodiscard]] bool done() const noexcept { return at == end; }
  [[nodiscard]] bool at_line_end() const noexcept { return at == end || *at == '\n'; }

  void skip_blanks() noexcept {
    while (at != end && (*at == ' ' || *at == '\t' || *at == '\r')) ++at;
  }
  void skip_separators() noexcept {
    while (at != end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == ',' || *at == ';')) ++at;
  }
  void skip_line() noexcept {
    at = std::find(at, end, '\n');
    if (at != end) ++at;
  }
  /// The rest of the line, and past it.
  std::string_view take_line() noexcept {
    const char* begin = at;
    const char* stop = std::find(at, end, '\n');
    at = stop == end ? stop : stop + 1;
    if (stop != begin && stop[-1] == '\r') --stop;
    return {begin, static_cast<std::size_t>(stop - begin)};
  }
  /// The rest of the line, staying.
  [[nodiscard]] std::string_view rest_of_line() const noexcept { return TextCursor(*this).take_line(); }

  /// A whole number below 2^64 made of digits. False, without moving, where there is none or it is too large.
  bool take_integer(std::uint64_t& value) noexcept {
    const char* p = at;
    std::uint64_t v = 0;
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    for (; p != end; ++p) {
      const auto digit = static_cast<unsigned>(static_cast<unsigned char>(*p)) - '0';
      if (digit > 9) break;
      if (v > (most - digit) / 10) return false;
      v = v * 10 + digit;
    }
    if (p == at) return false;
    at = p;
    value = v;
    return true;
  }

  /// Any number; a leading plus sign is allowed. False, without moving, where there is none.
  bool take_number(double& value) noexcept {
    const char* from = at != end && *at == '+' ? at + 1 : at;
    const auto [stop, error] = fast_float::from_chars(from, end, value);
    if (error != std::errc() && error != std::errc::result_out_of_range) return false;
    at = stop;
    return true;
  }
};

/// Where and why a piece of text could not be read.
struct TextError {
  const char* at = nullptr;
  const char* expected = nullptr;
};

/// Throws fail_at_line with the number of the line of `error`.
[[noreturn]] inline void fail_in_text(const std::string& name, std::string_view text, const TextError& error) {
  const char* begin = error.at;
  while (begin != text.data() && begin[-1] != '\n') --begin;
  const auto line = 1 + static_cast<std::size_t>(std::count(text.data(), begin, '\n'));
  TextCursor rest{begin, text.data() + text.size()};
  fail_at_line(name, line, rest.take_line(), error.expected);
}

/// Refuses more nodes than NodeId counts, and more than a file of this size can reasonably mean: a header is only a
/// promise, and every node costs memory.
inline void check_node_count(const std::string& name, std::string_view text, const char* line, std::uint64_t nodes) {
  if (nodes >= std::numeric_limits<std::uint32_t>::max()) fail_in_text(name, text, {line, "fewer than 2^32 - 1 nodes"});
  if (nodes > 64 * text.size() + (std::uint64_t{1} << 20)) {
    fail_in_text(name, text, {line, "no more nodes than a file of this size can mean"});
  }
}

/// Cuts a text at line ends into about `pieces` pieces.
inline std::vector<std::string_view> cut_at_lines(std::string_view text, std::size_t pieces) {
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

/// What a thread makes of its piece of a list: pairs of numbers.
template <class Id>
struct ParsedPairs {
  std::vector<Id> first;
  std::vector<Id> second;
  bool weighted = false;
  TextError error;
};

/// parse(piece, ParsedPairs&) on every piece of `text`, in parallel; then throws the first error, if any.
template <class Id, class Parse>
std::vector<ParsedPairs<Id>> parse_pieces(const std::string& name, std::string_view text, std::string_view body,
                                          const Device& device, Parse&& parse) {
  const auto pieces = cut_at_lines(body, static_cast<std::size_t>(device.threads()) * 4);
  std::vector<ParsedPairs<Id>> parsed(pieces.size());
  parallel_chunks(device, pieces.size(), pieces.size() > 1 ? 1 : 2, [&](Range range) {
    for (std::size_t p = range.begin; p < range.end; ++p) parse(pieces[p], parsed[p]);
  });
  for (const auto& piece : parsed) {
    if (piece.error.at != nullptr) fail_in_text(name, text, piece.error);
  }
  return parsed;
}

/// The pieces' pairs in one array each; the pieces are emptied.
template <class Id>
struct JoinedPairs {
  Buffer<Id> first;
  Buffer<Id> second;
  bool weighted = false;
};

template <class Id>
JoinedPairs<Id> join(std::vector<ParsedPairs<Id>>& pieces, const Device& device) {
  std::vector<std::size_t> start(pieces.size() + 1, 0);
  JoinedPairs<Id> joined;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    start[p + 1] = start[p] + pieces[p].first.size();
    joined.weighted |= pieces[p].weighted;
  }
  joined.first = Buffer<Id>(start.back(), device);
  joined.second = Buffer<Id>(start.back(), device);
  parallel_for(device, pieces.size(), pieces.size() > 1 ? 1 : 2, [&](std::size_t p) {
    std::copy(pieces[p].first.begin(), pieces[p].first.end(), joined.first.data() + start[p]);
    std::copy(pieces[p].second.begin(), pieces[p].second.end(), joined.second.data() + start[p]);
    pieces[p] = {};
  });
  return joined;
}

}  // namespace bitgraph
