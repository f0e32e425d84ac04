// SPDX-License-Identifier: Apache-2.0
// The format that `auto` takes beside every fixed one, over graphs and kinds of work: how often is it within 15 % of
// the best?
//
// Usage: format_choice [GRAPH...] [--threads N] [--device cuda] [--ms M] [--only WORK]... [--csv]
// GRAPH is a file or rmat:S, uniform:S, grid:N, mesh:N, de-bruijn:S, mycielskian:K; none means all of $BITGRAPH_DATA
// and a set of generated ones. M is how long a graph's work is measured, over all formats. Calls of the formats take
// turns; times are the lowest decile in microseconds. Packing is not counted. --csv prints what the sample says too.
// A format that would take more than 64 MiB and 8 times the bytes of pattern CSR is left out.
#include "cli/ranges.hpp"
#include "graph/packed_graph/choice.hpp"
#include "ops/mxv/mxv_cases.hpp"
#include "program.hpp"
#include "support/datasets.hpp"

#include <bitgraph/core/random.hpp>
#include <bitgraph/formats/advisor.hpp>
#include <bitgraph/graph/bfs.hpp>
#include <bitgraph/graph/components.hpp>
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/graph/pagerank.hpp>
#include <bitgraph/graph/sssp.hpp>
#include <bitgraph/graph/triangles.hpp>
#include <bitgraph/io/graph.hpp>
#include <bitgraph/ops/mxm.hpp>
#include <bitgraph/ops/mxv.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace bitgraph::bench {
namespace {

struct Settings {
  Device device;
  double seconds = 0.25;
  std::vector<std::string> only;
  bool csv = false;
  std::vector<std::string> graphs;
};

/// A graph in one format, and what the kinds of work need beside it.
struct Packed {
  PackedGraph graph;
  BitVector half, few, bits_out;
  Buffer<float> x, out;
};

using Call = std::function<void()>;

/// Shorter calls are timed together: on a GPU many, so that waiting for the last one is little of it.
double batch_seconds(const Device& device) { return device.is_host() ? 3e-5 : 1e-3; }

/// A kind of work: what `auto` is asked for, and a repeatable call over a packed graph. An empty call: the device
/// refuses this format.
struct Work {
  const char* name;
  Workload workload;
  std::function<Call(Packed&, const CsrPattern&)> prepare;
};

template <class S, class Out, class X>
Call product(const Packed& p, S semiring, Out& out, const X& x) {
  return [&p, semiring, &out, &x] { std::visit([&](const auto& a) { mxv_into(out, semiring, a, x); }, p.graph.out()); };
}

/// A node with edges, the same in every format.
NodeId source_of(const CsrPattern& a) {
  for (std::uint64_t draw = 0; draw < 1000; ++draw) {
    const auto node = static_cast<NodeId>(random_below({7, 0, 0}, draw, a.nrows()));
    if (a.row(node).size() > 1) return node;
  }
  return 0;
}

Call prepare_paths(Packed& p, const CsrPattern& a) {
  std::vector<float> weights(a.nvals());
  for (std::size_t e = 0; e < weights.size(); ++e) weights[e] = static_cast<float>(1 + random_below({8, 0, 0}, e, 255));
  const auto weighted = std::make_shared<WeightedGraph>(
      pack_weighted_graph(a, weights, {.tile_dim = p.graph.tile_dim()}, WeightKind::integer, p.graph.device()));
  const auto search = std::make_shared<ShortestPaths<std::int32_t>>(*weighted);
  return [weighted, search, source = source_of(a)] { search->run({.source = source}); };
}

/// A A, or what fn(A) makes of it, in the format of A. Large ones take minutes, and so do many tiles with an entry
/// each.
template <class Fn>
Call prepare_matrix_product(Packed& p, const CsrPattern& a, const Fn& fn) {
  constexpr double most_products = 20e6, most_tile_products = 10;
  double products = 0;
  for (const NodeId k : a.col_ind()) products += static_cast<double>(a.row(k).size());
  if (p.graph.tile_dim() != csr_tile) {
    const BitTileMatrix tiles = pack(a, {.tile_dim = p.graph.tile_dim()});
    double of_tiles = 0;
    for (const NodeId k : tiles.tile_col_ind()) {
      of_tiles += static_cast<double>(tiles.tile_row_ptr()[k + 1] - tiles.tile_row_ptr()[k]);
    }
    if (of_tiles * p.graph.tile_dim() > 8 * most_tile_products * products) products = 2 * most_products;
  }
  if (products > most_products) fail(ErrorCode::not_possible, "the product takes too long to be measured");
  return [&p, fn] { std::visit([&](const auto& matrix) { fn(matrix); }, p.graph.out()); };
}

std::vector<Work> all_work() {
  using Pattern = const CsrPattern&;
  return {
      {"bits", Workload::bits, [](Packed& p, Pattern) { return product(p, or_and, p.bits_out, p.half); }},
      {"bits, few set", Workload::bits, [](Packed& p, Pattern) { return product(p, or_and, p.bits_out, p.few); }},
      {"counts", Workload::counts, [](Packed& p, Pattern) { return product(p, plus_times, p.out, p.half); }},
      {"values", Workload::values, [](Packed& p, Pattern) { return product(p, plus_times, p.out, p.x); }},
      {"pagerank", Workload::ranks,
       [](Packed& p, Pattern) -> Call {
         const auto search = std::make_shared<PageRank>(p.graph, PageRankOptions{.tolerance = 0, .max_iterations = 5});
         return [search] { search->run(); };
       }},
      {"bfs", Workload::search,
       [](Packed& p, Pattern a) -> Call {
         const auto search = std::make_shared<BreadthFirstSearch>(p.graph);
         return [search, source = source_of(a)] { search->run({.source = source}); };
       }},
      {"cc", Workload::traversal,
       [](Packed& p, Pattern) -> Call {
         const auto search = std::make_shared<ConnectedComponents>(p.graph);
         return [search] { search->run(); };
       }},
      {"sssp", Workload::traversal, prepare_paths},
      {"tc", Workload::counting, [](Packed& p, Pattern) -> Call { return [&p] { (void)count_triangles(p.graph); }; }},
      {"mxm", Workload::products,
       [](Packed& p, Pattern a) -> Call {
         return prepare_matrix_product(p, a, [](const auto& m) { (void)mxm(or_and, m, m); });
       }},
      {"mxm, masked", Workload::masked_products,
       [](Packed& p, Pattern a) -> Call {
         return prepare_matrix_product(p, a, [](const auto& m) { (void)mxm(or_and, m, m, m); });
       }},
      {"mxm, masked sum", Workload::masked_products,
       [](Packed& p, Pattern a) -> Call {
         return prepare_matrix_product(p, a, [](const auto& m) { (void)mxm_sum(m, m, m, {.transpose_b = true}); });
       }},
      {"mxm, counts", Workload::counting,
       [](Packed& p, Pattern a) -> Call {
         return prepare_matrix_product(p, a, [](const auto& m) { (void)mxm(plus_pair, m, m); });
       }},
  };
}

std::vector<std::string> work_names() {
  std::vector<std::string> names;
  for (const Work& work : all_work()) names.emplace_back(work.name);
  return names;
}

/// Low deciles of calls that take turns, in microseconds.
std::vector<double> measure(const Settings& settings, const std::vector<Call>& calls) {
  using Clock = std::chrono::steady_clock;
  const auto time = [&](const Call& call, int repeats) {
    const auto start = Clock::now();
    for (int n = 0; n < repeats; ++n) call();
    settings.device.synchronize();
    return std::chrono::duration<double>(Clock::now() - start).count() / repeats;
  };
  // Calls once, then in turns: those that take five times the fastest one's time are not what is to be told apart.
  std::vector<double> once;
  once.reserve(calls.size());
  for (const Call& call : calls) once.push_back(time(call, 1));
  const auto slow = [&](std::size_t f) {
    return once[f] > 5 * *std::min_element(once.begin(), once.end()) && once[f] > 1e-5;
  };
  for (int n = 0; n < 3; ++n) {
    for (std::size_t f = 0; f < calls.size(); ++f) {
      if (once[f] < 2e-2 || !slow(f)) once[f] = std::min(once[f], time(calls[f], 1));
    }
  }
  const double least = batch_seconds(settings.device);
  double round = 0;
  for (std::size_t f = 0; f < calls.size(); ++f) round += slow(f) ? 0 : std::max(once[f], least);
  const auto rounds = static_cast<std::size_t>(std::clamp(settings.seconds / round, 7.0, 400.0));
  std::vector<std::vector<double>> times(calls.size());
  for (std::size_t n = 0; n < rounds; ++n) {
    for (std::size_t f = 0; f < calls.size(); ++f) {
      const int batch = std::clamp(static_cast<int>(least / std::max(once[f], 1e-8)), 1, 200);
      times[f].push_back(slow(f) ? once[f] : time(calls[f], batch));
    }
  }
  std::vector<double> deciles;
  for (auto& of_format : times) {
    const auto decile = of_format.begin() + static_cast<std::ptrdiff_t>(rounds / 10);
    std::nth_element(of_format.begin(), decile, of_format.end());
    deciles.push_back(1e6 * *decile);
  }
  return deciles;
}

std::unique_ptr<Packed> pack_operands(const CsrPattern& a, int tile_dim, const Device& device) {
  auto p = std::make_unique<Packed>(
      Packed{pack_graph(a, {.tile_dim = tile_dim}, device), test::random_vector_bits(a.ncols(), 0.5, 1).to(device),
             test::random_vector_bits(a.ncols(), 1.0 / 16, 1).to(device), BitVector(a.nrows(), device),
             Buffer<float>(a.ncols()), Buffer<float>(a.nrows(), device)});
  for (std::size_t j = 0; j < p->x.size(); ++j) p->x[j] = static_cast<float>(random_below({4, 0, 0}, j, 1000));
  p->x = p->x.to(device);
  return p;
}

class Report {
 public:
  explicit Report(const Settings& settings) : settings_(settings) {
    if (settings.csv) {
      fmt::print("graph,work,nodes,entries,max_degree,tiles4,tiles8,tiles16,tiles32,tiles64,csr,4,8,16,32,64,auto\n");
    } else {
      fmt::print(
          "| graph | work | csr | 4 | 8 | 16 | 32 | 64 | auto | of the best "
          "|\n|---|---|---|---|---|---|---|---|---|---|\n");
    }
  }

