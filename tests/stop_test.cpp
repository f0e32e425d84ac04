// SPDX-License-Identifier: Apache-2.0
// Long work that is stopped in the middle: it says so, leaves nothing behind, and the next call works.
#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/reorder.hpp>
#include <bitgraph/graph/betweenness.hpp>
#include <bitgraph/graph/bfs.hpp>
#include <bitgraph/graph/closeness.hpp>
#include <bitgraph/graph/diameter.hpp>
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/graph/multi_source_bfs.hpp>
#include <bitgraph/graph/pagerank.hpp>
#include <bitgraph/io/graph.hpp>
#include <bitgraph/nn/train.hpp>

#include "support/cuda_device.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

/// Does work(device) again and again, until another thread stops it; that comes in the middle of a call, or between
/// two. Nothing of it may be left in memory.
template <class Work>
void expect_stops(const Device& device, const Work& work) {
  const std::size_t live = device.memory().live;
  std::stop_source source;
  const Device stoppable = device.with_stop(source.get_token());
  work(stoppable);
  std::thread other([&] { source.request_stop(); });
  ErrorCode code{};
  try {
    for (int n = 0; n < 1000; ++n) work(stoppable);
    other.join();
    work(stoppable);  // asked to stop before it begins
  } catch (const Error& error) {
    code = error.code();
  }
  if (other.joinable()) other.join();
  EXPECT_EQ(code, ErrorCode::stopped);
  device.synchronize();
  EXPECT_EQ(device.memory().live, live);
}

