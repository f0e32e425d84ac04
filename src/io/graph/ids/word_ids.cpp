// SPDX-License-Identifier: Apache-2.0
#include "io/graph/ids/word_ids.hpp"

#include <bitgraph/core/error.hpp>

#include "core/threads/parallel.hpp"

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

/// The numbers in `table` of some words of a piece.
void number_words(WordTable& table, const WordTable& piece, std::span<const NodeId> words,
                  std::vector<NodeId>& numbers) {
  constexpr std::size_t together = 64;
  std::array<WordQuery, together> queries;
  for (std::size_t begin = 0; begin < words.size(); begin += together) {
    const std::size_t count = std::min(together, words.size() - begin);
    for (std::size_t n = 0; n < count; ++n) {
      const NodeId word = words[begin + n];
      queries[n] = {piece.word(word), piece.hash(word)};
    }
    const auto some = std::span(queries).first(count);
    for (const WordQuery& query : some) table.fetch_slot(query);
    for (const WordQuery& query : some) table.fetch_record(query);
    for (std::size_t n = 0; n < count; ++n) numbers[words[begin + n]] = table.number(some[n].text, some[n].hash);
  }
}

/// The words of a piece, shard by shard: those of shard s are order[first[s]] .. order[first[s + 1]].
struct ByShard {
  std::array<std::size_t, shards + 1> first{};
  std::vector<NodeId> order;

  ByShard() = default;
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
  if (2 * (places_.size() + 1) > slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = first_slot(hash);; at = (at + 1) & mask) {
    Slot& slot = slots_[at];
    if (slot.next_place == 0) {
      slot = {tag_of(hash), keep(word, hash) + 1};
      return static_cast<NodeId>(places_.size() - 1);
    }
    if (slot.tag != tag_of(hash)) continue;
    const Record& there = *record(slot.next_place - 1);
    if (there.hash == hash && characters(there) == word) return there.number;
  }
}

void WordTable::fetch_record(const WordQuery& query) const noexcept {
  if (slots_.empty()) return;
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = first_slot(query.hash);
  while (slots_[at].next_place != 0 && slots_[at].tag != tag_of(query.hash)) at = (at + 1) & mask;
  if (slots_[at].next_place == 0) return;
  const auto* const there = reinterpret_cast<const std::byte*>(record(slots_[at].next_place - 1));
  __builtin_prefetch(there);
  __builtin_prefetch(there + sizeof(Record) + query.text.size() - 1);  // it may begin at the end of a cache line
}

void WordTable::grow() {
  constexpr std::size_t least = 1024;
  const std::size_t wanted = std::max(least, 2 * slots_.size());
  slots_ = Buffer<Slot>(wanted, Slot{});
  const std::size_t mask = wanted - 1;
  for (const std::uint32_t place : places_) {
    const std::uint64_t hash = record(place)->hash;
    std::size_t at = first_slot(hash);
    while (slots_[at].next_place != 0) at = (at + 1) & mask;
    slots_[at] = {tag_of(hash), place + 1};
  }
}

/// The place of a copy of the word.
std::uint32_t WordTable::keep(std::string_view word, std::uint64_t hash) {
  if (places_.size() + 1 >= std::numeric_limits<NodeId>::max() ||
      word.size() > std::numeric_limits<std::uint32_t>::max())
    fail(ErrorCode::not_possible, "2^32 - 1 or more different ids");
  const std::size_t needed = (sizeof(Record) + word.size() + unit - 1) / unit;
  // A block that is larger than usual holds one long word alone: places count to the usual size.
  if (room_ - used_ < needed || used_ >= block_places) {
    constexpr std::size_t first_block = std::size_t{1} << 13;
    const std::size_t usual = blocks_.empty() ? first_block : std::min(block_places, 2 * room_);
    room_ = std::max(usual, needed);
    blocks_.emplace_back(room_ * unit);
    used_ = 0;
  }
  const std::size_t place = (blocks_.size() - 1) * block_places + used_;
  if (place + 1 >= std::numeric_limits<std::uint32_t>::max())
    fail(ErrorCode::not_possible, "the different ids take 32 GB or more");
  std::byte* const at = blocks_.back().data() + used_ * unit;
  const Record header{hash, static_cast<std::uint32_t>(places_.size()), static_cast<std::uint32_t>(word.size())};
  std::memcpy(at, &header, sizeof(header));
  std::copy(word.begin(), word.end(), reinterpret_cast<char*>(at + sizeof(header)));
  used_ += needed;
  places_.push_back(static_cast<std::uint32_t>(place));
  return static_cast<std::uint32_t>(place);
}

WordIds unite_words(std::span<const WordTable> pieces, const Device& device) {
  std::vector<ByShard> order(pieces.size());
  parallel_chunks(device, pieces.size(), pieces.size() > 1 ? 1 : 2, [&](Range range) {
    for (std::size_t p = range.begin; p < range.end; ++p) order[p] = ByShard(pieces[p]);
  });
  // What each piece's words are in their shard's table, before the shards stand one behind another.
  std::vector<WordTable> united(shards);
  WordIds result;
  for (const WordTable& piece : pieces) result.of_piece.emplace_back(piece.size());
  parallel_chunks(device, shards, 1, [&](Range range) {
    for (std::size_t s = range.begin; s < range.end; ++s) {
      for (std::size_t p = 0; p < pieces.size(); ++p) {
        const std::span<const NodeId> words =
            std::span(order[p].order).subspan(order[p].first[s], order[p].first[s + 1] - order[p].first[s]);
        number_words(united[s], pieces[p], words, result.of_piece[p]);
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
