// SPDX-License-Identifier: Apache-2.0
// Edge lists with ids that are words, chosen columns, delimiters, quotes and headers; and what nodes are called.
#include "io/graph/graph_readers.hpp"

#include <bitgraph/core/random.hpp>
#include <bitgraph/io/graph.hpp>

#include "support/everywhere.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

using test::contents;
using test::message_of;
using test::TemporaryFolder;
using Words = std::vector<std::string>;
using Edges = std::set<std::pair<std::string, std::string>>;

Words words_of(const Graph& graph) {
  Words words;
  for (NodeId i = 0; i < graph.pattern.nrows(); ++i) words.push_back(graph.ids.text(i));
  return words;
}

Edges edges_of(const Graph& graph) {
  Edges edges;
  for (NodeId i = 0; i < graph.pattern.nrows(); ++i) {
    for (const NodeId j : graph.pattern.row(i)) edges.emplace(graph.ids.text(i), graph.ids.text(j));
  }
  return edges;
}

struct Good {
  std::string text;
  ListOptions options;
  Edges edges;
  bool weighted = false;
  std::string header;
};

TEST(EdgeTable, Reads) {
  const std::vector<Good> table{
      {"from,to\nann,bob\nbob,cy\n", {}, {{"ann", "bob"}, {"bob", "cy"}}, false, "from,to"},
      {"from;to;w\r\nann;bob;1\r\nbob;ann;1", {}, {{"ann", "bob"}, {"bob", "ann"}}, false, "from;to;w"},
      {"a\tb\nann lee\tbob\n", {}, {{"ann lee", "bob"}}, false, "a\tb"},
      {"# c\nx,y\n\n ann , bob ,2.5\n", {}, {{"ann", "bob"}}, true, "x,y"},
      {"ann,bob\nbob,ann\n", {.header = ListHeader::absent}, {{"ann", "bob"}, {"bob", "ann"}}},
      {"ann bob\nbob  cy 3\n", {.ids = ListIds::words}, {{"ann", "bob"}, {"bob", "cy"}}, true},
      {"1 2\n2 01\n", {.ids = ListIds::words}, {{"1", "2"}, {"2", "01"}}},
      {"1 2\n2 01\n", {.ids = ListIds::numbers}, {{"1", "2"}, {"2", "1"}}},
      {"x,y\n\"a, b\",\"say \"\"hi\"\"\"\n", {}, {{"a, b", "say \"hi\""}}, false, "x,y"},
      {"k,src,w,dst\n9,ann,2,bob\n", {.columns = {"src", "dst"}}, {{"ann", "bob"}}, false, "k,src,w,dst"},
      {"k,src,w,dst\n9,ann,2,bob\n", {.columns = {"dst", "src", "w"}}, {{"bob", "ann"}}, true, "k,src,w,dst"},
      {"5,70,1\n6,80,1\n", {.columns = {"2", "1"}}, {{"70", "5"}, {"80", "6"}}},
      {"5|70\n", {.delimiter = '|'}, {{"5", "70"}}},
      {"5,70\n6,80\n", {.header = ListHeader::present}, {{"6", "80"}}, false, "5,70"},
      {"x,y\n#tag,bob\n%,#tag\n", {.ids = ListIds::words, .header = ListHeader::present}, {}, false, "x,y"},
  };
  for (Good good : table) {
    SCOPED_TRACE(good.text);
    if (good.text.find("#tag") != std::string::npos) good.edges = {{"#tag", "bob"}, {"%", "#tag"}};
    test::with_thread_counts([&](const Device& device) {
      const Graph graph = read_edge_list(good.text, "file", {.list = good.options}, device);
      graph.pattern.validate();
      EXPECT_EQ(edges_of(graph), good.edges);
      EXPECT_EQ(graph.weighted, good.weighted);
      std::string header = good.header;
      std::replace(header.begin(), header.end(), '\t', '?');  // as messages show it
      EXPECT_EQ(graph.header, header);
      const Words words = words_of(graph);
      EXPECT_TRUE(!graph.ids.are_words() || std::is_sorted(words.begin(), words.end()));
    });
  }
}

/// The same whichever reader takes the list: that of plain lists, or this one for the sake of an option.
TEST(EdgeTable, TellsWordsFromNumbers) {
  const std::vector<ListOptions> ways{{}, {.delimiter = ','}, {.columns = {"1", "2"}}};
  const Words words{"ann", "nan", "inf", "-abc", "10.1000/182", "2020-01-01", "1e", "+", ".", "\"7\""};
  const Words numbers{"-1", "1.5", "+5", "2e3", "-.5"};
  for (const ListOptions& options : ways) {
    for (const std::string& word : words) {
      SCOPED_TRACE(word);
      EXPECT_TRUE(read_edge_list("from,to\n" + word + ",2\n", "file", {.list = options}, {}).ids.are_words());
      EXPECT_TRUE(read_edge_list("from,to\n2 , " + word + " \n", "file", {.list = options}, {}).ids.are_words());
    }
    for (const std::string& number : numbers) {
      // With and without a header: a number names no column.
      for (const std::string header : {"from,to\n", ""}) {
        SCOPED_TRACE(header + number);
        const std::string line = number + ",2";
        EXPECT_EQ(message_of(ErrorCode::bad_input,
                             [&] { (void)read_edge_list(header + line + "\n3,4\n", "file", {.list = options}, {}); }),
                  "file:" + std::string(header.empty() ? "1" : "2") + ": found '" + line +
                      "', expected two ids, whole numbers from 0 to 2^64 - 1 (--ids words takes others)");
      }
    }
  }
}

