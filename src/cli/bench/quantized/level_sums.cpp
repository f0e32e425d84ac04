// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/quantized/level_sums.hpp"

#include <bitgraph/core/error.hpp>
#include <bitgraph/formats/row_order.hpp>
#include <bitgraph/ops/level_spmm.hpp>

#include "cli/bench/float_sums.hpp"
#include "cli/bench/graph_spec.hpp"
#include "cli/bench/quantized/level_data.hpp"
#include "cli/bench/ratios.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace bitgraph::cli {

namespace {

/// Levels in and out.
struct SumForm {
  int bits;
  LevelPacking packing = LevelPacking::places;

  [[nodiscard]] bool in_planes() const { return packing == LevelPacking::planes; }
  [[nodiscard]] std::string name() const { return fmt::format("{}{}", bits, in_planes() ? " (planes)" : ""); }
};
constexpr std::array sum_forms{SumForm{2}, SumForm{2, LevelPacking::planes}, SumForm{4}, SumForm{8}};

/// Levels in planes are for the columns that their kernels take.
bool exists(const SumForm& form, std::size_t width) {
  return !form.in_planes() || level_spmm_has_planes(form.bits, form.bits, width, Activation::none);
}

/// A graph, and what its products need beside it.
struct SumsGraph {
  std::string name;
  CsrPattern host, there;
  RowOrder order;           ///< made beforehand
  Buffer<float> row_scale;  ///< 1 / degree
  FloatSums floats;
  std::vector<std::size_t> rows;  ///< that are checked

  SumsGraph(const std::string& spec, CsrPattern pattern, const Device& device)
      : name(spec),
        host(std::move(pattern)),
        there(device.is_host() ? host.share() : host.to(device)),
        order(there),
        floats(host, device),
        rows(rows_to_check(host.nrows())) {
    Buffer<float> scale(host.nrows(), 1.0F);
    NodeId longest = 0;
    for (NodeId i = 0; i < host.nrows(); ++i) {
      if (!host.row(i).empty()) scale[i] = 1.0F / static_cast<float>(host.row(i).size());
      if (host.row(i).size() > host.row(longest).size()) longest = i;
    }
    if (host.nrows() != 0) rows.push_back(longest);
    row_scale = scale.to(device);
  }
};

double seconds_of_levels(const SumsGraph& graph, std::size_t width, const SumForm& form, const Common& common,
                         const CallTimer& timer) {
  const Device& device = timer.device();
  const int bits = form.bits;
  const QuantizedMatrix levels = random_level_matrix(graph.host.ncols(), width, bits, ScaleExtent::column, 0.02F,
                                                     {common.seed, 20, 0}, device.is_host() ? device : Device());
  const QuantizedMatrix x = to_packing(levels, form.packing).to(device);
  QuantizedMatrix out(graph.host.nrows(), width, bits, device, form.packing);
  out.set_scale(x.scale().to(device));
  Buffer<std::uint64_t> planes(
      form.in_planes() ? level_spmm_prepared_words(width, device.is_host()) : level_spmm_plane_words(x.nrows(), width),
      device);
  LevelSpmmOptions how{.row_scale = graph.row_scale.span(), .row_order = &graph.order, .planes = planes.span()};
  if (form.in_planes()) {
    level_spmm_prepare(out, graph.there, x, how);
    how.prepared = true;
  }
  const double seconds = timer.seconds([&] { level_spmm_into(out, graph.there, x, how); });
  check_levels(fmt::format("sums of {} bits over {}", form.name(), graph.name), out, graph.rows,
               [&](std::size_t i, std::size_t j) {
                 const auto neighbors = graph.host.row(static_cast<NodeId>(i));
                 std::int64_t sum = 0;
                 for (const NodeId n : neighbors) sum += std::int64_t{levels.level(n, j)} - middle_level(bits);
                 const double mean =
                     static_cast<double>(sum) / static_cast<double>(std::max<std::size_t>(1, neighbors.size()));
                 return mean * levels.scale().steps[j];
               });
  return seconds;
}

/// 0 where the rival is not there.
double seconds_of_floats(SumsGraph& graph, std::size_t width, const Common& common, const CallTimer& timer) {
  if (!graph.floats.absent().empty()) return 0;
  const Device& device = timer.device();
  const Device host = device.is_host() ? device : Device();
  const DenseMatrix<float> x = values_of(random_level_matrix(graph.host.ncols(), width, 8, ScaleExtent::column, 0.02F,
                                                             {common.seed, 20, 0}, host),
                                         host)
                                   .to(device);
  DenseMatrix<float> out(graph.host.nrows(), width, device);
  graph.floats.prepare(out, x);
  return timer.seconds([&] { graph.floats.multiply(out, x); });
}

}  // namespace

Json measure_level_sums(Json& results, const std::vector<std::string>& graphs, const std::vector<std::size_t>& widths,
                        const Common& common, const CallTimer& timer) {
  const Device& device = timer.device();
  const std::string rival = FloatSums::name(device);
  if (!common.json)
    fmt::print("\nSums of levels over neighbours, levels out, microseconds (times as fast); beside {}\n", rival);
  Ratios ratios;
  Progress progress("measuring", common.quiet);
  std::size_t done = 0;
  for (const std::string& name : graphs) {
    SumsGraph graph(name, graph_of_spec(name, common.seed, device.is_host() ? device : Device::host(common.threads)),
                    device);
    for (const std::size_t width : widths) {
      progress.update(done++, graphs.size() * widths.size(), name);
      const double floats = seconds_of_floats(graph, width, common, timer);
      std::string line = fmt::format("  {}, {} columns: ", name, width);
      line += floats > 0 ? fmt::format("{} {:.1f}", rival, floats * 1e6) : graph.floats.absent();
      for (const SumForm& form : sum_forms) {
        if (!exists(form, width)) continue;
        const double seconds = seconds_of_levels(graph, width, form, common, timer);
        Json row{{"figure", "sums"},
                 {"graph", name},
                 {"nodes", graph.host.nrows()},
                 {"entries", graph.host.nvals()},
                 {"columns", width},
                 {"bits", form.bits},
                 {"packing", to_string(form.packing)},
                 {"us", seconds * 1e6},
                 {"rival", rival},
                 {"rival_us", nullptr},
                 {"ratio", nullptr}};
        line += fmt::format(", {} bits {:.1f}", form.name(), seconds * 1e6);
        if (floats > 0) {
          row["rival_us"] = floats * 1e6;
          row["ratio"] = floats / seconds;
          ratios.add(form.name(), floats, seconds);
          line += fmt::format(" ({:.2f})", floats / seconds);
        }
        results.push_back(std::move(row));
      }
      if (!common.json) fmt::print("{}\n", line);
    }
  }
  if (!common.json) print_ratios(ratios.json(), "Sums of 2, 4 and 8 bits");
  return ratios.json();
}

}  // namespace bitgraph::cli
