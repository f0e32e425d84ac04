// SPDX-License-Identifier: Apache-2.0
// Batches that a CUDA device draws are those of the host, whatever the graph, and however late their steps read them.
#include "nn/sampling/cuda/device_batches.hpp"

#include "formats/pattern/csr_chunks.hpp"
#include "nn/sampling/cuda/sample_plan.hpp"
#include "nn/training/trainer.hpp"

#include "support/cuda_device.hpp"
#include "support/expect_error.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/nn/sampling.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

constexpr Architecture architectures[] = {Architecture::sage, Architecture::inductive_gcn, Architecture::inductive_gin};

CsrPattern graph_of(NodeId nodes, const std::vector<std::pair<NodeId, NodeId>>& edges) {
  std::vector<NodeId> rows, columns;
  for (const auto& [i, j] : edges) {
    rows.push_back(i);
    columns.push_back(j);
  }
  return csr_from_edges(nodes, nodes, rows, columns);
}

/// Rows of no entry, of one, of some hundred, and one of nearly all nodes; some nodes are their own neighbours.
CsrPattern uneven_graph(NodeId nodes) {
  std::vector<std::pair<NodeId, NodeId>> edges;
  for (NodeId j = 1; j < nodes; j += j % 9 == 0 ? 2 : 1) edges.emplace_back(0, j);
  for (NodeId i = 1; i < nodes; ++i) {
    if (i % 5 == 0) continue;
    const NodeId degree = i % 50 == 1 ? std::min<NodeId>(nodes / 3, 300) : i % 7;
    for (NodeId d = 0; d < degree; ++d) edges.emplace_back(i, static_cast<NodeId>(random_below({7, 1, i}, d, nodes)));
    if (i % 11 == 0) edges.emplace_back(i, i);
    if (i % 4 == 0) edges.emplace_back(i, 0);
  }
  return graph_of(nodes, edges);
}

Dataset dataset_of(CsrPattern graph) {
  Dataset dataset;
  dataset.name = "awkward";
  dataset.graph = std::move(graph);
  dataset.num_classes = 3;
  const NodeId nodes = dataset.graph.nrows();
  for (NodeId i = 0; i < nodes; ++i) dataset.labels.push_back(static_cast<std::int32_t>(i * 5 % 3));
  dataset.train.resize(nodes);
  std::iota(dataset.train.begin(), dataset.train.end(), NodeId{0});
  return dataset;
}

struct Sampling {
  TrainOptions options;
  std::vector<LayerShape> shapes;

  Sampling(Architecture architecture, std::vector<std::size_t> fan_outs, std::size_t batch_size,
           std::size_t epochs = 2) {
    options.architecture = architecture;
    options.depth = fan_outs.size();
    options.fan_outs = std::move(fan_outs);
    options.batch_size = batch_size;
    options.epochs = epochs;
    options.seed = 5;
    shapes = layer_shapes(architecture, 4, 8, 3, options.depth, false);
  }
};

/// A batch's arrays, brought to the host.
struct LayerHere {
  NodeId nrows = 0, ncols = 0;
  std::vector<EdgeOffset> row_ptr, transposed_row_ptr;
  std::vector<NodeId> col_ind, transposed_col_ind, chunk_row, transposed_chunk_row;
  EdgeOffset longest_row = 0, longest_column = 0;
  std::vector<float> row_scale, vote_scale;
};

struct BatchHere {
  std::vector<NodeId> nodes, counted;
  std::vector<std::int32_t> labels;
  std::vector<LayerHere> layers;
};

/// Puts a copy behind what the device was asked for, which the host does not wait for.
class Copies {
 public:
  explicit Copies(Device device) : device_(std::move(device)) {}

  template <class T>
  void add(std::vector<T>& to, const T* from, std::size_t size) {
    Buffer<std::byte> copy(size * sizeof(T), device_);
    Device::copy(copy.data(), device_, from, device_, copy.bytes());
    to.resize(size);
    pending_.push_back({std::move(copy), reinterpret_cast<std::byte*>(to.data())});
  }

