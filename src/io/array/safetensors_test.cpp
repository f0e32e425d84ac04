// SPDX-License-Identifier: Apache-2.0
#include "io/array/safetensors.hpp"

#include "io/array/array.hpp"
#include "support/expect_error.hpp"
#include "support/fixtures.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace bitgraph {
namespace {

using test::contents;
using test::expect_bad_input;
using test::expect_error;
using test::TemporaryFolder;
using Shape = std::vector<std::uint64_t>;

TensorFile read(const std::string& bytes) { return read_safetensors(test::as_bytes(bytes), "x.safetensors"); }

std::string length_of(std::uint64_t length) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes;
}

/// A file with that header and data.
std::string file_of(const std::string& header, const std::string& data = "") {
  return length_of(header.size()) + header + data;
}

template <class T>
Array array_of(Shape shape, std::vector<T> values) {
  return {element_type_of<T>(), std::move(shape), Buffer<std::byte>::copy_of(std::as_bytes(std::span(values)))};
}

TEST(Safetensors, ReadsEveryTypeOfTheReference) {
  const TensorFile file = load_safetensors(test::fixture("tensors.safetensors"));
  EXPECT_EQ(file.metadata, (std::map<std::string, std::string>{{"format", "pt"}, {"note", "\xC3\xBC"}}));
  struct Case {
    const char* name;
    ElementType type;
    Shape shape;
    std::vector<double> values;
  };
  const std::vector<Case> cases{
      {"f64", ElementType::f64, {2}, {0.5, -1e300}}, {"weight", ElementType::f32, {2, 2}, {1, 2, 3, 4}},
      {"i32", ElementType::i32, {1}, {-7}},          {"half", ElementType::f32, {3}, {1, -2.5, 0x1p-24}},
      {"brain", ElementType::f32, {2}, {1, -2.5}},   {"u16", ElementType::u16, {1}, {0x0102}},
      {"empty", ElementType::f32, {0, 4}, {}},       {"flags", ElementType::u8, {3}, {1, 0, 1}},
      {"scalar", ElementType::i8, {}, {-1}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const Array& array = file.tensors.at(c.name);
    EXPECT_EQ(array.type, c.type);
    EXPECT_EQ(array.shape, c.shape);
    const auto values = array.as<double>();
    EXPECT_TRUE(std::ranges::equal(values.span(), c.values));
  }
  EXPECT_EQ(file.tensors.at("bits").as<std::uint64_t>()[1], std::uint64_t{1} << 63);
  EXPECT_EQ(file.tensors.size(), cases.size() + 1);
}

TEST(Safetensors, WritesWideTensorsFirstAndBlanksBehindTheHeader) {
  const TemporaryFolder folder;
  TensorFile file;
  file.metadata["k"] = "v";
  file.tensors["a"] = array_of<std::uint8_t>({3}, {1, 2, 3});
  file.tensors["b"] = array_of<std::uint16_t>({1, 1}, {0x0102});
  save_safetensors(folder / "a.safetensors", file);
  std::string header = R"({"__metadata__":{"k":"v"},"a":{"data_offsets":[2,5],"dtype":"U8","shape":[3]},)"
                       R"("b":{"data_offsets":[0,2],"dtype":"U16","shape":[1,1]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(contents(folder / "a.safetensors"), file_of(header, "\x02\x01\x01\x02\x03"));
}

TEST(Safetensors, RoundTrips) {
  const TemporaryFolder folder;
  EXPECT_TRUE(rc::check([&] {
    TensorFile file;
    const auto count = *rc::gen::inRange(0, 5);
    for (int t = 0; t < count; ++t) {
      const auto type = static_cast<ElementType>(*rc::gen::inRange(0, 10));
      const auto shape = *rc::gen::resize(4, rc::gen::container<Shape>(rc::gen::inRange<std::uint64_t>(0, 5)));
      RC_PRE(shape.size() <= 4);
      const std::uint64_t size = std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
      const auto data = *rc::gen::container<std::vector<char>>(size * element_size(type), rc::gen::arbitrary<char>());
      const auto name = *rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '\x7F'));
      file.tensors[name] = {type, shape, Buffer<std::byte>::copy_of(std::as_bytes(std::span(data)))};
      file.metadata[name] = *rc::gen::container<std::string>(rc::gen::inRange<char>('\x01', '\x7F'));
    }
    const auto path = folder / "x.safetensors";
    save_safetensors(path, file);
    const std::string bytes = contents(path);
    const TensorFile again = load_safetensors(path);
    RC_ASSERT(again.metadata == file.metadata);
    RC_ASSERT(again.tensors.size() == file.tensors.size());
    for (const auto& [name, array] : file.tensors) {
      const Array& found = again.tensors.at(name);
      RC_ASSERT(found.type == array.type);
      RC_ASSERT(found.shape == array.shape);
      RC_ASSERT(std::ranges::equal(found.data.span(), array.data.span()));
    }
    save_safetensors(path, again);
    RC_ASSERT(contents(path) == bytes);
  }));
}

