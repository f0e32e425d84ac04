// SPDX-License-Identifier: Apache-2.0
#include "io/dataset/published/karate_club.hpp"

#include "io/file/gzip.hpp"

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

const std::string graphs = R"({"10": [[0, 1], [1, 0], [3, 3]], "2": [[0, 1], [1, 2], [0, 2]]})";
const std::string target = "id,target\n10,one\n2,\n";

Dataset read(const std::string& g, const std::string& t) { return read_karate_club({g, "g.json"}, {t, "t.csv"}, {}); }

TEST(KarateClub, NumbersGraphsById) {
  const Dataset dataset = read(graphs, target);
  EXPECT_EQ(dataset.first_node, (Nodes{0, 3, 7}));  // nodes 2 and 3 of the second graph have no edge
  const Nodes from{0, 1, 0, 3}, to{1, 2, 2, 4};
  EXPECT_EQ(dataset.graph, csr_from_edges(7, 7, from, to, {.symmetrize = true}));
  const Nodes nodes{0, 1, 2, 3, 4, 5, 6}, degrees{2, 2, 2, 1, 1, 0, 0};
  EXPECT_EQ(dataset.features.pattern, csr_from_edges(7, 64, nodes, degrees));
  EXPECT_EQ(dataset.labels, (Labels{-1, 0}));
  EXPECT_EQ(dataset.num_classes, 1);
  dataset.validate();
}

TEST(KarateClub, LargeDegreesAreOneFeature) {
  std::string star = R"({"0": [)";
  for (int i = 1; i <= 70; ++i) star += (i == 1 ? "[0," : ",[0,") + std::to_string(i) + "]";
  const Dataset dataset = read(star + "]}", "id,y\n0,1\n");
  EXPECT_EQ(dataset.graph.row(0).size(), 70U);
  EXPECT_EQ(dataset.features.pattern.row(0)[0], 63U);
  EXPECT_EQ(dataset.features.pattern.row(1)[0], 1U);
}

TEST(KarateClub, SaysWhatIsWrong) {
  struct Case {
    std::string graphs, target;
    const char* message;
  };
  const std::string ok = "id,y\n0,a\n1,b\n";
  const std::vector<Case> cases{
      {graphs, "", "t.csv: an empty file, expected a header"},
      {graphs, "id\n0\n", "t.csv:1: found one column, expected a graph and a class at least"},
      {graphs, "id,y\n", "t.csv: holds no graph"},
      {graphs, "id,y\nx,a\n", "t.csv:2: found 'x', expected a graph, a whole number from 0 to 2^64 - 1"},
      {graphs, "id,y\n2,a\n10,b\n2,a\n", "t.csv:4: graph 2 stands on line 2 before"},
      {graphs, "id,y\n2,\n10,\n", "t.csv: no graph has a class"},
      {graphs, "id,y\n2,a\n10,b\n11,b\n", "g.json: lacks graph 11 of t.csv"},
      {graphs, "id,y\n2,a\n", "g.json: byte 5: graph 10 has no row in t.csv"},
      {"", ok, "g.json: byte 0: found the end of the file, expected an object of graphs"},
      {"[]", ok, "g.json: byte 0: found '[]', expected an object of graphs"},
      {R"({"0": [[0,1]])", ok, "g.json: byte 13: found the end of the file, expected a comma or the object's end"},
      {R"({"0": [[0,1]], "0": [[0,1]]})", ok, "g.json: byte 18: graph 0 stands before"},
      {R"({"0": 1})", ok, "g.json: byte 6: found '1}', expected a list of edges"},
      {R"({"0": [0,1]})", ok, "g.json: byte 7: found '0,1]}', expected an edge, a list of two nodes"},
      {R"({"0": []})", ok, "g.json: byte 8: graph 0 has no edges"},
      {R"({"0": [[0]]})", ok, "g.json: byte 9: found ']]}', expected a comma between two nodes"},
      {R"({"0": [[0,1,2]]})", ok, "g.json: byte 11: found ',2]]}', expected the end of an edge"},
      {R"({"0": [[0,1] [1,2]]})", ok, "g.json: byte 13: found '[1,2]]}', expected a comma or the list's end"},
      {R"({"0": [[0,-1]]})", ok, "g.json: byte 10: found '-1]]}', expected a node, a whole number"},
      {R"({"0": [[0,1.5]]})", ok, "g.json: byte 10: found '1.5]]}', expected a node, a whole number"},
      {R"({"0": [[0,4000000000]]})", ok,
       "g.json: byte 10: found '4000000000]]}', expected a node that a file of this size can mean"},
      {R"({"0": [[0,20]], "1": [[0,20]]})", ok,
       "g.json: byte 29: 42 nodes so far, expected at most 30 in a file of this size"},
      {R"({"0": [[0,1]]} x)", ok, "g.json: byte 15: found 'x', expected the end of the file"}};
  for (const Case& c : cases) expect_bad_input([&] { (void)read(c.graphs, c.target); }, c.message);
}

TEST(KarateClub, IsFoundByFolderOrFile) {
  const TemporaryFolder folder;
  const Buffer<std::byte> packed = gzip(test::as_bytes(graphs));
  const auto graph_file = folder.put("graphs.json.gz", {reinterpret_cast<const char*>(packed.data()), packed.size()});
  expect_bad_input([&] { (void)load_dataset(folder.path()); },
                   folder.path().string() + ": lacks target.csv, which graphs.json needs");
  const auto target_file = folder.put("target.csv", target);
  for (const auto& path : {folder.path(), folder.path() / "", graph_file, target_file}) {
    const Dataset dataset = load_dataset(path);
    EXPECT_EQ(dataset.name, folder.path().filename().string());
    EXPECT_EQ(dataset.num_graphs(), 2U);
  }
}

/// As many as shared/datasets/README.md counts.
TEST(KarateClub, Reddit10k) {
  BITGRAPH_DATASETS_OR_SKIP(data);
  const Dataset dataset = load_dataset(data / "graph_level" / "reddit10k");
  EXPECT_EQ(dataset.name, "reddit10k");
  EXPECT_EQ(dataset.num_graphs(), 10000U);
  EXPECT_EQ(dataset.graph.nrows(), 237390U);
  EXPECT_EQ(dataset.graph.nvals(), 2U * (247549U - 1365U));  // loops are dropped
  EXPECT_EQ(dataset.num_features(), 64U);
  EXPECT_EQ(std::ranges::count(dataset.labels, 0), 4843);
  EXPECT_EQ(std::ranges::count(dataset.labels, 1), 5157);
  dataset.validate();
}

}  // namespace
}  // namespace bitgraph
