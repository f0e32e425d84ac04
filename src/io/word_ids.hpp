// SPDX-License-Identifier: Apache-2.0
// Node numbers for words: each thread numbers the words of its piece of the text as it meets them, then the pieces'
// words are united. Nodes are in the order of the words' bytes, whatever the number of threads.
#pragma once

#include <bitgraph/io/node_ids.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bitgraph {

/// The different words of one piece, in the order in which they were met. It has copies of them side by side: a text is
/// many times as large as its different words, and looking into it would miss the caches.
class WordTable {
 public:
  [[nodiscard]] static std::uint64_t hash_of(std::string_view word) noexcept;

  /// Has the place of a word with this hash fetched: some time before number() is called.
  void prefetch(std::uint64_t hash) const noexcept {
    if (!slots_.empty()) __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]);
  }

  /// The next steps on the way there, for several words each before the next step: the word that is there, its
  /// characters.
  void prefetch_word(std::uint64_t hash) const noexcept {
    if (const NodeId n = first_there(hash); n != 0) __builtin_prefetch(&words_[n - 1]);
  }
  void prefetch_characters(std::uint64_t hash) const noexcept {
    if (const NodeId n = first_there(hash); n != 0) __builtin_prefetch(words_[n - 1].data());
  }

  /// The number of a word of this piece.
  NodeId number(std::string_view word, std::uint64_t hash);
  NodeId number(std::string_view word) { return number(word, hash_of(word)); }

  [[nodiscard]] std::size_t size() const noexcept { return words_.size(); }
  [[nodiscard]] std::string_view word(std::size_t n) const noexcept { return words_[n]; }
  [[nodiscard]] std::uint64_t hash(std::size_t n) const noexcept { return hashes_[n]; }

 private:
  /// A place of the table: which word is there, and bits of its hash that did not lead there.
  struct Slot {
    std::uint32_t tag = 0;
    NodeId next_number = 0;  ///< 1 + its number; 0: no word
  };
  /// 1 + the number of the word where this hash leads first; 0: none.
  [[nodiscard]] NodeId first_there(std::uint64_t hash) const noexcept {
    return slots_.empty() ? 0 : slots_[hash & (slots_.size() - 1)].next_number;
  }
  static std::uint32_t tag_of(std::uint64_t hash) noexcept { return static_cast<std::uint32_t>(hash >> 32); }
  void grow();
  std::string_view keep(std::string_view word);

  std::vector<Slot> slots_;  ///< a power of two of them
  std::vector<std::string_view> words_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::unique_ptr<char[]>> blocks_;  ///< the characters; a block never moves
  std::size_t used_ = 0, room_ = 0;              ///< of the last block
};

struct WordIds {
  NodeIds ids;                                ///< the words, sorted by their bytes
  std::vector<std::vector<NodeId>> of_piece;  ///< the node of each word of each piece
};

/// The words of all pieces. O(words of the pieces + n log n), n different ones; parallel.
[[nodiscard]] WordIds unite_words(std::span<const WordTable> pieces, const Device& device);

}  // namespace bitgraph