TEST(Safetensors, SaysWhatIsWrongWithTheHeader) {
  const std::string name = "x.safetensors: ";
  struct Case {
    std::string bytes;
    const char* message;
  };
  const std::vector<Case> cases{
      {"", "byte 0: not a safetensors file: the header is cut"},
      {"1234567", "byte 7: not a safetensors file: the header is cut"},
      {length_of(1), "byte 0: a header of 1 bytes does not fit the file"},
      {length_of(~std::uint64_t{0}) + "{}", "byte 0: a header of 18446744073709551615 bytes does not fit the file"},
      {length_of(1000000000000) + "{}", "byte 0: a header of 1000000000000 bytes does not fit the file"},
      {file_of(""), "byte 8: the header is not a JSON object"},
      {file_of("[]"), "byte 8: the header is not a JSON object"},
      {file_of(" {}"), "byte 8: the header is not a JSON object"},
      {file_of("{}}"), "byte 8: the header is not a JSON object"},
      {file_of("{\"a\":"), "byte 8: the header is not a JSON object"},
      {file_of("{\"\xFF\":1}"), "byte 8: the header is not a JSON object"},
      {file_of(std::string("{\"a\0\":1}", 8)), "byte 8: the header is not a JSON object"},
      {file_of("{\"a\":" + std::string(100000, '[')), "byte 20: the header is nested too deep"},
      {file_of(R"({"a":1,"a":2})"), "the key 'a' stands twice in the header"},
      {file_of(R"({"a":{"dtype":"U8","dtype":"I8"}})"), "the key 'dtype' stands twice in the header"},
      {file_of(R"({"__metadata__":1})"), "__metadata__ is not an object"},
      {file_of(R"({"__metadata__":{"a":1}})"), "__metadata__: 'a' is not a string"},
      {file_of("{}", "x"), "byte 10: data behind the last tensor"},
  };
  for (const Case& c : cases) expect_bad_input([&] { (void)read(c.bytes); }, name + c.message);
  EXPECT_EQ(read(file_of("{}")).tensors.size(), 0U);
  EXPECT_EQ(read(file_of("{}   ")).tensors.size(), 0U);
}

TEST(Safetensors, SaysWhatIsWrongWithATensor) {
  struct Case {
    const char* entry;
    const char* data;
    const char* message;
  };
  const char* expected = "tensor 'a': expected dtype, shape and two data_offsets";
  const char* whole = "tensor 'a': expected whole numbers in shape and data_offsets";
  const std::vector<Case> cases{
      {"1", "", expected},
      {R"({"dtype":"U8","shape":[0]})", "", expected},
      {R"({"dtype":8,"shape":[0],"data_offsets":[0,0]})", "", expected},
      {R"({"dtype":"U8","shape":0,"data_offsets":[0,0]})", "", expected},
      {R"({"dtype":"U8","shape":[0],"data_offsets":[0]})", "", expected},
      {R"({"dtype":"U8","shape":[0],"data_offsets":[0,0,0]})", "", expected},
      {R"({"dtype":"U8","shape":[-1],"data_offsets":[0,1]})", "x", whole},
      {R"({"dtype":"U8","shape":[1.0],"data_offsets":[0,1]})", "x", whole},
      {R"({"dtype":"U8","shape":["1"],"data_offsets":[0,1]})", "x", whole},
      {R"({"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,1]})", "x", whole},
      {R"({"dtype":"U8","shape":[1],"data_offsets":[0,null]})", "x", whole},
      {R"({"dtype":"U8","shape":[1],"data_offsets":[-1,0]})", "x", whole},
      {R"({"dtype":"U8","shape":[1],"data_offsets":[1,0]})", "x", "tensor 'a': data_offsets are outside the file"},
      {R"({"dtype":"U8","shape":[2],"data_offsets":[0,2]})", "x", "tensor 'a': data_offsets are outside the file"},
      {R"({"dtype":"U8","shape":[1],"data_offsets":[0,18446744073709551615]})", "x",
       "tensor 'a': data_offsets are outside the file"},
      {R"({"dtype":"C64","shape":[1],"data_offsets":[0,8]})", "12345678", "tensor 'a': unknown dtype 'C64'"},
      {R"({"dtype":"\nX\u001b","shape":[1],"data_offsets":[0,1]})", "x", "tensor 'a': unknown dtype '?X?'"},
      {R"({"dtype":"F32","shape":[1],"data_offsets":[0,8]})", "12345678", "tensor 'a': 8 bytes do not fit its shape"},
      {R"({"dtype":"F32","shape":[],"data_offsets":[0,8]})", "12345678", "tensor 'a': 8 bytes do not fit its shape"},
      {R"({"dtype":"F16","shape":[1],"data_offsets":[0,1]})", "x",
       "tensor 'a': a shape of (1) asks for more than the 0 elements that there is room for"},
      {R"({"dtype":"U8","shape":[1000000000000],"data_offsets":[0,1]})", "x",
       "tensor 'a': a shape of (1000000000000) asks for more than the 1 elements that there is room for"},
      // The products of these wrap to 0 and to 1.
      {R"({"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]})", "",
       "tensor 'a': a shape of (4294967296, 4294967296) asks for more than the 0 elements that there is room for"},
      {R"({"dtype":"U8","shape":[3,12297829382473034411],"data_offsets":[0,1]})", "x",
       "tensor 'a': a shape of (3, 12297829382473034411) asks for more than the 1 elements that there is room for"},
  };
  for (const Case& c : cases) {
    const std::string bytes = file_of(std::string("{\"a\":") + c.entry + "}", c.data);
    expect_bad_input([&] { (void)read(bytes); }, std::string("x.safetensors: ") + c.message);
  }
  std::string sides = "1";
  for (int d = 0; d < 64; ++d) sides += ",1";
  const std::string deep = R"({"a":{"dtype":"U8","shape":[)" + sides + R"(],"data_offsets":[0,1]}})";
  expect_bad_input([&] { (void)read(file_of(deep, "x")); },
                   "x.safetensors: tensor 'a': expected at most 64 dimensions");
}

