// SPDX-License-Identifier: Apache-2.0
// Data sets in the layout of gnn-benchmark (Shchur et al. 2018): a .npz with adj_*, attr_*, labels; of many graphs with
// graph_ptr too.
#include "io/dataset/dataset.hpp"
#include "core/preconditions.hpp"

#include "core/threads/parallel.hpp"
#include "io/array/npz_sparse.hpp"
#include "io/array/stored_npz.hpp"
#include "io/dataset/published/karate_club.hpp"
#include "io/dataset/published/mat_graphs.hpp"
#include "io/dataset/published/musae.hpp"
#include "io/file/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace bitgraph {

namespace {

constexpr std::size_t row_grain = 256;

[[noreturn]] void refuse_value(const NpzReader& reader, const std::string& key, std::size_t node, std::size_t feature,
                               float value) {
  reader.refuse(key, fmt::format("feature {} of node {} is {}, expected a finite number", feature, node, value));
}

/// The matrix in the mapped file; empty where it has to be read.
std::optional<DenseMatrix<float>> mapped_matrix(const NpzReader& reader, const std::string& key, const Device& device,
                                                const std::shared_ptr<const void>& owner) {
  const auto bytes = owner == nullptr ? std::nullopt : reader.stored(key);
  if (!bytes) return std::nullopt;
  const NpyHeader header = read_npy_header(*bytes, reader.name() + ": " + key);
  const auto data = bytes->subspan(header.data_offset);
  const bool plain = header.descr == "<f4" && !header.fortran_order && header.shape.size() == 2 &&
                     reinterpret_cast<std::uintptr_t>(data.data()) % alignof(float) == 0;
  if (!plain || checked_size(header.shape, data.size() / sizeof(float), reader.name()) * sizeof(float) != data.size())
    return std::nullopt;
  // The file is mapped for this process alone: to write to the matrix would change nothing else.
  auto* const values = const_cast<float*>(reinterpret_cast<const float*>(data.data()));
  return DenseMatrix<float>(header.shape[0], header.shape[1],
                            Buffer<float>::borrow(values, data.size() / sizeof(float), owner, device));
}

/// An attr_matrix, checked; returns how many of its values are not zero.
std::size_t read_matrix(DenseMatrix<float>& matrix, const NpzReader& reader, const std::string& key, NodeId num_nodes,
                        const Device& device, const std::shared_ptr<const void>& owner) {
  auto mapped = mapped_matrix(reader, key, device, owner);
  std::vector<std::uint64_t> shape;
  std::optional<Array> array;
  if (mapped) {
    shape = {mapped->nrows(), mapped->ncols()};
  } else {
    array = reader.numbers(key);
    shape = array->shape;
  }
  if (shape.size() != 2 || shape[0] != num_nodes || shape[1] >= std::numeric_limits<NodeId>::max()) {
    reader.refuse(key, fmt::format("a shape of ({}), expected {} rows of less than 2^32 - 1 features",
                                   fmt::join(shape, ", "), num_nodes));
  }
  matrix = mapped ? std::move(*mapped) : DenseMatrix<float>(shape[0], shape[1], reader.as<float>(key, *array, device));
  std::atomic<std::size_t> set{0};
  std::atomic<std::size_t> bad_row{num_nodes};
  parallel_chunks(device, num_nodes, row_grain, [&](Range rows) {
    std::size_t in_range = 0;
    for (std::size_t i = rows.begin; i < rows.end; ++i) {
      bool finite = true;
      for (const float value : matrix.row(i)) {
        in_range += value != 0 ? 1U : 0U;
        finite &= std::isfinite(value);
      }
      std::size_t lowest = bad_row.load();
      while (!finite && i < lowest && !bad_row.compare_exchange_weak(lowest, i)) {
      }
    }
    set += in_range;
  });
  if (const std::size_t row = bad_row.load(); row != num_nodes) {
    const auto values = std::as_const(matrix).row(row);
    const auto bad = std::find_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); });
    refuse_value(reader, key, row, static_cast<std::size_t>(bad - values.begin()), *bad);
  }
  return set;
}

