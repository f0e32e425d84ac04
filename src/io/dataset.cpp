// SPDX-License-Identifier: Apache-2.0
// Data sets for node classification in the layout of gnn-benchmark (Shchur et al. 2018): a .npz with adj_*, attr_*,
// labels.
#include <bitgraph/io/dataset.hpp>

#include <bitgraph/core/random.hpp>

#include "io/file.hpp"
#include "io/npz.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace bitgraph {

namespace {

constexpr std::int32_t unlabelled = -1;

const Array* find(const NpzMembers& members, const std::string& key) {
  const auto found = members.find(key);
  return found == members.end() ? nullptr : &found->second;
}

SparseFeatures dense_features(const Array& array, const std::string& name) {
  if (array.shape.size() != 2) fail_in(name, "attr_matrix must have two dimensions");
  const auto values = array.as<float>();
  std::vector<float> kept;
  std::vector<NodeId> cols;
  Buffer<EdgeOffset> row_ptr(array.shape[0] + 1, EdgeOffset{0});
  for (std::uint64_t i = 0; i < array.shape[0]; ++i) {
    for (std::uint64_t j = 0; j < array.shape[1]; ++j) {
      const float value = values[i * array.shape[1] + j];
      if (value == 0) continue;
      kept.push_back(value);
      cols.push_back(static_cast<NodeId>(j));
    }
    row_ptr[i + 1] = cols.size();
  }
  return {CsrPattern(static_cast<NodeId>(array.shape[0]), static_cast<NodeId>(array.shape[1]), std::move(row_ptr),
                     Buffer<NodeId>::copy_of(cols)),
          Buffer<float>::copy_of(kept)};
}

SparseFeatures read_features(const NpzMembers& members, const std::string& name, const Device& device) {
  SparseFeatures features;
  if (auto sparse = read_sparse(members, "attr_", false, name, device)) {
    features = {std::move(sparse->pattern), std::move(sparse->values)};
  } else if (const Array* dense = find(members, "attr_matrix")) {
    features = dense_features(*dense, name);
  } else {
    fail_in(name, "holds no features: neither attr_data, attr_indices, attr_indptr, attr_shape nor attr_matrix");
  }
  for (NodeId i = 0; i < features.pattern.nrows(); ++i) {
    for (EdgeOffset e = features.pattern.row_ptr()[i]; e < features.pattern.row_ptr()[i + 1]; ++e) {
      if (!std::isfinite(features.values[e])) {
        fail_in(name, fmt::format("attr_data: the feature {} of node {} is not a finite number",
                                  features.pattern.col_ind()[e], i));
      }
    }
  }
  return features;
}

std::vector<std::int32_t> read_labels(const NpzMembers& members, NodeId num_nodes, const std::string& name,
                                      std::int32_t& num_classes) {
  const Array* array = find(members, "labels");
  if (array == nullptr) fail_in(name, "holds no labels");
  const auto raw = array->as<std::int64_t>();
  if (raw.size() != num_nodes) fail_in(name, fmt::format("labels: {} of them for {} nodes", raw.size(), num_nodes));
  constexpr std::int64_t most_classes = 65536;
  std::int64_t least = most_classes;
  std::int64_t largest = unlabelled;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] < unlabelled || raw[i] >= most_classes) {
      fail_in(name, fmt::format("labels: {} of node {} is outside -1 .. {}", raw[i], i, most_classes - 1));
    }
    if (raw[i] == unlabelled) continue;
    least = std::min(least, raw[i]);
    largest = std::max(largest, raw[i]);
  }
  if (largest == unlabelled) fail_in(name, "labels: no node has one");
  std::vector<std::int32_t> labels(num_nodes);
  for (std::size_t i = 0; i < raw.size(); ++i) {
    labels[i] = raw[i] == unlabelled ? unlabelled : static_cast<std::int32_t>(raw[i] - least);
  }
  num_classes = static_cast<std::int32_t>(largest - least + 1);
  return labels;
}

