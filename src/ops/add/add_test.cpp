// SPDX-License-Identifier: Apache-2.0
// Every variant of add, backend, instruction set and set of scales against the reference, and by hand.
#include "ops/add/add.hpp"

#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/random_matrices.hpp"
#include "support/shapes.hpp"

#include <bitgraph/ops/add.hpp>
#include <bitgraph/ops/binarize.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace bitgraph {
namespace {

using Bits = BitMatrix<PlusMinusOne>;
using Floats = DenseMatrix<float>;

/// Random scales on a device; kind 0 none, 1 of rows, some of them negative, 2 of columns and a bias as well.
struct Scales {
  Scales(int kind, const test::Shape& shape, const Device& device) {
    const auto random = [&](std::size_t size, std::uint64_t seed) {
      return Buffer<float>::copy_of(test::random_floats(size, seed, -1, 2), device);
    };
    if (kind >= 1) {
      a_row = random(shape.nrows, 1);
      b_row = random(shape.nrows, 2);
    }
    if (kind >= 2) {
      a_col = random(shape.ncols, 3);
      b_col = random(shape.ncols, 4);
      bias = random(shape.ncols, 5);
    }
  }
  [[nodiscard]] AddOptions options(Activation activation) const {
    return {{a_row.span(), a_col.span()}, {b_row.span(), b_col.span()}, bias.span(), activation};
  }
  Buffer<float> a_row, a_col, b_row, b_col, bias;
};

Bits random_operand(const Bits&, const test::Shape& s, std::uint64_t seed) {
  return test::random_bits(s.nrows, s.ncols, seed);
}
Floats random_operand(const Floats&, const test::Shape& s, std::uint64_t seed) {
  return test::random_dense(s.nrows, s.ncols, seed);
}

template <class In, class Out>
Out reference(const In& a, const In& b, const AddOptions& o) {
  Out out(a.nrows(), a.ncols());
  const auto pointer = [](std::span<const float> s) { return s.empty() ? nullptr : s.data(); };
  add(Reference{}, AddArgs<decltype(a.view()), decltype(out.view())>{
                       a.view(), b.view(), out.view(), pointer(o.a_scales.row), pointer(o.a_scales.col),
                       pointer(o.b_scales.row), pointer(o.b_scales.col), pointer(o.bias), o.activation});
  return out;
}

void expect_same(const Bits& actual, const Bits& expected) {
  EXPECT_TRUE(actual == expected);
  EXPECT_TRUE(test::padding_is_zero(actual));
}
void expect_same(const Floats& actual, const Floats& expected) {
  test::expect_identical(actual.values(), expected.values());
}

/// use(shape, kind of scales, activation) for all of them that Out allows.
template <class Out, class Use>
void for_cases(const Use& use) {
  for (const test::Shape& shape : test::odd_shapes()) {
    for (int kind = 0; kind < 3; ++kind) {
      for (const Activation activation : {Activation::none, Activation::relu, Activation::tanh}) {
        if (activation != Activation::none && std::is_same_v<Out, Bits>) continue;
        SCOPED_TRACE(testing::Message() << shape << " scales " << kind << " activation "
                                        << static_cast<int>(activation));
        use(shape, kind, activation);
      }
    }
  }
}

template <class In, class Out>
void check_host() {
  for_cases<Out>([](const test::Shape& shape, int kind, Activation activation) {
    const In a = random_operand(In(), shape, 1);
    const In b = random_operand(In(), shape, 2);
    const Scales scales(kind, shape, Device{});
    const Out expected = reference<In, Out>(a, b, scales.options(activation));
    test::everywhere([&](const Device& device) {
      Out out = random_operand(Out(), shape, 3).to(device);
      add_into(out, a, b, scales.options(activation));
      expect_same(out, expected);
      if constexpr (std::is_same_v<In, Out>) {
        Out onto = a.to(device);
        add_into(onto, onto, b, scales.options(activation));
        expect_same(onto, expected);
        onto = b.to(device);
        add_into(onto, a, onto, scales.options(activation));
        expect_same(onto, expected);
      }
    });
  });
}

TEST(Add, BitsToBits) { check_host<Bits, Bits>(); }
TEST(Add, BitsToFloats) { check_host<Bits, Floats>(); }
TEST(Add, FloatsToBits) { check_host<Floats, Bits>(); }
TEST(Add, FloatsToFloats) { check_host<Floats, Floats>(); }

template <class In, class Out>
void check_cuda() {
  const Device& device = *test::cuda_device();
  for_cases<Out>([&](const test::Shape& shape, int kind, Activation activation) {
    const In a = random_operand(In(), shape, 1);
    const In b = random_operand(In(), shape, 2);
    const Out expected = reference<In, Out>(a, b, Scales(kind, shape, Device{}).options(activation));
    const Scales scales(kind, shape, device);
    const In a_there = a.to(device);
    Out out = random_operand(Out(), shape, 3).to(device);
    add_into(out, a_there, b.to(device), scales.options(activation));
    expect_same(out.to(Device{}), expected);
    if constexpr (std::is_same_v<In, Out>) {
      Out onto = b.to(device);
      add_into(onto, a_there, onto, scales.options(activation));
      expect_same(onto.to(Device{}), expected);
    }
  });
}

TEST(AddCuda, BitsToBits) {
  BITGRAPH_REQUIRE_CUDA();
  check_cuda<Bits, Bits>();
}
TEST(AddCuda, BitsToFloats) {
  BITGRAPH_REQUIRE_CUDA();
  check_cuda<Bits, Floats>();
}
TEST(AddCuda, FloatsToBits) {
  BITGRAPH_REQUIRE_CUDA();
  check_cuda<Floats, Bits>();
}
TEST(AddCuda, FloatsToFloats) {
  BITGRAPH_REQUIRE_CUDA();
  check_cuda<Floats, Floats>();
}

TEST(Add, SignsByHand) {
  Bits a(1, 4);
  Bits b(1, 4);
  a.set_bit(0, 0, true), a.set_bit(0, 1, true);
  b.set_bit(0, 0, true), b.set_bit(0, 2, true);
  const Bits sum = add<Bits>(a, b);  // +1+1, +1-1, -1+1, -1-1
  EXPECT_TRUE(sum.bit(0, 0) && sum.bit(0, 1) && sum.bit(0, 2)) << "a tie is +1";
  EXPECT_FALSE(sum.bit(0, 3));
  const Floats values = add<Floats>(a, b);
  EXPECT_EQ(values(0, 0), 2);
  EXPECT_EQ(values(0, 1), 0);
  EXPECT_EQ(values(0, 3), -2);
  const std::vector<float> heavy{3};
  EXPECT_TRUE((add<Bits>(a, b, {.b_scales = {.row = heavy}})) == b) << "the heavier operand has its way";
  const std::vector<float> against{-1};
  EXPECT_TRUE((add<Bits>(b, b, {.a_scales = {.row = against}, .b_scales = {.row = against}})).bit(0, 1));
}

TEST(Add, SignsAreThoseOfTheSum) {
  const test::Shape shape{37, 130};
  const Floats a = test::random_dense(shape.nrows, shape.ncols, 1);
  const Floats b = test::random_dense(shape.nrows, shape.ncols, 2);
  const Scales scales(2, shape, Device{});
  const Floats sum = add<Floats>(a, b, scales.options(Activation::none));
  EXPECT_TRUE((add<Bits>(a, b, scales.options(Activation::none))) == binarize(sum).bits);
  const Floats positive = add<Floats>(a, b, scales.options(Activation::relu));
  for (std::size_t n = 0; n < sum.values().size(); ++n) {
    ASSERT_EQ(positive.values()[n], std::max(sum.values()[n], 0.0F));
  }
}

TEST(Add, NanStaysNanAndIsMinusOne) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  Floats a(1, 5);
  a(0, 1) = nan;
  test::everywhere([&](const Device& device) {
    const Floats here = a.to(device);
    const Floats sum = add<Floats>(here, here, {.activation = Activation::relu});
    EXPECT_TRUE(std::isnan(sum(0, 1)));
    EXPECT_EQ(sum(0, 0), 0);
    EXPECT_FALSE((add<Bits>(here, here)).bit(0, 1));
  });
}

TEST(Add, ErrorsNameTheOperandsThatDoNotFit) {
  Floats out(2, 3);
  test::expect_usage_error([&] { add_into(out, Floats(2, 3), Floats(3, 2)); }, "A is 2 x 3, B is 3 x 2");
  const std::vector<float> wrong(4);
  test::expect_usage_error([&] { add_into(out, Floats(2, 3), Floats(2, 3), {.b_scales = {.col = wrong}}); },
                           "b_scales.col has 4 values, expected 3");
  Bits bits(2, 3);
  test::expect_usage_error([&] { add_into(bits, Bits(2, 3), Bits(2, 3), {.activation = Activation::relu}); }, "relu");
}

}  // namespace
}  // namespace bitgraph
