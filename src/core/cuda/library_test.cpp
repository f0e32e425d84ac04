// SPDX-License-Identifier: Apache-2.0
// Libraries found at run time, shown with the C library of the system.
#include "core/cuda/library.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bitgraph {
namespace {

using Length = std::size_t (*)(const char*);

TEST(RuntimeLibrary, TakesTheFirstLibraryThatHasAllFunctions) {
  const std::vector<std::string> names{"libbitgraph_is_not_here.so.1", "libm.so.6", "libc.so.6"};
  Length length = nullptr;
  Length newer = nullptr;
  const std::string reason = load_functions(names, [&](LibraryFunctions& found) {
    found.find(length, "strlen");
    found.find_optional(newer, "bitgraph_has_no_such_function");
  });
  EXPECT_EQ(reason, "");
  ASSERT_NE(length, nullptr);
  EXPECT_EQ(length("four"), 4U);
  EXPECT_EQ(newer, nullptr) << "a function that may be absent";
}

TEST(RuntimeLibrary, SaysWhichFunctionALibraryLacks) {
  const std::vector<std::string> names{"libc.so.6"};
  Length length = nullptr;
  Length absent = nullptr;
  Length another = nullptr;
  const std::string reason = load_functions(names, [&](LibraryFunctions& found) {
    found.find(length, "strlen");
    found.find(absent, "bitgraph_absent");
    found.find(another, "bitgraph_another");
  });
  EXPECT_EQ(reason, "libc.so.6 has no bitgraph_absent");
}

TEST(RuntimeLibrary, SaysThatALibraryIsNotThere) {
  const std::vector<std::string> names{"libbitgraph_is_not_here.so.1"};
  const std::string reason = load_functions(names, [](LibraryFunctions&) { FAIL() << "nothing was loaded"; });
  EXPECT_EQ(reason, "libbitgraph_is_not_here.so.1 not found: add its folder to LD_LIBRARY_PATH");
}

}  // namespace
}  // namespace bitgraph