void read_sparse_features(Dataset& dataset, const NpzReader& reader, NodeId num_nodes, const Device& device) {
  auto sparse = read_compressed(reader, "attr_", Compressed::rows, device);
  const SparseFeatures& features = dataset.features = {std::move(sparse.pattern), std::move(sparse.values)};
  if (features.pattern.nrows() != num_nodes) {
    reader.refuse("attr_shape",
                  fmt::format("features of {} nodes for a graph of {}", features.pattern.nrows(), num_nodes));
  }
  const auto bad =
      std::find_if(features.values.begin(), features.values.end(), [](float v) { return !std::isfinite(v); });
  if (bad == features.values.end()) return;
  const auto entry = static_cast<EdgeOffset>(bad - features.values.begin());
  const auto row_ptr = features.pattern.row_ptr();
  const auto node = std::upper_bound(row_ptr.begin(), row_ptr.end(), entry) - row_ptr.begin() - 1;
  refuse_value(reader, "attr_data", static_cast<std::size_t>(node), features.pattern.col_ind()[entry], *bad);
}

void read_features(Dataset& dataset, const NpzReader& reader, const Device& device,
                   const std::shared_ptr<const void>& owner) {
  const NodeId num_nodes = dataset.graph.nrows();
  if (reader.contains("attr_indptr")) return read_sparse_features(dataset, reader, num_nodes, device);
  if (!reader.contains("attr_matrix")) {
    fail_in(reader.name(),
            "holds no features: neither attr_data, attr_indices, attr_indptr, attr_shape nor attr_matrix");
  }
  DenseMatrix<float> matrix;
  const std::size_t set = read_matrix(matrix, reader, "attr_matrix", num_nodes, device, owner);
  if (set > matrix.values().size() / 2) {
    dataset.dense_features = std::move(matrix);
    dataset.features.pattern = CsrPattern(num_nodes, 0, Buffer<EdgeOffset>(std::size_t{num_nodes} + 1, 0, device), {});
  } else {
    dataset.features = sparse_features(matrix);
  }
}

/// Where each graph of many begins (Dataset::first_node); empty where the file has one graph.
std::vector<NodeId> read_graph_ptr(const NpzReader& reader, const CsrPattern& graph) {
  constexpr const char* key = "graph_ptr";
  if (!reader.contains(key)) return {};
  const auto raw = reader.vector<std::int64_t>(key);
  const auto refuse = [&](const std::string& what) { reader.refuse(key, what); };
  if (raw.size() < 2 || raw[0] != 0 || raw[raw.size() - 1] != graph.nrows())
    refuse(fmt::format("expected numbers from 0 to {}, the number of nodes", graph.nrows()));
  std::vector<NodeId> first{0};
  for (std::size_t g = 0; g + 1 < raw.size(); ++g) {
    if (raw[g + 1] <= raw[g] || raw[g + 1] > graph.nrows())
      refuse(fmt::format("element {}: found {}, expected more than {} and at most {}", g + 1, raw[g + 1], raw[g],
                         graph.nrows()));
    first.push_back(static_cast<NodeId>(raw[g + 1]));
    for (NodeId i = first[g]; i < first[g + 1]; ++i) {
      const auto row = graph.row(i);
      if (!row.empty() && (row.front() < first[g] || row.back() >= first[g + 1]))
        refuse(fmt::format("node {} of graph {} has an edge to another graph", i, g));
    }
  }
  return first;
}

/// Of nodes or graphs. Empty, and no classes, where the file has none, or says of all that they have none.
std::vector<std::int32_t> read_labels(const NpzReader& reader, std::size_t samples, const char* of,
                                      std::int32_t& num_classes) {
  if (!reader.contains("labels")) return {};
  const auto raw = reader.vector<std::int64_t>("labels");
  if (raw.size() != samples) reader.refuse("labels", fmt::format("{} of them for {} {}s", raw.size(), samples, of));
  constexpr auto most = static_cast<std::int64_t>(most_classes);
  std::int64_t least = most;
  std::int64_t largest = unlabelled;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] < unlabelled || raw[i] >= most) {
      reader.refuse("labels", fmt::format("{} {}: found {}, expected -1 .. {}", of, i, raw[i], most - 1));
    }
    if (raw[i] == unlabelled) continue;
    least = std::min(least, raw[i]);
    largest = std::max(largest, raw[i]);
  }
  if (largest == unlabelled) return {};
  std::vector<std::int32_t> labels(samples);
  for (std::size_t i = 0; i < raw.size(); ++i) {
    labels[i] = raw[i] == unlabelled ? unlabelled : static_cast<std::int32_t>(raw[i] - least);
  }
  num_classes = static_cast<std::int32_t>(largest - least + 1);
  return labels;
}

