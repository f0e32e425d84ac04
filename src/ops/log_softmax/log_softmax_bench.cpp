// SPDX-License-Identifier: Apache-2.0
// The losses of an epoch: seven classes, Cora's nodes and splits.
#include <bitgraph/ops/log_softmax.hpp>

#include "support/random_matrices.hpp"

#include <benchmark/benchmark.h>

#include <numeric>

namespace bitgraph {
namespace {

struct Problem {
  explicit Problem(std::size_t count, const Device& device = {})
      : logits(test::random_dense(2708, 7, 1).to(device)), out(2708, 7, device), nodes(count) {
    std::iota(nodes.begin(), nodes.end(), NodeId{0});
    for (NodeId i = 0; i < 2708; ++i) labels.push_back(static_cast<std::int32_t>(i % 7));
  }
  DenseMatrix<float> logits;
  DenseMatrix<float> out;
  std::vector<NodeId> nodes;
  std::vector<std::int32_t> labels;
};

void log_softmax(benchmark::State& state) {
  Problem p(0, Device::host(static_cast<int>(state.range(0))));
  for (auto _ : state) log_softmax_into(p.out, p.logits);
}
BENCHMARK(log_softmax)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMicrosecond);

void score_nodes(benchmark::State& state) {
  const Problem p(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(score(p.logits, p.labels, p.nodes));
}
BENCHMARK(score_nodes)->ArgName("nodes")->Arg(500)->Arg(1000)->Unit(benchmark::kMicrosecond);

void cross_entropy_backward(benchmark::State& state) {
  Problem p(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(cross_entropy_backward_into(p.out, p.logits, p.labels, p.nodes));
}
BENCHMARK(cross_entropy_backward)->ArgName("nodes")->Arg(140)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace bitgraph