  void add(const std::string& graph, const CsrPattern& a, const Work& work, const std::vector<int>& formats,
           const std::vector<double>& times) {
    const int chosen = choose_format(a, work.workload, settings_.device).tile_dim;
    const double best = *std::min_element(times.begin(), times.end());
    double taken = 0;
    std::string cells;
    for (const int format : {csr_tile, 4, 8, 16, 32, 64}) {
      const auto at = std::find(formats.begin(), formats.end(), format);
      const bool there = at != formats.end();
      const double us = there ? times[static_cast<std::size_t>(at - formats.begin())] : 0;
      if (format == chosen) taken = us;
      cells += settings_.csv ? fmt::format(",{:.3f}", us) : there ? fmt::format(" {:.2f} |", us) : " - |";
    }
    const double ratio = taken == 0 ? 1e9 : taken / best;
    if (settings_.csv) {
      std::size_t longest = 0;
      for (NodeId i = 0; i < a.nrows(); ++i) longest = std::max(longest, a.row(i).size());
      std::string tiles;
      for (const TileProfile& side : profile(a).tiles) tiles += fmt::format(",{:.0f}", side.predicted_num_tiles);
      fmt::print("{},\"{}\",{},{},{}{}{},{}\n", graph, work.name, a.nrows(), a.nvals(), longest, tiles, cells, chosen);
    } else {
      fmt::print("| {} | {} |{} {} | {:.2f} |\n", graph, work.name, cells,
                 chosen == csr_tile ? "csr" : std::to_string(chosen), ratio);
    }
    std::fflush(stdout);
    count(work.name, ratio);
  }

