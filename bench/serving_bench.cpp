// SPDX-License-Identifier: Apache-2.0
// Updates of a plan that serves, at the size of Flickr (89,250 nodes, 500 dense features), beside what bounds them: one
// reading of the features by all threads, and one run of the plan.
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/nn/infer.hpp>

#include "core/parallel.hpp"
#include "support/random_model.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <utility>

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
  return test::random_model(Architecture::gcn, precision, flickr().num_features(), 256, 7, 2, 1);
}

nn::InferencePlan plan_of(Precision precision) {
  const nn::PlanCapacity capacity{flickr().graph.nrows() + 10000, flickr().graph.nvals() + 100000};
  return {model_of(precision), flickr(), {.capacity = capacity}};
}

void read_features(benchmark::State& state) {
  const auto values = flickr().dense_features.values();
  for (auto _ : state) {
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
}

void run_plan(benchmark::State& state, Precision precision) {
  nn::InferencePlan plan = plan_of(precision);
  plan.run();
  for (auto _ : state) plan.run();
}

void set_all(benchmark::State& state, Precision precision) {
  nn::InferencePlan plan = plan_of(precision);
  plan.run();
  for (auto _ : state) {
    state.PauseTiming();
    DenseMatrix<float> x = flickr().dense_features.clone();
    state.ResumeTiming();
    plan.set_features(std::move(x));
    state.PauseTiming();
    plan.run();
    state.ResumeTiming();
  }
}

void set_one(benchmark::State& state, Precision precision) {
  nn::InferencePlan plan = plan_of(precision);
  const DenseMatrix<float> row(1, flickr().num_features());
  NodeId next = 0;
  for (auto _ : state) {
    const std::array node{next++ % flickr().graph.nrows()};
    plan.set_features(node, row);
  }
}

/// A node with ten edges and its features, and the steps made anew, which the next run does: that run without its own
/// time is the difference to run_plan.
void add_node_and_run(benchmark::State& state, Precision precision) {
  nn::InferencePlan plan = plan_of(precision);
  plan.run();
  const DenseMatrix<float> row(1, flickr().num_features());
  const NodeId before = plan.num_nodes();
  for (auto _ : state) {
    if (plan.num_nodes() == before + 10000) {
      state.PauseTiming();
      plan.set_graph(flickr().graph.clone());
      state.ResumeTiming();
    }
    const NodeId node = plan.add_nodes(1);
    std::array<NodeId, 10> from{}, to{};
    from.fill(node);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<NodeId>((node * 7919 + i * 104729) % before);
    plan.add_edges(from, to);
    plan.set_features(std::array{node}, row);
    plan.run();
  }
}

void make_plan(benchmark::State& state, Precision precision) {
  const nn::Model model = model_of(precision);
  for (auto _ : state) benchmark::DoNotOptimize(nn::InferencePlan(model, flickr()).num_nodes());
}

[[maybe_unused]] const bool registered = [] {
  const auto add = [](const char* name, auto&& run) {
    benchmark::RegisterBenchmark(name, run)->Unit(benchmark::kMillisecond)->UseRealTime();
  };
  add("serving/read_features", read_features);
  for (const Precision precision : {Precision::real, Precision::full, Precision::bin}) {
    const std::string form = "/" + std::string(to_string(precision));
    const auto with = [&](const char* name, auto fn) {
      add(("serving/" + (name + form)).c_str(), [=](benchmark::State& state) { fn(state, precision); });
    };
    with("make_plan", make_plan);
    with("run", run_plan);
    with("set_all_features", set_all);
    with("set_one_node", set_one);
    with("add_node_and_run", add_node_and_run);
  }
  return true;
}();

}  // namespace