  /// Fills all vectors.
  void finish() {
    for (const auto& [copy, to] : pending_) Device::copy(to, Device{}, copy.data(), device_, copy.bytes());
    pending_.clear();
  }

 private:
  struct Pending {
    Buffer<std::byte> copy;
    std::byte* to;
  };
  Device device_;
  std::vector<Pending> pending_;
};

void copy_pattern(Copies& copies, const CsrPattern& pattern, std::vector<EdgeOffset>& row_ptr,
                  std::vector<NodeId>& col_ind, std::vector<NodeId>& chunk_row) {
  const CsrPatternView view = pattern.view();
  copies.add(row_ptr, view.row_ptr, view.nrows + std::size_t{1});
  copies.add(col_ind, view.col_ind, view.num_entries);
  copies.add(chunk_row, view.chunk_row, view.num_chunks + std::size_t{1});
}

/// `to` stays where it is until copies.finish().
void copy_batch(Copies& copies, BatchHere& to, const PlacedBatch& batch) {
  copies.add(to.nodes, batch.nodes.data(), batch.nodes.size());
  copies.add(to.counted, batch.counted.data(), batch.counted.size());
  copies.add(to.labels, batch.labels.data(), batch.labels.size());
  to.layers.resize(batch.graphs.size());
  for (std::size_t l = 0; l < to.layers.size(); ++l) {
    LayerHere& layer = to.layers[l];
    const LayerGraph& graph = *batch.graphs[l];
    layer.nrows = graph.pattern.nrows();
    layer.ncols = graph.pattern.ncols();
    EXPECT_EQ(graph.transposed.nrows(), layer.ncols);
    EXPECT_EQ(graph.transposed.ncols(), layer.nrows);
    copy_pattern(copies, graph.pattern, layer.row_ptr, layer.col_ind, layer.chunk_row);
    copy_pattern(copies, graph.transposed, layer.transposed_row_ptr, layer.transposed_col_ind,
                 layer.transposed_chunk_row);
    layer.longest_row = graph.pattern.view().longest_row;
    layer.longest_column = graph.transposed.view().longest_row;
    copies.add(layer.row_scale, graph.row_scale.data(), graph.row_scale.size());
    copies.add(layer.vote_scale, graph.vote_scale.data(), graph.vote_scale.size());
    EXPECT_TRUE(graph.col_scale.empty());
  }
}

BatchHere batch_here(const PlacedBatch& batch, const Device& device) {
  BatchHere here;
  Copies copies(device);
  copy_batch(copies, here, batch);
  copies.finish();
  return here;
}

template <class T>
std::vector<T> taken(ArrayPack& arrays, ArrayPack::Place<T> place) {
  const std::span<T> values = arrays[place];
  return {values.begin(), values.end()};
}

BatchHere drawn_here(BatchDrawer& drawer, std::size_t epoch, std::size_t n) {
  DrawnBatch drawn;
  drawer.draw(drawn, epoch, n);
  BatchHere here;
  here.nodes = taken(drawn.arrays, drawn.nodes);
  here.counted = taken(drawn.arrays, drawn.counted);
  here.labels = taken(drawn.arrays, drawn.labels);
  for (const LayerPlaces& places : drawn.layers) {
    LayerHere& layer = here.layers.emplace_back();
    layer.nrows = places.pattern.nrows;
    layer.ncols = places.pattern.ncols;
    layer.row_ptr = taken(drawn.arrays, places.pattern.row_ptr);
    layer.col_ind = taken(drawn.arrays, places.pattern.col_ind);
    layer.chunk_row = taken(drawn.arrays, places.pattern.chunk_row);
    layer.longest_row = places.pattern.longest_row;
    layer.transposed_row_ptr = taken(drawn.arrays, places.transposed.row_ptr);
    layer.transposed_col_ind = taken(drawn.arrays, places.transposed.col_ind);
    layer.transposed_chunk_row = taken(drawn.arrays, places.transposed.chunk_row);
    layer.longest_column = places.transposed.longest_row;
    layer.row_scale = taken(drawn.arrays, places.row_scale);
    layer.vote_scale = taken(drawn.arrays, places.vote_scale);
  }
  return here;
}

