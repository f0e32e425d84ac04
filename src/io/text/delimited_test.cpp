// SPDX-License-Identifier: Apache-2.0
#include "io/text/delimited.hpp"

#include <gtest/gtest.h>

namespace bitgraph {
namespace {

std::string field(std::string_view text, char separator) {
  std::string line = "1";
  line += separator;
  append_field(line, text, separator);
  return line.substr(2);
}

TEST(Delimited, CsvQuotesWhatNeedsIt) {
  EXPECT_EQ(field("plain text; 'quoted'\tand\\", ','), "plain text; 'quoted'\tand\\");
  EXPECT_EQ(field("", ','), "");
  EXPECT_EQ(field("a,b", ','), "\"a,b\"");
  EXPECT_EQ(field("say \"hi\"", ','), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(field("two\nlines", ','), "\"two\nlines\"");
  EXPECT_EQ(field("two\rlines", ','), "\"two\rlines\"");
}

TEST(Delimited, TsvEscapesWhatWouldEndAField) {
  EXPECT_EQ(field("a,b \"c\"", '\t'), "a,b \"c\"");
  EXPECT_EQ(field("a\tb\nc\rd\\e", '\t'), "a\\tb\\nc\\rd\\\\e");
}

}  // namespace
}  // namespace bitgraph