  void finish() const {
    if (settings_.csv) return;
    fmt::print("\n| work | graphs | within 15 % of the best | worst |\n|---|---|---|---|\n");
    Share all{"all", 0, 0, 0};
    for (const Share& share : shares_) {
      fmt::print("| {} | {} | {:.1f} % | {:.2f} |\n", share.work, share.graphs, share.percent(), share.worst);
      all = {"all", all.graphs + share.graphs, all.within + share.within, std::max(all.worst, share.worst)};
    }
    fmt::print("| all | {} | {:.1f} % | {:.2f} |\n", all.graphs, all.percent(), all.worst);
  }

 private:
  struct Share {
    std::string work;
    int graphs = 0, within = 0;
    double worst = 0;
    [[nodiscard]] double percent() const { return graphs == 0 ? 0 : 100.0 * within / graphs; }
  };

  void count(const std::string& work, double ratio) {
    auto share = std::find_if(shares_.begin(), shares_.end(), [&](const Share& s) { return s.work == work; });
    if (share == shares_.end()) share = shares_.insert(share, {work, 0, 0, 0});
    ++share->graphs;
    share->within += ratio <= 1.15 ? 1 : 0;
    share->worst = std::max(share->worst, ratio);
  }

  const Settings& settings_;
  std::vector<Share> shares_;
};

/// The formats that are worth packing.
std::vector<int> formats_of(const CsrPattern& a) {
  std::vector<int> formats{csr_tile};
  for (const TileProfile& side : profile(a).tiles) {
    const bool large =
        side.predicted_bytes > (64U << 20U) && side.predicted_bytes > 8.0 * static_cast<double>(a.bytes());
    if (!large) formats.push_back(side.tile_dim);
  }
  return formats;
}

void run_graph(const Settings& settings, const std::string& name, const CsrPattern& a, Report& report) {
  std::vector<std::unique_ptr<Packed>> packed;
  const std::vector<int> formats = formats_of(a);
  packed.reserve(formats.size());
  for (const int format : formats) packed.push_back(pack_operands(a, format, settings.device));
  for (const Work& work : all_work()) {
    if (!settings.only.empty() && std::ranges::find(settings.only, work.name) == settings.only.end()) continue;
    std::vector<Call> calls;
    std::vector<int> taken;
    for (std::size_t f = 0; f < formats.size(); ++f) {
      try {
        Call call = work.prepare(*packed[f], a);
        call();
        calls.push_back(std::move(call));
        taken.push_back(formats[f]);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::not_possible) throw;  // not on this device
      }
    }
    if (!calls.empty()) report.add(name, a, work, taken, measure(settings, calls));
  }
}