/// Bit by bit; a failure names the first difference and how many there are.
template <class T>
void expect_same(const std::string& what, const std::vector<T>& device, const std::vector<T>& host) {
  EXPECT_EQ(device.size(), host.size()) << what << ": elements";
  const auto differs = [](const T& a, const T& b) { return std::memcmp(&a, &b, sizeof(T)) != 0; };
  std::size_t differences = 0, first = 0;
  for (std::size_t n = std::min(device.size(), host.size()); n-- > 0;) {
    if (!differs(device[n], host[n])) continue;
    ++differences;
    first = n;
  }
  if (differences != 0) {
    ADD_FAILURE() << what << ": " << differences << " of " << host.size() << " differ, the first at " << first
                  << ": device " << device[first] << ", host " << host[first];
  }
}

void expect_same(const BatchHere& device, const BatchHere& host) {
  expect_same("nodes", device.nodes, host.nodes);
  expect_same("counted", device.counted, host.counted);
  expect_same("labels", device.labels, host.labels);
  ASSERT_EQ(device.layers.size(), host.layers.size());
  for (std::size_t l = 0; l < host.layers.size(); ++l) {
    const LayerHere &a = device.layers[l], &b = host.layers[l];
    const std::string layer = "layer " + std::to_string(l) + ", ";
    EXPECT_EQ(a.nrows, b.nrows) << layer;
    EXPECT_EQ(a.ncols, b.ncols) << layer;
    expect_same(layer + "row_ptr", a.row_ptr, b.row_ptr);
    expect_same(layer + "col_ind", a.col_ind, b.col_ind);
    expect_same(layer + "chunk_row", a.chunk_row, b.chunk_row);
    EXPECT_EQ(a.longest_row, b.longest_row) << layer;
    expect_same(layer + "transposed row_ptr", a.transposed_row_ptr, b.transposed_row_ptr);
    expect_same(layer + "transposed col_ind", a.transposed_col_ind, b.transposed_col_ind);
    expect_same(layer + "transposed chunk_row", a.transposed_chunk_row, b.transposed_chunk_row);
    EXPECT_EQ(a.longest_column, b.longest_column) << layer;
    expect_same(layer + "row_scale", a.row_scale, b.row_scale);
    expect_same(layer + "vote_scale", a.vote_scale, b.vote_scale);
  }
}

/// All batches of all epochs; then some in another order.
void expect_batches_of_the_host(const Dataset& dataset, const Sampling& sampling) {
  const Device& device = *test::cuda_device();
  const auto queue = make_device_batches(dataset, sampling.options, sampling.shapes, device);
  ASSERT_NE(queue, nullptr);
  const auto drawer = make_batch_drawer(dataset, sampling.options, sampling.shapes, Device::host(1));
  ASSERT_EQ(queue->batches(), drawer->batches());
  const std::size_t last = queue->batches() - 1;
  std::vector<std::pair<std::size_t, std::size_t>> asked;
  for (std::size_t epoch = 1; epoch <= *sampling.options.epochs; ++epoch) {
    for (std::size_t n = 0; n <= last; ++n) asked.emplace_back(epoch, n);
  }
  const std::vector<std::pair<std::size_t, std::size_t>> others{{2, last}, {2, last}, {1, last / 2}, {9, 0}, {1, 0}};
  asked.insert(asked.end(), others.begin(), others.end());
  for (const auto& [epoch, n] : asked) {
    SCOPED_TRACE("epoch " + std::to_string(epoch) + ", batch " + std::to_string(n));
    expect_same(batch_here(queue->get(epoch, n), device), drawn_here(*drawer, epoch, n));
    if (testing::Test::HasFailure()) return;  // the others would differ alike
  }
}

