// SPDX-License-Identifier: Apache-2.0
#include "io/array/npy.hpp"

#include "io/array/array.hpp"
#include "support/expect_error.hpp"
#include "support/fixtures.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace bitgraph {
namespace {

using test::expect_bad_input;
using test::expect_error;
using test::fixture;
using test::TemporaryFolder;
using Shape = std::vector<std::uint64_t>;

/// A version 1.0 file with that dictionary.
std::string npy(const std::string& dictionary, const std::string& data, char version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += {version, '\0', static_cast<char>(dictionary.size() & 0xFFU), static_cast<char>(dictionary.size() >> 8)};
  if (version > 1) bytes += std::string(2, '\0');
  return bytes + dictionary + data;
}

std::string dictionary(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
}

std::optional<Array> read(const std::string& bytes) { return read_npy(test::as_bytes(bytes), "x.npy"); }

TEST(Npy, ReadsWhatNumPyWrites) {
  struct Case {
    const char* file;
    ElementType type;
    Shape shape;
    std::vector<double> values;
  };
  std::vector<double> cube(24);
  for (std::size_t n = 0; n < 24; ++n) cube[n] = 3 * static_cast<double>(n) - 5;
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<Case> cases{
      {"i16_big.npy", ElementType::i16, {6}, {-5, -2, 1, 4, 7, 10}},
      {"f64_fortran.npy", ElementType::f64, {2, 3, 4}, cube},
      {"f32_fortran_big.npy", ElementType::f32, {2, 3}, {-5, -2, 1, 4, 7, 10}},
      {"f16.npy", ElementType::f32, {9}, {0, -0.0, 1, -2.5, 65504, 0x1p-24, -0x1p-14, infinity, std::nan("")}},
      {"bool.npy", ElementType::u8, {1, 3}, {1, 0, 1}},
      {"scalar.npy", ElementType::u64, {}, {7}},
      {"empty.npy", ElementType::f32, {3, 0}, {}},
      {"version2.npy", ElementType::i64, {6}, {-5, -2, 1, 4, 7, 10}},
      {"version3.npy", ElementType::u32, {6}, {0, 1, 2, 3, 4, 5}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.file);
    const Array array = load_npy(fixture(c.file));
    EXPECT_EQ(array.type, c.type);
    EXPECT_EQ(array.shape, c.shape);
    const auto values = array.as<double>();
    ASSERT_EQ(values.size(), c.values.size());
    for (std::size_t n = 0; n < values.size(); ++n) {
      EXPECT_TRUE(values[n] == c.values[n] || (std::isnan(values[n]) && std::isnan(c.values[n]))) << n;
      EXPECT_EQ(std::signbit(values[n]), std::signbit(c.values[n])) << n;
    }
  }
}

TEST(Npy, RefusesWhatHoldsNoNumbers) {
  for (const auto& [file, descr] : std::vector<std::pair<std::string, std::string>>{
           {"text.npy", "<U2"}, {"object.npy", "|O"}, {"record.npy", "record"}, {"complex.npy", "<c16"}}) {
    const auto path = fixture(file);
    EXPECT_FALSE(read_npy(test::as_bytes(test::contents(path)), "x").has_value()) << file;
    expect_bad_input([&] { (void)load_npy(path); },
                     path.string() + ": elements of type '" + descr + "', expected numbers");
  }
}

TEST(Npy, SaysWhatIsWrong) {
  const std::string good = dictionary("<i2", "(2,)");
  struct Case {
    std::string bytes;
    const char* message;
  };
  const std::vector<Case> cases{
      {"", "x.npy: byte 0: not a .npy file: expected the magic \\x93NUMPY"},
      {"\x93NUMPI\1\0aaaa", "x.npy: byte 0: not a .npy file: expected the magic \\x93NUMPY"},
      {npy("{", "").substr(0, 10), "x.npy: byte 10: the header is cut"},
      {npy(good, "", 4), "x.npy: byte 6: version 4, expected 1, 2 or 3"},
      {npy(good, "", 0), "x.npy: byte 6: version 0, expected 1, 2 or 3"},
      {npy(good, "").substr(0, 40), "x.npy: byte 40: the header is cut"},
      {npy(std::string("\xFF\xFF", 2), "", 2).replace(8, 4, "\xFF\xFF\xFF\xFF"),
       "x.npy: byte 8: a header of 4294967295 bytes, expected at most 65524"},
      {npy("[]", ""), "x.npy: byte 10: expected '{' in the header"},
      {npy("[]  ", "", 3), "x.npy: byte 12: expected '{' in the header"},
      {npy("{'descr': '<i2', 'shape': (2,)}", "aabb"),
       "x.npy: byte 41: the header lacks descr, fortran_order or shape"},
      {npy("{'descr': '<i2', 'descr': '<i2'}", ""), "x.npy: byte 35: a header key stands twice"},
      {npy("{'a\nb': 1}", ""), "x.npy: byte 17: unknown header key 'a?b', expected descr, fortran_order and shape"},
      {npy("{'descr': <i2}", ""), "x.npy: byte 20: expected a quoted word or a list of fields in the header"},
      {npy("{descr: '<i2'}", ""), "x.npy: byte 11: expected a quoted word in the header"},
      {npy("{'descr': '<i2}", ""), "x.npy: byte 20: an open quote in the header"},
      {npy("{'descr': [('a', '<i2')", ""), "x.npy: byte 33: an open bracket in the header"},
      {npy("{'fortran_order': 1}", ""), "x.npy: byte 28: expected True or False in the header"},
      {npy("{'shape' (2,)}", ""), "x.npy: byte 19: expected ':' in the header"},
      {npy("{'shape': (2,) 'descr': 1}", ""), "x.npy: byte 25: expected ',' or '}' in the header"},
      {npy("{'shape': 2}", ""), "x.npy: byte 20: expected '(' in the header"},
      {npy("{'shape': (2)}", ""), "x.npy: byte 22: expected ',' or ')' in the shape"},
      {npy("{'shape': (2 3)}", ""), "x.npy: byte 23: expected ',' or ')' in the shape"},
      {npy("{'shape': (-1,)}", ""),
       "x.npy: byte 21: expected a shape of at most 32 whole numbers below 2^64 in the header"},
      {npy("{'shape': (18446744073709551616,)}", ""),
       "x.npy: byte 21: expected a shape of at most 32 whole numbers below 2^64 in the header"},
      {npy(good + "}", "aabb"), "x.npy: byte 67: expected nothing behind the header's '}'"},
      {npy(good, "aab"), "x.npy: byte 70: a shape of (2) asks for more than the 1 elements that there is room for"},
      {npy(dictionary("<u8", "()"), "a"),
       "x.npy: byte 66: a shape of () asks for more than the 0 elements that there is room for"},
      {npy(dictionary(">u8", "()"), "1234567"),
       "x.npy: byte 72: a shape of () asks for more than the 0 elements that there is room for"},
      {npy(good, "aabbc"), "x.npy: byte 71: data behind the last element"},
      {npy(dictionary("<i2", "(1000000000000,)"), "aa"),
       "x.npy: byte 81: a shape of (1000000000000) asks for more than the 1 elements that there is room for"},
      // The product of these wraps to 0, and to 1.
      {npy(dictionary("|u1", "(4294967296, 4294967296)"), ""),
       "x.npy: byte 87: a shape of (4294967296, 4294967296) asks for more than the 0 elements that there is room for"},
      {npy(dictionary("|u1", "(3, 12297829382473034411)"), "a"),
       "x.npy: byte 89: a shape of (3, 12297829382473034411) asks for more than the 1 elements that there is room for"},
  };
  for (const Case& c : cases) expect_bad_input([&] { (void)read(c.bytes); }, c.message);
}

TEST(Npy, ReadsOldAndOddHeaders) {
  EXPECT_EQ(read(npy("{'shape':(2L,3L),\"fortran_order\":False,'descr':\"|i1\"}\n", "abcdef"))->shape, (Shape{2, 3}));
  EXPECT_EQ(read(npy(dictionary("=u2", "(1,)"), "ab"))->as<std::int32_t>()[0], 'a' + 256 * 'b');
  EXPECT_FALSE(read(npy(dictionary("xu2", "(1,)"), "ab")).has_value());
  EXPECT_FALSE(read(npy(dictionary("<f16", "(1,)"), "ab")).has_value());
}

TEST(Npy, RoundTripsEveryTypeAndShape) {
  const TemporaryFolder folder;
  EXPECT_TRUE(rc::check([&] {
    const auto type = static_cast<ElementType>(*rc::gen::inRange(0, 10));
    const auto shape = *rc::gen::resize(6, rc::gen::container<Shape>(rc::gen::inRange<std::uint64_t>(0, 6)));
    RC_PRE(shape.size() <= 5);
    const std::uint64_t size = std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
    const std::size_t width = element_size(type);
    const auto data = *rc::gen::container<std::vector<char>>(size * width, rc::gen::arbitrary<char>());
    const auto path = folder / "x.npy";
    save_npy(path, type, shape, std::as_bytes(std::span(data)));
    const Array array = load_npy(path);
    RC_ASSERT(array.type == type);
    RC_ASSERT(array.shape == shape);
    RC_ASSERT(std::ranges::equal(array.data.span(), std::as_bytes(std::span(data))));
    RC_ASSERT(read_npy_header(test::as_bytes(test::contents(path)), "x").data_offset % 64 == 0);

    // The same values in the other byte order are the same array.
    std::string bytes = test::contents(path);
    if (width == 1) return;
    bytes[bytes.find('<')] = '>';
    for (auto at = bytes.end() - static_cast<std::ptrdiff_t>(data.size()); at != bytes.end();
         at += static_cast<std::ptrdiff_t>(width)) {
      std::reverse(at, at + static_cast<std::ptrdiff_t>(width));
    }
    RC_ASSERT(std::ranges::equal(read(bytes)->data.span(), array.data.span()));
  }));
}

TEST(Npy, BringsFortranOrderToRowMajor) {
  EXPECT_TRUE(rc::check([] {
    const auto rows = *rc::gen::inRange<std::size_t>(0, 7);
    const auto cols = *rc::gen::inRange<std::size_t>(0, 7);
    std::string column_major(rows * cols, '\0');
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < cols; ++j) column_major[j * rows + i] = static_cast<char>(i * cols + j);
    }
    const std::string shape = "(" + std::to_string(rows) + ", " + std::to_string(cols) + ")";
    const auto values = read(npy(dictionary("|u1", shape, true), column_major))->as<std::uint8_t>();
    for (std::size_t n = 0; n < values.size(); ++n) RC_ASSERT(values[n] == n);
  }));
}

