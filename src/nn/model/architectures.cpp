// SPDX-License-Identifier: Apache-2.0
#include "nn/model/architectures.hpp"

#include "core/names.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

namespace bitgraph::nn {

namespace {

template <Aggregation aggregation, bool root>
void one_layer(std::vector<LayerShape>& layers, std::size_t inputs, std::size_t, std::size_t outputs) {
  layers.push_back({aggregation, root, inputs, outputs});
}

void sum_and_mlp(std::vector<LayerShape>& layers, std::size_t inputs, std::size_t hidden, std::size_t outputs) {
  layers.push_back({Aggregation::sum_with_self, false, inputs, hidden, true});
  layers.push_back({Aggregation::none, false, hidden, outputs});
}

constexpr std::array table{
    ArchitectureTraits{.architecture = Architecture::gcn,
                       .name = "gcn",
                       .convolution = one_layer<Aggregation::symmetric, false>,
                       .concatenates = false,
                       .batches = BatchKind::whole_graph,
                       .inductive = false,
                       .hidden = 64,
                       .hidden_of_large = 64,
                       .torch_neighbor = "lin",  // GCNConv
                       .torch_root = ""},
    ArchitectureTraits{.architecture = Architecture::inductive_gcn,
                       .name = "inductive-gcn",
                       .convolution = one_layer<Aggregation::mean_with_self, false>,
                       .concatenates = false,
                       .batches = BatchKind::neighbors,
                       .inductive = true,
                       .hidden = 128,
                       .hidden_of_large = 256,
                       .torch_neighbor = "lin",  // GCNConv
                       .torch_root = ""},
    ArchitectureTraits{.architecture = Architecture::sage,
                       .name = "sage",
                       .convolution = one_layer<Aggregation::mean, true>,
                       .concatenates = false,
                       .batches = BatchKind::neighbors,
                       .inductive = false,
                       .hidden = 128,
                       .hidden_of_large = 256,
                       .torch_neighbor = "lin_l",  // SAGEConv
                       .torch_root = "lin_r"},
    ArchitectureTraits{.architecture = Architecture::saint,
                       .name = "saint",
                       .convolution = one_layer<Aggregation::sum, true>,
                       .concatenates = true,
                       .batches = BatchKind::walks,
                       .inductive = false,
                       .hidden = 128,
                       .hidden_of_large = 256,
                       .torch_neighbor = "lin_rel",  // GraphConv
                       .torch_root = "lin_root"},
    ArchitectureTraits{.architecture = Architecture::gin,
                       .name = "gin",
                       .convolution = sum_and_mlp,
                       .concatenates = false,
                       .batches = BatchKind::whole_graph,
                       .inductive = false,
                       .hidden = 64,
                       .hidden_of_large = 64,
                       .torch_neighbor = "nn",  // GINConv
                       .torch_root = ""},
    ArchitectureTraits{.architecture = Architecture::inductive_gin,
                       .name = "inductive-gin",
                       .convolution = sum_and_mlp,
                       .concatenates = false,
                       .batches = BatchKind::neighbors,
                       .inductive = true,
                       .hidden = 128,
                       .hidden_of_large = 256,
                       .torch_neighbor = "nn",  // GINConv
                       .torch_root = ""},
};

constexpr bool in_order() {
  for (std::size_t k = 0; k < table.size(); ++k) {
    if (static_cast<std::size_t>(table[k].architecture) != k) return false;
  }
  return true;
}
static_assert(in_order(), "rows stand in the order of Architecture");

bool joins_outputs(Architecture architecture, bool jumping_knowledge) noexcept {
  return jumping_knowledge || traits_of(architecture).concatenates;
}

}  // namespace

std::span<const ArchitectureTraits> architecture_table() noexcept { return table; }

const ArchitectureTraits& traits_of(Architecture architecture) noexcept {
  return table[static_cast<std::size_t>(architecture)];
}

std::vector<Architecture> all_architectures() {
  std::vector<Architecture> all;
  all.reserve(std::size(table));
  for (const ArchitectureTraits& row : table) all.push_back(row.architecture);
  return all;
}

std::vector<std::string> architecture_names() {
  std::vector<std::string> all;
  all.reserve(std::size(table));
  for (const ArchitectureTraits& row : table) all.emplace_back(row.name);
  return all;
}

bool is_normalized(const ArchitectureTraits& traits) {
  std::vector<LayerShape> layers;
  traits.convolution(layers, 1, 1, 1);
  return std::any_of(layers.begin(), layers.end(), [](const LayerShape& layer) { return layer.norm; });
}

std::size_t layers_of_convolution(const ArchitectureTraits& traits) {
  std::vector<LayerShape> layers;
  traits.convolution(layers, 1, 1, 1);
  return layers.size();
}

bool Model::concatenates() const noexcept { return joins_outputs(architecture, jumping_knowledge); }

std::size_t Model::depth() const noexcept {
  return static_cast<std::size_t>(std::count_if(
      layers.begin(), layers.end(), [](const Layer& layer) { return layer.aggregation != Aggregation::none; }));
}

std::string_view to_string(Architecture architecture) noexcept { return traits_of(architecture).name; }

Architecture architecture_from_string(std::string_view name) {
  for (const ArchitectureTraits& row : table) {
    if (row.name == name) return row.architecture;
  }
  std::array<std::string_view, table.size()> known;
  std::transform(table.begin(), table.end(), known.begin(), [](const ArchitectureTraits& row) { return row.name; });
  refuse_name("model", name, known);
}

std::vector<LayerShape> layer_shapes(Architecture architecture, std::size_t num_features, std::size_t hidden,
                                     std::size_t num_classes, std::size_t depth, bool jumping_knowledge) {
  require(num_features > 0 && hidden > 0 && num_classes > 0, "a model's widths must be at least 1");
  require(depth > 0, "a model needs at least one layer");
  require(depth <= most_depth, "a model has at most 64 layers that aggregate");
  const ArchitectureTraits& traits = traits_of(architecture);
  const bool joined = joins_outputs(architecture, jumping_knowledge);
  std::vector<LayerShape> shapes;
  for (std::size_t l = 0; l < depth; ++l) {
    const bool last = l + 1 == depth && !joined;
    traits.convolution(shapes, l == 0 ? num_features : hidden, hidden, last ? num_classes : hidden);
  }
  if (joined) shapes.push_back({Aggregation::none, false, depth * hidden, num_classes});
  return shapes;
}

}  // namespace bitgraph::nn
