// SPDX-License-Identifier: Apache-2.0
// What the readers of text make of good and of broken files.
#include <bitgraph/core/random.hpp>
#include <bitgraph/io/graph.hpp>

#include "io/graph/graph_readers.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

using test::message_of;
using Entries = std::vector<std::pair<NodeId, NodeId>>;
using Reader = Graph (*)(std::string_view, const std::string&, const LoadOptions&, const Device&);

Entries entries_of(const CsrPattern& a) {
  Entries entries;
  for (NodeId i = 0; i < a.nrows(); ++i) {
    for (const NodeId j : a.row(i)) entries.emplace_back(i, j);
  }
  return entries;
}

struct Good {
  std::string text;
  NodeId nrows;
  NodeId ncols;
  Entries entries;
  bool weighted = false;
  std::vector<std::uint64_t> ids;
};

void check(Reader read, const std::vector<Good>& table) {
  for (const Good& good : table) {
    SCOPED_TRACE(good.text);
    const Graph graph = read(good.text, "file", {}, {});
    graph.pattern.validate();
    EXPECT_EQ(graph.pattern.nrows(), good.nrows);
    EXPECT_EQ(graph.pattern.ncols(), good.ncols);
    EXPECT_EQ(entries_of(graph.pattern), good.entries);
    EXPECT_EQ(graph.weighted, good.weighted);
    const auto numbers = graph.ids.numbers();
    EXPECT_EQ(std::vector<std::uint64_t>(numbers.begin(), numbers.end()), good.ids);
  }
}

struct Bad {
  std::string text;
  std::string message;  ///< behind the file's name
};

void check(Reader read, const std::vector<Bad>& table) {
  for (const Bad& bad : table) {
    SCOPED_TRACE(bad.text);
    EXPECT_EQ(message_of(ErrorCode::bad_input, [&] { (void)read(bad.text, "file", {}, {}); }), "file:" + bad.message);
  }
}

const std::string banner = "%%MatrixMarket matrix coordinate ";

TEST(MatrixMarket, Reads) {
  check(
      read_matrix_market,
      {{banner + "pattern general\n2 3 3\n1 1\n2 3\n1 2\n", 2, 3, {{0, 0}, {0, 1}, {1, 2}}},
       {banner + "pattern symmetric\n3 3 2\n2 1\n3 3\n", 3, 3, {{0, 1}, {1, 0}, {2, 2}}},
       {banner + "real skew-symmetric\n3 3 1\n3 1 -1\n", 3, 3, {{0, 2}, {2, 0}}, true},
       {banner + "real symmetric\n2 2 2\n2 1 1\n1 1 1e0", 2, 2, {{0, 0}, {0, 1}, {1, 0}}},
       {banner + "integer symmetric\r\n2 2 1\r\n2 1 -1\r\n", 2, 2, {{0, 1}, {1, 0}}, true},
       {banner + "integer general\n2 2 2\n1 2 1\n2 1 +1\n", 2, 2, {{0, 1}, {1, 0}}},
       {banner + "integer general\n2 2 1\n1 2 123456789012345678901234567890", 2, 2, {{0, 1}}, true},
       {banner + "real general\n2 2 2\n1 2 1\n2 1 1.0e0\n", 2, 2, {{0, 1}, {1, 0}}},
       {banner + "real general\n2 2 2\n1 2 nan\n2 1 -.5E-3\n", 2, 2, {{0, 1}, {1, 0}}, true},
       // Explicit zeros are entries; so is what stands twice, once.
       {banner + "real general\n2 2 3\n1 2 0\n2 1 0\n2 1 0\n", 2, 2, {{0, 1}, {1, 0}}, true},
       {"%%matrixmarket MATRIX Coordinate Pattern General  \n\n%c\n  \n\t2\t2 1 \n%\n 1\t 2  \n\n%end", 2, 2, {{0, 1}}},
       {"\xEF\xBB\xBF" + banner + "pattern general\r\n%\r\n2 2 1\r\n1 2\r\n", 2, 2, {{0, 1}}},
       {banner + "pattern general\n0 0 0\n", 0, 0, {}},
       {banner + "pattern general\n5 0 0", 5, 0, {}}});
}

