// SPDX-License-Identifier: Apache-2.0
#include "fuzz_arrays.hpp"
#include "io/dataset/dataset.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace bitgraph;
  const auto archive = fuzz::with_checksums({reinterpret_cast<const std::byte*>(data), size});
  Dataset dataset;
  const auto owner = std::make_shared<int>();  // the archive outlives the data set: dense features may stay in it
  if (!fuzz::accepted([&] { dataset = read_dataset(archive, fuzz::file_name, Device::host(1), owner); })) return 0;
  const std::size_t num_nodes = dataset.graph.nrows();
  dataset.graph.validate();
  dataset.features.pattern.validate();
  fuzz::expect(is_symmetric(dataset.graph) && num_self_loops(dataset.graph) == 0, "undirected, without loops");
  fuzz::expect(dataset.features.pattern.nrows() == num_nodes, "features of every node");
  fuzz::expect(dataset.features.values.size() == dataset.features.pattern.nvals(), "a value for every feature");
  fuzz::expect(std::ranges::all_of(dataset.features.values.span(), [](float v) { return std::isfinite(v); }), "finite");
  if (dataset.has_dense_features()) {
    fuzz::expect(dataset.features.pattern.ncols() == 0, "features of one kind");
    fuzz::expect(dataset.dense_features.nrows() == num_nodes, "dense features of every node");
    fuzz::expect(
        std::ranges::all_of(std::as_const(dataset.dense_features).values(), [](float v) { return std::isfinite(v); }),
        "finite");
  }
  const bool labelled_set = !dataset.labels.empty() || dataset.num_classes != 0;
  fuzz::expect(!labelled_set || dataset.labels.size() == num_nodes, "a label for every node, or none at all");
  const auto known = [&](std::int32_t label) { return label >= -1 && label < dataset.num_classes; };
  fuzz::expect(std::ranges::all_of(dataset.labels, known), "labels of the classes");
  for (const auto* part : {&dataset.train, &dataset.validation, &dataset.test}) {
    const auto labelled = [&](NodeId i) { return i < num_nodes && labelled_set && dataset.labels[i] >= 0; };
    fuzz::expect(std::ranges::all_of(*part, labelled), "a split of nodes with labels");
  }
  return 0;
}
