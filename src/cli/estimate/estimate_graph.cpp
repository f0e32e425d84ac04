// SPDX-License-Identifier: Apache-2.0
#include "cli/estimate/estimate_graph.hpp"

#include <bitgraph/core/error.hpp>

#include "cli/estimate/estimate_rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace bitgraph::cli {

namespace {

using rates::ns;

/// The side that `--tile` names, or the one that "auto" takes more often; 0: pattern CSR.
int tile_of(const std::string& tile, Estimate& estimate, const GraphSize& size) {
  if (tile == "csr") return 0;
  if (tile != "auto") return std::stoi(tile);
  const int chosen = size.tile_dim;
  estimate.assumptions.push_back(chosen == 0 ? std::string("that --tile auto takes pattern CSR")
                                             : fmt::format("that --tile auto takes the file's tile side {}", chosen));
  return chosen;
}

void add_packing(Estimate& estimate, const Machine& machine, const GraphSize& size, const GraphOptions& options,
                 const GraphNeeds& needs, double& held) {
  const int tile = tile_of(options.tile, estimate, size);
  double step = size.entries * rates::pack_entry;
  const double pattern = pattern_bytes(size);
  double packed = tile == 0 ? pattern : guessed_tile_bytes(size, tile);
  if (tile != 0) step += size.entries * rates::tile_entry;
  if (tile != 0 && size.tile_dim != tile) {
    estimate.assumptions.push_back(
        fmt::format("{:.1f} entries a tile of side {}",
                    size.entries * static_cast<double>(tile_bytes(tile)) / std::max(packed, 1.0), tile));
  }
  if (options.tile == "auto" && needs.workload != Workload::traversal) step += size.entries * rates::advise_entry;
  if (needs.undirected) step += size.entries * rates::undirected_entry;
  if (!size.symmetric && needs.undirected) {
    step += size.entries * rates::assemble_entry;
    packed *= 2;
    held += pattern;
  } else if (!size.symmetric && needs.with_transpose) {
    step += size.entries * rates::transpose_entry;
    packed *= 2;
  }
  if (size.weighted && needs.weights_allowed && !options.ignore_weights)
    packed += size.entries * rates::weight_bytes * (size.symmetric ? 1 : 2);
  add_order(estimate, machine, size, options.order, held);
  if (machine.cuda()) {
    estimate.device_bytes += packed;
    estimate.steps.push_back(
        {"pack on the device", machine.serial(rates::device_pack_seconds + step / rates::device_factor * ns), held});
  } else {
    held += packed;
    estimate.steps.push_back({"pack", machine.parallel(step * ns), held});
  }
}

/// Few neighbours, alike in number: a mesh or a road network, whose searches have many levels.
bool like_a_mesh(const GraphSize& size) { return size.degree() < 7 && size.skew < 1.5; }

/// Levels of a search.
double levels_of(const GraphSize& size) {
  if (like_a_mesh(size)) return 2 * std::sqrt(size.nodes);
  return 3 + std::log(std::max(size.nodes, 2.0)) / std::log(std::max(size.degree(), 3.0));
}

double run_nanoseconds(const rates::Algorithm& a, const GraphSize& size, double passes) {
  const double degree = size.degree();
  const double an_entry = a.entry + a.squared * degree * degree + a.skewed * degree * std::pow(size.skew, a.power);
  return passes * (an_entry * size.entries + (a.node + a.level_node * levels_of(size)) * size.nodes);
}

}  // namespace

double order_rate(const std::string& order) {
  if (order == "degree") return rates::order_degree;
  if (order == "rcm") return rates::order_rcm;
  if (order == "community") return rates::order_community;
  return order == "auto" ? rates::order_rcm : 0;
}

double order_bytes(const std::string& order, const GraphSize& size) {
  return (order == "community" ? 12 : 8) * size.nodes;
}

double add_load(Estimate& estimate, const Machine& machine, const GraphSize& size, bool weights) {
  using namespace rates;
  const double kept = program_bytes + pattern_bytes(size) + (weights ? weight_bytes * size.entries : 0) +
                      (size.gaps ? 8 * size.nodes : 0);
  add_start(estimate, machine);
  double peak = kept + size.file_bytes;
  double work = 0;
  if (size.format == GraphFileFormat::b2sr) {
    work = size.file_bytes * b2sr_byte + (size.tile_dim == 0 ? 0 : size.entries * unpack_entry);
    // A pattern stays in the mapped file and is not copied.
    const double in_memory = program_bytes + (size.tile_dim == 0 ? size.file_bytes : kept + size.file_bytes);
    estimate.steps.push_back({"read", machine.parallel(work * ns), in_memory});
    estimate.assumptions.insert(estimate.assumptions.end(), size.assumptions.begin(), size.assumptions.end());
    return in_memory;
  }
  if (size.gzipped) {
    estimate.steps.push_back({"unpack", machine.serial(size.text_bytes * gzip_byte * ns),
                              program_bytes + size.file_bytes + size.text_bytes});
    peak += size.text_bytes;
  }
  if (size.format == GraphFileFormat::npz) {
    work = size.entries * npz_entry;
    peak += 8 * size.entries;
  } else {
    work = size.text_bytes * text_byte + size.entries * assemble_entry + size.nodes * assemble_node;
    peak += size.listed * (pair_bytes + (weights ? weight_bytes : 0)) + size.entries * assemble_entry_bytes;
  }
  estimate.steps.push_back({"read", machine.parallel(work * ns), peak});
  estimate.assumptions.insert(estimate.assumptions.end(), size.assumptions.begin(), size.assumptions.end());
  return kept;
}

