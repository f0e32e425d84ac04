// SPDX-License-Identifier: Apache-2.0
// Classifies small graphs: a GIN whose logits are summed over the nodes of each graph, in floats and in levels of a few
// bits (QGTC's batched GIN). With a data set it learns that, without one rings from stars.
//   classify_graphs [DATASET]
#include <bitgraph/bitgraph.hpp>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace bitgraph;

/// A ring of n nodes, or a star.
CsrPattern small_graph(NodeId n, bool star) {
  std::vector<NodeId> from, to;
  for (NodeId i = star ? 1 : 0; i < n; ++i) {
    from.push_back(i);
    to.push_back(star ? 0 : (i + 1) % n);
  }
  return csr_from_edges(n, n, from, to, {.symmetrize = true});
}

/// A data set of graphs of your own: one pattern of all, where each begins, features of the nodes, a label a graph.
Dataset rings_and_stars() {
  std::vector<CsrPattern> graphs;
  Dataset dataset;
  dataset.name = "rings and stars";
  dataset.num_classes = 2;
  for (NodeId g = 0; g < 300; ++g) {
    const bool star = g % 2 == 1;
    graphs.push_back(small_graph(4 + g % 9, star));
    dataset.labels.push_back(star ? 1 : 0);
  }
  BlockDiagonal all = block_diagonal(graphs);
  dataset.graph = std::move(all.pattern);
  dataset.first_node = std::move(all.first_node);
  DenseMatrix<float> degrees(dataset.graph.nrows(), 13);  // one-hot
  for (NodeId i = 0; i < dataset.graph.nrows(); ++i) degrees(i, dataset.graph.row(i).size()) = 1;
  dataset.features = sparse_features(degrees);
  return dataset;
}

double accuracy(const nn::Model& model, const Dataset& dataset) {
  nn::InferencePlan plan(model, dataset);
  return score(plan.run(), dataset.labels, dataset.test).accuracy();
}

/// Returns the accuracy of 8 bits on the test graphs.
double learn(Dataset& dataset) {
  inductive_split(dataset, {.train = 0.8, .validation = 0.1, .test = 0.1}, 0);
  nn::TrainOptions options{.precision = nn::Precision::real, .architecture = nn::Architecture::gin, .hidden = 32};
  options.epochs = 40;
  options.batch_size = 32;  // graphs of a step
  const nn::Model model = nn::train(dataset, options).model;
  const nn::Model bits = nn::quantize(model, dataset, {.precision = nn::Precision::of_levels(8, 8, 8)});
  std::printf("%s: %zu graphs, %zu nodes\n", dataset.name.c_str(), dataset.num_graphs(),
              static_cast<std::size_t>(dataset.graph.nrows()));
  std::printf("test accuracy %.3f in floats, %zu bytes of weights\n", accuracy(model, dataset), model.bytes());
  const double found = accuracy(bits, dataset);
  std::printf("test accuracy %.3f in 8 bits, %zu bytes of weights\n", found, bits.bytes());
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 1) {
      Dataset dataset = load_dataset(argv[1]);
      if (dataset.num_graphs() == 0) fail(ErrorCode::usage, std::string(argv[1]) + ": this data set has one graph");
      learn(dataset);
      return 0;
    }
    Dataset dataset = rings_and_stars();
    return learn(dataset) > 0.9 ? 0 : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