TEST(EdgeTable, KeepsWeights) {
  const Graph graph = read_edge_list("s,t,w\nb,a,2\na,b,0.5\nb,a,1.5\n", "file", {.keep_weights = true}, {});
  ASSERT_EQ(graph.weights.size(), 2U);
  EXPECT_EQ(graph.weights[0], 0.5F);
  EXPECT_EQ(graph.weights[1], 1.5F);  // of duplicates the smallest
}

TEST(EdgeTable, SaysWhatIsWrong) {
  struct Bad {
    std::string text;
    ListOptions options;
    std::string message;
  };
  const std::vector<Bad> table{
      {"a,b\nann,\n", {}, "file:2: found 'ann,', expected an id that is not empty"},
      {"a,b\nann,bob\ncy\n", {}, "file:3: found 'cy', expected all columns of an edge"},
      {"a,b\nann,bob,x\n", {}, "file:2: found 'ann,bob,x', expected a number as weight"},
      {"a,b\nann,bob,1,2\n",
       {},
       "file:2: found 'ann,bob,1,2', expected two ids and perhaps a weight; --columns chooses among more"},
      {"a,b\n\"ann,bob\n", {}, "file:2: found '\"ann,bob', expected a closing quote, and a delimiter behind it"},
      {"a,b\n\"ann\"x,bob\n", {}, "file:2: found '\"ann\"x,bob', expected a closing quote, and a delimiter behind it"},
      {"# c\na,b\nann,bob\n", {.columns = {"a", "c"}}, "file:2: no column 'c' in the header 'a,b'"},
      {"1,2\n3,99999999999999999999\n",
       {.columns = {"1", "2"}},
       "file:2: found '3,99999999999999999999', expected two ids, whole numbers from 0 to 2^64 - 1 (--ids words takes "
       "others)"},
      {"1,2\n3,\n", {.columns = {"1", "2"}}, "file:2: found '3,', expected an id that is not empty"},
  };
  for (const Bad& bad : table) {
    SCOPED_TRACE(bad.text);
    EXPECT_EQ(
        message_of(ErrorCode::bad_input, [&] { (void)read_edge_list(bad.text, "file", {.list = bad.options}, {}); }),
        bad.message);
  }
  const auto misused = [](Words columns) {
    (void)read_edge_list("1 2\n", "file", {.list = {.columns = std::move(columns)}}, {});
  };
  EXPECT_EQ(message_of(ErrorCode::usage, [&] { misused({"1"}); }),
            "1 columns are named, expected source, target and perhaps weight");
  EXPECT_EQ(message_of(ErrorCode::usage, [&] { misused({"1", "1"}); }), "one column is named twice");
}

/// Many words, in pieces for several threads: as a map numbers them.
TEST(EdgeTable, NumbersWordsAsTheyAreSorted) {
  std::string text = "source,target\n";
  std::vector<std::pair<std::string, std::string>> expected;
  for (std::size_t e = 0; e < 30000; ++e) {
    const auto word = [&](std::uint32_t side) {
      return "w" + std::to_string(random_below({5, side, 0}, e, 5000) * 7919 % 4999);
    };
    expected.emplace_back(word(1), word(2));
    text += expected.back().first + ',' + expected.back().second + '\n';
  }
  const Edges all(expected.begin(), expected.end());
  test::with_thread_counts([&](const Device& device) {
    const Graph graph = read_edge_list(text, "file", {}, device);
    EXPECT_EQ(edges_of(graph), all);
    const Words words = words_of(graph);
    EXPECT_TRUE(std::is_sorted(words.begin(), words.end()));
    EXPECT_EQ(std::set<std::string>(words.begin(), words.end()).size(), words.size());
    for (const NodeId node : {NodeId{0}, NodeId{17}, graph.pattern.nrows() - 1}) {
      EXPECT_EQ(graph.ids.find(words[node], graph.pattern.nrows()), node);
    }
    EXPECT_EQ(graph.ids.find("no such word", graph.pattern.nrows()), std::nullopt);
  });
}

