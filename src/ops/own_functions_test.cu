// SPDX-License-Identifier: Apache-2.0
// The operators that take a function of the caller's, in a file that nvcc compiles: on a CUDA device as on the host.
#include "ops/mxv/mxv_cases.hpp"
#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"

#include <bitgraph/ops/apply.hpp>
#include <bitgraph/ops/ewise.hpp>
#include <bitgraph/ops/mxv_with.hpp>
#include <bitgraph/ops/reduce.hpp>
#include <bitgraph/ops/select.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace bitgraph {
namespace {

template <class T>
bool equal(const Buffer<T>& a, const Buffer<T>& b) {
  const Buffer<T> left = a.to(Device{});
  const Buffer<T> right = b.to(Device{});
  return std::equal(left.begin(), left.end(), right.begin(), right.end());
}

Buffer<std::int32_t> random_integers(std::size_t size, std::uint64_t seed) {
  Buffer<std::int32_t> x(size);
  for (std::size_t i = 0; i < size; ++i) x[i] = static_cast<std::int32_t>(random_below({seed, 1, 0}, i, 1000));
  return x;
}

constexpr std::size_t sizes[] = {0, 1, 31, 32, 33, 2047, 2048, 2049, 70001};

struct Halve {
  constexpr double operator()(std::int32_t value) const { return value / 2.0; }
};

struct PlusSeven {
  constexpr std::int32_t operator()(std::int32_t value) const { return value + 7; }
};
struct Product {
  constexpr std::int32_t operator()(std::int32_t a, std::int32_t b) const { return a * b; }
};
struct TwoOfFive {
  constexpr bool operator()(std::int32_t value) const { return value % 5 == 2; }
};

TEST(OwnFunctionsOnCuda, ApplyAndEwise) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for (const std::size_t size : sizes) {
    const Buffer<std::int32_t> x = random_integers(size, 1);
    const Buffer<std::int32_t> y = random_integers(size, 2);
    const Buffer<std::int32_t> x_there = x.to(device);
    EXPECT_TRUE(equal(apply(Halve{}, x_there), apply(Halve{}, x)));
    Buffer<std::int32_t> here = x.clone();
    Buffer<std::int32_t> there = x.to(device);
    apply_in_place(here, PlusSeven{});
    apply_in_place(there, PlusSeven{});
    EXPECT_TRUE(equal(there, here));
    EXPECT_TRUE(equal(ewise_mult(Product{}, x_there, y.to(device)), ewise_mult(Product{}, x, y)));
  }
}

/// Whole numbers side by side, the first of them and the last: adding does not commute.
struct Ends {
  std::int32_t first = -1, last = -1;
  friend bool operator==(const Ends&, const Ends&) = default;
};

struct JoinEnds {
  template <class T>
  static constexpr T identity() {
    return {};
  }
  template <class T>
  static constexpr T add(T a, T b) {
    return {a.first >= 0 ? a.first : b.first, b.last >= 0 ? b.last : a.last};
  }
};

TEST(OwnFunctionsOnCuda, ReduceKeepsTheOrder) {
  BITGRAPH_REQUIRE_CUDA();
  for (const std::size_t size : {0U, 1U, 31U, 1000U, 70001U, 3000001U}) {
    Buffer<Ends> x(size);
    for (std::size_t i = 0; i < size; ++i) x[i] = {static_cast<std::int32_t>(i), static_cast<std::int32_t>(i)};
    EXPECT_TRUE(reduce(JoinEnds{}, x.to(*test::cuda_device())) == reduce(JoinEnds{}, x)) << size;
  }
}

struct EveryThird {
  NodeId rest;
  constexpr bool operator()(NodeId i, NodeId j) const { return (i + j) % 3 == rest; }
};

template <class Graph>
void expect_same_selection(const Graph& a) {
  const Graph kept = select(a.to(*test::cuda_device()), EveryThird{1}).to(Device{});
  kept.validate();
  EXPECT_TRUE(kept == select(a, EveryThird{1}));
}

TEST(OwnFunctionsOnCuda, Select) {
  BITGRAPH_REQUIRE_CUDA();
  for (const test::MxvCase& c : test::mxv_cases()) {
    SCOPED_TRACE(c.name);
    expect_same_selection(*c.a);
    for (const int k : tile_dims) expect_same_selection(pack(c.a, {.tile_dim = k}));
  }
  for (const std::size_t size : sizes) {
    const Buffer<std::int32_t> x = random_integers(size, 1);
    EXPECT_TRUE(select(x.to(*test::cuda_device()), TwoOfFive{}).to(Device{}) == select(x, TwoOfFive{}));
  }
}

/// The two largest values, as in mxv_with_test.cpp, and one more than a word of them.
struct TopTwo {
  std::uint16_t first = 0, second = 0, of = 0;
  friend bool operator==(const TopTwo&, const TopTwo&) = default;
};

