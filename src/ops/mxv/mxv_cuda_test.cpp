// SPDX-License-Identifier: Apache-2.0
// Every kernel on a CUDA device against the host's: each case, format, semiring, pair of vector types, and mask.
#include "ops/mxv/mxv_cases.hpp"
#include "support/cuda_device.hpp"

#include <bitgraph/formats/reorder.hpp>
#include <bitgraph/ops/mxv.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>

namespace bitgraph {
namespace {

struct Writing {
  bool masked = false, complement = false, replace = false, accumulate = false;
  double share = 0.5;  ///< of the mask's bits that are set
};

const std::vector<Writing> writings{{},
                                    {.accumulate = true},
                                    {.masked = true},
                                    {.masked = true, .complement = true, .replace = true, .share = 0.97},
                                    {.masked = true, .accumulate = true, .share = 0.1},
                                    {.masked = true, .replace = true, .accumulate = true}};

BitVector initial(std::type_identity<BitVector>, std::size_t size) { return test::random_vector_bits(size, 0.3, 99); }
template <class T>
Buffer<T> initial(std::type_identity<Buffer<T>>, std::size_t size) {
  return test::random_values<T>(size, T{7}, 99);
}

void expect_same(const BitVector& expected, const BitVector& actual, double) { EXPECT_TRUE(expected == actual); }
template <class T>
void expect_same(const Buffer<T>& expected, const Buffer<T>& actual, double tolerance) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == actual[i]) continue;
    ASSERT_NEAR(static_cast<double>(expected[i]), static_cast<double>(actual[i]),
                tolerance * (1 + std::abs(static_cast<double>(expected[i]))))
        << "element " << i;
  }
}

template <class S, class X, class Out>
constexpr bool pushes() {
  if constexpr (std::is_same_v<X, BitVector> || std::is_same_v<Out, BitVector>) {
    return true;
  } else {
    return !std::is_same_v<S, PlusTimes> || std::is_same_v<Out, Buffer<std::int32_t>>;
  }
}

class MxvCudaTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  template <class S, class Out, class Graph, class MakeX>
  void check_format(const Graph& a, double tolerance, const MakeX& make_x) const {
    const Device& device = *test::cuda_device();
    const Graph there = a.to(device);
    for (const bool push : {false, true}) {
      const std::size_t size = push ? a.ncols() : a.nrows();
      const auto x = make_x(push ? a.nrows() : a.ncols());
      using X = std::remove_cvref_t<decltype(x)>;
      for (std::size_t w = 0; w < writings.size(); ++w) {
        SCOPED_TRACE((push ? "vxm, writing " : "mxv, writing ") + std::to_string(w));
        const BitVector mask = test::random_vector_bits(size, writings[w].share, 5);
        const BitVector mask_there = mask.to(device);
        MxvOptions options{.replace = writings[w].replace, .accumulate = writings[w].accumulate};
        MxvOptions options_there = options;
        if (writings[w].masked) {
          options.mask = writings[w].complement ? ~mask : Mask(mask);
          options_there.mask = writings[w].complement ? ~mask_there : Mask(mask_there);
        }
        Out expected = initial(std::type_identity<Out>{}, size);
        Out actual = expected.to(device);
        if (!push) {
          mxv_into(expected, S{}, a, x, options);
          mxv_into(actual, S{}, there, x.to(device), options_there);
        } else if (pushes<S, X, Out>()) {
          vxm_into(expected, S{}, x, a, options);
          vxm_into(actual, S{}, x.to(device), there, options_there);
        } else {
          EXPECT_THROW(vxm_into(actual, S{}, x.to(device), there, options_there), Error);
          continue;
        }
        expect_same(expected, actual.to(Device{}), tolerance);
      }
    }
  }

  template <class S, class Out, class MakeX>
  void check(double tolerance, const MakeX& make_x) const {
    const CsrPattern& a = test::mxv_cases()[GetParam()].a;
    check_format<S, Out>(a, tolerance, make_x);
    for (const int k : tile_dims) {
      SCOPED_TRACE("tiles of " + std::to_string(k));
      check_format<S, Out>(pack(a, {.tile_dim = k}), tolerance, make_x);
    }
  }

  template <class T>
  void check_values(double tolerance) const {
    const auto bits = [](std::size_t size) { return test::random_vector_bits(size, 0.4, 1); };
    const auto values = [](T absent) {
      return [absent](std::size_t size) { return test::random_values<T>(size, absent, 2); };
    };
    check<PlusTimes, Buffer<T>>(0, bits);
    check<PlusTimes, Buffer<T>>(tolerance, values(T{0}));
    check<PlusPair, Buffer<T>>(0, values(T{0}));
    check<MinPlus, Buffer<T>>(0, values(unreached<T>()));
    check<MaxTimes, Buffer<T>>(0, values(T{0}));
    check<MinFirst, Buffer<T>>(0, values(unreached<T>()));
  }
};