/// Reads a part of the split; `taken` remembers which samples are taken, for one in two parts would be tested on what
/// it was trained with.
std::vector<NodeId> read_split(const NpzReader& reader, const std::string& key, const char* of,
                               std::span<const std::int32_t> labels, std::vector<bool>& taken) {
  const auto samples = static_cast<std::int64_t>(taken.size());
  if (!reader.contains(key)) return {};
  const auto raw = reader.vector<std::int64_t>(key);
  if (raw.empty()) reader.refuse(key, fmt::format("no {}s; a data set without a split leaves the member out", of));
  std::vector<NodeId> part;
  part.reserve(raw.size());
  for (std::size_t n = 0; n < raw.size(); ++n) {
    const auto refuse = [&](const std::string& what) {
      reader.refuse(key, fmt::format("element {}: {} {} {}", n, of, raw[n], what));
    };
    if (raw[n] < 0 || raw[n] >= samples) refuse(fmt::format("is outside 0 .. {}", samples - 1));
    const auto sample = static_cast<std::size_t>(raw[n]);
    if (labels[sample] == unlabelled) refuse("has no label");
    if (taken[sample]) refuse("stands in the split before");
    taken[sample] = true;
    part.push_back(static_cast<NodeId>(sample));
  }
  return part;
}

}  // namespace

SparseFeatures sparse_features(const DenseMatrix<float>& dense) {
  const Device& device = dense.device();
  Buffer<EdgeOffset> row_ptr(dense.nrows() + 1, EdgeOffset{0}, device);
  parallel_for(device, dense.nrows(), row_grain, [&](std::size_t i) {
    const auto row = dense.row(i);
    row_ptr[i] = static_cast<EdgeOffset>(std::count_if(row.begin(), row.end(), [](float v) { return v != 0; }));
  });
  const EdgeOffset total = exclusive_scan(device, row_ptr.span());
  Buffer<NodeId> cols(total, device);
  Buffer<float> values(total, device);
  parallel_for(device, dense.nrows(), row_grain, [&](std::size_t i) {
    EdgeOffset at = row_ptr[i];
    for (std::size_t j = 0; j < dense.ncols(); ++j) {
      if (dense(i, j) == 0) continue;
      cols[at] = static_cast<NodeId>(j);
      values[at++] = dense(i, j);
    }
  });
  return {CsrPattern(static_cast<NodeId>(dense.nrows()), static_cast<NodeId>(dense.ncols()), std::move(row_ptr),
                     std::move(cols), trusted),
          std::move(values)};
}

Dataset read_dataset(std::span<const std::byte> bytes, const std::string& name, const Device& device,
                     const std::shared_ptr<const void>& owner) {
  const NpzReader reader(bytes, name);
  if (!reader.contains("adj_indptr")) fail_in(name, "holds no graph: adj_data, adj_indices, adj_indptr, adj_shape");
  Dataset dataset;
  {
    CsrPattern adjacency = read_compressed(reader, "adj_", Compressed::rows, device).pattern;
    if (adjacency.nrows() != adjacency.ncols()) {
      reader.refuse("adj_shape",
                    fmt::format("{} x {}, expected a square matrix", adjacency.nrows(), adjacency.ncols()));
    }
    // Large files mostly hold the graph as it is wanted: a check is cheaper than a copy.
    const bool ready = num_self_loops(adjacency) == 0 && is_symmetric(adjacency);
    dataset.graph = ready ? std::move(adjacency) : without_self_loops(symmetrized(adjacency));
  }
  read_features(dataset, reader, device, owner);
  dataset.first_node = read_graph_ptr(reader, dataset.graph);
  const char* const of = dataset.num_graphs() != 0 ? "graph" : "node";
  dataset.labels = read_labels(reader, dataset.num_samples(), of, dataset.num_classes);
  if (dataset.labels.empty()) return dataset;  // a split says what labels are for
  std::vector<bool> taken(dataset.num_samples(), false);
  dataset.train = read_split(reader, "train_idx", of, dataset.labels, taken);
  dataset.validation = read_split(reader, "val_idx", of, dataset.labels, taken);
  dataset.test = read_split(reader, "test_idx", of, dataset.labels, taken);
  return dataset;
}

