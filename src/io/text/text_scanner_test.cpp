// SPDX-License-Identifier: Apache-2.0
#include "io/text/text_scanner.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cctype>
#include <string>

namespace bitgraph {
namespace {

rc::Gen<std::string> text_of(const std::string& alphabet) {
  return rc::gen::container<std::string>(rc::gen::elementOf(alphabet));
}

TEST(TextCursor, IntegersOfEveryLength) {
  EXPECT_TRUE(rc::check([] {
    const auto number = *rc::gen::arbitrary<std::uint64_t>() >> *rc::gen::inRange(0, 64);
    const std::string zeros(*rc::gen::inRange<std::size_t>(0, 20), '0');
    const std::string behind = *text_of(" \n,x");
    const std::string text = zeros + std::to_string(number) + behind;
    TextCursor cursor(text);
    std::uint64_t value = 0;
    RC_ASSERT(cursor.take_integer(value));
    RC_ASSERT(value == number);
    RC_ASSERT(cursor.rest() == behind);
  }));
}

TEST(TextCursor, RefusesWhatIsNoInteger) {
  for (const std::string text :
       {"", " 1", "-1", "+1", "x1234567", "18446744073709551616", "99999999999999999999", "100000000000000000000000"}) {
    TextCursor cursor(text);
    std::uint64_t value = 0;
    EXPECT_FALSE(cursor.take_integer(value)) << text;
    EXPECT_EQ(cursor.rest(), text);
  }
  std::uint64_t value = 0;
  EXPECT_TRUE(TextCursor("18446744073709551615").take_integer(value));
  EXPECT_EQ(value, ~std::uint64_t{0});
}

/// Bytes above 127 beside digits must not disturb the arithmetic on eight bytes.
TEST(TextCursor, DigitsEndAtAnyOtherByte) {
  for (int c = 0; c < 256; ++c) {
    if (std::isdigit(c) != 0) continue;
    for (std::size_t digits = 0; digits < 12; ++digits) {
      const std::string number = std::string("123456789012").substr(0, digits);
      const std::string text = number + static_cast<char>(c) + "99\xFF\x80 0123456789";
      TextCursor cursor(text);
      std::uint64_t value = 0;
      ASSERT_EQ(cursor.take_integer(value), digits != 0);
      if (digits == 0) continue;
      ASSERT_EQ(value, std::stoull(number));
      ASSERT_EQ(cursor.at, text.data() + digits);
    }
  }
}

TEST(TextCursor, ShortPairs) {
  EXPECT_TRUE(rc::check([] {
    const std::string text = *text_of("0123456789012345678901234567890123456789 \t") + " 1 2 3 4 5 6 7 8";
    TextCursor cursor(text);
    TextCursor slow(text);
    std::uint64_t i = 0;
    std::uint64_t j = 0;
    if (!cursor.take_short_pair(i, j)) {
      RC_ASSERT(cursor.at == text.data());
      return;
    }
    std::uint64_t slow_i = 0;
    std::uint64_t slow_j = 0;
    RC_ASSERT(slow.take_integer(slow_i) && slow.skip_blanks() && slow.take_integer(slow_j));
    RC_ASSERT(i == slow_i);
    RC_ASSERT(j == slow_j);
    RC_ASSERT(cursor.at == slow.at);
  }));
}

TEST(TextCursor, SkipsExactlyTheNumbersItTakes) {
  EXPECT_TRUE(rc::check([] {
    const std::string text = *text_of("0123456789012345678901234567890123456789..++--eEnaif \n");
    TextCursor take(text);
    TextCursor skip(text);
    double value = 0;
    RC_ASSERT(take.take_number(value) == skip.skip_number());
    RC_ASSERT(take.at == skip.at);
  }));
  for (const std::string text :
       {"1e", "1e+", "1e+5x", "+-1", "-+1", "++1", "nan", "-inf", "+inf", ".", "-.", "5.", ".5e3", "1e999999",
        "-1e-999999", "12345678901234567890.12345678901234567890E-12", "infinity"}) {
    TextCursor take(text);
    TextCursor skip(text);
    double value = 0;
    EXPECT_EQ(take.take_number(value), skip.skip_number()) << text;
    EXPECT_EQ(take.at, skip.at) << text;
  }
}

TEST(TextCursor, NoticesWeightsOtherThanOne) {
  const auto weighted = [](const std::string& text) {
    TextCursor cursor(text);
    bool other = false;
    EXPECT_TRUE(cursor.take_weight(other)) << text;
    EXPECT_TRUE(cursor.done()) << text;
    return other;
  };
  for (const auto* text : {"1", "1.0", "+1", "1e0", "10e-1", "1.000000000000000000000"})
    EXPECT_FALSE(weighted(text)) << text;
  for (const auto* text : {"0", "-1", "2", "11", "1.5", "1e1", "nan", "inf", "1.0000000001"})
    EXPECT_TRUE(weighted(text)) << text;
}

TEST(TextCursor, OneCommaSeparates) {
  const auto rest = [](const std::string& text) {
    TextCursor cursor(text);
    cursor.skip_separator();
    return std::string(cursor.rest());
  };
  EXPECT_EQ(rest(" \t, x"), "x");
  EXPECT_EQ(rest(";;x"), ";x");
  EXPECT_EQ(rest(",,x"), ",x");
  EXPECT_EQ(rest("\r\nx"), "\nx");
}

TEST(Text, CountsLinesAndWords) {
  EXPECT_TRUE(rc::check([] {
    std::string text = *text_of("ab \t\r\n");
    text += std::string(*rc::gen::inRange<std::size_t>(0, 9000), *rc::gen::elementOf(std::string("a \n")));
    text += *text_of("ab \n");
    std::size_t lines = 0;
    std::size_t words = 0;
    for (std::size_t p = 0; p < text.size(); ++p) {
      lines += p == 0 || text[p - 1] == '\n' ? 1 : 0;
      words += text[p] > ' ' && (p == 0 || text[p - 1] <= ' ') ? 1 : 0;
    }
    RC_ASSERT(count_lines(text) == lines);
    RC_ASSERT(count_words(text) == words);
  }));
}

TEST(Text, IsCutAtLineEnds) {
  std::string text;
  for (int line = 0; line < 100000; ++line) text += std::string(static_cast<std::size_t>(line % 13), 'x') + '\n';
  for (const std::string& whole : {text, text + "tail", std::string(), std::string(300000, 'x')}) {
    const auto pieces = cut_at_lines(whole, 5);
    std::string joined;
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      ASSERT_FALSE(pieces[p].empty());
      ASSERT_TRUE(p + 1 == pieces.size() || pieces[p].back() == '\n');
      joined += pieces[p];
    }
    EXPECT_EQ(joined, whole);
    EXPECT_LE(pieces.size(), 6U);
  }
}

}  // namespace
}  // namespace bitgraph