TEST(MatrixMarket, AddsTheOtherDirectionWhenAsked) {
  const auto read = [](const std::string& text) {
    return entries_of(read_matrix_market(text, "file", {.undirected = true}, {}).pattern);
  };
  EXPECT_EQ(read(banner + "pattern general\n3 3 2\n1 2\n3 3\n"), (Entries{{0, 1}, {1, 0}, {2, 2}}));
  EXPECT_EQ(message_of(ErrorCode::bad_input, [&] { read(banner + "pattern general\n3 2 0\n"); }),
            "file: found a rectangular matrix, expected a square one for an undirected graph");
}

TEST(MatrixMarket, SaysWhatIsWrong) {
  const std::string general = banner + "pattern general\n";
  check(
      read_matrix_market,
      {{"", "1: found the end of the file, expected a %%MatrixMarket matrix header"},
       {"\n", "1: found nothing, expected a %%MatrixMarket matrix header"},
       {"1 2\n", "1: found '1 2', expected a %%MatrixMarket matrix header"},
       {"%%MatrixMarket matrix array real general\n1 1\n1\n",
        "1: found '%%MatrixMarket matrix array real general', expected a coordinate matrix"},
       {banner + "complex general\n",
        "1: found '%%MatrixMarket matrix coordinate complex...', expected the field "
        "pattern, integer or real"},
       {banner + "real hermitian\n",
        "1: found '%%MatrixMarket matrix coordinate real he...', expected the symmetry "
        "general, symmetric or skew-symmetric"},
       {banner + "real general x\n",
        "1: found '%%MatrixMarket matrix coordinate real ge...', expected nothing behind the symmetry"},
       {general, "2: found the end of the file, expected the size line: rows, columns, entries"},
       {general + "% c\n\n", "4: found the end of the file, expected the size line: rows, columns, entries"},
       {general + "3 3\n", "2: found '3 3', expected the size line: rows, columns, entries"},
       {general + "-3 3 1\n", "2: found '-3 3 1', expected the size line: rows, columns, entries"},
       {general + "3 3 1.5\n", "2: found '3 3 1.5', expected the size line: rows, columns, entries, and nothing more"},
       {general + "3 3 1 1\n", "2: found '3 3 1 1', expected the size line: rows, columns, entries, and nothing more"},
       {general + "99999999999999999999 3 1\n",
        "2: found '99999999999999999999 3 1', expected the size line: rows, columns, entries"},
       {general + "4294967295 3 1\n1 1\n", "2: found '4294967295 3 1', expected fewer than 2^32 - 1 nodes"},
       {general + "3 4294967294 1\n1 1\n",
        "2: found '3 4294967294 1', expected no more nodes than a file of this size can mean"},
       {general + "3 3 1000000000000\n1 1\n",
        "2: found '3 3 1000000000000', expected no more entries than the file has room for"},
       {banner + "pattern symmetric\n3 2 1\n1 1\n", "2: found '3 2 1', expected a square matrix where it is symmetric"},
       {general + "3 3 2\n1 1\n", "4: found 1 entries, expected 2 as the size line says"},
       {general + "3 3 2\n1 1", "3: found 1 entries, expected 2 as the size line says"},
       {general + "3 3 1\n1 1\n% c\n\n2 2\n3 3\n", "6: found 3 entries, expected 1 as the size line says"},
       {general + "3 3 1\n0 1\n", "3: found '0 1', expected a row and a column within the sizes, counted from 1"},
       {general + "3 3 1\n1 4\n", "3: found '1 4', expected a row and a column within the sizes, counted from 1"},
       {general + "3 3 1\n18446744073709551617 1\n",
        "3: found '18446744073709551617 1', expected a row and a column within the sizes, counted from 1"},
       {general + "3 3 1\n-1 1\n", "3: found '-1 1', expected a row and a column within the sizes, counted from 1"},
       {general + "3 3 1\n1\n", "3: found '1', expected a row and a column within the sizes, counted from 1"},
       {general + "3 3 1\n1.5 1\n", "3: found '1.5 1', expected a row and a column within the sizes, counted from 1"},
       {general + "3 3 1\n1 1.5\n", "3: found '1 1.5', expected row and column, and nothing more"},
       {general + "3 3 1\n1 1 1\n", "3: found '1 1 1', expected row and column, and nothing more"},
       {general + "3 3 1\n1,1\n", "3: found '1,1', expected a row and a column within the sizes, counted from 1"},
       {banner + "real general\n3 3 1\n1 2.5\n", "3: found '1 2.5', expected row, column, a number, and nothing more"},
       {banner + "real general\n3 3 1\n1 2-5\n", "3: found '1 2-5', expected row, column, a number, and nothing more"},
       {banner + "real general\n3 3 2\n1 2 5\n1 2\n",
        "4: found '1 2', expected row, column, a number, and nothing more"},
       {banner + "real general\n3 3 1\n1 2 x\n", "3: found '1 2 x', expected row, column, a number, and nothing more"},
       {banner + "real general\n3 3 1\n1 2 1 0\n",
        "3: found '1 2 1 0', expected row, column, a number, and nothing more"},
       {banner + "integer general\n3 3 1\n1 2 1.5\n",
        "3: found '1 2 1.5', expected row, column, a whole number, and nothing more"},
       {banner + "integer general\n3 3 1\n1 2 nan\n",
        "3: found '1 2 nan', expected row, column, a whole number, and nothing more"}});
}

