// SPDX-License-Identifier: Apache-2.0
#include "core/devices/isa.hpp"

#include <bitgraph/core/error.hpp>

#include <gtest/gtest.h>

namespace bitgraph {
namespace {

TEST(Isa, EveryAvailableLevelCanBeForcedAndIsReportedByAKernel) {
  const auto isas = available_isas();
  ASSERT_FALSE(isas.empty());
  for (const Isa isa : isas) {
    const ScopedIsa scope(isa);
    EXPECT_EQ(active_isa(), isa) << to_string(isa);
  }
}

TEST(Isa, NamesGoBothWays) {
  for (const Isa isa : available_isas()) EXPECT_EQ(isa_from_string(to_string(isa)), isa);
  EXPECT_THROW((void)isa_from_string("sse9"), Error);
}

TEST(Isa, ALevelThatTheMachineLacksIsRefused) {
  const auto isas = available_isas();
  const Isa missing = isas.front() == Isa::neon || isas.back() == Isa::neon ? Isa::avx2 : Isa::neon;
  try {
    force_isa(missing);
    FAIL() << "forced " << to_string(missing);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_possible);
  }
}

}  // namespace
}  // namespace bitgraph