Dataset load_dataset(const std::filesystem::path& path, const Device& device) {
  require_host(device, "load_dataset");
  if (const auto files = find_karate_club(path)) return load_karate_club(*files, device);
  if (const auto files = find_musae(path)) return load_musae(*files, device);
  const auto file = MappedFile::open(path);
  Dataset dataset = path.extension() == ".mat" ? read_mat_graphs(file->bytes(), path.string(), device)
                                               : read_dataset(file->bytes(), path.string(), device, file);
  dataset.name = path.stem().string();
  return dataset;
}

namespace {

/// fn(key, numbers) for the parts of the split and for the graphs, where there are some.
template <class Fn>
void for_each_index(const Dataset& dataset, Fn&& fn) {
  const std::array<std::pair<const char*, const std::vector<NodeId>*>, 4> all{{{"graph_ptr", &dataset.first_node},
                                                                               {"train_idx", &dataset.train},
                                                                               {"val_idx", &dataset.validation},
                                                                               {"test_idx", &dataset.test}}};
  for (const auto& [key, numbers] : all) {
    if (!numbers->empty()) fn(key, std::vector<std::int64_t>(numbers->begin(), numbers->end()));
  }
}

/// Large data sets: members go to the file one by one, the columns and the features from where they are.
void save_stored(const Dataset& dataset, const std::filesystem::path& path) {
  StoredNpzWriter writer(path);
  const CsrPattern& graph = dataset.graph;
  const std::array<std::int64_t, 2> sides{graph.nrows(), graph.ncols()};
  writer.add<std::int64_t>("adj_shape", ElementType::i64, sides);
  {
    const std::vector<std::uint8_t> ones(graph.nvals(), 1);
    writer.add<std::uint8_t>("adj_data", ElementType::u8, ones);
  }
  // Where there are less than 2^31 nodes, the columns are NumPy's int32 as well.
  const bool small = graph.nrows() <= std::numeric_limits<std::int32_t>::max();
  writer.add("adj_indices", small ? ElementType::i32 : ElementType::u32, graph.col_ind());
  writer.add("adj_indptr", ElementType::i64, graph.row_ptr());
  const std::array<std::uint64_t, 2> shape{dataset.dense_features.nrows(), dataset.dense_features.ncols()};
  writer.add("attr_matrix", ElementType::f32, shape, std::as_bytes(dataset.dense_features.values()));
  if (!dataset.labels.empty()) writer.add<std::int32_t>("labels", ElementType::i32, dataset.labels);
  for_each_index(dataset, [&](const char* key, const std::vector<std::int64_t>& numbers) {
    writer.add<std::int64_t>(key, ElementType::i64, numbers);
  });
  writer.commit();
}

}  // namespace

void save_dataset(const Dataset& dataset, const std::filesystem::path& path) {
  dataset.validate();
  if (dataset.has_dense_features()) return save_stored(dataset, path);
  std::map<std::string, Array> members;
  const Buffer<float> ones(dataset.graph.nvals(), 1.0F);
  put_csr(members, "adj_", dataset.graph, ones.span());
  put_csr(members, "attr_", dataset.features.pattern, dataset.features.values.span());
  if (!dataset.labels.empty()) members["labels"] = vector_array<std::int32_t>(dataset.labels);
  for_each_index(dataset, [&](const char* key, const std::vector<std::int64_t>& numbers) {
    members[key] = vector_array<std::int64_t>(numbers);
  });
  save_npz(path, members);
}

}  // namespace bitgraph