TEST(EdgeList, Reads) {
  check(read_edge_list, {{"0 1\n1 2\n", 3, 3, {{0, 1}, {1, 2}}},
                         {"# comment\n% another\n\n1\t0\n0 , 1 \n0;2\n  2 2\n", 3, 3, {{0, 1}, {0, 2}, {1, 0}, {2, 2}}},
                         {"id_1,id_2\n0,1", 2, 2, {{0, 1}}},
                         {"# about\n\n\"from\" \"to\"\r\n0 1\r\n", 2, 2, {{0, 1}}},
                         {"\xEF\xBB\xBFsource target\n0 1\n", 2, 2, {{0, 1}}},
                         {"0 1\n0 1\n0 1\n", 2, 2, {{0, 1}}},
                         {"0 1 1\n1 0 1.0\n", 2, 2, {{0, 1}, {1, 0}}},
                         {"0 1 1\n1 0 0.5\n", 2, 2, {{0, 1}, {1, 0}}, true},
                         {"0,1,\n1,0,2,\n", 2, 2, {{0, 1}, {1, 0}}, true},
                         // Ids with gaps become positions in increasing order of id.
                         {"1 2\n", 2, 2, {{0, 1}}, false, {1, 2}},
                         {"30 10\n10 20\n", 3, 3, {{0, 1}, {2, 0}}, false, {10, 20, 30}},
                         {"0 4294967295\n", 2, 2, {{0, 1}}, false, {0, 4294967295}},
                         {"0 4294967296\n4294967296 7\n", 3, 3, {{0, 2}, {2, 1}}, false, {0, 7, 4294967296}},
                         {"18446744073709551615 0\n", 2, 2, {{1, 0}}, false, {0, 18446744073709551615U}},
                         {"", 0, 0, {}},
                         {"source,target\n", 0, 0, {}},
                         {"# nothing but a comment", 0, 0, {}}});
}

TEST(EdgeList, AddsTheOtherDirectionWhenAsked) {
  const Graph graph = read_edge_list("5 7\n9 5\n", "file", {.undirected = true}, {});
  EXPECT_EQ(entries_of(graph.pattern), (Entries{{0, 1}, {0, 2}, {1, 0}, {2, 0}}));
}

TEST(EdgeList, SaysWhatIsWrong) {
  const std::string ids = ", expected two ids, whole numbers from 0 to 2^64 - 1 (--ids words takes others)";
  check(read_edge_list, {{"one line of words", "1: found 'one line of words'" + ids},
                         {"from to\nagain words\n", "2: found 'again words'" + ids},
                         {"0 1\nfrom to\n", "2: found 'from to'" + ids},
                         {"0 1\n2\n", "2: found '2'" + ids},
                         {"0 -1\n", "1: found '0 -1'" + ids},
                         {"-1 0\n", "1: found '-1 0'" + ids},
                         {"0,,1\n", "1: found '0,,1'" + ids},
                         {"0 18446744073709551616\n", "1: found '0 18446744073709551616'" + ids},
                         {"4294967296 0\n0 1.5\n", "2: found '0 1.5', expected two ids and perhaps a weight"},
                         {"0 1.5\n", "1: found '0 1.5', expected two ids and perhaps a weight"},
                         {"1.5 0\n", "1: found '1.5 0'" + ids},
                         {"0 1 x\n", "1: found '0 1 x', expected two ids and perhaps a weight"},
                         {"0 1 2 3\n", "1: found '0 1 2 3', expected two ids, perhaps a weight, and nothing more"},
                         {"0 1 2x\n", "1: found '0 1 2x', expected two ids, perhaps a weight, and nothing more"}});
}

