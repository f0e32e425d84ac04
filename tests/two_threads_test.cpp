// SPDX-License-Identifier: Apache-2.0
// Two host threads with a handle each run operators at once: their scratch storage and streams are apart.
#include "support/cuda_device.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/graph/bfs.hpp>
#include <bitgraph/ops/gemm.hpp>
#include <bitgraph/ops/reduce.hpp>
#include <bitgraph/ops/spmm.hpp>

#include <gtest/gtest.h>

#include <barrier>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace bitgraph {
namespace {

using Floats = DenseMatrix<float>;

Floats floats(std::size_t nrows, std::size_t ncols, std::uint64_t seed) {
  const std::vector<float> values = test::random_floats(nrows * ncols, seed, -1, 1);
  return {nrows, ncols, Buffer<float>::copy_of(std::span<const float>(values))};
}

/// What one thread computes: products and a search that use the scratch storage of their device.
struct Results {
  std::vector<float> product, sums;
  std::vector<std::int32_t> levels;

  bool operator==(const Results&) const = default;
};

std::vector<float> values_of(const Floats& x) {
  const Floats here = x.to(Device());
  return {here.values().begin(), here.values().end()};
}

Results compute(const Device& device, std::uint64_t seed) {
  const CsrPattern a = test::random_pattern(700, 700, 0.02, seed).to(device);
  const Floats x = floats(700, 48, seed).to(device);
  const Floats w = floats(700, 96, seed + 1).to(device);
  Floats product(48, 96, device);
  float_gemm(product, x, true, w, false);  // a library's product with a workspace
  const std::vector<float> scale = test::random_floats(700, seed + 2, 0.5F, 2);
  const Buffer<float> col_scale = Buffer<float>::copy_of(std::span<const float>(scale)).to(device);
  const Floats sums = spmm<Floats>(a, x, {.col_scale = col_scale.span()});
  const Buffer<std::int32_t> levels = bfs(pack_graph(a, {}, device), {.source = 0}).level.to(Device());
  return {values_of(product), values_of(sums), {levels.begin(), levels.end()}};
}

void two_threads_get_what_one_gets(const std::function<Device()>& make_device) {
  constexpr int turns = 20;
  std::vector<Results> expected;
  for (const std::uint64_t seed : {1U, 2U}) expected.push_back(compute(make_device(), seed));
  ASSERT_NE(expected[0], expected[1]);
  std::vector<std::vector<Results>> found(2);
  std::barrier start(2);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      const Device own = make_device();
      start.arrive_and_wait();
      for (int n = 0; n < turns; ++n) found[t].push_back(compute(own, t + 1));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < 2; ++t) {
    for (const Results& results : found[t]) EXPECT_EQ(results, expected[t]) << "thread " << t;
  }
}

TEST(TwoThreads, WithAHandleEachOnTheHostComputeAtOnce) {
  two_threads_get_what_one_gets([] { return Device::host(2); });
}

TEST(TwoThreads, WithAHandleEachOnOneCudaDeviceComputeAtOnce) {
  BITGRAPH_REQUIRE_CUDA();
  two_threads_get_what_one_gets([] { return Device::cuda(); });
}

}  // namespace
}  // namespace bitgraph
