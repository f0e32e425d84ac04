// SPDX-License-Identifier: Apache-2.0
#include "io/dataset/published/musae.hpp"

#include "io/file/gzip.hpp"
#include "io/text/csv.hpp"

#include "support/datasets.hpp"
#include "support/expect_error.hpp"
#include "support/fixtures.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace bitgraph {
namespace {

using test::expect_bad_input;
using test::TemporaryFolder;
using Labels = std::vector<std::int32_t>;
using Nodes = std::vector<NodeId>;

const std::string edges = "id_1,id_2\n3,10\n10,3\n7,7\n3,42\n";
const std::string features = R"({"10": [5, 0, 5], "3": [], "42": [2]})";
const std::string target =
    "id,name,kind\n42,\"a, b\",shop\n3,plain,artist\n7,\"say \"\"x\"\"\",shop\n10,\"two\nlines\",\n";

Dataset read(const std::string& e, const std::string& f, const std::string& t) {
  return read_musae({e, "e.csv"}, {f, "f.json"}, {t, "t.csv"}, {});
}

TEST(Csv, ReadsQuotedFields) {
  CsvReader reader("\xEF\xBB\xBF\r\na,\"b,\"\"\n\"\"\",\r\n\n\"\",x\"y\r\nlast", "x.csv");
  std::vector<std::string> row;
  ASSERT_TRUE(reader.next(row));
  EXPECT_EQ(row, (std::vector<std::string>{"a", "b,\"\n\"", ""}));
  EXPECT_EQ(reader.line(), 2U);
  ASSERT_TRUE(reader.next(row));
  EXPECT_EQ(row, (std::vector<std::string>{"", "x\"y"}));
  EXPECT_EQ(reader.line(), 5U);
  ASSERT_TRUE(reader.next(row));
  EXPECT_EQ(row, (std::vector<std::string>{"last"}));
  EXPECT_FALSE(reader.next(row));
}

TEST(Csv, KeepsAnEmptyLastField) {
  CsvReader reader("a,\n,\nb,", "x.csv");
  std::vector<std::string> row;
  for (const char* first : {"a", "", "b"}) {
    ASSERT_TRUE(reader.next(row));
    EXPECT_EQ(row, (std::vector<std::string>{first, ""}));
  }
  EXPECT_FALSE(reader.next(row));
}

TEST(Csv, SaysWhatIsWrong) {
  const auto read_all = [](const std::string& text) {
    CsvReader reader(text, "x.csv");
    std::vector<std::string> row;
    while (reader.next(row)) {
    }
  };
  expect_bad_input([&] { read_all("a\n\nb,\"c\nd\n"); }, "x.csv:3: found a quote that is not closed");
  expect_bad_input([&] { read_all("a\n\"b\"c,d\n"); },
                   "x.csv:2: found 'c,d', expected a comma or the line's end behind a quote");
}

TEST(Musae, NumbersNodesByIdAndClassesByName) {
  const Dataset dataset = read(edges, features, target);
  const Nodes from{0, 0};
  const Nodes to{2, 3};
  EXPECT_EQ(dataset.graph, csr_from_edges(4, 4, from, to, {.symmetrize = true}));  // 3, 7, 10, 42
  EXPECT_EQ(dataset.labels, (Labels{0, 1, -1, 1}));
  EXPECT_EQ(dataset.num_classes, 2);
  const Nodes rows{2, 2, 3};
  const Nodes cols{0, 5, 2};
  EXPECT_EQ(dataset.features.pattern, csr_from_edges(4, 6, rows, cols));
  EXPECT_TRUE(std::ranges::all_of(dataset.features.values.span(), [](float v) { return v == 1; }));
  EXPECT_EQ(dataset.features.values.size(), 3U);
  EXPECT_TRUE(dataset.train.empty());
}

TEST(Musae, NumbersAreClassesOrAreCutIntoFive) {
  const std::string few = "id,y\n0,30\n1,4\n2,30\n3,100\n";
  EXPECT_EQ(read("a,b\n0,1\n", "{}", few).labels, (Labels{1, 0, 1, 2}));
  std::string many = "id,y\n";
  for (int i = 0; i < 100; ++i) many += std::to_string(i) + "," + std::to_string(7 * (99 - i)) + "\n";
  const Dataset dataset = read("a,b\n0,1\n", "{}", many);
  EXPECT_EQ(dataset.num_classes, 5);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(dataset.labels[static_cast<std::size_t>(i)], (99 - i) / 20);
}

TEST(Musae, SaysWhatIsWrong) {
  struct Case {
    std::string edges, features, target;
    const char* message;
  };
  const std::string ok = "id,y\n0,a\n1,b\n";
  const std::string one = "x,y\n0,1\n";
  const std::vector<Case> cases{
      {one, "{}", "", "t.csv: an empty file, expected a header"},
      {one, "{}", "id\n0\n", "t.csv:1: found one column, expected a node and a class at least"},
      {one, "{}", "id,y\n", "t.csv: holds no node"},
      {one, "{}", "id,y\n0,a,b\n", "t.csv:2: found 3 fields, expected 2 as in the header"},
      {one, "{}", "id,y\n0,a\nx,b\n", "t.csv:3: found 'x', expected a node, a whole number from 0 to 2^64 - 1"},
      {one, "{}", "id,y\n-1,b\n", "t.csv:2: found '-1', expected a node, a whole number from 0 to 2^64 - 1"},
      {one, "{}", "id,y\n1,a\n0,a\n1,b\n", "t.csv:4: node 1 stands on line 2 before"},
      {one, "{}", "id,y\n0,\n1,\n", "t.csv: no node has a class"},
      {"x,y\n0,1\n1,2\n", "{}", ok, "e.csv:3: node 2 has no row in t.csv"},
      {"x,y\n0;q\n", "{}", ok, "e.csv:2: found '0;q', expected two ids, whole numbers from 0 to 2^64 - 1"},
      {one, "", ok, "f.json: byte 0: found the end of the file, expected an object of lists"},
      {one, "[1]", ok, "f.json: byte 0: found '[1]', expected an object of lists"},
      {one, "{\"0\": [1]", ok, "f.json: byte 9: found the end of the file, expected a comma or the object's end"},
      {one, "{0: [1]}", ok, "f.json: byte 1: found '0: [1]}', expected a node in quotes"},
      {one, "{\"a\": [1]}", ok, "f.json: byte 2: found 'a\": [1]}', expected a node, a whole number in quotes"},
      {one, "{\"2\": [1]}", ok, "f.json: byte 4: node 2 has no row in t.csv"},
      {one, "{\"1\": [1], \"1\": []}", ok, "f.json: byte 14: node 1 stands before"},
      {one, "{\"1\": 1}", ok, "f.json: byte 6: found '1}', expected a list"},
      {one, "{\"1\": [1.5]}", ok, "f.json: byte 7: found '1.5]}', expected a feature, a whole number"},
      {one, "{\"1\": [-1]}", ok, "f.json: byte 7: found '-1]}', expected a feature, a whole number"},
      {one, "{\"1\": [NaN]}", ok, "f.json: byte 7: found 'NaN]}', expected a feature, a whole number"},
      {one, "{\"1\": [4000000000]}", ok,
       "f.json: byte 7: found '4000000000]}', expected a feature that a file of this size can mean"},
      {one, "{\"1\": [1 2]}", ok, "f.json: byte 9: found '2]}', expected a comma or the list's end"},
      {one, "{} x", ok, "f.json: byte 3: found 'x', expected the end of the file"}};
  for (const Case& c : cases) expect_bad_input([&] { (void)read(c.edges, c.features, c.target); }, c.message);
}

TEST(Musae, IsFoundByFolderOrFile) {
  const TemporaryFolder folder;
  const auto edge_file = folder.put("set_edges.csv", edges);
  const Buffer<std::byte> packed = gzip(test::as_bytes(features));
  (void)folder.put("set_features.json.gz", {reinterpret_cast<const char*>(packed.data()), packed.size()});
  expect_bad_input([&] { (void)load_dataset(folder.path()); },
                   folder.path().string() + ": lacks set_target.csv, which set_edges.csv needs");
  const auto target_file = folder.put("set_target.csv", target);
  for (const auto& path : {folder.path(), edge_file, target_file, folder / "set_features.json.gz"}) {
    const Dataset dataset = load_dataset(path);
    EXPECT_EQ(dataset.name, "set");
    EXPECT_EQ(dataset.graph.nrows(), 4U);
    EXPECT_EQ(dataset.features.pattern.nvals(), 3U);
  }
  (void)folder.put("other_edges.csv", edges);
  expect_bad_input([&] { (void)load_dataset(folder.path()); },
                   folder.path().string() + ": holds several data sets (other, set): name one of its files");
  const TemporaryFolder empty;
  expect_bad_input([&] { (void)load_dataset(empty.path()); },
                   empty.path().string() + ": a folder without a data set: NAME_edges.csv, NAME.json, NAME_target.csv");
}

TEST(Musae, RealOnesHaveTheirCounts) {
  BITGRAPH_DATASETS_OR_SKIP(folder);
  const auto class_sizes = [](const Dataset& dataset) {
    std::vector<std::size_t> sizes(static_cast<std::size_t>(dataset.num_classes));
    for (const std::int32_t label : dataset.labels) ++sizes.at(static_cast<std::size_t>(label));
    return sizes;
  };
  const Dataset facebook = load_dataset(folder / "musae" / "facebook");
  EXPECT_EQ(facebook.name, "facebook");
  EXPECT_EQ(facebook.graph.nrows(), 22'470U);
  EXPECT_EQ(facebook.graph.nvals(), 2 * 170'823U);
  EXPECT_EQ(facebook.features.pattern.ncols(), 4'714U);
  EXPECT_EQ(facebook.features.pattern.nvals(), 314'583U);
  EXPECT_EQ(class_sizes(facebook), (std::vector<std::size_t>{6495, 6880, 5768, 3327}));
  const Dataset chameleon = load_dataset(folder / "musae" / "chameleon");
  EXPECT_EQ(chameleon.graph.nrows(), 2'277U);
  EXPECT_EQ(chameleon.graph.nvals(), 2 * 31'371U);
  EXPECT_EQ(chameleon.features.pattern.ncols(), 3'132U);
  EXPECT_EQ(chameleon.features.pattern.nvals(), 49'057U);
  for (const std::size_t size : class_sizes(chameleon)) EXPECT_NEAR(static_cast<double>(size), 2277.0 / 5, 30);
}

}  // namespace
}  // namespace bitgraph