TEST(Metis, Reads) {
  check(read_metis, {{"3 2\n2 3\n1\n1\n", 3, 3, {{0, 1}, {0, 2}, {1, 0}, {2, 0}}},
                     {"% c\n%\n4 1 0\n% c\n2\n1\n\n% c\n\n", 4, 4, {{0, 1}, {1, 0}}},
                     {"3 1\r\n\r\n3\r\n2", 3, 3, {{1, 2}, {2, 1}}},
                     {"2 1 1\n2 1\n1 1\n", 2, 2, {{0, 1}, {1, 0}}},
                     {"2 1 001\n2 7\n1 7\n", 2, 2, {{0, 1}, {1, 0}}, true},
                     {"2 1 010\n9 2\n9 1\n", 2, 2, {{0, 1}, {1, 0}}},
                     {"2 1 100\n5 2\n5 1\n", 2, 2, {{0, 1}, {1, 0}}},
                     {"2 1 10 3\n9 9 9 2\n8 8 8 1\n", 2, 2, {{0, 1}, {1, 0}}},
                     {"3 1 111 2\n5 9 9 2 1\n5 8 8 1 1\n5 7 7\n", 3, 3, {{0, 1}, {1, 0}}},
                     {"2 1\n2\n1\n\n\n  \n%c\n", 2, 2, {{0, 1}, {1, 0}}},
                     {"0 0\n", 0, 0, {}}});
}

TEST(Metis, SaysWhatIsWrong) {
  const std::string header = ", expected nodes edges [format [weights]]";
  check(read_metis,
        {{"", "1: found the end of the file" + header},
         {"% c\n", "2: found the end of the file" + header},
         {"3\n", "1: found '3'" + header},
         {"3 x\n", "1: found '3 x'" + header},
         {"3 2 0 1 7\n", "1: found '3 2 0 1 7', expected at most four numbers"},
         {"3 2 2\n", "1: found '3 2 2', expected a format of three digits, each 0 or 1"},
         {"3 2 1000\n", "1: found '3 2 1000', expected a format of three digits, each 0 or 1"},
         {"3 2 010 65\n", "1: found '3 2 010 65', expected at most 64 weights a node"},
         {"4294967295 0\n", "1: found '4294967295 0', expected fewer than 2^32 - 1 nodes"},
         {"1000000000 0\n", "1: found '1000000000 0', expected no more nodes than a file of this size can mean"},
         {"3 1000000\n", "1: found '3 1000000', expected no more edges than the file has room for"},
         {"2 1\n2\n0\n", "3: found '0', expected neighbours between 1 and the number of nodes"},
         {"2 1\n3\n1\n", "2: found '3', expected neighbours between 1 and the number of nodes"},
         {"2 1\n-2\n1\n", "2: found '-2', expected whole numbers with blanks between them"},
         {"2 1\n2.5\n1\n", "2: found '2.5', expected whole numbers with blanks between them"},
         {"2 1\n2,1\n1\n", "2: found '2,1', expected whole numbers with blanks between them"},
         {"2 1 1\n2\n1 1\n", "2: found '2', expected a weight behind every neighbour"},
         {"2 1 10 2\n1 1 2\n1\n", "3: found '1', expected all weights of the node"},
         {"2 1\n2\n", "3: found 1 lines of nodes, expected 2 as the header says"},
         {"2 1\n2\n1\n%\n\n1\n", "6: found '1', expected no more lines than nodes"},
         {"2 2\n2\n1\n", "1: found 2 edges in the header, expected 1: half of the 2 neighbours"},
         {"% c\n3 2\n2 3\n1\n\n", "2: found 2 edges in the header, expected 1.5: half of the 3 neighbours"},
         {"3 2\n%\n2\n1 3\n\n% c\n", "1: found 2 edges in the header, expected 1.5: half of the 3 neighbours"},
         {"4 2\n2\n%\n1\n2\n3\n", "5: found node 3 with the neighbour 2, expected node 2 to have the neighbour 3"},
         {"4 2\n2 3\n%\n1\n\n3\n", "2: found node 1 with the neighbour 3, expected node 3 to have the neighbour 1"}});
}

