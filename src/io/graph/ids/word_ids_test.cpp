// SPDX-License-Identifier: Apache-2.0
#include "io/graph/ids/word_ids.hpp"

#include <bitgraph/core/random.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace bitgraph {
namespace {

/// Words of all lengths, many of them several times; a few longer than a block of the table.
std::vector<std::string> many_words() {
  std::vector<std::string> words;
  for (std::uint64_t n = 0; n < 60000; ++n) {
    const std::uint64_t id = random_below({1, 0, 0}, n, 20000);
    words.push_back("w" + std::to_string(id) + std::string(id % 37, 'x'));
  }
  words[100] = std::string((std::size_t{9} << 20) + 1, 'a');
  words[20000] = std::string((std::size_t{17} << 20) + 3, 'b');
  words[40000] = words[100];
  words[50000] = "";
  return words;
}

TEST(WordTable, NumbersWordsInTheOrderInWhichTheyAreMet) {
  const std::vector<std::string> words = many_words();
  // Hashes as they are; few different ones; all the same in the bits that choose a place, or in those of the tag.
  for (const std::uint64_t mask : {~0ULL, 0xFFULL, 0xFFFFFFFF00000000ULL}) {
    const auto hash_of = [&](const std::string& word) { return WordTable::hash_of(word) & mask; };
    const std::size_t count = mask == ~0ULL ? words.size() : 3000;  // the more collisions, the slower
    std::map<std::string, NodeId> expected;
    WordTable table;
    for (std::size_t n = 0; n < count; ++n) {
      const auto number = expected.try_emplace(words[n], static_cast<NodeId>(expected.size())).first->second;
      // What is fetched ahead, of any word, changes nothing.
      table.fetch_slot({words[n], hash_of(words[n])});
      table.fetch_record({words[words.size() - 1 - n], hash_of(words[words.size() - 1 - n])});
      ASSERT_EQ(table.number(words[n], hash_of(words[n])), number);
    }
    ASSERT_EQ(table.size(), expected.size());
    for (const auto& [word, number] : expected) {
      ASSERT_EQ(table.word(number), word);
      ASSERT_EQ(table.hash(number), hash_of(word));
    }
  }
}

}  // namespace
}  // namespace bitgraph
