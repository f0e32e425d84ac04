// SPDX-License-Identifier: Apache-2.0
// Signs and scales of dense floats through a batch norm, beside the scalar loop.
#include "ops/binarize/binarize.hpp"

#include "support/random_matrices.hpp"
#include "support/training_benchmark.hpp"

#include <bitgraph/ops/binarize.hpp>

namespace bitgraph {
namespace {

void dense(benchmark::State& state, const test::Shape& shape, const Device* device) {
  const Device where = device == nullptr ? Device() : *device;
  const auto x = test::random_dense(shape.nrows, shape.ncols, 1).to(where);
  const auto shift = test::random_floats(shape.ncols, 2, -0.5F, 0.5F);
  const auto scale = test::random_floats(shape.ncols, 3, 0.5F, 2);
  Binarized out{BitMatrix<>(shape.nrows, shape.ncols, where), Buffer<float>(shape.nrows, where)};
  for (auto _ : state) {
    if (device == nullptr) {
      binarize(Reference{}, BinarizeArgs{x.view(), shift.data(), scale.data(), out.bits.view(), out.alpha.data()});
    } else {
      binarize_into(out, x, {shift, scale});
    }
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(x.bytes()));
}

[[maybe_unused]] const bool registered = test::register_training_benchmark("binarize", dense);

}  // namespace
}  // namespace bitgraph
