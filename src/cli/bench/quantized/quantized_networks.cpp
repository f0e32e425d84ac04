// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/quantized/quantized_networks.hpp"

#include <bitgraph/graph/partition.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/quantize.hpp>
#include <bitgraph/ops/select.hpp>

#include "cli/bench/gnn_rival.hpp"
#include "cli/commands/network/measure.hpp"
#include "nn/model/random_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace bitgraph::cli {

namespace {

/// Those of Table 1 that fit any machine; ogbn-products has 62 million edges.
const std::vector<std::string> table_1{"proteins", "artist", "blogcatalog", "ppi", "arxiv"};

struct Network {
  const char* name;
  nn::Architecture architecture;
  std::size_t hidden;
};

Network network_of(const std::string& figure) {
  if (figure == "7a") return {"Cluster GCN, 3 layers of 16", nn::Architecture::gcn, 16};
  return {"batched GIN, 3 layers of 64", nn::Architecture::gin, 64};
}

nn::Model float_model(const Network& network, const Dataset& dataset, const Common& common) {
  constexpr std::size_t depth = 3;
  return nn::random_model(network.architecture, nn::Precision::real, dataset.num_features(), network.hidden,
                          static_cast<std::size_t>(dataset.num_classes), depth, common.seed);
}

/// The graph without the edges between batches: what a run over batches computes.
CsrPattern without_edges_between(const CsrPattern& graph, const Partition& partition, std::size_t of_batch) {
  const auto batch = [&](NodeId node) { return partition.part_of()[node] / of_batch; };
  return select(graph, [&](NodeId i, NodeId j) { return batch(i) == batch(j); });
}

/// Microseconds by form.
Json times_of(const Network& network, const Dataset& dataset, const Partition* partition, std::size_t of_batch,
              const Common& common, const CallTimer& timer) {
  const Device& device = timer.device();
  const nn::Model real = float_model(network, dataset, common);
  Json us = Json::object();
  const auto run_model = [&](const std::string& form, const nn::Model& model) {
    nn::InferencePlan plan(model, dataset, {.partition = partition, .batch_parts = of_batch}, device);
    us[form] = 1e6 * timer.seconds([&] { plan.run(); });
  };
  run_model("float", real);
  for (const int bits : {16, 8, 4, 2}) {
    const nn::QuantizeModelOptions how{.precision = nn::Precision::of_levels(bits, bits, bits),
                                       .bounds = BoundsOf::range};
    run_model(fmt::format("{} bits", bits), nn::quantize(real, dataset, how));
  }
  return us;
}

Json row_of(const Network& network, const std::string& size, const NetworkParts& parts, const Common& common,
            const CallTimer& timer) {
  Json split;
  Dataset dataset = load_for_training("planted:" + size, {}, timer.device(), {}, split);
  std::optional<Partition> partition;
  if (parts.parts != 0) {
    const auto most = std::min<std::size_t>(parts.parts, dataset.graph.nrows());
    partition = partition_graph(dataset.graph, {.parts = static_cast<NodeId>(most), .seed = common.seed});
  }
  Json row{{"figure", ""}, {"dataset", size}, {"num_nodes", dataset.graph.nrows()}};
  row["parts"] = partition ? partition->num_parts() : 0;
  row["batch_parts"] = partition ? parts.of_batch : 0;
  row["us"] =
      times_of(network, dataset, partition ? &*partition : nullptr, partition ? parts.of_batch : 0, common, timer);
  if (timer.device().is_host()) return row;
  if (partition) dataset.graph = without_edges_between(dataset.graph, *partition, parts.of_batch);
  std::string absent;
  if (const auto rival = GnnRival::make(float_model(network, dataset, common), dataset, timer.device(), absent))
    row["us"]["cuBLAS + cuSPARSE"] = 1e6 * timer.seconds([&] { rival->run(); });
  return row;
}

}  // namespace

void measure_networks(Json& rows, const std::string& figure, const NetworkParts& parts, const Common& common,
                      const CallTimer& timer) {
  const Network network = network_of(figure);
  if (!common.json) {
    const std::string nodes =
        parts.parts == 0 ? "all nodes in one run" : fmt::format("{} parts, {} in a batch", parts.parts, parts.of_batch);
    fmt::print("\nFigure 7({}): {}, random weights, {}, microseconds\n", figure.back(), network.name, nodes);
  }
  Progress progress("measuring", common.quiet);
  std::size_t done = 0;
  for (const std::string& size : table_1) {
    progress.update(done++, table_1.size(), size);
    Json row = row_of(network, size, parts, common, timer);
    row["figure"] = figure;
    if (!common.json) {
      std::string line = fmt::format("  {:<12}", size);
      for (const auto& [form, us] : row["us"].items()) line += fmt::format("  {} {:.0f}", form, us.get<double>());
      fmt::print("{}\n", line);
    }
    rows.push_back(std::move(row));
  }
}

}  // namespace bitgraph::cli
