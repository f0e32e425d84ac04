// SPDX-License-Identifier: Apache-2.0
// Node numbers for words: each thread numbers the words of its piece of the text as it meets them, then the pieces'
// words are united. Nodes are in the order of the words' bytes, whatever the number of threads.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/io/node_ids.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bitgraph {

/// A word whose number is asked for.
struct WordQuery {
  std::string_view text;
  std::uint64_t hash = 0;  ///< WordTable::hash_of(text)
};

/// The different words of one piece, in the order in which they were met. It has copies of them side by side: a text is
/// many times as large as its different words, and looking into it would miss the caches.
class WordTable {
 public:
  [[nodiscard]] static std::uint64_t hash_of(std::string_view word) noexcept;

  /// The number of a word of this piece.
  NodeId number(std::string_view word, std::uint64_t hash);
  NodeId number(std::string_view word) { return number(word, hash_of(word)); }

  /// Two steps ahead of number(), each for a few dozens of words before the next step: the memory is then asked for all
  /// of them at once, where number() alone waits for it twice a word.
  void fetch_slot(const WordQuery& query) const noexcept {
    if (!slots_.empty()) __builtin_prefetch(&slots_[first_slot(query.hash)]);
  }
  void fetch_record(const WordQuery& query) const noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return places_.size(); }
  [[nodiscard]] std::string_view word(std::size_t n) const noexcept { return characters(*record(places_[n])); }
  [[nodiscard]] std::uint64_t hash(std::size_t n) const noexcept { return record(places_[n])->hash; }

 private:
  /// What stands before the characters of a word.
  struct Record {
    std::uint64_t hash;
    std::uint32_t number, length;
  };
  /// An entry of the table: which record, and bits of its hash that did not lead here.
  struct Slot {
    std::uint32_t tag = 0;
    std::uint32_t next_place = 0;  ///< 1 + the record's place; 0: no word
  };
  static constexpr std::size_t unit = alignof(Record);               ///< bytes from one place to the next
  static constexpr std::size_t block_places = std::size_t{1} << 20;  ///< of the largest

  static std::uint32_t tag_of(std::uint64_t hash) noexcept { return static_cast<std::uint32_t>(hash >> 32); }
  [[nodiscard]] const Record* record(std::size_t place) const noexcept {
    return reinterpret_cast<const Record*>(blocks_[place / block_places].data() + place % block_places * unit);
  }
  static std::string_view characters(const Record& record) noexcept {
    return {reinterpret_cast<const char*>(&record + 1), record.length};
  }
  [[nodiscard]] std::size_t first_slot(std::uint64_t hash) const noexcept { return hash & (slots_.size() - 1); }
  void grow();
  std::uint32_t keep(std::string_view word, std::uint64_t hash);

  Buffer<Slot> slots_;                     ///< a power of two of them, half of them empty at least
  std::vector<std::uint32_t> places_;      ///< of the records, by number
  std::vector<Buffer<std::byte>> blocks_;  ///< the records; a block never moves
  std::size_t used_ = 0, room_ = 0;        ///< places of the last block
};

struct WordIds {
  NodeIds ids;                                ///< the words, sorted by their bytes
  std::vector<std::vector<NodeId>> of_piece;  ///< the node of each word of each piece
};

/// The words of all pieces. O(words of the pieces + n log n), n different ones; parallel.
[[nodiscard]] WordIds unite_words(std::span<const WordTable> pieces, const Device& device);

}  // namespace bitgraph