TEST(Npy, WritesOnlyWhatFits) {
  const TemporaryFolder folder;
  const auto path = folder / "x.npy";
  const auto save = [&](ElementType type, const Shape& shape, std::size_t bytes) {
    const std::vector<std::byte> data(bytes);
    save_npy(path, type, shape, data);
  };
  const std::string name = path.string();
  expect_error(
      [&] {
        save(ElementType::i32, {2, 3}, 23);
      },
      ErrorCode::usage, name + ": 23 bytes do not fill a shape of (2, 3) of i32");
  expect_error(
      [&] {
        save(ElementType::i32, {2, 3}, 28);
      },
      ErrorCode::usage, name + ": 28 bytes do not fill a shape of (2, 3) of i32");
  expect_error(
      [&] {
        save(ElementType::u8, {std::uint64_t{1} << 32, std::uint64_t{1} << 32}, 0);
      },
      ErrorCode::usage, name + ": 0 bytes do not fill a shape of (4294967296, 4294967296) of u8");
  EXPECT_FALSE(std::filesystem::exists(path));
  save(ElementType::u8, {~std::uint64_t{0}, 0}, 0);
  EXPECT_EQ(load_npy(path).size(), 0U);
}

TEST(Npy, LoadsMatrices) {
  const auto matrix = load_matrix(fixture("f32_fortran_big.npy"));
  EXPECT_EQ(matrix.nrows(), 2U);
  EXPECT_EQ(matrix.ncols(), 3U);
  EXPECT_EQ(matrix(1, 0), 4.0F);
  const auto column = load_matrix(fixture("i16_big.npy"));
  EXPECT_EQ(column.nrows(), 6U);
  EXPECT_EQ(column.ncols(), 1U);
  EXPECT_EQ(column(5, 0), 10.0F);
  const auto cube = fixture("f64_fortran.npy");
  expect_bad_input([&] { (void)load_matrix(cube); }, cube.string() + ": 3 dimensions, expected 1 or 2");
  const auto missing = fixture("none.npy");
  expect_bad_input([&] { (void)load_matrix(missing); }, missing.string() + ": cannot open: No such file or directory");
}

