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

/// The first eight bytes as a number that is less where the word is; shorter words have zeros behind them.
std::uint64_t prefix_of(std::string_view word) {
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

NodeId WordTable::number(std::string_view word) {
  if (2 * (words_.size() + 1) > slots_.size()) grow();
  const std::uint64_t hash = XXH3_64bits(word.data(), word.size());
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = hash & mask;; slot = (slot + 1) & mask) {
    const NodeId there = slots_[slot];
    if (there == 0) {
      if (words_.size() + 1 >= std::numeric_limits<NodeId>::max())
        fail(ErrorCode::not_possible, "2^32 - 1 or more different ids");
      words_.push_back(word);
      hashes_.push_back(hash);
      slots_[slot] = static_cast<NodeId>(words_.size());
      return static_cast<NodeId>(words_.size() - 1);
    }
    if (hashes_[there - 1] == hash && words_[there - 1] == word) return there - 1;
  }
}

void WordTable::grow() {
  constexpr std::size_t least = 1024;
  slots_.assign(std::max(least, slots_.size() * 2), 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t n = 0; n < words_.size(); ++n) {
    std::size_t slot = hashes_[n] & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<NodeId>(n + 1);
  }
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
          result.of_piece[p][n] = united[s].number(pieces[p].word(n));
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
        words[first[s] + w] = {prefix_of(word), word, static_cast<NodeId>(first[s] + w)};
      }
    }
  });
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
