// SPDX-License-Identifier: Apache-2.0
// Graphs through files: names, gzip, round trips, and the real data sets.
#include <bitgraph/core/random.hpp>
#include <bitgraph/io/graph.hpp>

#include "io/file/gzip.hpp"
#include "support/datasets.hpp"
#include "support/random_matrices.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

namespace bitgraph {
namespace {

using test::contents;
using test::message_of;
using test::TemporaryFolder;

TEST(GraphFileFormat, IsToldByTheName) {
  EXPECT_EQ(graph_file_format_of("a.b/c.mtx"), GraphFileFormat::matrix_market);
  EXPECT_EQ(graph_file_format_of("c.mtx.gz"), GraphFileFormat::matrix_market);
  for (const auto* name : {"c.txt", "c.csv", "c.tsv.gz", "c.edgelist.gz"}) {
    EXPECT_EQ(graph_file_format_of(name), GraphFileFormat::edge_list) << name;
  }
  EXPECT_EQ(graph_file_format_of("c.graph"), GraphFileFormat::metis);
  EXPECT_EQ(graph_file_format_of("c.npz"), GraphFileFormat::npz);
  EXPECT_EQ(graph_file_format_of("c.b2sr"), GraphFileFormat::b2sr);
  for (const auto* name : {"c", "c.gz", "c.npz.gz", "c.b2sr.gz", "c.mtx.zip", ".mtx", ""}) {
    EXPECT_NE(message_of(ErrorCode::usage, [&] { (void)graph_file_format_of(name); }).find("unknown graph format"),
              std::string::npos)
        << name;
  }
}

bool starts_as_gzip(const std::string& bytes) { return is_gzip(std::as_bytes(std::span(bytes))); }

/// A pattern of any shape; symmetric and without loops where a format needs it.
CsrPattern any_pattern(bool square, bool undirected) {
  const auto nrows = *rc::gen::inRange<NodeId>(square ? 2 : 0, 300);
  const auto ncols = square ? nrows : *rc::gen::inRange<NodeId>(0, 300);
  const double density = *rc::gen::elementOf(std::vector<double>{0, 0.001, 0.01, 0.3});
  const CsrPattern a = test::random_pattern(nrows, ncols, density, *rc::gen::arbitrary<std::uint64_t>());
  if (!undirected) return a.clone();
  return without_self_loops(symmetrized(a));
}

void expect_round_trips(const std::vector<std::string>& names, bool square, bool undirected) {
  const TemporaryFolder folder;
  for (const std::string& name : names) {
    EXPECT_TRUE(rc::check(name, [&] {
      const CsrPattern a = any_pattern(square, undirected);
      const Device device = Device::host(*rc::gen::inRange(1, 4));
      save_graph(a, folder / name, device);
      const Graph graph = load_graph(folder / name, {}, device);
      RC_ASSERT(graph.pattern == a);
      RC_ASSERT(!graph.weighted);
      RC_ASSERT(starts_as_gzip(contents(folder / name)) == name.ends_with(".gz"));
    }));
  }
}

TEST(RoundTrip, MatrixMarket) {
  expect_round_trips({"a.mtx", "a.mtx.gz"}, false, false);
  expect_round_trips({"a.mtx"}, true, true);
}

TEST(RoundTrip, Metis) { expect_round_trips({"a.graph", "a.graph.gz"}, true, true); }

/// An edge list knows no node without an edge: ids tell which ones are left.
TEST(RoundTrip, EdgeList) {
  const TemporaryFolder folder;
  for (const std::string name : {"a.txt", "a.csv", "a.tsv", "a.edgelist.gz"}) {
    EXPECT_TRUE(rc::check(name, [&] {
      const CsrPattern a = any_pattern(true, false);
      save_graph(a, folder / name);
      const Graph graph = load_graph(folder / name);
      RC_ASSERT(graph.pattern.nvals() == a.nvals());
      const auto id = [&](NodeId i) { return static_cast<NodeId>(graph.ids.number(i)); };
      for (NodeId i = 0; i < graph.pattern.nrows(); ++i) {
        const auto row = graph.pattern.row(i);
        const auto expected = a.row(id(i));
        RC_ASSERT(std::equal(row.begin(), row.end(), expected.begin(), expected.end(),
                             [&](NodeId j, NodeId original) { return id(j) == original; }));
      }
    }));
  }
}

/// More than one block of text, more than one gzip member.
TEST(RoundTrip, LargeGraphs) {
  const TemporaryFolder folder;
  const CsrPattern a = test::rmat_pattern(15, 300000, 1);
  const CsrPattern directed = test::random_pattern(70000, 50000, 0.0001, 2);
  for (const int threads : {1, 3}) {
    const Device device = Device::host(threads);
    for (const auto* name : {"a.mtx", "a.mtx.gz", "a.graph", "a.graph.gz"}) {
      save_graph(a, folder / name, device);
      EXPECT_TRUE(load_graph(folder / name, {}, device).pattern == a) << name;
    }
    save_graph(directed, folder / "b.mtx.gz", device);
    EXPECT_TRUE(load_graph(folder / "b.mtx.gz", {}, device).pattern == directed);
  }
  save_graph(a, folder / "one.mtx", Device::host(1));
  EXPECT_EQ(contents(folder / "one.mtx"), contents(folder / "a.mtx")) << "the text depends on the number of threads";
}

TEST(SaveGraph, WritesWhatOthersRead) {
  const TemporaryFolder folder;
  const std::vector<NodeId> rows{0, 1, 1, 2};
  const std::vector<NodeId> cols{1, 0, 2, 1};
  const CsrPattern path = csr_from_edges(4, 4, rows, cols);
  const auto written = [&](const std::string& name, const CsrPattern& a) {
    save_graph(a, folder / name);
    return contents(folder / name);
  };
  EXPECT_EQ(written("a.mtx", path), "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 2\n2 1\n3 2\n");
  EXPECT_EQ(written("a.graph", path), "4 2\n2\n1 3\n2\n\n");
  EXPECT_EQ(written("a.txt", path), "# 4 nodes, 4 entries\n0 1\n1 0\n1 2\n2 1\n");
  EXPECT_EQ(written("a.csv", path), "source,target\n0,1\n1,0\n1,2\n2,1\n");
  EXPECT_EQ(written("a.tsv", path), "source\ttarget\n0\t1\n1\t0\n1\t2\n2\t1\n");
  const CsrPattern one = csr_from_edges(2, 3, std::vector<NodeId>{1}, std::vector<NodeId>{2});
  EXPECT_EQ(written("b.mtx", one), "%%MatrixMarket matrix coordinate pattern general\n2 3 1\n2 3\n");
}

TEST(SaveGraph, RefusesWhatTheFormatCannotHold) {
  const TemporaryFolder folder;
  const CsrPattern rectangular = test::random_pattern(3, 4, 0.5, 1);
  const CsrPattern one_way = csr_from_edges(2, 2, std::vector<NodeId>{0}, std::vector<NodeId>{1});
  const CsrPattern loop = csr_from_edges(2, 2, std::vector<NodeId>{1}, std::vector<NodeId>{1});
  for (const CsrPattern* a : {&rectangular, &one_way, &loop}) {
    EXPECT_NE(message_of(ErrorCode::usage, [&] { save_graph(*a, folder / "a.graph"); }).find("METIS"),
              std::string::npos);
  }
  EXPECT_EQ(message_of(ErrorCode::usage, [&] { save_graph(rectangular, folder / "a.txt"); }),
            "edge lists hold square matrices: this one is 3 x 4");
  EXPECT_EQ(folder.size(), 0U) << "nothing is left behind";
}

TEST(LoadGraph, UnpacksWhatIsPackedWhateverItsName) {
  const TemporaryFolder folder;
  const std::string text = "0 1\n1 2\n";
  const Buffer<std::byte> packed = gzip(std::as_bytes(std::span(text)));
  folder.put("a.txt", {reinterpret_cast<const char*>(packed.data()), packed.size()});
  EXPECT_EQ(load_graph(folder / "a.txt").pattern.nvals(), 2U);
  const auto path = folder.put("b.txt.gz", text);
  EXPECT_EQ(message_of(ErrorCode::bad_input, [&] { (void)load_graph(path); }),
            path.string() + ": byte 0: not gzip data");
}

TEST(LoadGraph, NamesFileAndLine) {
  const TemporaryFolder folder;
  const auto path = folder.put("a.txt", "0 1\nx\n");
  EXPECT_EQ(
      message_of(ErrorCode::bad_input, [&] { (void)load_graph(path); }),
      path.string() + ":2: found 'x', expected two ids, whole numbers from 0 to 2^64 - 1 (--ids words takes others)");
}

struct DataSet {
  const char* file;
  NodeId nrows;
  NodeId ncols;
  EdgeOffset entries;  ///< after symmetric expansion
  EdgeOffset loops;
  EdgeOffset undirected;  ///< pairs {u, v}; not known for rectangular ones
  bool weighted = false;
};

/// The counts of the data sets' own README.
constexpr DataSet data_sets[] = {
    {"suitesparse/arc130.mtx", 130, 130, 1282, 130, 715, true},
    {"suitesparse/ash292.mtx", 292, 292, 2208, 292, 958},
    {"suitesparse/bcspwr05.mtx", 443, 443, 1623, 443, 590},
    {"suitesparse/bcspwr06.mtx", 1454, 1454, 5300, 1454, 1923},
    {"suitesparse/bcspwr08.mtx", 1624, 1624, 6050, 1624, 2213},
    {"suitesparse/bcspwr10.mtx", 5300, 5300, 21842, 5300, 8271},
    {"suitesparse/bcsstk13.mtx", 2003, 2003, 83883, 2003, 40940, true},
    {"suitesparse/bips98_606.mtx", 7135, 7135, 34738, 6900, 15190, true},
    {"suitesparse/chesapeake.mtx", 39, 39, 340, 0, 170},
    {"suitesparse/data.mtx", 2851, 2851, 30186, 0, 15093},
    {"suitesparse/delaunay_n10.mtx", 1024, 1024, 6112, 0, 3056},
    {"suitesparse/delaunay_n11.mtx", 2048, 2048, 12254, 0, 6127},
    {"suitesparse/delaunay_n13.mtx", 8192, 8192, 49094, 0, 24547},
    {"suitesparse/delaunay_n14.mtx", 16384, 16384, 98244, 0, 49122},
    {"suitesparse/dwt_992.mtx", 992, 992, 16744, 992, 7876},
    {"suitesparse/Erdos971.mtx", 472, 472, 2628, 0, 1314},
    {"suitesparse/GD97_b.mtx", 47, 47, 264, 0, 132, true},
    {"suitesparse/jagmesh7.mtx", 1138, 1138, 7450, 1138, 3156},
    {"suitesparse/karate.mtx", 34, 34, 156, 0, 78},
    {"suitesparse/LFAT5.mtx", 14, 14, 46, 14, 16, true},
    {"suitesparse/lp_afiro.mtx", 27, 51, 102, 2, 0, true},
    {"suitesparse/net25.mtx.gz", 9520, 9520, 401200, 9520, 195840},
    {"suitesparse/olm1000.mtx", 1000, 1000, 3996, 1000, 1997, true},
    {"suitesparse/west0067.mtx", 67, 67, 294, 2, 287, true},
    {"suitesparse/zenios.mtx", 2873, 2873, 27191, 2873, 12159, true},
    {"metis/4elt.graph", 15606, 15606, 91756, 0, 45878},
    {"metis/airfoil1.graph", 4253, 4253, 24578, 0, 12289},
    {"metis/astro-ph.graph.gz", 16706, 16706, 242502, 0, 121251},
    {"metis/celegans_metabolic.graph", 453, 453, 4050, 0, 2025},
    {"metis/jazz.graph", 198, 198, 5484, 0, 2742},
    {"metis/PGPgiantcompo.graph", 10680, 10680, 48632, 0, 24316},
    {"metis/power.graph", 4941, 4941, 13188, 0, 6594},
    {"metis/wave.graph.gz", 156317, 156317, 2118662, 0, 1059331},
    {"snap/deezer_europe_edges.csv", 28281, 28281, 92752, 0, 92752},
    {"snap/git_edges.csv.gz", 37700, 37700, 289003, 0, 289003},
    {"snap/MIT8.edgelist.gz", 6440, 6440, 251252, 0, 251252},
    {"snap/p2p-Gnutella05.txt", 8846, 8846, 31839, 0, 31839},
    {"snap/p2p-Gnutella08.edgelist", 6301, 6301, 20777, 0, 20777},
    {"snap/wiki-Vote.txt.gz", 7115, 7115, 103689, 0, 100762},
    {"musae/chameleon/chameleon_edges.csv", 2277, 2277, 36101, 50, 31371},
    {"musae/facebook/facebook_edges.csv.gz", 22470, 22470, 171002, 179, 170823},
};

TEST(LoadGraph, DataSetsHaveTheirCounts) {
  BITGRAPH_DATASETS_OR_SKIP(folder);
  for (const DataSet& set : data_sets) {
    SCOPED_TRACE(set.file);
    const Graph graph = load_graph(folder / set.file);
    graph.pattern.validate();
    EXPECT_EQ(graph.pattern.nrows(), set.nrows);
    EXPECT_EQ(graph.pattern.ncols(), set.ncols);
    EXPECT_EQ(graph.pattern.nvals(), set.entries);
    EXPECT_EQ(num_self_loops(graph.pattern), set.loops);
    EXPECT_EQ(graph.weighted, set.weighted);
    if (set.nrows == set.ncols) {
      EXPECT_EQ(without_self_loops(symmetrized(graph.pattern)).nvals(), 2 * set.undirected);
    }
  }
}

TEST(LoadGraph, KeepsTheIdsOfListsWithGaps) {
  BITGRAPH_DATASETS_OR_SKIP(folder);
  const Graph votes = load_graph(folder / "snap/wiki-Vote.txt.gz");
  ASSERT_EQ(votes.ids.size(), 7115U);
  EXPECT_EQ(votes.ids.number(0), 3U);
  EXPECT_EQ(votes.ids.number(7114), 8297U);
  EXPECT_TRUE(load_graph(folder / "snap/git_edges.csv.gz").ids.are_counted());
}

/// Of a symmetric matrix the file has the entries below the diagonal and the loops, and says how many those are.
TEST(GraphFiles, ASymmetricMatrixWithLoopsIsReadBack) {
  const TemporaryFolder folder;
  const std::vector<NodeId> rows{0, 1, 1, 2, 3}, cols{0, 1, 2, 3, 3};
  const CsrPattern a = csr_from_edges(5, 5, rows, cols, {.symmetrize = true});
  save_graph(a, folder / "a.mtx");
  EXPECT_NE(test::contents(folder / "a.mtx").find("symmetric\n5 5 5\n"), std::string::npos);
  EXPECT_EQ(load_graph(folder / "a.mtx").pattern, a);
}

}  // namespace
}  // namespace bitgraph
