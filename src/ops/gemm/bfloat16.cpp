// SPDX-License-Identifier: Apache-2.0
// Products of bfloat16 on the host: OpenBLAS multiplies copies in float32, of all of W and of some rows of X at a time.
#include "ops/gemm/bfloat16.hpp"

#include <bitgraph/ops/gemm.hpp>

#include "core/instances.hpp"

#include <algorithm>

namespace bitgraph {

namespace {

/// Floats of a block of rows: it stays in a processor's second-level cache.
constexpr std::size_t block_values = std::size_t{1} << 18;

void widen(const DenseView<const Bfloat16>& from, std::size_t first_row, DenseView<float> to) {
  for (std::size_t i = 0; i < to.nrows; ++i) std::copy_n(from.row(first_row + i), to.ncols, to.row(i));
}

}  // namespace

template <class T>
void gemm(const Reference&, const BfloatGemm<T>& args) {
  for (std::size_t i = 0; i < args.out.nrows; ++i) {
    for (std::size_t f = 0; f < args.out.ncols; ++f) {
      float sum = 0;
      for (std::size_t j = 0; j < args.x.ncols; ++j) sum += args.x(i, j) * args.w(f, j);
      args.out(i, f) = args.scales.apply(i, f, sum);
    }
  }
}

template <class T>
void gemm(const Cpu& backend, const BfloatGemm<T>& args) {
  const auto [nrows, ncols] = std::pair(args.out.nrows, args.out.ncols);
  const std::size_t depth = args.x.ncols;
  if (nrows == 0 || ncols == 0) return;
  const std::size_t most_rows = std::min(nrows, std::max<std::size_t>(64, block_values / std::max(depth, ncols)));
  DenseMatrix<float> w(ncols, depth, backend.device);
  widen(args.w, 0, w.view());
  DenseMatrix<float> x(most_rows, depth, backend.device);
  DenseMatrix<float> sums(most_rows, ncols, backend.device);
  for (std::size_t first = 0; first < nrows; first += most_rows) {
    const std::size_t count = std::min(most_rows, nrows - first);
    const DenseSlice<float> rows = DenseSlice<float>(x).rows(0, count);
    const DenseSlice<float> products = DenseSlice<float>(sums).rows(0, count);
    widen(args.x, first, rows.view);
    float_gemm(products, DenseSlice<const float>(x).rows(0, count), false, w, true);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t f = 0; f < ncols; ++f) args.out(first + i, f) = args.scales.apply(first + i, f, sums(i, f));
    }
  }
}

std::string bfloat_gemm_kernels(const Device& device) {
  const std::string kernels = float_gemm_kernels(device);
  return device.is_host() ? kernels + ", from copies in float32" : kernels;
}

namespace {

[[gnu::used]] constexpr auto instances = for_types(Types<float, Bfloat16>(), [](auto type) {
  using Args = BfloatGemm<TypeOf<decltype(type)>>;
  return instances_of(static_cast<void (*)(const Reference&, const Args&)>(&gemm),
                      static_cast<void (*)(const Cpu&, const Args&)>(&gemm));
});

}  // namespace

}  // namespace bitgraph