TEST(Safetensors, EveryByteBelongsToOneTensor) {
  const auto two = [](int a_begin, int a_end, int b_begin, int b_end) {
    const auto entry = [](int begin, int end) {
      return R"({"dtype":"U8","shape":[)" + std::to_string(end - begin) + R"(],"data_offsets":[)" +
             std::to_string(begin) + "," + std::to_string(end) + "]}";
    };
    return file_of("{\"a\":" + entry(a_begin, a_end) + ",\"b\":" + entry(b_begin, b_end) + "}", "xxxx");
  };
  const std::size_t start = two(0, 2, 2, 4).size() - 4;
  const auto byte = [&](std::size_t at) { return "x.safetensors: byte " + std::to_string(start + at) + ": "; };
  EXPECT_EQ(read(two(0, 2, 2, 4)).tensors.size(), 2U);
  EXPECT_EQ(read(two(2, 4, 0, 2)).tensors.size(), 2U);
  EXPECT_EQ(read(two(0, 4, 4, 4)).tensors.size(), 2U);
  expect_bad_input([&] { (void)read(two(0, 3, 2, 4)); }, byte(2) + "two tensors overlap");
  expect_bad_input([&] { (void)read(two(0, 4, 0, 4)); }, byte(0) + "two tensors overlap");
  expect_bad_input([&] { (void)read(two(0, 1, 2, 4)); }, byte(1) + "a hole between two tensors");
  expect_bad_input([&] { (void)read(two(1, 2, 2, 4)); }, byte(0) + "a hole between two tensors");
  expect_bad_input([&] { (void)read(two(0, 2, 2, 3)); }, byte(3) + "data behind the last tensor");
}

TEST(Safetensors, EveryCutIsFound) {
  const std::string good = contents(test::fixture("tensors.safetensors"));
  for (std::size_t size = 0; size < good.size(); ++size) {
    try {
      (void)read(good.substr(0, size));
      ADD_FAILURE() << size << " bytes were taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_input);
    }
  }
}

TEST(Safetensors, WritesOnlyWhatFits) {
  const TemporaryFolder folder;
  const auto path = folder / "a.safetensors";
  TensorFile file;
  file.tensors["a"] = {ElementType::f32, {3}, Buffer<std::byte>(8)};
  expect_error([&] { save_safetensors(path, file); }, ErrorCode::usage,
               path.string() + ": a: 8 bytes do not fill a shape of (3) of f32");
  file.tensors.clear();
  file.tensors["__metadata__"] = array_of<std::uint8_t>({0}, {});
  expect_error([&] { save_safetensors(path, file); }, ErrorCode::usage,
               path.string() + ": a tensor must not be called __metadata__");
  EXPECT_EQ(folder.size(), 0U);
  file.tensors.clear();
  file.metadata["path"] = "\xFF.npz";  // no UTF-8
  save_safetensors(path, file);
  EXPECT_EQ(load_safetensors(path).metadata.at("path"), "\xEF\xBF\xBD.npz");
}

TEST(Safetensors, NamesTheFileThatIsMissing) {
  const auto path = test::fixture("none.safetensors");
  expect_bad_input([&] { (void)load_safetensors(path); }, path.string() + ": cannot open: No such file or directory");
}

}  // namespace
}  // namespace bitgraph
