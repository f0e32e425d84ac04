// SPDX-License-Identifier: Apache-2.0
#include "io/dataset/published/mat_graphs.hpp"

#include "support/datasets.hpp"
#include "support/expect_error.hpp"
#include "support/fixtures.hpp"
#include "support/mat_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace bitgraph {
namespace {

using test::expect_bad_input;
using test::mat_compressed;
using test::mat_element;
using test::mat_file;
using test::mat_matrix;
using test::mat_node_labels;
using test::mat_numbers;
using test::mat_struct;
using test::raw;
using Labels = std::vector<std::int32_t>;
using Nodes = std::vector<NodeId>;

Dataset read(const std::string& bytes) { return read_mat_graphs(test::as_bytes(bytes), "x.mat", {}); }

/// The path 0-1-2, of which one direction is there, with a loop; labels 7, 3, 7.
const std::string path = mat_numbers({3, 3}, {1, 0, 0, 1, 0, 0, 0, 1, 0});
const std::string path_labels = mat_node_labels({7, 3, 7});

/// Two nodes with an edge, sparse; the second entry is an explicit 0.
std::string sparse_pair(const std::string& starts) {
  return mat_matrix(5, {2, 2}, "",
                    mat_element(5, raw(1) + raw(1)) + mat_element(5, starts) + mat_element(9, raw(1.0) + raw(0.0)));
}
const std::string pair = sparse_pair(raw(0) + raw(1) + raw(2));

std::string graphs_of(const std::string& values, std::int32_t count = 2) {
  return mat_struct(count, {"am", "nl", "al"}, values, "graph_struct");
}
const std::string two_graphs = graphs_of(path + path_labels + mat_element(14, "") + pair + mat_node_labels({3, 9}) +
                                         mat_matrix(1, {1, 1}, "", "not read"));
const std::string classes = mat_numbers({2, 1}, {5, 2}, "label");

void expect_two_graphs(const Dataset& dataset) {
  EXPECT_EQ(dataset.first_node, (Nodes{0, 3, 5}));
  const Nodes from{0, 1, 3}, to{1, 2, 4};
  EXPECT_EQ(dataset.graph, csr_from_edges(5, 5, from, to, {.symmetrize = true}));
  EXPECT_EQ(dataset.labels, (Labels{1, 0}));
  EXPECT_EQ(dataset.num_classes, 2);
  dataset.validate();
}

TEST(MatGraphs, HaveEdgesLabelsAndClasses) {
  const Dataset dataset = read(mat_file(two_graphs + classes));
  expect_two_graphs(dataset);
  const Nodes nodes{0, 1, 2, 3, 4}, columns{1, 0, 1, 0, 2};  // of the labels 3, 7, 9
  EXPECT_EQ(dataset.features.pattern, csr_from_edges(5, 3, nodes, columns));
  EXPECT_TRUE(std::ranges::all_of(dataset.features.values.span(), [](float v) { return v == 1; }));
}

TEST(MatGraphs, MayBeCompressed) {
  expect_two_graphs(read(mat_file(mat_compressed(two_graphs) + mat_compressed(classes))));
  expect_two_graphs(read(mat_file(mat_compressed(classes) + two_graphs)));
}

TEST(MatGraphs, WithoutNodeLabelsHaveDegreesAsFeatures) {
  const Dataset dataset = read(mat_file(mat_struct(2, {"am"}, path + pair, "g") + classes));
  expect_two_graphs(dataset);
  const Nodes nodes{0, 1, 2, 3, 4}, degrees{1, 2, 1, 1, 1};
  EXPECT_EQ(dataset.features.pattern, csr_from_edges(5, 64, nodes, degrees));
}

TEST(MatGraphs, SayWhatIsWrong) {
  struct Case {
    std::string variables;
    const char* message;
  };
  const std::string nothing = mat_element(14, "");
  const std::string one = mat_numbers({1, 1}, {1}, "label");
  const auto with_graph = [&](const std::string& am, const std::string& nl) {
    return graphs_of(am + nl + nothing, 1) + one;
  };
  const std::vector<Case> cases{
      {"", "x.mat: holds no graphs: a struct array with the field am"},
      {classes, "x.mat: holds no graphs: a struct array with the field am"},
      {two_graphs, "x.mat: holds no classes: a variable of numbers, one for each graph"},
      {two_graphs + one, "x.mat: 1 classes for 2 graphs"},
      {two_graphs + two_graphs, "x.mat: graph_struct: a second struct with the field am"},
      {classes + classes, "x.mat: label: a second variable of numbers, expected one: the classes of the graphs"},
      {mat_numbers({1, 1}, {1, 2}, "y"), "x.mat: y: 2 numbers, expected 1 by its sides"},
      {mat_matrix(6, {1, 1}, "y", mat_element(9, raw(0.5))), "x.mat: y: found 0.5, expected whole numbers"},
      {mat_matrix(6, {1, -1}, "y", ""), "x.mat: a matrix with impossible sides"},
      {mat_matrix(6, {1, 1}, "y", ""), "x.mat: y: 0 bytes are left, expected an element"},
      {mat_matrix(6, {1, 1}, "y", mat_element(16, "x")), "x.mat: y: an element of type 16, expected numbers"},
      {raw(14) + raw(1000) + "abc", "x.mat: an element of 1000 bytes where 3 are left"},
      {raw(14) + "abc", "x.mat: 7 bytes are left, expected an element"},
      {raw(std::uint16_t{2}) + raw(std::uint16_t{5}) + raw(0), "x.mat: a short element of 5 bytes, expected at most 4"},
      {raw(15) + raw(4) + "abcd", "x.mat: byte 128: damaged or cut zlib data"},
      {mat_struct(1000000, {"am"}, path, "g"), "x.mat: g: a struct of 1000000 elements and 1 fields in 72 bytes"},
      {mat_struct(0, {"am"}, "", "g") + mat_numbers({0, 0}, "", "y"),
       "x.mat: holds no graphs: its struct array is empty"},
      {mat_struct(1, {"am", "b\nc"}, path, "g") + one, "x.mat: graph 0: b?c: 0 bytes are left, expected an element"},
      {with_graph(mat_numbers({0, 0}, ""), mat_node_labels("")), "x.mat: graph 0 has no nodes"},
      {with_graph(mat_numbers({2, 1}, "ab"), nothing), "x.mat: graph 0: am: a matrix of 2 x 1, expected a square one"},
      {with_graph(mat_numbers({2, 2}, "abc"), nothing), "x.mat: graph 0: am: 3 numbers, expected 4 by its sides"},
      {with_graph(mat_numbers({2000000000, 2000000000}, "abc"), nothing),
       "x.mat: graph 0: am: 3 numbers, expected 4e+18 by its sides"},
      {with_graph(mat_node_labels("a"), nothing), "x.mat: graph 0: am: expected a matrix of numbers"},
      {with_graph(mat_element(2, "a"), nothing), "x.mat: graph 0: am: an element of type 2, expected a matrix"},
      {with_graph(sparse_pair(raw(0) + raw(3) + raw(2)), nothing),
       "x.mat: graph 0: am: the entries of the sparse matrix do not fit its sides"},
      {with_graph(sparse_pair(raw(0) + raw(1) + raw(3)), nothing),
       "x.mat: graph 0: am: the entries of the sparse matrix do not fit its sides"},
      {with_graph(sparse_pair(raw(0) + raw(2)), nothing),
       "x.mat: graph 0: am: the entries of the sparse matrix do not fit its sides"},
      {with_graph(pair, mat_node_labels("abc")), "x.mat: graph 0: nl: values: 3 labels for 2 nodes"},
      {with_graph(pair, mat_numbers({2, 1}, "ab")), "x.mat: graph 0: nl: expected a struct"},
      {with_graph(pair, mat_struct(1, {"value"}, nothing)),
       "x.mat: graph 0: nl: expected one struct with the field values"},
      {with_graph(pair, nothing), "x.mat: graph 0: nl: expected a struct"}};
  for (const Case& c : cases) expect_bad_input([&] { (void)read(mat_file(c.variables)); }, c.message);
  expect_bad_input([&] { (void)read("MATLAB"); },
                   "x.mat: byte 6: found the end of the file, expected a header of 128 bytes");
  std::string other = mat_file(two_graphs);
  std::swap(other[126], other[127]);
  expect_bad_input([&] { (void)read(other); }, "x.mat: byte 124: not a little-endian MATLAB file of version 5");
}

/// Every cut of a right file is refused, whatever was cut off.
TEST(MatGraphs, CutFilesAreRefused) {
  const std::string whole = mat_file(two_graphs + mat_compressed(classes));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THROW((void)read(whole.substr(0, size)), Error) << size;
}

/// As many graphs, nodes, edges and classes as shared/datasets/README.md counts by SciPy.
TEST(MatGraphs, Proteins) {
  BITGRAPH_DATASETS_OR_SKIP(data);
  const Dataset dataset = load_dataset(data / "graph_level" / "PROTEINS.mat");
  EXPECT_EQ(dataset.name, "PROTEINS");
  EXPECT_EQ(dataset.num_graphs(), 1113U);
  EXPECT_EQ(dataset.graph.nrows(), 43471U);
  EXPECT_EQ(dataset.graph.nvals(), 162088U);
  EXPECT_EQ(dataset.num_features(), 3U);
  EXPECT_EQ(dataset.num_classes, 2);
  EXPECT_EQ(std::ranges::count(dataset.labels, 0), 663);
  std::vector<NodeId> sizes;
  for (std::size_t g = 0; g < dataset.num_graphs(); ++g)
    sizes.push_back(dataset.first_node[g + 1] - dataset.first_node[g]);
  EXPECT_EQ(std::ranges::min(sizes), 4U);
  EXPECT_EQ(std::ranges::max(sizes), 620U);
  dataset.validate();
}

}  // namespace
}  // namespace bitgraph
