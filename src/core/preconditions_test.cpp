// SPDX-License-Identifier: Apache-2.0
#include "core/preconditions.hpp"

#include <bitgraph/core/error.hpp>

#include <gtest/gtest.h>

#include <string>

namespace bitgraph {
namespace {

template <class Call>
std::string refusal(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_possible);
    return error.what();
  }
  return "";
}

TEST(Room, ARefusalNamesWhatIsMissing) {
  EXPECT_EQ(refusal([] { require_memory("cuda:7: packing", 100, 100); }), "");
  EXPECT_EQ(refusal([] { require_memory("cuda:7: packing", 4500000000000, 150000000000); }),
            "cuda:7: packing: not enough memory: 4500000000000 bytes are needed and 150000000000 are free; "
            "4350000000000 are missing");
}

TEST(Room, OfTheHost) {
  EXPECT_EQ(refusal([] { require_memory(Device{}, "packing", 1); }), "");
  EXPECT_NE(refusal([] { require_memory(Device{}, "packing", std::size_t{1} << 55); }).find("cpu: packing: not enough"),
            std::string::npos);
}

}  // namespace
}  // namespace bitgraph