/// Files large enough to be parsed in pieces: the same on every number of threads, and errors name the right line.
TEST(TextReaders, CutLargeFilesInPieces) {
  std::string list = "from,to\n";
  for (std::size_t e = 0; e < 60000; ++e) {
    if (e % 1000 == 0) list += "# comment\n\n";
    list += std::to_string(random_below({1, 1, 0}, e, 5000)) + " " + std::to_string(random_below({1, 2, 0}, e, 5000)) +
            "\n";
  }
  std::string far_apart;  // ids of 64 bits, few beside their range
  for (std::size_t e = 0; e < 40000; ++e) {
    far_apart += std::to_string(random_below({3, 1, 0}, e, 3000) << 40) + "\t" +
                 std::to_string(random_below({3, 2, 0}, e, 3000) * 77777777777) + "\t0.5\r\n";
  }
  std::string metis = "100000 99999\n2\n";
  for (int i = 2; i < 100000; ++i) {
    if (i % 777 == 0) metis += "% comment\n";
    metis += std::to_string(i - 1) + " " + std::to_string(i + 1) + "\n";
  }
  metis += "99999\n";
  std::string market = banner + "real general\n5000 5000 60000\n";
  for (std::size_t e = 0; e < 60000; ++e) {
    if (e % 1500 == 3) market += "% comment\n";
    market += std::to_string(1 + random_below({2, 1, 0}, e, 5000)) + " " +
              std::to_string(1 + random_below({2, 2, 0}, e, 5000)) + " -1.25e-3\n";
  }
  struct Case {
    Reader read;
    const std::string& text;
  };
  for (const Case& c : {Case{read_edge_list, list}, Case{read_edge_list, far_apart}, Case{read_metis, metis},
                        Case{read_matrix_market, market}}) {
    const Reader read = c.read;
    const std::string& text = c.text;
    const Graph one = read(text, "file", {}, Device::host(1));
    one.pattern.validate();
    for (const int threads : {2, 3, 5}) {
      const Graph many = read(text, "file", {}, Device::host(threads));
      EXPECT_TRUE(many.pattern == one.pattern);
      EXPECT_TRUE(std::ranges::equal(many.ids.numbers(), one.ids.numbers()));
      EXPECT_EQ(many.weighted, one.weighted);
    }
    for (const std::size_t place : {text.size() / 3, text.size() - 2}) {
      std::string broken = text;
      const std::size_t begin = broken.rfind('\n', place) + 1;
      broken.insert(begin, "x");
      const auto line = 1 + std::count(broken.begin(), broken.begin() + static_cast<std::ptrdiff_t>(begin), '\n');
      for (const int threads : {1, 3}) {
        const std::string message =
            message_of(ErrorCode::bad_input, [&] { (void)read(broken, "file", {}, Device::host(threads)); });
        EXPECT_TRUE(message.starts_with("file:" + std::to_string(line) + ": found 'x")) << message;
      }
    }
  }
}

/// What a header promises costs nothing; what lines could hold costs a small multiple of the file.
TEST(TextReaders, TakeMemoryInProportionToTheFile) {
  struct Case {
    Reader read;
    std::string text;
  };
  const std::string blank(1 << 20, '\n');
  std::string shortest;
  for (int e = 0; e < (1 << 18); ++e) shortest += "0 1\n";
  const std::vector<Case> cases{
      {read_matrix_market, banner + "pattern general\n1000000000000 1000000000000 1000000000000\n" + blank},
      {read_matrix_market, banner + "pattern general\n3 3 250000\n" + blank},
      {read_matrix_market, banner + "pattern general\n60000000 3 0\n" + blank},
      {read_edge_list, blank},
      {read_edge_list, shortest},
      {read_edge_list, "0 18446744073709551615\n" + shortest},
      {read_metis, "60000000 1000000\n" + blank},
      {read_metis, "1000000 0\n" + blank}};
  for (const Case& c : cases) {
    const Device device = Device::host(2);
    try {
      (void)c.read(c.text, "file", {}, device);
    } catch (const Error&) {
    }
    // 64 nodes a byte are believed, at 8 bytes and a little each: only the case of 60 million rows comes near.
    const std::size_t most = c.text.find("60000000 3") != std::string::npos ? 600 : 16;
    EXPECT_LE(device.memory().peak, most * c.text.size()) << c.text.substr(0, 60);
    EXPECT_EQ(device.memory().live, 0U);
  }
}

}  // namespace
}  // namespace bitgraph
