// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/graph/report.hpp"

#include "cli/help.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>

namespace bitgraph::cli {

namespace {

Json spread_of(const Spread& spread) {
  return {{"median", spread.median}, {"least", spread.least}, {"most", spread.most}, {"repeats", spread.repeats}};
}

std::string format_of(int tile_dim) { return tile_dim == csr_tile ? "csr" : fmt::format("b2sr-{}", tile_dim); }

/// Milliseconds, with three digits or so.
std::string milliseconds(const std::optional<Spread>& spread) {
  return spread ? fmt::format("{:.4g}", 1e3 * spread->median) : "-";
}

}  // namespace

void add_results(Json& results, Arena& arena) {
  for (const BenchRow& row : arena.rows()) {
    Json entry{{"graph", arena.name()},
               {"algorithm", row.algorithm},
               {"variant", row.variant},
               {"format", row.tile_dim == csr_tile ? "csr" : "b2sr"},
               {"tile_dim", row.tile_dim},
               {"pack_seconds", row.pack_seconds},
               {"seconds", row.ours ? spread_of(*row.ours) : Json()},
               {"peer", row.peer},
               {"peer_calls", row.calls},
               {"peer_seconds", row.theirs ? spread_of(*row.theirs) : Json()},
               {"ratio", row.ours && row.theirs ? Json(row.theirs->median / row.ours->median) : Json()},
               {"compared", row.compared}};
    if (!row.note.empty()) entry["note"] = row.note;
    results.push_back(std::move(entry));
  }
}

Json mean_ratios(const Json& results) {
  std::map<std::string, std::pair<double, int>> sums;
  for (const Json& entry : results) {
    if (entry["ratio"].is_null()) continue;
    auto& [logs, count] = sums[entry["algorithm"].get<std::string>()];
    logs += std::log(entry["ratio"].get<double>());
    ++count;
  }
  Json means = Json::object();
  for (const auto& [algorithm, sum] : sums) means[algorithm] = std::exp(sum.first / sum.second);
  return means;
}

void print_head(const Json& report) {
  const Json& peer = report["peer"];
  const std::string beside =
      peer["version"].is_null() ? ": " + peer["absent"].get<std::string>() : " " + peer["version"].get<std::string>();
  const std::string line =
      fmt::format("{}, {}; beside {}{}", report["device"].get<std::string>(),
                  counted(report["threads"].get<std::size_t>(), "thread"), peer["name"].get<std::string>(), beside);
  fmt::print("{}\nmilliseconds, medians of {}; packing the graph is a column of its own\n", wrapped(line, 2),
             report["repeats"].dump());
}

void print_rows(const Arena& arena) {
  fmt::print("\n{}   {}   {} entries\n", arena.name(), counted(arena.pattern().nrows(), "node"),
             arena.pattern().nvals());
  fmt::print("  {:<12}{:<8}{:>12}{:>12}{:>12}{:>9}\n", "", "format", "packing", "ours", "peer", "ratio");
  for (const BenchRow& row : arena.rows()) {
    const bool both = row.ours && row.theirs;
    fmt::print("  {:<12}{:<8}{:>12.4g}{:>12}{:>12}{:>9}\n", row.algorithm, format_of(row.tile_dim),
               1e3 * row.pack_seconds, milliseconds(row.ours), milliseconds(row.theirs),
               both ? fmt::format("{:.2f}", row.theirs->median / row.ours->median) : "-");
    const std::string& calls = row.note.empty() ? row.calls : row.note;
    const std::string what = row.variant + (row.variant.empty() || calls.empty() ? "" : "; ") +
                             (row.note.empty() && !calls.empty() ? "peer: " : "") + calls;
    if (!what.empty()) fmt::print("{}\n", wrapped("      " + what, 6));
  }
}

void print_means(const Json& means) {
  if (means.empty()) return;
  std::string line = "geometric means of the ratios:";
  for (const auto& [algorithm, mean] : means.items()) line += fmt::format("  {} {:.2f}", algorithm, mean.get<double>());
  fmt::print("\n{}\n", wrapped(line, 2));
}

}  // namespace bitgraph::cli
