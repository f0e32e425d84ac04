// SPDX-License-Identifier: Apache-2.0
#include "io/word_ids.hpp"

#include <bitgraph/core/error.hpp>

#include "core/parallel.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

namespace bitgraph {

namespace {

/// The next eight bytes behind `skipped` as a number that is less where the word is; shorter words have zeros behind.
std::uint64_t prefix_of(std::string_view word, std::size_t skipped) {
  word.remove_prefix(skipped);
  std::array<unsigned char, 8> bytes{};
  std::memcpy(bytes.data(), word.data(), std::min(word.size(), bytes.size()));
  std::uint64_t prefix = 0;
  for (const unsigned char byte : bytes) prefix = prefix << 8 | byte;
  return prefix;
}

struct SortedWord {
  std::uint64_t prefix;
  std::string_view word;
  NodeId number;  ///< before they were sorted

  friend bool operator<(const SortedWord& a, const SortedWord& b) {
    return a.prefix != b.prefix ? a.prefix < b.prefix : a.word < b.word;
  }
};

/// Sorts parts, then merges them two by two.
void sort_words(std::vector<SortedWord>& words, const Device& device) {
  const std::size_t parts = std::bit_floor(static_cast<std::size_t>(device.threads()));
  const auto place = [&](std::size_t part) {
    return words.begin() + static_cast<std::ptrdiff_t>(words.size() * part / parts);
  };
  const auto each = [&](std::size_t count, auto&& fn) {
    parallel_chunks(device, count, count > 1 ? 1 : 2, [&](Range range) {
      for (std::size_t p = range.begin; p < range.end; ++p) fn(p);
    });
  };
  each(parts, [&](std::size_t p) { std::sort(place(p), place(p + 1)); });
  for (std::size_t width = 1; width < parts; width *= 2) {
    each(parts / (2 * width), [&](std::size_t p) {
      const std::size_t first = p * 2 * width;
      std::inplace_merge(place(first), place(first + width), place(first + 2 * width));
    });
  }
}

/// How many bytes all words begin with alike.
std::size_t common_prefix(std::span<const SortedWord> words) {
  if (words.empty()) return 0;
  const std::string_view first = words.front().word;
  std::size_t common = first.size();
  for (const SortedWord& sorted : words) {
    common = std::min(common, sorted.word.size());
    while (first.substr(0, common) != sorted.word.substr(0, common)) --common;
  }
  return common;
}

/// Words by the leading bits of their hashes, so that threads unite different words.
constexpr std::size_t shard_bits = 6;
constexpr std::size_t shards = std::size_t{1} << shard_bits;
std::size_t shard_of(std::uint64_t hash) { return hash >> (64 - shard_bits); }

/// The words of a piece, shard by shard: those of shard s are order[first[s]] .. order[first[s + 1]].
struct ByShard {
  std::array<std::size_t, shards + 1> first{};
  std::vector<NodeId> order;

  explicit ByShard(const WordTable& words) : order(words.size()) {
    for (std::size_t n = 0; n < words.size(); ++n) ++first[shard_of(words.hash(n)) + 1];
    for (std::size_t s = 0; s < shards; ++s) first[s + 1] += first[s];
    std::array<std::size_t, shards> next{};
    std::copy_n(first.begin(), shards, next.begin());
    for (std::size_t n = 0; n < words.size(); ++n) order[next[shard_of(words.hash(n))]++] = static_cast<NodeId>(n);
  }
};

}  // namespace

std::uint64_t WordTable::hash_of(std::string_view word) noexcept { return XXH3_64bits(word.data(), word.size()); }

NodeId WordTable::number(std::string_view word, std::uint64_t hash) {
  if (2 * (words_.size() + 1) > slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    Slot& slot = slots_[at];
    if (slot.next_number == 0) {
      if (words_.size() + 1 >= std::numeric_limits<NodeId>::max())
        fail(ErrorCode::not_possible, "2^32 - 1 or more different ids");
      words_.push_back(keep(word));
      hashes_.push_back(hash);
      slot = {tag_of(hash), static_cast<NodeId>(words_.size())};
      return slot.next_number - 1;
    }
    if (slot.tag == tag_of(hash) && words_[slot.next_number - 1] == word) return slot.next_number - 1;
  }
}

void WordTable::grow() {
  constexpr std::size_t least = 1024;
  slots_.assign(std::max(least, slots_.size() * 2), {});
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t n = 0; n < words_.size(); ++n) {
    std::size_t at = hashes_[n] & mask;
    while (slots_[at].next_number != 0) at = (at + 1) & mask;
    slots_[at] = {tag_of(hashes_[n]), static_cast<NodeId>(n + 1)};
  }
}

