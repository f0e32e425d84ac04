// SPDX-License-Identifier: Apache-2.0
// A text of pairs, parsed in pieces by all threads, straight into the arrays of the result.
#pragma once

#include <bitgraph/core/buffer.hpp>

#include "core/threads/parallel.hpp"
#include "io/text/text_scanner.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bitgraph {

/// Where a thread puts the pairs of its piece. There is room for as many as the piece can hold.
template <class Id>
struct PairSink {
  Id* first = nullptr;
  Id* second = nullptr;
  float* value = nullptr;  ///< where values are kept
  std::size_t size = 0;
  std::size_t nodes = 0;  ///< for formats of one node a line: how many lines there were
  bool weighted = false;
  TextError error;

  void put(Id i, Id j, float v = 1) noexcept {
    if (value != nullptr) value[size] = v;
    first[size] = i;
    second[size++] = j;
  }
};

template <class Id>
struct PairList {
  Buffer<Id> first;
  Buffer<Id> second;
  Buffer<float> value;   ///< empty unless asked for
  std::size_t size = 0;  ///< pairs; the buffers may have room for more
  bool weighted = false;
  TextError error;  ///< the first one

  [[nodiscard]] std::span<Id> firsts() noexcept { return first.span().first(size); }
  [[nodiscard]] std::span<Id> seconds() noexcept { return second.span().first(size); }
  [[nodiscard]] std::span<const float> values() const noexcept { return value.span().first(value.empty() ? 0 : size); }
};

/// capacity(piece) bounds the pairs of a piece; parse(piece, sink) puts them and stops at an error;
/// finish(sinks) may look at the sinks, in the order of the text, before gaps between them are closed.
/// With values, the sinks have room for them. Memory: two Ids for every pair that capacity() counts.
template <class Id, class Capacity, class Parse, class Finish>
PairList<Id> parse_pairs(std::string_view body, const Device& device, Capacity&& capacity, Parse&& parse,
                         Finish&& finish, bool with_values = false) {
  constexpr std::size_t pieces_per_thread = 4;  // some pieces are slower than others
  const auto pieces = cut_at_lines(body, static_cast<std::size_t>(device.threads()) * pieces_per_thread);
  const std::size_t grain = pieces.size() > 1 ? 1 : 2;
  const auto each_piece = [&](auto&& fn) {
    parallel_chunks(device, pieces.size(), grain, [&](Range range) {
      device.throw_if_stopped();
      for (std::size_t p = range.begin; p < range.end; ++p) fn(p);
    });
  };
  std::vector<std::size_t> start(pieces.size() + 1, 0);
  each_piece([&](std::size_t p) { start[p] = capacity(pieces[p]); });
  exclusive_scan(device, std::span(start));

  PairList<Id> list{Buffer<Id>(start.back(), device),
                    Buffer<Id>(start.back(), device),
                    Buffer<float>(with_values ? start.back() : 0, device),
                    0,
                    false,
                    {}};
  std::vector<PairSink<Id>> sinks(pieces.size());
  each_piece([&](std::size_t p) {
    PairSink<Id> sink{list.first.data() + start[p],
                      list.second.data() + start[p],
                      with_values ? list.value.data() + start[p] : nullptr,
                      0,
                      0,
                      false,
                      {}};
    parse(pieces[p], sink);
    sinks[p] = sink;
  });
  for (const PairSink<Id>& sink : sinks) {
    if (list.error.at == nullptr) list.error = sink.error;
    list.weighted |= sink.weighted;
  }
  if (list.error.at != nullptr) return list;
  finish(std::span<PairSink<Id>>(sinks));
  for (const PairSink<Id>& sink : sinks) {  // comments and empty lines left gaps
    Id* const to = list.first.data() + list.size;
    if (to != sink.first) {
      std::copy_n(sink.first, sink.size, to);
      std::copy_n(sink.second, sink.size, list.second.data() + list.size);
      if (with_values) std::copy_n(sink.value, sink.size, list.value.data() + list.size);
    }
    list.size += sink.size;
  }
  return list;
}

/// A line for every pair: capacity() for lists. The shortest pair is "1 1" and its line's end.
[[nodiscard]] inline std::size_t most_lines_of_pairs(std::string_view piece) {
  return std::min(count_lines(piece), piece.size() / 4 + 1);
}

}  // namespace bitgraph