TEST(DeviceBatchesOnCuda, AreThoseOfTheHostOnUnevenGraphs) {
  BITGRAPH_REQUIRE_CUDA();
  const Dataset dataset = dataset_of(uneven_graph(1500));
  const std::vector<std::vector<std::size_t>> all_fan_outs{{3}, {5, 2}, {25, 10}, {4, 63, 3}, {64, 65, 2}, {200, 40}};
  for (const Architecture architecture : architectures) {
    for (const auto& fan_outs : all_fan_outs) {
      SCOPED_TRACE(std::string(to_string(architecture)) + ", first fan-out " + std::to_string(fan_outs[0]));
      expect_batches_of_the_host(dataset, {architecture, fan_outs, 300});
    }
  }
}

TEST(DeviceBatchesOnCuda, AreThoseOfTheHostWhereRowsAreLong) {
  BITGRAPH_REQUIRE_CUDA();
  const Dataset dataset = dataset_of(uneven_graph(6000));  // the first row has more than few_neighbors of the host
  for (const auto& fan_outs :
       std::vector<std::vector<std::size_t>>{{20, 64}, {1000, 65}, {all_neighbors}, {all_neighbors, all_neighbors}}) {
    SCOPED_TRACE("first fan-out " + std::to_string(fan_outs[0]));
    expect_batches_of_the_host(dataset, {Architecture::inductive_gcn, fan_outs, 2500, 1});
  }
}

TEST(DeviceBatchesOnCuda, AreThoseOfTheHostOnSmallGraphs) {
  BITGRAPH_REQUIRE_CUDA();
  std::vector<CsrPattern> graphs;
  graphs.push_back(graph_of(1, {}));
  graphs.push_back(graph_of(1, {{0, 0}}));
  graphs.push_back(graph_of(2, {{0, 1}}));
  graphs.push_back(graph_of(33, {{0, 32}, {32, 0}, {31, 31}, {5, 7}}));
  graphs.push_back(graph_of(64, {}));
  graphs.push_back(test::random_pattern(40, 40, 0.6, 3));
  graphs.push_back(test::grid_pattern(13, 5));
  for (const CsrPattern& graph : graphs) {
    const Dataset dataset = dataset_of(graph.clone());
    for (const Architecture architecture : architectures) {
      for (const std::size_t batch_size : {1, 7, 1000}) {
        SCOPED_TRACE(std::to_string(graph.nrows()) + " nodes, " + std::to_string(graph.nvals()) +
                     " entries, batches of " + std::to_string(batch_size) + ", " +
                     std::string(to_string(architecture)));
        expect_batches_of_the_host(dataset, {architecture, {3, 2}, batch_size});
        expect_batches_of_the_host(dataset, {architecture, {100}, batch_size});
      }
    }
  }
}

TEST(DeviceBatchesOnCuda, AreThoseOfSomeTrainingNodes) {
  BITGRAPH_REQUIRE_CUDA();
  Dataset dataset = dataset_of(test::rmat_pattern(10, 8000, 4));
  dataset.train = {1000, 3, 77, 512, 0, 1023, 9, 8, 500, 499, 11};
  for (const Architecture architecture : architectures) expect_batches_of_the_host(dataset, {architecture, {9, 4}, 4});
}