std::string_view WordTable::keep(std::string_view word) {
  constexpr std::size_t block = std::size_t{1} << 16;
  if (room_ - used_ < word.size()) {
    room_ = std::max(block, word.size());
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(room_));
    used_ = 0;
  }
  char* const kept = blocks_.empty() ? nullptr : blocks_.back().get() + used_;
  std::copy(word.begin(), word.end(), kept);
  used_ += word.size();
  return {kept, word.size()};
}

WordIds unite_words(std::span<const WordTable> pieces, const Device& device) {
  std::vector<ByShard> order;
  for (const WordTable& piece : pieces) order.emplace_back(piece);
  // What each piece's words are in their shard's table, before the shards stand one behind another.
  std::vector<WordTable> united(shards);
  WordIds result;
  for (const WordTable& piece : pieces) result.of_piece.emplace_back(piece.size());
  parallel_chunks(device, shards, 1, [&](Range range) {
    for (std::size_t s = range.begin; s < range.end; ++s) {
      for (std::size_t p = 0; p < pieces.size(); ++p) {
        for (std::size_t at = order[p].first[s]; at < order[p].first[s + 1]; ++at) {
          const NodeId n = order[p].order[at];
          result.of_piece[p][n] = united[s].number(pieces[p].word(n), pieces[p].hash(n));
        }
      }
    }
  });
  std::array<std::size_t, shards + 1> first{};
  for (std::size_t s = 0; s < shards; ++s) first[s + 1] = first[s] + united[s].size();
  const std::size_t n = first[shards];
  if (n >= std::numeric_limits<NodeId>::max()) fail(ErrorCode::not_possible, "2^32 - 1 or more different ids");
  std::vector<SortedWord> words(n);
  parallel_chunks(device, shards, 1, [&](Range range) {
    for (std::size_t s = range.begin; s < range.end; ++s) {
      for (std::size_t w = 0; w < united[s].size(); ++w) {
        const std::string_view word = united[s].word(w);
        words[first[s] + w] = {0, word, static_cast<NodeId>(first[s] + w)};
      }
    }
  });
  const std::size_t skipped = common_prefix(words);
  parallel_for(device, n, std::size_t{1} << 14,
               [&](std::size_t w) { words[w].prefix = prefix_of(words[w].word, skipped); });
  sort_words(words, device);
  std::vector<NodeId> node(n);
  Buffer<std::uint64_t> starts(n + 1, device);
  starts[0] = 0;
  for (std::size_t i = 0; i < n; ++i) {
    node[words[i].number] = static_cast<NodeId>(i);
    starts[i + 1] = starts[i] + words[i].word.size();
  }
  Buffer<char> text(starts[n], device);
  parallel_for(device, n, std::size_t{1} << 12,
               [&](std::size_t i) { std::copy(words[i].word.begin(), words[i].word.end(), text.data() + starts[i]); });
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    parallel_for(device, pieces[p].size(), std::size_t{1} << 14, [&](std::size_t w) {
      result.of_piece[p][w] = node[first[shard_of(pieces[p].hash(w))] + result.of_piece[p][w]];
    });
  }
  result.ids = NodeIds::of_words(std::move(starts), std::move(text));
  return result;
}

}  // namespace bitgraph
