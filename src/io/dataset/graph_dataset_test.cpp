// SPDX-License-Identifier: Apache-2.0
// Data sets of many graphs: what is checked of them, their splits, and .npz files.
#include "io/dataset/dataset.hpp"

#include "support/expect_error.hpp"
#include "support/fixtures.hpp"
#include "support/npz_members.hpp"
#include "support/random_matrices.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

using test::expect_bad_input;
using test::vector_member;
using Nodes = std::vector<NodeId>;

/// Graphs of 1, 2, 3, 1, 2, 3, ... nodes in a row, the even ones of class 0; every tenth has no label.
Dataset many_graphs(std::size_t count) {
  Dataset dataset{.name = "many"};
  Nodes from, to;
  dataset.first_node = {0};
  for (std::size_t g = 0; g < count; ++g) {
    const auto nodes = static_cast<NodeId>(g % 3 + 1);
    const NodeId first = dataset.first_node.back();
    for (NodeId i = 1; i < nodes; ++i) {
      from.push_back(first + i - 1);
      to.push_back(first + i);
    }
    dataset.first_node.push_back(first + nodes);
    dataset.labels.push_back(g % 10 == 9 ? -1 : static_cast<std::int32_t>(g % 2));
  }
  const NodeId n = dataset.first_node.back();
  dataset.graph = csr_from_edges(n, n, from, to, {.symmetrize = true});
  dataset.features = sparse_features(test::random_dense(n, 2, 1));
  dataset.num_classes = 2;
  return dataset;
}

TEST(GraphDataset, NodesOfGraphs) {
  const Dataset dataset = many_graphs(5);
  EXPECT_EQ(dataset.num_graphs(), 5U);
  EXPECT_EQ(dataset.num_samples(), 5U);
  EXPECT_EQ(dataset.nodes_of({4, 2}), (Nodes{7, 8, 3, 4, 5}));
}

TEST(GraphDataset, ValidateSaysWhatDoesNotFit) {
  struct Case {
    std::function<void(Dataset&)> change;
    const char* message;
  };
  const std::vector<Case> cases{
      {[](Dataset& d) { d.first_node = {0}; }, "the data set many: it has no graphs"},
      {[](Dataset& d) { d.first_node.back() = 8; }, "the data set many: its graphs have the nodes 0 to 8 of 9"},
      {[](Dataset& d) { d.first_node[2] = 1; }, "the data set many: graph 1 begins with node 1 and ends before 1"},
      {[](Dataset& d) { d.first_node[2] = 7; }, "the data set many: graph 2 begins with node 7 and ends before 6"},
      {[](Dataset& d) { d.first_node[1] = 2; }, "the data set many: node 1 of graph 0 has an edge to another graph"},
      {[](Dataset& d) { d.labels.pop_back(); }, "the data set many: 4 labels for 5 graphs"},
      {[](Dataset& d) { d.labels[3] = 2; }, "the data set many: graph 3 has the label 2, and there are 2 classes"},
      {[](Dataset& d) { d.test = {5}; }, "the data set many: 5 of its test graphs is none of 5 graphs"}};
  for (const Case& c : cases) {
    Dataset dataset = many_graphs(5);
    dataset.validate();
    c.change(dataset);
    expect_bad_input([&] { dataset.validate(); }, c.message);
  }
}

TEST(GraphDataset, TheFingerprintTellsWhereGraphsBegin) {
  Dataset dataset = many_graphs(5);
  const std::string before = dataset.fingerprint();
  dataset.first_node = {0, 1, 3, 6, 9};
  EXPECT_NE(dataset.fingerprint(), before);
}

/// Each class has its share of each part.
TEST(GraphDataset, SharesAreStratified) {
  Dataset dataset = many_graphs(1000);
  inductive_split(dataset, {.train = 0.8, .validation = 0.1, .test = 0.1}, 3);
  const auto count = [&](const Nodes& part, std::int32_t label) {
    return std::ranges::count_if(part, [&](NodeId g) { return dataset.labels[g] == label; });
  };
  EXPECT_EQ(count(dataset.train, 0), 400);  // of 500
  EXPECT_EQ(count(dataset.train, 1), 320);  // of 400: 100 have no label
  EXPECT_EQ(count(dataset.validation, 0), 50);
  EXPECT_EQ(count(dataset.validation, 1), 40);
  EXPECT_EQ(count(dataset.test, 0), 50);
  EXPECT_EQ(count(dataset.test, 1), 40);
  Nodes all;
  for (const Nodes* part : {&dataset.train, &dataset.validation, &dataset.test}) {
    EXPECT_TRUE(std::ranges::is_sorted(*part));
    all.insert(all.end(), part->begin(), part->end());
  }
  std::ranges::sort(all);
  EXPECT_TRUE(std::ranges::adjacent_find(all) == all.end());
  const Nodes train = dataset.train;
  redraw_split(dataset, dataset.split);
  EXPECT_EQ(dataset.train, train);
  inductive_split(dataset, {.train = 0.8, .validation = 0.1, .test = 0.1}, 4);
  EXPECT_NE(dataset.train, train);
  dataset = many_graphs(2);
  expect_bad_input([&] { inductive_split(dataset, {.train = 0.8, .validation = 0.1, .test = 0.1}, 0); },
                   "split: 0.1 of the 2 graphs with a label in many is none for validation");
}

