// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/part_batches.hpp>

#include "support/everywhere.hpp"
#include "support/expect_error.hpp"
#include "support/random_matrices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

using Nodes = std::vector<NodeId>;

/// Part p has about p + 1 times as many nodes as part 0; part 3 has none.
Partition uneven_parts(const CsrPattern& graph, NodeId parts) {
  Nodes part_of(graph.nrows());
  for (NodeId i = 0; i < graph.nrows(); ++i) {
    const auto p = static_cast<NodeId>(std::max(random_below({1, 0, 0}, i, parts), random_below({2, 0, 0}, i, parts)));
    part_of[i] = p == 3 ? 4 : p;
  }
  return Partition(std::move(part_of), parts, {undirected_fingerprint(graph), 0});
}

/// The nodes are those of the parts, and the edges are those of the graph between any two of them.
void expect_batch(const SubgraphSample& batch, const CsrPattern& graph, const Partition& partition,
                  std::span<const NodeId> parts) {
  Nodes nodes;
  for (NodeId i = 0; i < graph.nrows(); ++i) {
    if (std::ranges::find(parts, partition.part_of()[i]) != parts.end()) nodes.push_back(i);
  }
  ASSERT_EQ(batch.nodes, nodes);
  const CsrPattern& pattern = batch.pattern.get();
  pattern.validate();
  ASSERT_EQ(pattern.nrows(), nodes.size());
  ASSERT_EQ(pattern.ncols(), nodes.size());
  for (NodeId i = 0; i < nodes.size(); ++i) {
    for (NodeId j = 0; j < nodes.size(); ++j) {
      ASSERT_EQ(std::ranges::binary_search(pattern.row(i), j),
                std::ranges::binary_search(graph.row(nodes[i]), nodes[j]));
    }
  }
  EXPECT_TRUE(batch.loss_weight.empty());
  EXPECT_TRUE(batch.entry_scale.empty());
}

TEST(PartBatches, HaveEachNodeOnceAnEpochAndAllEdgesBetweenTheirParts) {
  const CsrPattern graph = test::random_pattern(300, 300, 0.02, 5);
  const Partition partition = uneven_parts(graph, 10);
  ASSERT_EQ(partition.num_empty(), 1U);
  for (const std::size_t parts : {1U, 3U, 5U, 10U, 99U}) {
    PartBatches batches(graph, partition, {.parts = parts, .seed = 4});
    ASSERT_EQ(batches.num_batches(), (10 + parts - 1) / parts);
    SubgraphSample batch;
    batch.loss_weight = batch.entry_scale = {1, 2};  // of a sampler that filled it before
    for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
      Nodes met;
      for (std::size_t b = 0; b < batches.num_batches(); ++b) {
        batches.sample_into(batch, epoch, b);
        expect_batch(batch, graph, partition, batches.parts_of(epoch, b));
        met.insert(met.end(), batch.nodes.begin(), batch.nodes.end());
      }
      std::ranges::sort(met);
      Nodes all(graph.nrows());
      std::iota(all.begin(), all.end(), NodeId{0});
      EXPECT_EQ(met, all);
    }
  }
}

TEST(PartBatches, KeepEdgesBetweenTwoParts) {
  // A path of four nodes in three parts: the edge 1 - 2 lies between parts.
  const CsrPattern path = test::grid_pattern(4, 1);
  PartBatches batches(path, Partition({0, 0, 1, 2}, 3), {.parts = 2});
  SubgraphSample batch;
  batches.fixed_into(batch, 0);
  EXPECT_EQ(batch.nodes, (Nodes{0, 1, 2}));
  EXPECT_EQ(batch.pattern.get(), test::grid_pattern(3, 1));
}

TEST(PartBatches, EachEpochHasGroupsOfItsOwnBySeed) {
  const CsrPattern graph = test::grid_pattern(40, 10);
  const Partition partition = uneven_parts(graph, 40);
  PartBatches first(graph, partition, {.parts = 4, .seed = 1});
  PartBatches other(graph, partition, {.parts = 4, .seed = 2});
  const auto groups = [](PartBatches& batches, std::uint32_t epoch) {
    std::set<std::set<NodeId>> sets;
    for (std::size_t b = 0; b < batches.num_batches(); ++b) {
      const auto parts = batches.parts_of(epoch, b);
      sets.emplace(parts.begin(), parts.end());
    }
    return sets;
  };
  const auto expected = groups(first, 0);
  EXPECT_EQ(expected.size(), 10U);
  EXPECT_NE(groups(first, 1), expected);
  EXPECT_EQ(groups(first, 0), expected) << "in any order of the epochs";
  EXPECT_NE(groups(other, 0), expected);
}

TEST(PartBatches, OfInferenceAreTheSameEachTime) {
  const CsrPattern graph = test::random_pattern(200, 200, 0.02, 6);
  const Partition partition = uneven_parts(graph, 7);
  PartBatches batches(graph, partition, {.parts = 3, .seed = 8});
  SubgraphSample batch;
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (std::size_t b = 0; b < 3; ++b) {
      batches.sample_into(batch, 5, b);
      batches.fixed_into(batch, b);
      const Nodes parts =
          b == 2 ? Nodes{6}
                 : Nodes{static_cast<NodeId>(3 * b), static_cast<NodeId>(3 * b + 1), static_cast<NodeId>(3 * b + 2)};
      expect_batch(batch, graph, partition, parts);
    }
  }
}

TEST(PartBatches, ThreadsAndTwinsChangeNothing) {
  const CsrPattern graph = test::rmat_pattern(10, 6000, 3);
  const Partition partition = uneven_parts(graph, 12);
  PartBatches first(graph, partition, {.parts = 5, .seed = 1}, Device::host(1));
  SubgraphSample expected, found;
  for (const int threads : test::thread_counts) {
    PartBatches other = first.twin(Device::host(threads));
    for (const std::size_t b : {2U, 0U, 1U}) {
      first.sample_into(expected, 3, b);
      other.sample_into(found, 3, b);
      EXPECT_EQ(found.nodes, expected.nodes);
      EXPECT_EQ(found.pattern.get(), expected.pattern.get());
    }
  }
}

TEST(PartBatches, RefuseWhatDoesNotFit) {
  const CsrPattern graph = test::grid_pattern(4, 3);
  const Partition partition = uneven_parts(graph, 5);
  test::expect_usage_error([&] { PartBatches(graph, partition, {.parts = 0}); }, "at least one part");
  test::expect_error_with([&] { PartBatches(test::grid_pattern(3, 4), partition, {}); }, ErrorCode::bad_input,
                          "part batches: the parts belong to another graph");
  test::expect_usage_error([&] { PartBatches(csr_from_edges(2, 3, {}, {}), Partition({0, 0}, 1), {}); }, "not square");
  PartBatches batches(graph, partition, {.parts = 2});
  SubgraphSample batch;
  test::expect_usage_error([&] { batches.sample_into(batch, 0, 3); }, "part batches: batch 3 of 3");
  test::expect_usage_error([&] { batches.fixed_into(batch, 3); }, "part batches: batch 3 of 3");
  const CsrPattern empty;
  PartBatches none(empty, Partition({}, 1), {});
  ASSERT_EQ(none.num_batches(), 1U);
  none.sample_into(batch, 0, 0);
  EXPECT_TRUE(batch.nodes.empty());
}

}  // namespace
}  // namespace bitgraph::nn
