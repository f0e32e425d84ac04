// SPDX-License-Identifier: Apache-2.0
// Data sets for node classification in the layout of gnn-benchmark (Shchur et al. 2018): a .npz with adj_*, attr_*,
// labels.
#include "io/dataset.hpp"

#include <bitgraph/core/random.hpp>

#include "io/file.hpp"
#include "io/npz_sparse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace bitgraph {

namespace {

constexpr std::int32_t unlabelled = -1;

/// A dense attr_matrix as CSR: zeros are left out.
SparseFeatures dense_features(const NpzReader& reader, const std::string& key, NodeId num_nodes, const Device& device) {
  const Array array = reader.numbers(key);
  if (array.shape.size() != 2 || array.shape[0] != num_nodes || array.shape[1] >= std::numeric_limits<NodeId>::max()) {
    reader.refuse(key, fmt::format("a shape of ({}), expected {} rows of less than 2^32 - 1 features",
                                   fmt::join(array.shape, ", "), num_nodes));
  }
  const auto all = reader.as<float>(key, array, device);
  const auto set = static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](float v) { return v != 0; }));
  Buffer<EdgeOffset> row_ptr(std::size_t{num_nodes} + 1, EdgeOffset{0}, device);
  Buffer<NodeId> cols(set, device);
  Buffer<float> values(set, device);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < num_nodes; ++i) {
    for (std::size_t j = 0; j < array.shape[1]; ++j) {
      const float value = all[i * array.shape[1] + j];
      if (value == 0) continue;
      cols[kept] = static_cast<NodeId>(j);
      values[kept++] = value;
    }
    row_ptr[i + 1] = kept;
  }
  return {CsrPattern(num_nodes, static_cast<NodeId>(array.shape[1]), std::move(row_ptr), std::move(cols)),
          std::move(values)};
}

SparseFeatures read_features(const NpzReader& reader, NodeId num_nodes, const Device& device) {
  SparseFeatures features;
  std::string key = "attr_matrix";
  if (reader.contains("attr_indptr")) {
    key = "attr_data";
    auto sparse = read_compressed(reader, "attr_", Compressed::rows, device);
    features = {std::move(sparse.pattern), std::move(sparse.values)};
    if (features.pattern.nrows() != num_nodes) {
      reader.refuse("attr_shape",
                    fmt::format("features of {} nodes for a graph of {}", features.pattern.nrows(), num_nodes));
    }
  } else if (reader.contains(key)) {
    features = dense_features(reader, key, num_nodes, device);
  } else {
    fail_in(reader.name(),
            "holds no features: neither attr_data, attr_indices, attr_indptr, attr_shape nor attr_matrix");
  }
  const auto bad =
      std::find_if(features.values.begin(), features.values.end(), [](float v) { return !std::isfinite(v); });
  if (bad != features.values.end()) {
    const auto entry = static_cast<EdgeOffset>(bad - features.values.begin());
    const auto row_ptr = features.pattern.row_ptr();
    const auto node = std::upper_bound(row_ptr.begin(), row_ptr.end(), entry) - row_ptr.begin() - 1;
    reader.refuse(key, fmt::format("feature {} of node {} is {}, expected a finite number",
                                   features.pattern.col_ind()[entry], node, *bad));
  }
  return features;
}

std::vector<std::int32_t> read_labels(const NpzReader& reader, NodeId num_nodes, std::int32_t& num_classes) {
  const auto raw = reader.vector<std::int64_t>("labels");
  if (raw.size() != num_nodes) reader.refuse("labels", fmt::format("{} of them for {} nodes", raw.size(), num_nodes));
  constexpr std::int64_t most_classes = 65536;
  std::int64_t least = most_classes;
  std::int64_t largest = unlabelled;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] < unlabelled || raw[i] >= most_classes) {
      reader.refuse("labels", fmt::format("node {}: found {}, expected -1 .. {}", i, raw[i], most_classes - 1));
    }
    if (raw[i] == unlabelled) continue;
    least = std::min(least, raw[i]);
    largest = std::max(largest, raw[i]);
  }
  if (largest == unlabelled) reader.refuse("labels", "no node has one");
  std::vector<std::int32_t> labels(num_nodes);
  for (std::size_t i = 0; i < raw.size(); ++i) {
    labels[i] = raw[i] == unlabelled ? unlabelled : static_cast<std::int32_t>(raw[i] - least);
  }
  num_classes = static_cast<std::int32_t>(largest - least + 1);
  return labels;
}