template <class From>
Array array_of(std::vector<From> values) {
  return vector_array<From>(std::as_const(values));
}

TEST(Array, ConvertsOnlyWhatFits) {
  const auto refused = [](const Array& array, auto zero, const char* message) {
    expect_bad_input([&] { (void)array.as<decltype(zero)>(); }, message);
  };
  constexpr const char* u32 = "a whole number from 0 to 4294967295";
  refused(array_of<std::int32_t>({3, -1}), std::uint32_t{},
          (std::string("element 1: found -1, expected ") + u32).c_str());
  refused(array_of<std::int64_t>({std::int64_t{1} << 32}), std::uint32_t{},
          (std::string("element 0: found 4294967296, expected ") + u32).c_str());
  refused(array_of<double>({1.5}), std::int32_t{},
          "element 0: found 1.5, expected a whole number from -2147483648 to 2147483647");
  refused(array_of<float>({std::nanf("")}), std::uint8_t{},
          "element 0: found nan, expected a whole number from 0 to 255");
  refused(array_of<float>({0x1p63F}), std::int64_t{},
          "element 0: found 9.223372e+18, expected a whole number from -9223372036854775808 to 9223372036854775807");
  refused(array_of<double>({-1e39}), float{}, "element 0: found -1e+39, expected a number that a float32 can hold");
  EXPECT_EQ(array_of<float>({-0x1p63F}).as<std::int64_t>()[0], std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(array_of<double>({4294967295.0}).as<std::uint32_t>()[0], 4294967295U);
  EXPECT_EQ(array_of<std::uint64_t>({~std::uint64_t{0}}).as<std::uint64_t>()[0], ~std::uint64_t{0});
  EXPECT_TRUE(std::isinf(array_of<double>({-std::numeric_limits<double>::infinity()}).as<float>()[0]));
  EXPECT_EQ(array_of<std::int8_t>({-128}).as<double>()[0], -128.0);
}

}  // namespace
}  // namespace bitgraph