TEST(GraphDataset, GoesToAFileAndBack) {
  Dataset dataset = many_graphs(40);
  inductive_split(dataset, {}, 1);
  const test::TemporaryFolder folder;
  for (const bool dense : {false, true}) {
    if (dense) {
      dataset.dense_features = test::random_dense(dataset.graph.nrows(), 2, 1);
      dataset.features.pattern = {};
    }
    save_dataset(dataset, folder / "many.npz");
    const Dataset read = load_dataset(folder / "many.npz");
    EXPECT_EQ(read.first_node, dataset.first_node);
    EXPECT_EQ(read.labels, dataset.labels);
    EXPECT_EQ(read.validation, dataset.validation);
    EXPECT_EQ(read.graph, dataset.graph);
  }
}

TEST(GraphDataset, FilesSayWhatIsWrong) {
  // Two graphs of two nodes.
  const std::vector<test::ZipMember> good{vector_member<std::int32_t>("adj_indptr", {0, 1, 2, 3, 4}),
                                          vector_member<std::int32_t>("adj_indices", {1, 0, 3, 2}),
                                          vector_member<std::int64_t>("adj_shape", {4, 4}),
                                          vector_member<std::int32_t>("attr_indptr", {0, 1, 1, 1, 1}),
                                          vector_member<std::int32_t>("attr_indices", {0}),
                                          vector_member<float>("attr_data", {1}),
                                          vector_member<std::int64_t>("attr_shape", {4, 1}),
                                          vector_member<std::int64_t>("graph_ptr", {0, 2, 4}),
                                          vector_member<std::int64_t>("labels", {1, 0}),
                                          vector_member<std::int64_t>("test_idx", {1})};
  const auto read = [&](const test::ZipMember& other) {
    std::vector<test::ZipMember> members = good;
    for (test::ZipMember& member : members) {
      if (member.name == other.name) member = other;
    }
    return read_dataset(test::as_bytes(test::zip_of(members)), "x.npz", {});
  };
  EXPECT_EQ(read({}).first_node, (Nodes{0, 2, 4}));
  const auto numbers = [](const char* key, std::vector<std::int64_t> values) {
    return vector_member<std::int64_t>(key, values);
  };
  const std::vector<std::pair<test::ZipMember, const char*>> cases{
      {numbers("graph_ptr", {}), "x.npz: graph_ptr: expected numbers from 0 to 4, the number of nodes"},
      {numbers("graph_ptr", {1, 4}), "x.npz: graph_ptr: expected numbers from 0 to 4, the number of nodes"},
      {numbers("graph_ptr", {0, 5}), "x.npz: graph_ptr: expected numbers from 0 to 4, the number of nodes"},
      {numbers("graph_ptr", {0, 0, 4}), "x.npz: graph_ptr: element 1: found 0, expected more than 0 and at most 4"},
      {numbers("graph_ptr", {0, 9, 4}), "x.npz: graph_ptr: element 1: found 9, expected more than 0 and at most 4"},
      {numbers("graph_ptr", {0, 1, 4}), "x.npz: graph_ptr: node 0 of graph 0 has an edge to another graph"},
      {numbers("labels", {0, 1, 0, 1}), "x.npz: labels: 4 of them for 2 graphs"},
      {numbers("labels", {0, -2}), "x.npz: labels: graph 1: found -2, expected -1 .. 65535"},
      {numbers("test_idx", {2}), "x.npz: test_idx: element 0: graph 2 is outside 0 .. 1"}};
  for (const auto& c : cases) expect_bad_input([&] { (void)read(c.first); }, c.second);
}

}  // namespace
}  // namespace bitgraph