struct KeepTopTwo {
  template <class T>
  static constexpr T identity() {
    return {};
  }
  template <class T>
  static constexpr T add(T a, T b) {
    const auto of = static_cast<std::uint16_t>(a.of + b.of);
    if (a.first < b.first) return {b.first, a.first > b.second ? a.first : b.second, of};
    return {a.first, a.second > b.first ? a.second : b.first, of};
  }
  template <class T>
  static constexpr T multiply(T x) {
    return {x.first, 0, 1};
  }
};

template <class S, class T, class Graph>
Buffer<T> product(S semiring, const Graph& a, const Buffer<T>& x, T before, const MxvOptions& options) {
  Buffer<T> out(a.nrows(), a.device());
  assign(out, Mask(), before);
  mxv_with(out, semiring, a, x, options);
  return out;
}

template <class Graph>
void expect_top_two(const Graph& a) {
  const Device& device = *test::cuda_device();
  Buffer<TopTwo> x(a.ncols());
  for (std::size_t j = 0; j < x.size(); ++j) x[j].first = static_cast<std::uint16_t>(random_below({1, 0, 0}, j, 60000));
  const Graph a_there = a.to(device);
  const Buffer<TopTwo> x_there = x.to(device);
  const TopTwo before{5, 3, 2};
  const BitVector mask = test::random_vector_bits(a.nrows(), 0.3, 2);
  const BitVector mask_there = mask.to(device);
  for (const int way : {0, 1, 2, 3}) {
    const auto options = [&](const BitVector& bits) {
      MxvOptions result;
      if (way == 1 || way == 3) result.mask = bits;
      if (way == 2) result.mask = ~bits;
      result.replace = way == 2;
      result.accumulate = way == 1;
      return result;
    };
    EXPECT_TRUE(equal(product(KeepTopTwo{}, a_there, x_there, before, options(mask_there)),
                      product(KeepTopTwo{}, a, x, before, options(mask))))
        << way;
  }
}

TEST(OwnFunctionsOnCuda, MxvWith) {
  BITGRAPH_REQUIRE_CUDA();
  std::vector<test::MxvCase> cases;
  cases.push_back({"very_long_rows", test::random_pattern(3, 200000, 1.2, 6)});
  cases.push_back({"long_beside_short", test::rmat_pattern(13, 200000, 5)});
  const auto check = [](const test::MxvCase& c) {
    SCOPED_TRACE(c.name);
    expect_top_two(*c.a);
    for (const int k : tile_dims) expect_top_two(pack(c.a, {.tile_dim = k}));
  };
  for (const test::MxvCase& c : test::mxv_cases()) check(c);
  for (const test::MxvCase& c : cases) check(c);
}

std::vector<double> random_doubles(std::size_t size) {
  std::vector<double> values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = random_uniform_double({1, 5, 0}, i) - 0.5;
  return values;
}

TEST(OwnFunctionsOnCuda, FloatSumsAreTheSameEveryTime) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const CsrPattern a = test::random_pattern(50, 40000, 0.7, 6);
  const auto x = Buffer<double>::copy_of(random_doubles(a.ncols()), device);
  const CsrPattern there = a.to(device);
  const Buffer<double> first = product(plus_times, there, x, 0.0, {});
  const Buffer<double> again = product(plus_times, there, x, 0.0, {});
  EXPECT_TRUE(equal(first, again));
  const Buffer<double> sums = first.to(Device{});
  const Buffer<double> values = x.to(Device{});
  for (NodeId i = 0; i < a.nrows(); ++i) {
    long double exact = 0;
    long double magnitude = 0;
    for (const NodeId j : a.row(i)) exact += values[j], magnitude += std::abs(values[j]);
    const auto bound = static_cast<double>(magnitude) * static_cast<double>(a.row(i).size()) * 0x1p-53;
    EXPECT_NEAR(sums[i], static_cast<double>(exact), bound);
  }
  for (const int k : tile_dims) {
    const BitTileMatrix tiles = pack(there, {.tile_dim = k}, device);
    EXPECT_TRUE(equal(product(plus_times, tiles, x, 0.0, {}), product(plus_times, tiles, x, 0.0, {})));
  }
}

TEST(OwnFunctionsOnCuda, RepeatedProductsAllocateNothing) {
  BITGRAPH_REQUIRE_CUDA();
  const Device device = Device::cuda();
  const CsrPattern a = test::random_pattern(3, 9000, 1.2, 6).to(device);
  const Buffer<double> x(a.ncols(), 1.0, device);
  Buffer<double> out(a.nrows(), device);
  mxv_with(out, plus_times, a, x);
  const std::size_t before = device.memory().allocations;
  mxv_with(out, plus_times, a, x);
  EXPECT_EQ(device.memory().allocations, before);
}

}  // namespace
}  // namespace bitgraph