std::vector<NodeId> read_split(const NpzMembers& members, const std::string& key, const Dataset& dataset,
                               const std::string& name) {
  const Array* array = find(members, key);
  if (array == nullptr) return {};
  const auto raw = array->as<std::int64_t>();
  std::vector<NodeId> nodes;
  for (const std::int64_t i : raw.span()) {
    if (i < 0 || i >= static_cast<std::int64_t>(dataset.labels.size())) {
      fail_in(name, fmt::format("{}: node {} is outside 0 .. {}", key, i, dataset.labels.size()));
    }
    if (dataset.labels[static_cast<std::size_t>(i)] == unlabelled)
      fail_in(name, fmt::format("{}: node {} has no label", key, i));
    nodes.push_back(static_cast<NodeId>(i));
  }
  return nodes;
}

template <class T>
Array array_of(ElementType type, std::span<const T> values) {
  return {type, {values.size()}, Buffer<std::byte>::copy_of(std::as_bytes(values))};
}

void put_sparse(NpzMembers& members, const std::string& prefix, const CsrPattern& pattern,
                std::span<const float> values) {
  const std::vector<std::int64_t> shape{pattern.nrows(), pattern.ncols()};
  std::vector<std::int64_t> pointers(pattern.row_ptr().begin(), pattern.row_ptr().end());
  members[prefix + "data"] = array_of(ElementType::f32, values);
  members[prefix + "indices"] = array_of(ElementType::u32, pattern.col_ind());
  members[prefix + "indptr"] = array_of<std::int64_t>(ElementType::i64, pointers);
  members[prefix + "shape"] = array_of<std::int64_t>(ElementType::i64, shape);
}

}  // namespace

Dataset load_dataset(const std::filesystem::path& path, const Device& device) {
  const std::string name = path.string();
  const NpzMembers members =
      read_npz(MappedFile::open(path)->bytes(), name,
               {"adj_data", "adj_indices", "adj_indptr", "adj_shape", "attr_data", "attr_indices", "attr_indptr",
                "attr_shape", "attr_matrix", "labels", "train_idx", "val_idx", "test_idx"});
  auto adjacency = read_sparse(members, "adj_", false, name, device);
  if (!adjacency) fail_in(name, "holds no graph: adj_data, adj_indices, adj_indptr, adj_shape");
  if (adjacency->pattern.nrows() != adjacency->pattern.ncols()) fail_in(name, "adj_shape: the graph is not square");
  Dataset dataset;
  dataset.name = path.stem().string();
  dataset.graph = without_self_loops(symmetrized(adjacency->pattern));
  dataset.features = read_features(members, name, device);
  const NodeId num_nodes = dataset.graph.nrows();
  if (dataset.features.pattern.nrows() != num_nodes) {
    fail_in(name, fmt::format("attr_shape: features of {} nodes for a graph of {}", dataset.features.pattern.nrows(),
                              num_nodes));
  }
  dataset.labels = read_labels(members, num_nodes, name, dataset.num_classes);
  dataset.train = read_split(members, "train_idx", dataset, name);
  dataset.validation = read_split(members, "val_idx", dataset, name);
  dataset.test = read_split(members, "test_idx", dataset, name);
  return dataset;
}

void save_dataset(const Dataset& dataset, const std::filesystem::path& path) {
  NpzMembers members;
  const std::vector<float> ones(dataset.graph.nvals(), 1.0F);
  put_sparse(members, "adj_", dataset.graph, ones);
  put_sparse(members, "attr_", dataset.features.pattern, dataset.features.values.span());
  members["labels"] = array_of<std::int32_t>(ElementType::i32, dataset.labels);
  if (!dataset.train.empty()) members["train_idx"] = array_of<NodeId>(ElementType::u32, dataset.train);
  if (!dataset.validation.empty()) members["val_idx"] = array_of<NodeId>(ElementType::u32, dataset.validation);
  if (!dataset.test.empty()) members["test_idx"] = array_of<NodeId>(ElementType::u32, dataset.test);
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