/// Steps read their batches long after the host has asked for the next ones.
TEST(DeviceBatchesOnCuda, StayUntilTheStepsThatReadThemAreDone) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const Dataset dataset = dataset_of(test::rmat_pattern(11, 20000, 6));
  const Sampling sampling(Architecture::inductive_gin, {10, 5}, 200, 3);
  const auto queue = make_device_batches(dataset, sampling.options, sampling.shapes, device);
  ASSERT_NE(queue, nullptr);
  const auto drawer = make_batch_drawer(dataset, sampling.options, sampling.shapes, Device::host(1));
  Buffer<std::uint32_t> busy(std::size_t{1} << 22, device);
  Copies copies(device);
  std::vector<BatchHere> batches(*sampling.options.epochs * queue->batches());
  for (std::size_t number = 0; number < batches.size(); ++number) {
    const PlacedBatch batch = queue->get(number / queue->batches() + 1, number % queue->batches());
    for (std::uint32_t n = 0; n < 100; ++n) busy.fill(n);
    copy_batch(copies, batches[number], batch);
  }
  copies.finish();
  for (std::size_t number = 0; number < batches.size(); ++number) {
    SCOPED_TRACE("batch " + std::to_string(number));
    expect_same(batches[number], drawn_here(*drawer, number / queue->batches() + 1, number % queue->batches()));
  }
}

TEST(DeviceBatchesOnCuda, GoWhileBatchesAreDrawnAndAllocateNothing) {
  BITGRAPH_REQUIRE_CUDA();
  const Device device = Device::cuda();
  const Dataset dataset = dataset_of(uneven_graph(2000));
  const Sampling sampling(Architecture::sage, {25, 10}, 256);
  for (std::size_t taken = 0; taken < 5; ++taken) {
    const auto queue = make_device_batches(dataset, sampling.options, sampling.shapes, device);
    ASSERT_NE(queue, nullptr);
    const std::size_t allocations = device.memory().allocations;
    for (std::size_t n = 0; n < taken; ++n) (void)queue->get(1, n);
    EXPECT_EQ(device.memory().allocations, allocations);
  }
  EXPECT_EQ(device.memory().live, 0U);
}

TEST(DeviceBatchesOnCuda, RefuseTargetsThatStandTwice) {
  BITGRAPH_REQUIRE_CUDA();
  Dataset dataset = dataset_of(test::grid_pattern(4, 4));
  const Sampling sampling(Architecture::sage, {2, 2}, 4);
  dataset.train = {3, 5, 3};
  test::expect_error_with(
      [&] { (void)make_device_batches(dataset, sampling.options, sampling.shapes, *test::cuda_device()); },
      ErrorCode::usage, "target 3 stands twice");
  dataset.train = {3, 16};
  test::expect_error_with(
      [&] { (void)make_device_batches(dataset, sampling.options, sampling.shapes, *test::cuda_device()); },
      ErrorCode::usage, "target 16 is no node");
}

/// Samples of the device and of the host's threads train the same bits.
TEST(DeviceBatchesOnCuda, TrainTheSameParameters) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  Dataset dataset = dataset_of(test::rmat_pattern(10, 6000, 8));
  dataset.features.pattern = test::random_pattern(dataset.graph.nrows(), 60, 0.1, 6);
  dataset.features.values = Buffer<float>(dataset.features.pattern.nvals(), 1.0F);
  inductive_split(dataset, {}, 1);
  std::vector<std::pair<Precision, SampleFrom>> forms;
  for (const Precision precision : {Precision::real, Precision::full, Precision::bin}) {
    for (const SampleFrom from : {SampleFrom::training, SampleFrom::all}) forms.emplace_back(precision, from);
  }
  for (const Architecture architecture : architectures) {
    for (const auto& form : forms) {
      SCOPED_TRACE(std::string(to_string(architecture)) + ", " + std::string(to_string(form.first)) +
                   ", nodes: " + std::string(to_string(form.second)));
      const TrainOptions options = preset({.precision = form.first,
                                           .architecture = architecture,
                                           .hidden = 32,
                                           .sample_from = form.second,
                                           .epochs = 4,
                                           .batch_size = 64,
                                           .seed = 2},
                                          {.training_nodes = dataset.train.size()});
      const auto by_device = make_trainer(dataset, options, device, {});
      const auto by_host = make_trainer(dataset, options, device, {}, 2);
      for (std::size_t epoch = 1; epoch <= *options.epochs; ++epoch) {
        by_device->train_epoch(epoch, *options.learning_rate);
        by_host->train_epoch(epoch, *options.learning_rate);
      }
      EXPECT_EQ(by_device->train_loss(), by_host->train_loss());
      for (std::size_t p = 0; p < by_host->parameters().size(); ++p) {
        const DenseMatrix<float> a = by_device->parameters()[p].value.to(Device{});
        const DenseMatrix<float> b = by_host->parameters()[p].value.to(Device{});
        expect_same(by_host->parameters()[p].name, std::vector<float>(a.values().begin(), a.values().end()),
                    std::vector<float>(b.values().begin(), b.values().end()));
      }
    }
  }
}

