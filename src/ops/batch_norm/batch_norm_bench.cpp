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
  const BatchNorm norm{statistics.mean.span(), statistics.variance.span(), {}, {}};
  DenseMatrix<float> out(shape.nrows, shape.ncols, device);
  for (auto _ : state) {
    body(out, x, norm);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(x.bytes()));
}

void statistics(benchmark::State& state, const test::Shape& shape, const Device* device) {
  run(state, shape, *device,
      [&](auto&, const auto& x, const auto&) { benchmark::DoNotOptimize(column_statistics(x).mean.data()); });
}

void forward(benchmark::State& state, const test::Shape& shape, const Device* device) {
  run(state, shape, *device, [&](auto& out, const auto& x, const auto& norm) { batch_norm_into(out, x, norm); });
}

void backward(benchmark::State& state, const test::Shape& shape, const Device* device) {
  run(state, shape, *device, [&](auto& out, const auto& x, const auto& norm) {
    Buffer<float> of_scale(x.ncols(), x.device()), of_shift(x.ncols(), x.device());
    batch_norm_backward_into(out, of_scale.span(), of_shift.span(), x, x, norm);
  });
}

[[maybe_unused]] const bool registered = test::register_training_benchmark("column_statistics", statistics, false) &&
                                         test::register_training_benchmark("batch_norm", forward, false) &&
                                         test::register_training_benchmark("batch_norm_backward", backward, false);

}  // namespace
}  // namespace bitgraph