TEST(EdgeTable, IdsComeBackFromEveryFormatThatHoldsThem) {
  const TemporaryFolder folder;
  const Graph words = read_edge_list("a,b\n\"ann, lee\",bob\nbob,say \"\"\n", "file", {}, {});
  const Graph numbers = read_edge_list("7 100\n100 200\n", "file", {}, {});
  for (const Graph* graph : {&words, &numbers}) {
    for (const char* name : {"g.csv", "g.tsv", "g.csv.gz", "g.b2sr"}) {
      SCOPED_TRACE(name);
      save_graph(graph->pattern, graph->ids, folder / name);
      const Graph again = load_graph(folder / name);
      EXPECT_EQ(edges_of(again), edges_of(*graph));
      EXPECT_EQ(again.ids.are_words(), graph->ids.are_words());
    }
  }
  save_graph(numbers.pattern, numbers.ids, folder / "g.txt");
  EXPECT_EQ(edges_of(load_graph(folder / "g.txt")), edges_of(numbers));
  EXPECT_NE(
      message_of(ErrorCode::usage, [&] { save_graph(words.pattern, words.ids, folder / "g.txt"); }).find("ann, lee"),
      std::string::npos);
}

TEST(NodeIds, WordsOfAllCharactersComeBack) {
  const TemporaryFolder folder;
  // Of a quoted word all that stands between the quotes belongs to it; of a plain one no blank at its ends.
  const std::string text = "source,target\n\"a\r\",\" b \"\nc\r ,\"12\"\n\"#d\",\"%e\"\n\"f,;\t\",\"\"\"g\"\"\"\n";
  std::ofstream(folder / "a.csv", std::ios::binary) << text;
  const Graph graph = load_graph(folder / "a.csv");
  EXPECT_EQ(words_of(graph), (Words{" b ", "\"g\"", "#d", "%e", "12", "a\r", "c\r", "f,;\t"}));
  for (const char* name : {"b.csv", "b.tsv"}) {
    save_graph(graph.pattern, graph.ids, folder / name);
    const Graph again = load_graph(folder / name);
    EXPECT_EQ(words_of(again), words_of(graph)) << name;
    EXPECT_EQ(again.pattern, graph.pattern) << name;
  }
}

TEST(NodeIds, MatricesCountFromOne) {
  const TemporaryFolder folder;
  for (const char* name : {"a.mtx", "a.graph"}) {
    const std::vector<NodeId> rows{0, 1}, cols{1, 2};
    save_graph(csr_from_edges(3, 3, rows, cols, {.symmetrize = true}), folder / name);
    const Graph graph = load_graph(folder / name);
    EXPECT_EQ(words_of(graph), (Words{"1", "2", "3"}));
    EXPECT_FALSE(graph.renumbered);
    EXPECT_EQ(graph.ids.find("3", 3), 2U);
    EXPECT_EQ(graph.ids.find("0", 3), std::nullopt);
    EXPECT_EQ(graph.ids.find("4", 3), std::nullopt);
    EXPECT_EQ(graph.ids.find("1x", 3), std::nullopt);
    save_graph(graph.pattern, graph.ids, folder / "b.b2sr");
    EXPECT_EQ(words_of(load_graph(folder / "b.b2sr")), words_of(graph));
  }
}

TEST(NodeIds, GoWithTheirNodes) {
  EXPECT_TRUE(rc::check([] {
    const auto n = *rc::gen::inRange<std::size_t>(1, 20);
    std::vector<NodeId> new_id(n);
    std::iota(new_id.begin(), new_id.end(), NodeId{0});
    for (std::size_t i = n; i > 1; --i) std::swap(new_id[i - 1], new_id[*rc::gen::inRange<std::size_t>(0, i)]);
    std::string text;
    Buffer<std::uint64_t> starts(n + 1, std::uint64_t{0});
    Buffer<std::uint64_t> numbers(n);
    for (std::size_t i = 0; i < n; ++i) {
      text += "w" + std::to_string(i * i);
      starts[i + 1] = text.size();
      numbers[i] = 3 * i + 7;
    }
    std::vector<NodeIds> kinds;
    kinds.push_back(NodeIds::counted_from(1));
    kinds.push_back(NodeIds::of_numbers(std::move(numbers)));
    kinds.push_back(NodeIds::of_words(std::move(starts), Buffer<char>::copy_of(std::span<const char>(text))));
    for (const NodeIds& ids : kinds) {
      const NodeIds moved = ids.permuted(new_id);
      for (NodeId i = 0; i < n; ++i) {
        RC_ASSERT(moved.text(new_id[i]) == ids.text(i));
        RC_ASSERT(moved.find(ids.text(i), static_cast<NodeId>(n)) == new_id[i]);
        RC_ASSERT(ids.clone().text(i) == ids.text(i));
      }
    }
  }));
}

TEST(NodeIds, PlacesThatDoNotFitAreRefused) {
  EXPECT_EQ(message_of(ErrorCode::usage,
                       [] {
                         (void)NodeIds::of_words({0, 4}, {'a', 'b', 'c'});
                       }),
            "node ids: the places of the words do not fit their characters");
  EXPECT_EQ(message_of(ErrorCode::usage,
                       [] {
                         (void)NodeIds::of_words({0, 2, 1, 3}, {'a', 'b', 'c'});
                       }),
            "node ids: the places of the words do not fit their characters");
  EXPECT_EQ(message_of(ErrorCode::usage, [] { (void)NodeIds::of_words({}, {}); }),
            "node ids: the places of the words do not fit their characters");
}

}  // namespace
}  // namespace bitgraph
