// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/quantized/quantized_networks.hpp"

#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/quantize.hpp>

#include "cli/bench/gnn_rival.hpp"
#include "cli/bench/timing.hpp"
#include "cli/commands/network/measure.hpp"
#include "nn/model/random_model.hpp"

#include <fmt/format.h>

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

class Row {
 public:
  Row(const Device& device, const NetworkTiming& timing) : device_(device), timing_(timing) {}

  template <class Run>
  void measure_form(const std::string& form, Run&& run) {
    const Timing timing{
        .repeats = timing_.repeats, .limit = timing_.limit, .batch = 2e-3, .warm = usual_warm_up(device_) / 10};
    us_[form] = 1e6 * measure(
                          timing, [&](int) { run(); }, [&] { device_.synchronize(); })
                          .median;
  }
  [[nodiscard]] const Json& us() const { return us_; }

 private:
  Device device_;
  NetworkTiming timing_;
  Json us_ = Json::object();
};

Json row_of(const Network& network, const std::string& size, const Common& common, const Device& device,
            const NetworkTiming& timing) {
  Json split;
  const Dataset dataset = load_for_training("planted:" + size, {}, device, {}, split);
  constexpr std::size_t depth = 3;
  const nn::Model real =
      nn::random_model(network.architecture, nn::Precision::real, dataset.num_features(), network.hidden,
                       static_cast<std::size_t>(dataset.num_classes), depth, common.seed);
  Row row(device, timing);
  const auto run_model = [&](const std::string& form, const nn::Model& model) {
    nn::InferencePlan plan(model, dataset, nn::InferenceOptions{}, device);
    row.measure_form(form, [&] { plan.run(); });
  };
  run_model("float", real);
  for (const int bits : {16, 8, 4, 2}) {
    const nn::QuantizeModelOptions how{.precision = nn::Precision::of_levels(bits, bits, bits),
                                       .bounds = BoundsOf::range};
    run_model(fmt::format("{} bits", bits), nn::quantize(real, dataset, how));
  }
  std::string absent;
  if (!device.is_host()) {
    if (const auto rival = GnnRival::make(real, dataset, device, absent))
      row.measure_form("cuBLAS + cuSPARSE", [&] { rival->run(); });
  }
  return {{"figure", ""}, {"dataset", size}, {"num_nodes", dataset.graph.nrows()}, {"us", row.us()}};
}

}  // namespace

void measure_networks(Json& rows, const std::string& figure, const Common& common, const Device& device,
                      const NetworkTiming& timing) {
  const Network network = network_of(figure);
  if (!common.json) {
    fmt::print("\nFigure 7({}): {}, random weights, all nodes in one run, microseconds\n", figure.back(), network.name);
  }
  Progress progress("measuring", common.quiet);
  std::size_t done = 0;
  for (const std::string& size : table_1) {
    progress.update(done++, table_1.size(), size);
    Json row = row_of(network, size, common, device, timing);
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