bool same(const Buffer<NodeId>& a, const Buffer<NodeId>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

TEST(Stop, InTheMiddleOfPacking) {
  const Device device = Device::host(2);
  const CsrPattern a = generate_rmat(12, 8, 1);
  const BitTileMatrix expected = pack(a, {.tile_dim = 16}, device);
  expect_stops(device, [&](const Device& there) { static_cast<void>(pack(a, {.tile_dim = 16}, there)); });
  EXPECT_TRUE(pack(a, {.tile_dim = 16}, device) == expected);
}

TEST(Stop, InTheMiddleOfReordering) {
  const Device device = Device::host(2);
  const CsrPattern a = symmetrized(generate_rmat(11, 8, 1)).to(device);
  for (const Order order : {Order::degree, Order::reverse_cuthill_mckee, Order::community}) {
    SCOPED_TRACE(to_string(order));
    const Buffer<NodeId> expected = reorder(a, order);
    expect_stops(device, [&](const Device& there) { static_cast<void>(reorder(a.share(there), order)); });
    EXPECT_TRUE(same(reorder(a, order), expected));
  }
}

TEST(Stop, InTheMiddleOfReadingEdges) {
  const Device device = Device::host(2);
  const std::vector<NodeId> rows(100'000, 3), cols(100'000, 4);
  expect_stops(device, [&](const Device& there) { static_cast<void>(csr_from_edges(10, 10, rows, cols, {}, there)); });
  EXPECT_EQ(csr_from_edges(10, 10, rows, cols, {}, device).nvals(), 1U);
}

TEST(Stop, InTheMiddleOfReadingAndWritingAFile) {
  const Device device = Device::host(2);
  const CsrPattern a = generate_rmat(10, 4, 1);
  const test::TemporaryFolder folder;
  for (const std::string_view name : {"a.mtx", "a.txt", "a.csv"}) {
    SCOPED_TRACE(name);
    const auto path = folder.put(name, "what was there");
    std::stop_source source;
    source.request_stop();
    EXPECT_THROW(save_graph(a, path, device.with_stop(source.get_token())), Error);
    EXPECT_EQ(std::filesystem::file_size(path), 14U);
    save_graph(a, path, device);
    expect_stops(device, [&](const Device& there) { save_graph(a, path, there); });
    expect_stops(device, [&](const Device& there) { static_cast<void>(load_graph(path, {}, there)); });
    EXPECT_EQ(load_graph(path, {}, device).pattern.nvals(), a.nvals());
    std::filesystem::remove(path);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  }
}

/// Searches over storage of one graph, which the token does not go into.
void expect_searches_stop(const Device& device) {
  const CsrPattern mesh = generate_mesh(60, 60, 1);
  const PackedGraph graph = pack_graph(mesh, {}, device);
  const auto levels = [&] { return bfs(graph, {.source = 5}).level.to(Device{}); };
  const Buffer<std::int32_t> expected = levels();
  expect_stops(device, [&](const Device& there) { static_cast<void>(pack_graph(mesh, {}, there)); });
  expect_stops(device, [&](const Device& there) { static_cast<void>(bfs(graph.share(there), {.source = 5})); });
  expect_stops(device, [&](const Device& there) {
    static_cast<void>(multi_source_bfs(graph.share(there), {.sources = {{1, 2}}}));
  });
  expect_stops(device, [&](const Device& there) {
    static_cast<void>(pagerank(graph.share(there), {.tolerance = 0, .max_iterations = 50}));
  });
  expect_stops(device,
               [&](const Device& there) { static_cast<void>(betweenness(graph.share(there), {.samples = 8})); });
  expect_stops(device, [&](const Device& there) { static_cast<void>(closeness(graph.share(there), {.samples = 8})); });
  expect_stops(device, [&](const Device& there) { static_cast<void>(diameter(graph.share(there))); });
  const Buffer<std::int32_t> found = levels();
  EXPECT_TRUE(std::equal(found.begin(), found.end(), expected.begin(), expected.end()));
}

TEST(Stop, InTheMiddleOfASearch) { expect_searches_stop(Device::host(2)); }

TEST(Stop, InTheMiddleOfASearchOnACudaDevice) {
  BITGRAPH_REQUIRE_CUDA();
  expect_searches_stop(Device::cuda());
}

TEST(Stop, ASearchThatWasStoppedRunsAgain) {
  const PackedGraph graph = pack_graph(generate_mesh(40, 40, 1), {}, Device::host(2));
  std::stop_source source;
  const PackedGraph stoppable = graph.share(graph.device().with_stop(source.get_token()));
  BreadthFirstSearch search(stoppable);
  EXPECT_EQ(search.run({.source = 3}).reached, graph.num_nodes());
  source.request_stop();
  EXPECT_THROW(search.run({.source = 3}), Error);
  BreadthFirstSearch again(graph);
  EXPECT_EQ(again.run({.source = 3}).reached, graph.num_nodes());
}

TEST(Stop, InTheMiddleOfTraining) {
  const Dataset dataset = generate_planted_partition({.num_nodes = 300, .num_classes = 3, .num_features = 40});
  const test::TemporaryFolder folder;
  for (const nn::Architecture architecture : {nn::Architecture::gcn, nn::Architecture::sage}) {
    SCOPED_TRACE(to_string(architecture));
    nn::TrainOptions options{.precision = nn::Precision::real, .architecture = architecture, .hidden = 8, .epochs = 6};
    const nn::TrainResult expected = nn::train(dataset, options, Device::host(1));
    options.checkpoint = folder.path() / std::string(to_string(architecture));
    options.checkpoint_every = 1;

    std::stop_source source;
    std::size_t last = 0;
    const auto stop_after_two = [&](const nn::EpochReport& report) {
      last = report.epoch;
      if (report.epoch == 2) source.request_stop();
    };
    const Device stoppable = Device::host(1).with_stop(source.get_token());
    EXPECT_THROW(static_cast<void>(nn::train(dataset, options, stoppable, stop_after_two)), Error);
    EXPECT_EQ(last, 2U);
    EXPECT_EQ(stoppable.memory().live, 0U);

    // It goes on from the checkpoint of the second epoch.
    std::vector<std::size_t> epochs;
    const nn::TrainResult found = nn::train(dataset, options, Device::host(1),
                                            [&](const nn::EpochReport& report) { epochs.push_back(report.epoch); });
    EXPECT_EQ(epochs, (std::vector<std::size_t>{3, 4, 5, 6}));
    EXPECT_EQ(found.best_epoch, expected.best_epoch);
    EXPECT_EQ(found.validation_loss, expected.validation_loss);
  }
}

}  // namespace
}  // namespace bitgraph