/// Reads a part of the split; `taken` remembers which nodes are taken, for a node in two parts would be tested on
/// what it was trained with.
std::vector<NodeId> read_split(const NpzReader& reader, const std::string& key, std::span<const std::int32_t> labels,
                               std::vector<bool>& taken) {
  if (!reader.contains(key)) return {};
  const auto raw = reader.vector<std::int64_t>(key);
  std::vector<NodeId> nodes;
  nodes.reserve(raw.size());
  for (std::size_t n = 0; n < raw.size(); ++n) {
    const auto refuse = [&](const std::string& what) {
      reader.refuse(key, fmt::format("element {}: node {} {}", n, raw[n], what));
    };
    if (raw[n] < 0 || raw[n] >= static_cast<std::int64_t>(labels.size()))
      refuse(fmt::format("is outside 0 .. {}", static_cast<std::int64_t>(labels.size()) - 1));
    const auto node = static_cast<std::size_t>(raw[n]);
    if (labels[node] == unlabelled) refuse("has no label");
    if (taken[node]) refuse("stands in the split before");
    taken[node] = true;
    nodes.push_back(static_cast<NodeId>(node));
  }
  return nodes;
}

}  // namespace

Dataset read_dataset(std::span<const std::byte> bytes, const std::string& name, const Device& device) {
  const NpzReader reader(bytes, name);
  if (!reader.contains("adj_indptr")) fail_in(name, "holds no graph: adj_data, adj_indices, adj_indptr, adj_shape");
  Dataset dataset;
  {
    const CsrPattern adjacency = read_compressed(reader, "adj_", Compressed::rows, device).pattern;
    if (adjacency.nrows() != adjacency.ncols()) {
      reader.refuse("adj_shape",
                    fmt::format("{} x {}, expected a square matrix", adjacency.nrows(), adjacency.ncols()));
    }
    dataset.graph = without_self_loops(symmetrized(adjacency));
  }
  const NodeId num_nodes = dataset.graph.nrows();
  dataset.features = read_features(reader, num_nodes, device);
  dataset.labels = read_labels(reader, num_nodes, dataset.num_classes);
  std::vector<bool> taken(num_nodes, false);
  dataset.train = read_split(reader, "train_idx", dataset.labels, taken);
  dataset.validation = read_split(reader, "val_idx", dataset.labels, taken);
  dataset.test = read_split(reader, "test_idx", dataset.labels, taken);
  return dataset;
}

Dataset load_dataset(const std::filesystem::path& path, const Device& device) {
  Dataset dataset = read_dataset(MappedFile::open(path)->bytes(), path.string(), device);
  dataset.name = path.stem().string();
  return dataset;
}

void save_dataset(const Dataset& dataset, const std::filesystem::path& path) {
  std::map<std::string, Array> members;
  const Buffer<float> ones(dataset.graph.nvals(), 1.0F);
  put_csr(members, "adj_", dataset.graph, ones.span());
  put_csr(members, "attr_", dataset.features.pattern, dataset.features.values.span());
  members["labels"] = vector_array<std::int32_t>(dataset.labels);
  const auto put_split = [&](const std::string& key, const std::vector<NodeId>& nodes) {
    const std::vector<std::int64_t> wide(nodes.begin(), nodes.end());
    if (!nodes.empty()) members[key] = vector_array<std::int64_t>(wide);
  };
  put_split("train_idx", dataset.train);
  put_split("val_idx", dataset.validation);
  put_split("test_idx", dataset.test);
  save_npz(path, members);
}

void draw_split(Dataset& dataset, const SplitOptions& options) {
  std::vector<std::vector<NodeId>> of_class(static_cast<std::size_t>(dataset.num_classes));
  for (NodeId i = 0; i < dataset.labels.size(); ++i) {
    if (dataset.labels[i] != unlabelled) of_class[static_cast<std::size_t>(dataset.labels[i])].push_back(i);
  }
  dataset.train.clear();
  dataset.validation.clear();
  dataset.test.clear();
  for (std::uint32_t c = 0; c < of_class.size(); ++c) {
    auto& nodes = of_class[c];
    const RandomKey key{options.seed, c, 0x5911};
    for (std::size_t n = nodes.size(); n > 1; --n) std::swap(nodes[n - 1], nodes[random_below(key, n, n)]);
    const std::size_t train = std::min(options.train_per_class, nodes.size() / 2);
    const std::size_t validation = std::min(options.validation_per_class, (nodes.size() - train) / 2);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      (n < train ? dataset.train : n < train + validation ? dataset.validation : dataset.test).push_back(nodes[n]);
    }
  }
  for (auto* part : {&dataset.train, &dataset.validation, &dataset.test}) std::sort(part->begin(), part->end());
}

}  // namespace bitgraph
