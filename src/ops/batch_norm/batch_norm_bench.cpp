// SPDX-License-Identifier: Apache-2.0
// Statistics, forward and backward.
#include "support/random_matrices.hpp"
#include "support/training_benchmark.hpp"

#include <bitgraph/ops/batch_norm.hpp>

namespace bitgraph {
namespace {

template <class Body>
void run(benchmark::State& state, const test::Shape& shape, const Device& device, Body body) {
  const auto x = test::random_dense(shape.nrows, shape.ncols, 1).to(device);
  const auto statistics = column_statistics(x);
  const auto inverse = inverse_deviation(statistics.variance.span());
  DenseMatrix<float> out(shape.nrows, shape.ncols, device);
  for (auto _ : state) {
    body(out, x, statistics, inverse);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(x.bytes()));
}

void statistics(benchmark::State& state, const test::Shape& shape, const Device* device) {
  run(state, shape, *device, [&](auto&, const auto& x, const auto&, const auto&) {
    benchmark::DoNotOptimize(column_statistics(x).mean.data());
  });
}

void forward(benchmark::State& state, const test::Shape& shape, const Device* device) {
  run(state, shape, *device, [&](auto& out, const auto& x, const auto& s, const auto& inverse) {
    batch_norm_into(out, x, s.mean.span(), inverse.span());
  });
}

void backward(benchmark::State& state, const test::Shape& shape, const Device* device) {
  run(state, shape, *device, [&](auto& out, const auto& x, const auto&, const auto& inverse) {
    batch_norm_backward_into(out, x, x, inverse.span());
  });
}

[[maybe_unused]] const bool registered = test::register_training_benchmark("column_statistics", statistics, false) &&
                                         test::register_training_benchmark("batch_norm", forward, false) &&
                                         test::register_training_benchmark("batch_norm_backward", backward, false);

}  // namespace
}  // namespace bitgraph
