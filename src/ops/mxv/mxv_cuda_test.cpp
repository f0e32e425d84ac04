// SPDX-License-Identifier: Apache-2.0
// Every kernel on a CUDA device against the host's: each case, format, semiring, pair of vector types, and mask.
#include "ops/mxv/mxv_writings.hpp"
#include "support/cuda_device.hpp"

#include <bitgraph/core/random.hpp>
#include <bitgraph/ops/mxv.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace bitgraph {
namespace {

using test::expect_same;
using test::initial;
using test::Writing;
using test::writings;

class MxvCudaTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  template <class S, class Out, class Graph, class MakeX>
  void check_format(const Graph& a, double tolerance, const MakeX& make_x) const {
    const Device& device = *test::cuda_device();
    const Graph there = a.to(device);
    for (const bool push : {false, true}) {
      const std::size_t size = push ? a.ncols() : a.nrows();
      const auto x = make_x(push ? a.nrows() : a.ncols());
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
        } else {
          vxm_into(expected, S{}, x, a, options);
          vxm_into(actual, S{}, x.to(device), there, options_there);
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

/// Rows of these lengths, one after the other, over and over.
CsrPattern pattern_of_lengths(NodeId nrows, NodeId ncols, const std::vector<NodeId>& lengths) {
  std::vector<NodeId> rows, cols;
  for (NodeId i = 0; i < nrows; ++i) {
    const NodeId length = lengths[i % lengths.size()];
    const NodeId begin = static_cast<NodeId>(random_below({3, 8, 0}, i, ncols));
    // An odd step and a power of two of columns: all of a row's are different.
    for (NodeId k = 0; k < length; ++k) {
      rows.push_back(i);
      cols.push_back((begin + k * 77U) % ncols);
    }
  }
  return csr_from_edges(nrows, ncols, rows, cols);
}

/// The product of bits, counts and values, with and without a mask, against the host's.
void expect_products_as_on_the_host(const CsrPattern& a) {
  const Device& device = *test::cuda_device();
  const CsrPattern there = a.to(device);
  const BitVector mask = test::random_vector_bits(a.nrows(), 0.3, 2);
  const BitVector mask_there = mask.to(device);
  const auto compare = [&](auto expected, const auto& x, auto semiring, double tolerance) {
    const auto x_there = x.to(device);
    for (const bool masked : {false, true}) {
      SCOPED_TRACE(masked ? "masked" : "all rows");
      auto actual = expected.to(device);
      const auto options = [&](const BitVector& m) {
        return masked ? MxvOptions{.mask = ~m, .accumulate = true} : MxvOptions{};
      };
      mxv_into(expected, semiring, a, x, options(mask));
      mxv_into(actual, semiring, there, x_there, options(mask_there));
      expect_same(expected, actual.to(Device{}), tolerance);
    }
  };
  for (const double share : {0.002, 0.5}) {
    const BitVector bits = test::random_vector_bits(a.ncols(), share, 1);
    compare(initial(std::type_identity<BitVector>{}, a.nrows()), bits, or_and, 0);
    compare(initial(std::type_identity<Buffer<std::int32_t>>{}, a.nrows()), bits, plus_times, 0);
  }
  const auto values = [&]<class T>(T absent, auto semiring, double tolerance) {
    const Buffer<T> x = test::random_values<T>(a.ncols(), absent, 1);
    compare(initial(std::type_identity<Buffer<T>>{}, a.nrows()), x, semiring, tolerance);
  };
  values(0.0F, plus_times, 1e-3);
  values(0, plus_times, 0);
  values(0.0, plus_times, 1e-11);
  values(unreached<float>(), min_plus, 0);
}

/// Rows as long as those that are never cut into chunks, and one entry longer; empty ones and hubs among them.
TEST(MxvCuda, RowsAsLongAsChunks) {
  BITGRAPH_REQUIRE_CUDA();
  for (const std::vector<NodeId>& lengths : {std::vector<NodeId>{64, 65, 0, 63, 1},
                                             {127, 128, 129, 0, 0, 2},
                                             {511, 512, 513, 1, 0},
                                             {640, 639, 3},
                                             {1025, 1023},
                                             {127},
                                             {128},
                                             {511},
                                             {512},
                                             {0, 0, 0, 200},
                                             {9000, 1, 130, 0, 64}}) {
    SCOPED_TRACE("lengths from " + std::to_string(lengths.front()) + " on");
    const auto few = static_cast<NodeId>(100 + lengths.size());
    expect_products_as_on_the_host(pattern_of_lengths(few, 16384, lengths));
  }
}

/// The same where there are so many that chunks are large.
TEST(MxvCuda, ManyRowsAsLongAsChunks) {
  BITGRAPH_REQUIRE_CUDA();
  expect_products_as_on_the_host(pattern_of_lengths(7001, 32768, {511, 512, 513, 63, 64, 65, 0, 0, 1, 6000, 2}));
  expect_products_as_on_the_host(pattern_of_lengths(140003, 65536, {0, 0, 0, 0, 65, 3}));
}

/// Even rows, few and many.
TEST(MxvCuda, ShortRows) {
  BITGRAPH_REQUIRE_CUDA();
  expect_products_as_on_the_host(pattern_of_lengths(66001, 4096, {8, 0, 1, 5}));
  expect_products_as_on_the_host(pattern_of_lengths(66003, 4096, {9, 0, 64, 1, 2, 0, 3}));
  expect_products_as_on_the_host(pattern_of_lengths(66013, 4096, {17, 12, 9}));
  expect_products_as_on_the_host(pattern_of_lengths(65536, 4096, {30, 40, 64}));
  expect_products_as_on_the_host(pattern_of_lengths(70001, 4096, {30, 40, 64}));
  expect_products_as_on_the_host(pattern_of_lengths(5001, 4096, {16, 2}));
  expect_products_as_on_the_host(pattern_of_lengths(5001, 4096, {64, 1}));
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
