// SPDX-License-Identifier: Apache-2.0
// Every kernel of mxv and vxm against the reference: each case, instruction set, number of threads, graph format,
// semiring, pair of vector types, and mask.
#include "ops/mxv/mxv_writings.hpp"

#include "ops/mxv/mxv.hpp"
#include "support/everywhere.hpp"

#include <bitgraph/ops/mxv.hpp>

#include <gtest/gtest.h>

#include <utility>

namespace bitgraph {
namespace {

using test::expect_same;
using test::initial;
using test::Writing;
using test::writings;

enum class Side { mxv, vxm };

MxvOptions options_of(const Writing& writing, const BitVector& mask) {
  MxvOptions options{.replace = writing.replace, .accumulate = writing.accumulate};
  if (writing.masked) options.mask = writing.complement ? ~mask : Mask(mask);
  return options;
}

BitVectorView<> view_of(const BitVector& x) { return x.view(); }
template <class T>
ValuesView<const T> view_of(const Buffer<T>& x) {
  return {x.size(), x.data()};
}
BitVectorView<std::uint64_t> output_of(BitVector& x) { return x.view(); }
template <class T>
ValuesView<T> output_of(Buffer<T>& x) {
  return {x.size(), x.data()};
}

/// The obvious loops, over pattern CSR.
template <class S, class X, class Out>
void expected_into(Out& out, Side side, const CsrPattern& a, const X& x, const MxvOptions& options) {
  const BitVector* mask = options.mask.bits;
  const MxvArgs<S, CsrPatternView, decltype(view_of(x)), decltype(output_of(out))> args{
      a.view(),
      view_of(x),
      output_of(out),
      {mask == nullptr ? nullptr : mask->view().words, options.mask.complement, options.replace, options.accumulate}};
  side == Side::mxv ? mxv(Reference{}, args) : vxm(Reference{}, args);
}

template <class S, class Out, class Graph, class X>
void actual_into(Out& out, Side side, const Graph& a, const X& x, const MxvOptions& options) {
  side == Side::mxv ? mxv_into(out, S{}, a, x, options) : vxm_into(out, S{}, x, a, options);
}

/// One matrix in every format, for each number of threads.
struct Formats {
  explicit Formats(const CsrPattern& a) {
    for (const int threads : test::thread_counts) {
      patterns.push_back(a.to(Device::host(threads)));
      for (const int k : tile_dims) tiles.push_back(pack(a, {.tile_dim = k}, Device::host(threads)));
    }
  }
  /// fn(matrix) for each format; `n` chooses the number of threads.
  template <class Fn>
  void for_each(std::size_t n, const Fn& fn) const {
    SCOPED_TRACE(std::to_string(patterns[n % patterns.size()].device().threads()) + " threads");
    fn(patterns[n % patterns.size()]);
    for (std::size_t k = 0; k < tile_dims.size(); ++k) {
      SCOPED_TRACE("tiles of " + std::to_string(tile_dims[k]));
      fn(tiles[n % patterns.size() * tile_dims.size() + k]);
    }
  }
  std::vector<CsrPattern> patterns;
  std::vector<BitTileMatrix> tiles;
};

class MxvTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  MxvTest() : a_(test::mxv_cases()[GetParam()].a), formats_(a_) {}