TEST_P(MxvCudaTest, BitsToBits) {
  BITGRAPH_REQUIRE_CUDA();
  for (const double share : {0.02, 0.6}) {
    check<OrAnd, BitVector>(0, [&](std::size_t size) { return test::random_vector_bits(size, share, 1); });
  }
}
TEST_P(MxvCudaTest, Floats) {
  BITGRAPH_REQUIRE_CUDA();
  check_values<float>(1e-4);
}
TEST_P(MxvCudaTest, Doubles) {
  BITGRAPH_REQUIRE_CUDA();
  check_values<double>(1e-12);
}
TEST_P(MxvCudaTest, Integers) {
  BITGRAPH_REQUIRE_CUDA();
  check_values<std::int32_t>(0);
}

INSTANTIATE_TEST_SUITE_P(Cases, MxvCudaTest, ::testing::Range(std::size_t{0}, test::mxv_cases().size()),
                         [](const auto& param) { return test::mxv_cases()[param.param].name; });

/// Rows that go on over many chunks.
TEST(MxvCuda, LongRows) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const CsrPattern a = test::rmat_pattern(15, 600000, 3);
  const CsrPattern there = a.to(device);
  const auto x = test::random_values<float>(a.ncols(), 0, 1);
  const Buffer<float> expected = mxv(plus_times, a, x);
  const Buffer<float> first = mxv(plus_times, there, x.to(device)).to(Device{});
  expect_same(expected, first, 1e-4);
  for (int n = 0; n < 5; ++n) {
    const Buffer<float> again = mxv(plus_times, there, x.to(device)).to(Device{});
    for (std::size_t i = 0; i < again.size(); ++i) ASSERT_EQ(first[i], again[i]) << "sums depend on timing, row " << i;
  }
  const BitVector bits = test::random_vector_bits(a.ncols(), 0.01, 1);
  EXPECT_TRUE(mxv(or_and, a, bits) == mxv(or_and, there, bits.to(device)).to(Device{}));
}

/// Matrices large enough for kernels of their own: x near, skewed and even rows.
TEST(MxvCuda, LargeMatrices) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for (const CsrPattern& a :
       {test::rmat_pattern(17, std::size_t{1} << 21, 3), test::random_pattern(90001, 70003, 4e-4, 3)}) {
    const CsrPattern there = a.to(device);
    const BitVector mask = test::random_vector_bits(a.nrows(), 0.3, 2);
    const BitVector mask_there = mask.to(device);
    for (const double share : {0.001, 0.5}) {
      const BitVector bits = test::random_vector_bits(a.ncols(), share, 1);
      const BitVector bits_there = bits.to(device);
      EXPECT_TRUE(mxv(or_and, a, bits) == mxv(or_and, there, bits_there).to(Device{}));
      EXPECT_TRUE(mxv(or_and, a, bits, {.mask = ~mask}) ==
                  mxv(or_and, there, bits_there, {.mask = ~mask_there}).to(Device{}));
      expect_same(mxv<std::int32_t>(plus_times, a, bits), mxv<std::int32_t>(plus_times, there, bits_there).to(Device{}),
                  0);
    }
  }
}

/// Skewed ones with the hubs first: of x, the elements that most entries ask for are kept near.
TEST(MxvCuda, ValuesWithHubsFirst) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const CsrPattern skewed = test::rmat_pattern(17, std::size_t{3} << 20, 3);
  const CsrPattern a = permuted(skewed, reorder(skewed, Order::degree).span());
  const CsrPattern there = a.to(device);
  ASSERT_GT(2 * there.view().near_entries, a.nvals());
  ASSERT_GT(a.ncols(), csr_near_columns);
  const BitVector mask = test::random_vector_bits(a.nrows(), 0.3, 2);
  const BitVector mask_there = mask.to(device);
  const auto compare = [&]<class T>(T absent, auto semiring, double tolerance) {
    const Buffer<T> x = test::random_values<T>(a.ncols(), absent, 1);
    const Buffer<T> x_there = x.to(device);
    expect_same(mxv(semiring, a, x), mxv(semiring, there, x_there).to(Device{}), tolerance);
    expect_same(mxv(semiring, a, x, {.mask = ~mask}), mxv(semiring, there, x_there, {.mask = ~mask_there}).to(Device{}),
                tolerance);
  };
  compare(0.0F, plus_times, 1e-3);
  compare(0, plus_times, 0);
  compare(0.0, plus_times, 1e-11);
  compare(unreached<float>(), min_plus, 0);
}

TEST(MxvCuda, ARepeatedCallAllocatesNothing) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const CsrPattern a = test::rmat_pattern(11, 30000, 1).to(device);
  const Buffer<float> x = test::random_values<float>(a.ncols(), 0, 1).to(device);
  Buffer<float> out(a.nrows(), device);
  mxv_into(out, plus_times, a, x);
  const std::size_t before = device.memory().allocations;
  for (int n = 0; n < 3; ++n) mxv_into(out, plus_times, a, x);
  EXPECT_EQ(device.memory().allocations, before);
}

}  // namespace
}  // namespace bitgraph