TEST(DeviceBatches, AreForCudaDevicesOnly) {
  const Dataset dataset = dataset_of(test::grid_pattern(4, 4));
  const Sampling sampling(Architecture::sage, {2, 2}, 4);
  EXPECT_EQ(make_device_batches(dataset, sampling.options, sampling.shapes, Device{}), nullptr);
}

SamplePlan plan_for(const Dataset& dataset, const Sampling& sampling, std::size_t targets) {
  std::vector<Aggregation> aggregations;
  for (const LayerShape& shape : sampling.shapes) {
    if (shape.aggregation != Aggregation::none) aggregations.push_back(shape.aggregation);
  }
  return {dataset.graph, sampling.options.fan_outs, aggregations, targets};
}

void expect_room(const SamplePlan& plan, const BatchHere& batch) {
  EXPECT_LE(batch.nodes.size(), plan.inputs());
  for (std::size_t h = 0; h < plan.hops.size(); ++h) {
    const LayerHere& layer = batch.layers[plan.hops.size() - 1 - h];
    EXPECT_LE(layer.nrows, plan.hops[h].rows);
    EXPECT_LE(layer.ncols, plan.hops[h].inputs);
    EXPECT_LE(layer.col_ind.size(), plan.hops[h].entries);
    EXPECT_LE(layer.longest_row, plan.hops[h].longest_row);
  }
}

TEST(SamplePlan, HasRoomForEverySample) {
  const Dataset dataset = dataset_of(uneven_graph(700));
  for (const Architecture architecture : architectures) {
    for (const auto& fan_outs : std::vector<std::vector<std::size_t>>{{4, 3, 2}, {100, 10}, {all_neighbors}}) {
      for (const std::size_t batch_size : {1, 50, 700}) {
        const Sampling sampling(architecture, fan_outs, batch_size);
        const SamplePlan plan = plan_for(dataset, sampling, batch_size);
        const auto drawer = make_batch_drawer(dataset, sampling.options, sampling.shapes, Device::host(1));
        for (std::size_t n = 0; n < drawer->batches(); ++n) expect_room(plan, drawn_here(*drawer, 1, n));
      }
    }
  }
}

TEST(SamplePlan, HasNoMoreRoomThanAllNeighborsNeed) {
  const Dataset dataset = dataset_of(uneven_graph(700));
  const SamplePlan plan = plan_for(dataset, {Architecture::sage, {all_neighbors, 3}, 700}, 700);
  EXPECT_EQ(plan.hops[0].entries, dataset.graph.nvals());
  EXPECT_EQ(plan.hops[0].inputs, dataset.graph.nrows());
  EXPECT_LE(plan.hops[1].entries, 3 * plan.hops[1].rows);
}

TEST(SamplePlan, TakesAsManyFanOutsAsLayers) {
  const CsrPattern graph = test::grid_pattern(3, 3);
  const std::vector<std::size_t> fan_outs{2, 2};
  const std::vector<Aggregation> one{Aggregation::mean};
  test::expect_error_with([&] { (void)SamplePlan(graph, fan_outs, one, 4); }, ErrorCode::usage,
                          "one fan-out is needed");
}

}  // namespace
}  // namespace bitgraph::nn
