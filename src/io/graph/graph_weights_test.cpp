// SPDX-License-Identifier: Apache-2.0
// The weights of a file, brought to the entries of its pattern.
#include <bitgraph/io/graph.hpp>

#include "io/array/array.hpp"
#include "support/fixtures.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace bitgraph {
namespace {

struct Case {
  std::string name;
  std::string text;
  std::vector<float> weights;     ///< in the order of the entries
  std::vector<float> undirected;  ///< the same with the other direction added
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      // Of duplicates the smallest counts; entries are in the order of rows and columns, whatever the lines'.
      {"general.mtx",
       "%%MatrixMarket matrix coordinate integer general\n3 3 4\n3 1 7\n1 2 5\n1 2 4\n2 1 9\n",
       {4, 9, 7},
       {4, 7, 4, 7}},
      {"real.mtx",
       "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 0.5\n2 2 -1e3\n",
       {0.5F, -1000},
       {0.5F, 0.5F, -1000}},
      {"symmetric.mtx",
       "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 1\n2 1 2.5\n3 2 4\n",
       {1, 2.5F, 2.5F, 4, 4},
       {1, 2.5F, 2.5F, 4, 4}},
      {"skew.mtx", "%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 +3\n", {-3, 3}, {-3, 3}},
      {"ones.mtx", "%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 2 1\n2 2 1\n", {}, {}},
      {"pattern.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n", {}, {}},
      {"list.txt", "# from to weight\n0 1 3\n1 2 0.25\n0 2\n1 0 2\n", {3, 1, 2, 0.25F}, {2, 1, 2, 0.25F, 1, 0.25F}},
      {"table.csv", "source,target,weight\n10,30,8\n30,20,9\n", {8, 9}, {8, 9, 8, 9}},
      {"metis.graph", "3 2 1\n2 5 3 6\n1 5\n1 6\n", {5, 6, 5, 6}, {5, 6, 5, 6}}};
  return all;
}

TEST(GraphWeights, OfTextFiles) {
  const test::TemporaryFolder folder;
  for (const Case& test : cases()) {
    SCOPED_TRACE(test.name);
    const auto path = folder.path() / test.name;
    std::ofstream(path) << test.text;
    for (const bool undirected : {false, true}) {
      if (undirected && test.name == "skew.mtx") continue;
      for (const int threads : {1, 5}) {
        const Graph graph = load_graph(path, {.undirected = undirected, .keep_weights = true}, Device::host(threads));
        const auto& expected = undirected ? test.undirected : test.weights;
        EXPECT_EQ(graph.weighted, !expected.empty());
        EXPECT_EQ(std::vector<float>(graph.weights.begin(), graph.weights.end()), expected);
        EXPECT_EQ(graph.pattern, load_graph(path, {.undirected = undirected}).pattern);
      }
    }
    EXPECT_TRUE(load_graph(path).weights.empty());
  }
}

TEST(GraphWeights, WhatIsNoNumberIsSeen) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "list.txt";
  std::ofstream(path) << "0 1 2\n0 1 nan\n0 1 1\n";
  const Graph graph = load_graph(path, {.keep_weights = true});
  ASSERT_EQ(graph.weights.size(), 1U);
  EXPECT_TRUE(std::isnan(graph.weights[0]));
}

TEST(GraphWeights, ManyPiecesAgree) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "list.txt";
  std::ofstream out(path);
  for (int e = 0; e < 60000; ++e) out << e % 977 << ' ' << e * 7 % 1009 << ' ' << 1 + e % 200 << "\n# " << e << '\n';
  out.close();
  const Graph one = load_graph(path, {.undirected = true, .keep_weights = true}, Device::host(1));
  const Graph many = load_graph(path, {.undirected = true, .keep_weights = true}, Device::host(5));
  ASSERT_EQ(one.weights.size(), one.pattern.nvals());
  EXPECT_TRUE(std::equal(one.weights.begin(), one.weights.end(), many.weights.begin(), many.weights.end()));
}

TEST(GraphWeights, OfSciPyMatrices) {
  const Graph csr = load_graph(test::fixture("csr_weighted.npz"), {.keep_weights = true});
  EXPECT_EQ(csr.weights.size(), csr.pattern.nvals());
  const Graph plain = load_graph(test::fixture("csr.npz"), {.keep_weights = true});
  EXPECT_TRUE(plain.weights.empty());

  const test::TemporaryFolder folder;
  const std::vector<std::int64_t> shape{2, 2};
  const std::vector<float> data{1, 2, 5};
  // Two values of one place are added up, as SciPy does; then the smaller of both directions counts.
  using Integers = std::vector<std::int64_t>;
  std::map<std::string, Array> members;
  members["shape"] = vector_array<std::int64_t>(shape);
  members["data"] = vector_array<float>(data);
  members["indptr"] = vector_array<std::int64_t>(Integers{0, 2, 3});
  members["indices"] = vector_array<std::int64_t>(Integers{1, 1, 0});
  const auto square = folder / "square.npz";
  save_npz(square, members);
  members.erase("indptr");
  members["row"] = vector_array<std::int64_t>(Integers{0, 0, 1});
  members["col"] = vector_array<std::int64_t>(Integers{1, 1, 0});
  const auto coordinates = folder / "coordinates.npz";
  save_npz(coordinates, members);
  for (const auto& file : {square, coordinates}) {
    const Graph as_it_is = load_graph(file, {.keep_weights = true});
    EXPECT_EQ(std::vector<float>(as_it_is.weights.begin(), as_it_is.weights.end()), (std::vector<float>{3, 5}));
    const Graph both = load_graph(file, {.undirected = true, .keep_weights = true});
    EXPECT_EQ(std::vector<float>(both.weights.begin(), both.weights.end()), (std::vector<float>{3, 3}));
  }
}

}  // namespace
}  // namespace bitgraph