  /// Over the semiring, with x made by make_x(its size), on every instruction set. Each way of writing has another
  /// number of threads.
  template <class S, class Out, class MakeX>
  void check(double tolerance, const MakeX& make_x) const {
    for (const Side side : {Side::mxv, Side::vxm}) {
      const std::size_t size = side == Side::mxv ? a_.nrows() : a_.ncols();
      const auto x = make_x(side == Side::mxv ? a_.ncols() : a_.nrows());
      for (std::size_t w = 0; w < writings.size(); ++w) {
        SCOPED_TRACE((side == Side::mxv ? "mxv, writing " : "vxm, writing ") + std::to_string(w));
        const BitVector mask = test::random_vector_bits(size, writings[w].share, 5);
        const MxvOptions options = options_of(writings[w], mask);
        Out expected = initial(std::type_identity<Out>{}, size);
        expected_into<S>(expected, side, a_, x, options);
        for (const Isa isa : available_isas()) {
          const ScopedIsa scope(isa);
          SCOPED_TRACE(std::string(to_string(isa)));
          formats_.for_each(w + (side == Side::mxv ? 0 : 1), [&](const auto& graph) {
            Out actual = initial(std::type_identity<Out>{}, size);
            actual_into<S>(actual, side, graph, x, options);
            expect_same(expected, actual, tolerance);
          });
        }
      }
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

 private:
  const CsrPattern& a_;
  Formats formats_;
};

TEST_P(MxvTest, BitsToBits) {
  for (const double share : {0.02, 0.6}) {
    check<OrAnd, BitVector>(0, [&](std::size_t size) { return test::random_vector_bits(size, share, 1); });
  }
}
TEST_P(MxvTest, Floats) { check_values<float>(1e-4); }
TEST_P(MxvTest, Doubles) { check_values<double>(1e-12); }
TEST_P(MxvTest, Integers) { check_values<std::int32_t>(0); }

INSTANTIATE_TEST_SUITE_P(Cases, MxvTest, ::testing::Range(std::size_t{0}, test::mxv_cases().size()),
                         [](const auto& param) { return test::mxv_cases()[param.param].name; });

TEST(Mxv, ByHand) {
  // 0 -> 1, 2; 1 -> 2; 2 -> nothing.
  const CsrPattern a = csr_from_edges(3, 3, std::vector<NodeId>{0, 0, 1}, std::vector<NodeId>{1, 2, 2});
  BitVector x(3);
  x.set_bit(2, true);
  const BitVector reached = mxv(or_and, a, x);
  EXPECT_TRUE(reached.bit(0) && reached.bit(1) && !reached.bit(2));
  const Buffer<float> counts = mxv<float>(plus_times, a, x);
  EXPECT_EQ(counts[0], 1);
  EXPECT_EQ(counts[2], 0);
  const float far = unreached<float>();
  const Buffer<float> distances{far, 4, 2};
  const Buffer<float> steps = mxv(min_plus, a, distances);
  EXPECT_EQ(steps[0], 3);
  EXPECT_EQ(steps[1], 3);
  EXPECT_EQ(steps[2], far) << "an empty row is the identity";
  Buffer<float> pushed(3);
  vxm_into(pushed, plus_pair, distances, a);
  EXPECT_EQ(pushed[0], 0);
  EXPECT_EQ(pushed[1], 1);
  EXPECT_EQ(pushed[2], 2) << "plus_pair counts rows whose value is 0, too";
}

TEST(Mxv, TheSmallestIsAny) {
  const CsrPattern a = test::random_pattern(50, 50, 0.2, 1);
  const Buffer<std::int32_t> x = test::random_values<std::int32_t>(50, unreached<std::int32_t>(), 1);
  expect_same(mxv(min_first, a, x), mxv(any_first, a, x), 0);
  const BitVector bits = test::random_vector_bits(50, 0.5, 1);
  expect_same(mxv<double>(plus_times, a, bits), mxv<double>(plus_pair, a, bits), 0);
}

TEST(Mxv, IntegersWrapAround) {
  const CsrPattern a = csr_from_edges(1, 2, std::vector<NodeId>{0, 0}, std::vector<NodeId>{0, 1});
  const Buffer<std::int32_t> x{unreached<std::int32_t>(), 1};
  EXPECT_EQ(mxv(plus_times, a, x)[0], std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(mxv(min_plus, a, x)[0], 2);
}

/// The order of a sum is the rows' own, not the threads'.
TEST(Mxv, FloatSumsDoNotDependOnThreads) {
  for (const test::MxvCase& c : test::mxv_cases()) {
    const auto x = test::random_values<float>(c.a->ncols(), 0, 1);
    const auto y = test::random_values<float>(c.a->nrows(), 0, 2);
    for (const int k : {0, 4, 8, 16, 32, 64}) {
      const auto pulled_and_pushed = [&](const Device& device) {
        std::pair<Buffer<float>, Buffer<float>> sums{Buffer<float>(c.a->nrows()), Buffer<float>(c.a->ncols())};
        const auto both = [&](const auto& a) {
          mxv_into(sums.first, plus_times, a, x);
          vxm_into(sums.second, plus_times, y, a);
        };
        const CsrPattern a = c.a->to(device);
        if (k == 0) {
          both(a);
        } else {
          both(pack(a, {.tile_dim = k}, device));
        }
        return sums;
      };
      const auto expected = pulled_and_pushed(Device::host(1));
      test::with_thread_counts([&](const Device& device) {
        const auto actual = pulled_and_pushed(device);
        test::expect_identical(actual.first.span(), expected.first.span());
        test::expect_identical(actual.second.span(), expected.second.span());
      });
    }
  }
}

/// Rows that are cut into pieces, long tile rows among them.
TEST(Mxv, ARowOfHalfTheMatrix) {
  std::vector<NodeId> rows, cols;
  constexpr NodeId n = 300000;
  for (NodeId j = 0; j < n; j += 2) {
    rows.push_back(70);
    cols.push_back(j);
    rows.push_back(j % 1000);
    cols.push_back(n - 1 - j);
  }
  const CsrPattern star = csr_from_edges(1000, n, rows, cols);
  const BitVector bits = test::random_vector_bits(n, 0.3, 1), none(n);
  const auto values = test::random_values<std::int32_t>(n, 0, 2);
  const BitVector mask = test::random_vector_bits(1000, 0.6, 3);
  test::with_thread_counts([&](const Device& device) {
    const CsrPattern a = star.to(device);
    for (const Writing& writing : writings) {
      const MxvOptions options = options_of(writing, mask);
      const auto check = [&]<class S, class Out>(S, std::type_identity<Out> out, const auto& x) {
        Out expected = initial(out, 1000);
        expected_into<S>(expected, Side::mxv, a, x, options);
        for (const int k : {0, 4, 64}) {
          Out actual = initial(out, 1000);
          k == 0 ? mxv_into(actual, S{}, a, x, options)
                 : mxv_into(actual, S{}, pack(a, {.tile_dim = k}, device), x, options);
          expect_same(expected, actual, 0);
        }
      };
      check(or_and, std::type_identity<BitVector>{}, bits);
      check(or_and, std::type_identity<BitVector>{}, none);
      check(plus_times, std::type_identity<Buffer<std::int32_t>>{}, bits);
      check(plus_times, std::type_identity<Buffer<std::int32_t>>{}, values);
      check(min_plus, std::type_identity<Buffer<std::int32_t>>{}, values);
    }
  });
}

TEST(Mxv, SizesThatDoNotFitAreNamed) {
  const CsrPattern a = test::random_pattern(4, 5, 0.5, 1);
  BitVector out(4);
  test::expect_usage_error([&] { mxv_into(out, or_and, a, BitVector(6)); },
                           "A is 4 x 5, x has 6 elements, the output 4");
  test::expect_usage_error([&] { vxm_into(out, or_and, BitVector(4), a); },
                           "A is 4 x 5, x has 4 elements, the output 4");
  const BitVector mask(5);
  test::expect_usage_error([&] { mxv_into(out, or_and, a, BitVector(5), {.mask = mask}); }, "the mask has 5 elements");
}

TEST(Mxv, TheOutputIsNoInput) {
  const CsrPattern a = test::random_pattern(5, 5, 0.5, 1);
  BitVector x(5);
  test::expect_usage_error([&] { mxv_into(x, or_and, a, x); }, "the output is x");
  BitVector out(5);
  test::expect_usage_error([&] { mxv_into(out, or_and, a, x, {.mask = out}); }, "the output is the mask");
}

TEST(Mxv, ARepeatedCallAllocatesNothing) {
  const Device device = Device::host(2);
  const CsrPattern a = test::rmat_pattern(11, 30000, 1, device);
  const BitTileMatrix tiles = pack(a, {.tile_dim = 8}, device);
  const BitVector bits = test::random_vector_bits(a.ncols(), 0.5, 1);
  const auto x = test::random_values<float>(a.ncols(), 0, 1);
  Buffer<float> out(a.nrows(), device);
  const std::size_t before = device.memory().allocations;
  for (int n = 0; n < 3; ++n) {
    mxv_into(out, plus_times, a, x);
    vxm_into(out, plus_times, bits, a);
    mxv_into(out, plus_times, tiles, bits);
    vxm_into(out, min_plus, x, tiles);
  }
  EXPECT_EQ(device.memory().allocations, before);
}

}  // namespace
}  // namespace bitgraph
