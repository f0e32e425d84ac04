// SPDX-License-Identifier: Apache-2.0
// Runs a model over a graph in batches of parts (Cluster-GCN; QGTC, section 4.1): METIS cuts the graph, a batch has
// some parts with all edges between them, and only one batch is in memory at a time.
//   cluster_gcn MODEL.safetensors DATASET.npz PARTS PARTS_OF_A_BATCH
// Without arguments the example trains a small model first.
#include <bitgraph/bitgraph.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using namespace bitgraph;

/// The data set of a batch: the rows of its nodes, and the edges between them.
Dataset batch_of(const Dataset& whole, const nn::SubgraphSample& batch) {
  Dataset some;
  some.name = whole.name;
  some.num_classes = whole.num_classes;
  some.graph = batch.pattern.get().clone();
  const auto nrows = static_cast<NodeId>(batch.nodes.size());
  some.dense_features = DenseMatrix<float>(nrows, whole.num_features());
  gather_rows_into(some.dense_features, whole.dense_features, batch.nodes);
  some.features.pattern = CsrPattern(nrows, 0, Buffer<EdgeOffset>(nrows + std::size_t{1}, 0), {});
  for (const NodeId node : batch.nodes) some.labels.push_back(whole.labels[node]);
  return some;
}

/// The class of every node, batch by batch.
std::vector<std::int32_t> classify(const nn::Model& model, const Dataset& dataset, nn::PartBatches& batches) {
  std::vector<std::int32_t> classes(dataset.graph.nrows());
  std::size_t largest = 0;
  nn::SubgraphSample batch;
  for (std::size_t b = 0; b < batches.num_batches(); ++b) {
    batches.fixed_into(batch, b);
    const Dataset some = batch_of(dataset, batch);
    nn::InferencePlan plan(model, some);
    const Buffer<std::int32_t> found = nn::predict(plan.run());
    for (std::size_t i = 0; i < batch.nodes.size(); ++i) classes[batch.nodes[i]] = found[i];
    largest = std::max(largest, plan.predicted().bytes);
  }
  std::printf("%zu batches, %zu bytes for the largest plan; the whole graph: %zu\n", batches.num_batches(), largest,
              nn::predict_memory(model, dataset).bytes);
  return classes;
}

/// The sums of each node's neighbours within its batch, of features of 4 bits: exact sums of whole numbers, then the
/// scale of each column.
DenseMatrix<float> aggregate(const DenseMatrix<float>& features, const LevelScale& scale, nn::PartBatches& batches) {
  DenseMatrix<float> all(features.nrows(), features.ncols());
  nn::SubgraphSample batch;
  for (std::size_t b = 0; b < batches.num_batches(); ++b) {
    batches.fixed_into(batch, b);
    DenseMatrix<float> rows(batch.nodes.size(), features.ncols());
    gather_rows_into(rows, features, batch.nodes);
    QuantizedMatrix levels(rows.nrows(), rows.ncols(), 4);
    levels.set_scale(scale.to(Device{}));
    quantize_into(levels, rows);
    level_spmm_into(rows, batch.pattern.get(), levels);
    for (std::size_t i = 0; i < batch.nodes.size(); ++i)
      std::ranges::copy(rows.row(i), all.row(batch.nodes[i]).begin());
  }
  return all;
}

/// How many nodes have all their neighbours in their batch: the same sums as over the whole graph.
std::size_t same_sums(const Dataset& dataset, nn::PartBatches& batches) {
  const QuantizedMatrix levels = quantize(dataset.dense_features, {.bits = 4, .extent = ScaleExtent::column});
  DenseMatrix<float> expected(levels.nrows(), levels.ncols());
  level_spmm_into(expected, dataset.graph, levels);
  const DenseMatrix<float> sums = aggregate(dataset.dense_features, levels.scale(), batches);
  std::size_t same = 0;
  for (std::size_t i = 0; i < sums.nrows(); ++i) same += std::ranges::equal(sums.row(i), expected.row(i)) ? 1U : 0U;
  return same;
}

double accuracy(const std::vector<std::int32_t>& classes, const Dataset& dataset) {
  std::size_t right = 0;
  for (const NodeId node : dataset.test) right += classes[node] == dataset.labels[node] ? 1U : 0U;
  return static_cast<double>(right) / static_cast<double>(dataset.test.size());
}

/// Returns the accuracy that the batches lose against the whole graph.
double compare(const nn::Model& model, const Dataset& dataset, NodeId parts, std::size_t parts_of_a_batch) {
  const Partition partition = partition_graph(dataset.graph, {.parts = parts});
  const EdgeCut cut = edge_cut(dataset.graph, partition);
  nn::PartBatches batches(dataset.graph, partition, {.parts = parts_of_a_batch});
  std::printf("%u parts, %.0f %% of the edges between them\n", partition.num_parts(), 100 * cut.share());

  const double in_batches = accuracy(classify(model, dataset, batches), dataset);
  nn::InferencePlan plan(model, dataset);
  const Buffer<std::int32_t> classes = nn::predict(plan.run());
  const double whole = accuracy({classes.begin(), classes.end()}, dataset);
  std::printf("test accuracy %.3f in batches, %.3f over the whole graph\n", in_batches, whole);

  std::printf("%zu of %zu nodes have the sums of the whole graph\n", same_sums(dataset, batches), classes.size());
  return whole - in_batches;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 4) {
      const auto parts = static_cast<NodeId>(std::strtoul(argv[3], nullptr, 10));
      Dataset dataset = load_dataset(argv[2]);
      if (!dataset.has_dense_features()) fail(ErrorCode::usage, "this example takes dense features (attr_matrix)");
      if (dataset.test.empty()) draw_split(dataset, {});
      compare(nn::Model::load(argv[1]), dataset, parts, std::strtoull(argv[4], nullptr, 10));
      return 0;
    }
    PlantedGraphOptions options{.num_nodes = 3000, .num_entries = 30'000, .num_classes = 4, .num_features = 32};
    options.feature_signal = 0.3;
    options.homophily = 0.9;
    const Dataset dataset = generate_planted_graph(options);
    const nn::Model trained = nn::train(dataset, {.precision = nn::Precision::real, .hidden = 16, .epochs = 40}).model;
    const nn::Model model = nn::quantize(trained, dataset);  // 8 bits
    const double lost = compare(model, dataset, 12, 3);
    const double lost_by_none = compare(model, dataset, 12, 12);  // one batch of all parts is the whole graph
    return lost < 0.1 && lost_by_none == 0 ? 0 : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
