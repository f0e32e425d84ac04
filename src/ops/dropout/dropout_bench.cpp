// SPDX-License-Identifier: Apache-2.0
// The mask of an epoch and its application, beside the scalar loops.
#include "ops/dropout/dropout.hpp"

#include "support/random_matrices.hpp"
#include "support/training_benchmark.hpp"

#include <bitgraph/ops/dropout.hpp>

namespace bitgraph {
namespace {

void mask(benchmark::State& state, const test::Shape& shape, const Device* device) {
  BitMatrix<ZeroOne> keep(shape.nrows, shape.ncols, device == nullptr ? Device() : *device);
  RandomKey key{1, 2, 0};
  for (auto _ : state) {
    ++key.step;
    if (device == nullptr) {
      dropout_mask(Reference{}, DropoutArgs{keep.view(), 39322, key});
    } else {
      dropout_mask_into(keep, 0.4F, key);
    }
    benchmark::ClobberMemory();
  }
  state.counters["bits/s"] =
      benchmark::Counter(static_cast<double>(shape.nrows * shape.ncols), benchmark::Counter::kIsIterationInvariantRate);
}

void apply(benchmark::State& state, const test::Shape& shape, const Device* device) {
  const Device where = device == nullptr ? Device() : *device;
  auto x = test::random_dense(shape.nrows, shape.ncols, 1).to(where);
  const auto keep = test::random_bits<ZeroOne>(shape.nrows, shape.ncols, 2).to(where);
  for (auto _ : state) {
    if (device == nullptr) {
      apply_dropout(Reference{}, ApplyDropoutArgs{x.view(), std::as_const(keep).view(), 1});
    } else {
      apply_dropout(x, keep, 0);
    }
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(2 * x.bytes()));
}

[[maybe_unused]] const bool registered = test::register_training_benchmark("dropout_mask", mask) &&
                                         test::register_training_benchmark("apply_dropout", apply);

}  // namespace
}  // namespace bitgraph