void add_order(Estimate& estimate, const Machine& machine, const GraphSize& size, const std::string& order,
               double& held) {
  const double rate = order_rate(order);
  if (rate == 0) return;
  estimate.steps.push_back(
      {"reorder", machine.serial(size.entries * rate * ns), held + pattern_bytes(size) + order_bytes(order, size)});
  held += 8 * size.nodes;
}

void add_write(Estimate& estimate, const Machine& machine, const GraphSize& size, const std::string& path, int tile,
               double held) {
  using namespace rates;
  const GraphFileFormat format = graph_file_format_of(path);
  if (format == GraphFileFormat::b2sr) {
    const double bytes = tile == 0 ? pattern_bytes(size) : guessed_tile_bytes(size, tile);
    if (tile != 0)
      estimate.steps.push_back({"pack", machine.parallel(size.entries * (pack_entry + tile_entry) * ns), held + bytes});
    estimate.steps.push_back({"write", machine.serial(bytes * write_b2sr_byte * ns), held + (tile == 0 ? 0 : bytes)});
    return;
  }
  if (format == GraphFileFormat::npz) {
    estimate.steps.push_back({"write", machine.serial(size.entries * write_npz_entry * ns), held + 17 * size.entries});
    return;
  }
  const double digits = std::max(1.0, std::log10(std::max(size.nodes, 1.0)));
  const bool half = format == GraphFileFormat::matrix_market && size.symmetric;
  const bool one_id = format == GraphFileFormat::metis;
  const double bytes = size.entries * (half ? 0.5 : 1) * (digits + 0.9) * (one_id ? 1 : 2);
  const bool gzipped = path.ends_with(".gz");
  estimate.steps.push_back(
      {"write", machine.parallel(bytes * (write_text_byte + (gzipped ? write_gzip_byte : 0)) * ns), held + 6e6});
}

namespace {

/// Of a graph of this size.
Estimate estimate_sized(std::string_view algorithm, const GraphOptions& options, const GraphNeeds& needs,
                        const GraphSize& size, const Passes& passes) {
  const Machine machine(options.common);
  Estimate estimate;
  const bool weights = size.weighted && needs.weights_allowed && !options.ignore_weights;
  if (weights && algorithm == "sssp") algorithm = "sssp, weighted";
  double held = add_load(estimate, machine, size, weights);
  add_packing(estimate, machine, size, options, needs, held);
  const auto* const a = std::find_if(rates::algorithms.begin(), rates::algorithms.end(),
                                     [&](const rates::Algorithm& known) { return known.name == algorithm; });
  require(a != rates::algorithms.end(), "estimate_algorithm: no rates for this algorithm");
  const double work = run_nanoseconds(*a, size, passes.count) * ns;
  const double state = (a->node_bytes + passes.node_bytes) * size.nodes;
  if (machine.cuda()) {
    estimate.device_bytes += state;
    estimate.steps.push_back({"run on the device", machine.serial(work / a->faster + 1e-4 * passes.count), held});
    estimate.assumptions.push_back(
        fmt::format("a device like an H100, {:g} times as fast as one thread of the host", a->faster));
  } else {
    held += state;
    estimate.steps.push_back({"run", machine.parallel(work), held});
  }
  if (a->level_node > 0)
    estimate.assumptions.push_back(
        fmt::format("searches of {:.0f} levels, for the average degree {:.1f}", levels_of(size), size.degree()));
  if (!passes.assumption.empty()) estimate.assumptions.push_back(passes.assumption);
  if (!options.out.empty()) {
    const bool text = !options.out.ends_with(".npy");
    estimate.steps.push_back({"write", machine.serial(size.nodes * (text ? 80 : 4) * ns), held + 8 * size.nodes});
  }
  return estimate;
}

}  // namespace

Estimate estimate_algorithm(std::string_view algorithm, const GraphOptions& options, const GraphNeeds& needs,
                            const Passes& passes) {
  return estimate_sized(algorithm, options, needs, graph_size_of(options), passes);
}

Estimate estimate_algorithm(std::string_view algorithm, const GraphOptions& options, const GraphNeeds& needs,
                            const SourceOptions& sources, double at_once) {
  const GraphSize size = graph_size_of(options);
  double count = static_cast<double>(sources.ids.empty() ? sources.samples : sources.ids.size());
  if (count == 0) count = size.nodes;
  // Sources that go together have a bit each: reached, active, and active next.
  const double bits = at_once > 1 ? 3 * std::min(count, at_once) : 0;
  return estimate_sized(algorithm, options, needs, size, {std::ceil(count / at_once), "", bits / 8});
}

}  // namespace bitgraph::cli
