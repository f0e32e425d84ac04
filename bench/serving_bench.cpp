// SPDX-License-Identifier: Apache-2.0
// Updates of a plan that serves, at the size of Flickr (89,250 nodes, 500 dense features), beside what bounds them: one
// reading of the features by all threads, and one run of the plan.
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/nn/infer.hpp>

#include "core/threads/parallel.hpp"
#include "nn/model/random_model.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace bitgraph;
using nn::Architecture;
using nn::Precision;

const Dataset& flickr() {
  static const Dataset dataset = [] {
    const bool small = std::getenv("BITGRAPH_BENCH_SMOKE") != nullptr;
    return generate_planted_graph({.num_nodes = small ? NodeId{1000} : NodeId{89250},
                                   .num_entries = small ? EdgeOffset{10000} : EdgeOffset{899756},
                                   .num_classes = 7,
                                   .num_features = 500});
  }();
  return dataset;
}

nn::Model model_of(Precision precision) {
  return nn::random_model(Architecture::gcn, precision, flickr().num_features(), 256, 7, 2, 1);
}

constexpr NodeId most_new_nodes = 10000;

nn::InferencePlan plan_of(Precision precision) {
  const nn::PlanCapacity capacity{flickr().graph.nrows() + most_new_nodes,
                                  flickr().graph.nvals() + 20 * most_new_nodes};
  return {model_of(precision), flickr(), {.capacity = capacity}};
}

/// Reads all features with all threads.
void read_features() {
  const auto values = flickr().dense_features.values();
  std::atomic<float> total{0};
  parallel_ranges(Device(), values.size(), 1024, [&](Range range) {
    std::array<float, 64> sums{};
    std::size_t i = range.begin;
    for (; i + sums.size() <= range.end; i += sums.size()) {
      for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += values[i + k];
    }
    float sum = 0;
    for (const float s : sums) sum += s;
    total = total + sum;
  });
  benchmark::DoNotOptimize(total.load());
}

double seconds_of(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Times `update` and, in turn with it, `bound`. The counter is the ratio of the medians: other work on the machine
/// meets both.
template <class Prepare, class Update, class Bound>
void beside(benchmark::State& state, const char* ratio, const Prepare& prepare, const Update& update,
            const Bound& bound) {
  std::vector<double> updates, bounds;
  for (auto _ : state) {
    prepare();
    updates.push_back(seconds_of(update));
    state.SetIterationTime(updates.back());
    bounds.push_back(seconds_of(bound));
  }
  const auto median = [](std::vector<double>& times) {
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    return times[times.size() / 2];
  };
  state.counters[ratio] = median(updates) / median(bounds);
}

void set_all(benchmark::State& state, Precision precision) {
  nn::InferencePlan plan = plan_of(precision);
  DenseMatrix<float> x = flickr().dense_features.clone();  // filled again and again, as a server would
  const auto prepare = [&] { plan.run(); };
  beside(
      state, "of_reading", prepare, [&] { plan.set_features(std::move(x)); }, read_features);
}

void set_one(benchmark::State& state, Precision precision) {
  nn::InferencePlan plan = plan_of(precision);
  const DenseMatrix<float> row(1, flickr().num_features());
  NodeId next = 0;
  beside(
      state, "of_a_run", [&] { plan.run(); },
      [&] { plan.set_features(std::array{next++ % flickr().graph.nrows()}, row); }, [&] { plan.run(); });
}

/// A node with ten edges and its features, and the run that makes the steps anew.
void add_node_and_run(benchmark::State& state, Precision precision) {
  nn::InferencePlan plan = plan_of(precision);
  const DenseMatrix<float> row(1, flickr().num_features());
  const NodeId before = plan.num_nodes();
  const auto add = [&] {
    const NodeId node = plan.add_nodes(1);
    std::array<NodeId, 10> from{}, to{};
    from.fill(node);
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = static_cast<NodeId>((std::size_t{node} * 7919 + i * 104729) % before);
    plan.add_edges(from, to);
    plan.set_features(std::array{node}, row);
    plan.run();
  };
  add();
  beside(
      state, "of_a_run",
      [&] {
        if (plan.num_nodes() == before + most_new_nodes) plan.set_graph(flickr().graph.clone());
      },
      add, [&] { plan.run(); });
}

void make_plan(benchmark::State& state, Precision precision) {
  const nn::Model model = model_of(precision);
  nn::InferencePlan plan = plan_of(precision);
  plan.run();
  beside(
      state, "of_a_run", [] {}, [&] { benchmark::DoNotOptimize(nn::InferencePlan(model, flickr()).num_nodes()); },
      [&] { plan.run(); });
}

[[maybe_unused]] const bool registered = [] {
  const bool small = std::getenv("BITGRAPH_BENCH_SMOKE") != nullptr;
  for (const Precision precision : {Precision::real, Precision::full, Precision::bin}) {
    const auto add = [&](const std::string& name, auto fn) {
      benchmark::RegisterBenchmark(("serving/" + name + "/" + to_string(precision)).c_str(),
                                   [=](benchmark::State& state) { fn(state, precision); })
          ->Unit(benchmark::kMillisecond)
          ->UseManualTime()
          ->Iterations(small ? 2 : 21);
    };
    add("make_plan", make_plan);
    add("set_all_features", set_all);
    add("set_one_node", set_one);
    add("add_node_and_run", add_node_and_run);
  }
  return true;
}();

}  // namespace
