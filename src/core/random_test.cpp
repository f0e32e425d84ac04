// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/random.hpp>

#include <gtest/gtest.h>

namespace bitgraph {
namespace {

using Words = std::array<std::uint32_t, 4>;

TEST(Random, PhiloxGivesItsAuthorsKnownAnswers) {
  // kat_vectors of Random123: philox4x32-10.
  EXPECT_EQ(random_words({0, 0, 0}, 0), (Words{0x6627E8D5U, 0xE169C58DU, 0xBC57AC4CU, 0x9B00DBD8U}));
  EXPECT_EQ(random_words({~std::uint64_t{0}, 0xFFFFFFFFU, 0xFFFFFFFFU}, ~std::uint64_t{0}),
            (Words{0x408F276DU, 0x41C83B0EU, 0xA20BC7C6U, 0x6D5451FDU}));
  EXPECT_EQ(random_words({0x299F31D0A4093822U, 0x13198A2EU, 0x03707344U}, 0x85A308D3243F6A88U),
            (Words{0xD16CFE09U, 0x94FDCCEBU, 0x5001E420U, 0x24126EA1U}));
}

TEST(Random, NumbersStayInTheirRangesAndHaveTheirMeans) {
  constexpr std::size_t draws = 40000;
  double uniform = 0;
  double fine = 0;
  double below = 0;
  for (std::size_t n = 0; n < draws; ++n) {
    const float u = random_uniform({1, 2, 3}, n);
    const double v = random_uniform_double({1, 2, 4}, n);
    const std::uint64_t k = random_below({1, 2, 5}, n, 10);
    ASSERT_TRUE(u >= 0 && u < 1);
    ASSERT_TRUE(v >= 0 && v < 1);
    ASSERT_LT(k, 10U);
    uniform += static_cast<double>(u);
    fine += v;
    below += static_cast<double>(k);
  }
  EXPECT_NEAR(uniform / draws, 0.5, 0.01);
  EXPECT_NEAR(fine / draws, 0.5, 0.01);
  EXPECT_NEAR(below / draws, 4.5, 0.1);
}

}  // namespace
}  // namespace bitgraph