/// family:size, or a file.
CsrPattern graph_of(const std::string& name) {
  const auto colon = name.find(':');
  const std::string kind = name.substr(0, colon);
  const int size = colon == std::string::npos ? 0 : cli::number_of<int>(name.substr(colon + 1)).value_or(0);
  if (size <= 0) return load_graph(name, {.ignore_weights = true}).pattern;
  if (kind == "rmat") return generate_rmat(size, 16, 1);
  if (kind == "uniform") return generate_uniform(1U << size, std::size_t{8} << size, 1);
  if (kind == "grid") return generate_grid(static_cast<NodeId>(size), static_cast<NodeId>(size));
  if (kind == "mesh") return generate_mesh(static_cast<NodeId>(size), static_cast<NodeId>(size), 1);
  if (kind == "de-bruijn") return generate_de_bruijn(size);
  if (kind == "mycielskian") return generate_mycielskian(size);
  fail(ErrorCode::usage, name + ": no such family of graphs");
}

std::vector<std::string> default_graphs() {
  if (std::getenv("BITGRAPH_BENCH_SMOKE") != nullptr) return {"rmat:7", "grid:12"};
  std::vector<std::string> graphs;
  if (const auto folder = test::dataset_dir()) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(*folder)) {
      if (entry.is_regular_file()) graphs.push_back(entry.path().string());
    }
    std::sort(graphs.begin(), graphs.end());
  }
  for (const char* generated :
       {"mycielskian:9", "mycielskian:10", "mycielskian:11", "mycielskian:12", "mycielskian:13", "de-bruijn:12",
        "de-bruijn:16", "grid:100", "grid:300", "grid:1000", "mesh:100", "mesh:400", "uniform:14", "uniform:16",
        "uniform:18", "rmat:14", "rmat:16", "rmat:18"}) {
    graphs.emplace_back(generated);
  }
  return graphs;
}

void run_all(const Settings& settings) {
  Report report(settings);
  for (const std::string& name : settings.graphs.empty() ? default_graphs() : settings.graphs) {
    CsrPattern a;
    try {
      if (name.find("target.csv") != std::string::npos) continue;  // labels, not edges
      a = graph_of(name);
    } catch (const Error&) {
      if (!settings.graphs.empty()) throw;  // what else lies in the folder is passed over
      continue;
    }
    if (a.nrows() == a.ncols() && a.nvals() != 0) {
      run_graph(settings, std::filesystem::path(name).filename().string(), a, report);
    }
  }
  report.finish();
}

}  // namespace
}  // namespace bitgraph::bench

int main(int argc, char** argv) {
  using namespace bitgraph;
  bench::Settings settings;
  std::string device = "cpu";
  int threads = 2;
  double milliseconds = 250;
  CLI::App app{"The format that `auto` takes beside every fixed one", "format_choice"};
  app.add_option(
      "graph", settings.graphs,
      "files, or rmat:S, uniform:S, grid:N, mesh:N, de-bruijn:S, mycielskian:K; none: all of $BITGRAPH_DATA and "
      "generated ones");
  app.add_option("--threads", threads, "host threads")->check(cli::whole_number(1, 4096))->capture_default_str();
  app.add_option("--device", device, "cpu or cuda")->check(CLI::IsMember({"cpu", "cuda"}))->capture_default_str();
  app.add_option("--ms", milliseconds, "how long a graph's work is measured, over all formats")
      ->check(cli::not_negative())
      ->capture_default_str();
  app.add_option("--only", settings.only, "kinds of work, one an option")
      ->take_all()
      ->allow_extra_args(false)
      ->check(CLI::IsMember(bench::work_names()));
  app.add_flag("--csv", settings.csv, "print what the sample says too");
  return bench::run_program(app, argc, argv, [&] {
    settings.seconds = milliseconds / 1000;
    settings.device = device == "cuda" ? Device::cuda() : Device::host(threads);
    bench::run_all(settings);
  });
}
