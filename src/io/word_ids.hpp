// SPDX-License-Identifier: Apache-2.0
// Node numbers for words: each thread numbers the words of its piece of the text as it meets them, then the pieces'
// words are united. Nodes are in the order of the words' bytes, whatever the number of threads.
#pragma once

#include <bitgraph/io/node_ids.hpp>

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bitgraph {

/// The different words of one piece, in the order in which they were met. Words are views of the text, or of
/// `unquoted`.
class WordTable {
 public:
  /// The number of a word of this piece.
  NodeId number(std::string_view word);

  /// Keeps characters that stand nowhere in the text: of a quoted word with quotes in it.
  std::string_view keep(std::string word) { return unquoted_.emplace_back(std::move(word)); }

  [[nodiscard]] std::size_t size() const noexcept { return words_.size(); }
  [[nodiscard]] std::string_view word(std::size_t n) const noexcept { return words_[n]; }
  [[nodiscard]] std::uint64_t hash(std::size_t n) const noexcept { return hashes_[n]; }

 private:
  void grow();

  std::vector<NodeId> slots_;  ///< 1 + number of the word that is there; 0: none. A power of two of them
  std::vector<std::string_view> words_;
  std::vector<std::uint64_t> hashes_;
  std::deque<std::string> unquoted_;
};

struct WordIds {
  NodeIds ids;                                ///< the words, sorted by their bytes
  std::vector<std::vector<NodeId>> of_piece;  ///< the node of each word of each piece
};

/// The words of all pieces. O(words of the pieces + n log n), n different ones; parallel.
[[nodiscard]] WordIds unite_words(std::span<const WordTable> pieces, const Device& device);

}  // namespace bitgraph
