// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy (NEP 1): magic, version, a Python dictionary as header, raw data.
#include "io/npy.hpp"

#include "io/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

namespace bitgraph {

namespace {

constexpr std::string_view magic("\x93NUMPY", 6);

struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
  std::size_t data_offset = 0;
};

/// The few forms of a Python literal that the header uses.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  NpyHeader parse() {
    NpyHeader header;
    bool have[3] = {false, false, false};
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        have[0] = true;
        header.descr = peek() == '\'' || peek() == '"' ? quoted() : skip_nested();
      } else if (key == "fortran_order") {
        have[1] = true;
        header.fortran_order = boolean();
      } else if (key == "shape") {
        have[2] = true;
        header.shape = tuple();
      } else {
        refuse("unknown header key '" + key + "'");
      }
      if (!accept(',') && peek() != '}') refuse("expected ',' or '}' in the header");
    }
    if (!have[0] || !have[1] || !have[2]) refuse("the header lacks descr, fortran_order or shape");
    return header;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { fail_at_byte(name_, 10 + at_, what); }
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) refuse(std::string("expected '") + c + "' in the header");
  }
  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') refuse("expected a quoted word in the header");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) refuse("an open quote in the header");
    std::string word(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return word;
  }
  bool boolean() {
    peek();
    for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, {std::string_view("False"), false}}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    refuse("expected True or False in the header");
  }
  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> values;
    expect('(');
    while (!accept(')')) {
      peek();
      std::uint64_t value = 0;
      const auto [stop, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (error != std::errc() || values.size() == 32) refuse("expected a shape of whole numbers in the header");
      at_ = static_cast<std::size_t>(stop - text_.data());
      values.push_back(value);
      if (!accept(',') && peek() != ')') refuse("expected ',' or ')' in the shape");
    }
    return values;
  }
  /// A record type: a list in brackets. It is not read, only passed over.
  std::string skip_nested() {
    int depth = 0;
    do {
      const char c = peek();
      if (c == '\0') refuse("an open bracket in the header");
      depth += c == '[' || c == '(' ? 1 : c == ']' || c == ')' ? -1 : 0;
      ++at_;
    } while (depth > 0);
    return "record";
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
};

NpyHeader read_header(std::span<const std::byte> bytes, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(magic)) fail_at_byte(name, 0, "not a .npy file: expected the magic \\x93NUMPY");
  if (text.size() < 12) fail_at_byte(name, text.size(), "the header is cut");
  const auto major = static_cast<unsigned char>(text[6]);
  if (major < 1 || major > 3) fail_at_byte(name, 6, fmt::format("version {}, expected 1, 2 or 3", major));
  const std::size_t width = major == 1 ? 2 : 4;
  std::size_t length = 0;
  for (std::size_t b = 0; b < width; ++b) length |= std::size_t{static_cast<unsigned char>(text[8 + b])} << (8 * b);
  if (length > text.size() - 8 - width) fail_at_byte(name, 8, "the header is cut");
  NpyHeader header = HeaderParser(text.substr(8 + width, length), name).parse();
  header.data_offset = 8 + width + length;
  return header;
}

struct TypeName {
  std::string_view code;
  ElementType type;
};
constexpr std::array<TypeName, 11> type_names{{{"u1", ElementType::u8},
                                               {"i1", ElementType::i8},
                                               {"u2", ElementType::u16},
                                               {"i2", ElementType::i16},
                                               {"u4", ElementType::u32},
                                               {"i4", ElementType::i32},
                                               {"u8", ElementType::u64},
                                               {"i8", ElementType::i64},
                                               {"f4", ElementType::f32},
                                               {"f8", ElementType::f64},
                                               {"b1", ElementType::u8}}};

std::optional<ElementType> type_of(std::string_view descr) {
  if (descr.size() != 3) return std::nullopt;
  for (const TypeName& name : type_names) {
    if (descr.substr(1) == name.code) return name.type;
  }
  return std::nullopt;
}

/// Column-major to row-major, any number of dimensions.
Buffer<std::byte> to_row_major(std::span<const std::byte> from, std::span<const std::uint64_t> shape,
                               std::size_t size) {
  Buffer<std::byte> to(from.size());
  std::vector<std::uint64_t> index(shape.size(), 0);
  std::vector<std::uint64_t> stride(shape.size(), 1);
  for (std::size_t d = 1; d < shape.size(); ++d) stride[d] = stride[d - 1] * shape[d - 1];
  for (std::size_t n = 0; n * size < from.size(); ++n) {
    std::uint64_t source = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) source += index[d] * stride[d];
    std::copy_n(from.data() + source * size, size, to.data() + n * size);
    for (std::size_t d = shape.size(); d-- > 0 && ++index[d] == shape[d];) index[d] = 0;
  }
  return to;
}

template <class To, class From>
bool fits(From value) {
  if constexpr (std::is_floating_point_v<To>) {
    return true;
  } else if constexpr (std::is_floating_point_v<From>) {
    // 2^digits is exact as a floating point number; NaN fails every comparison.
    const From above = std::ldexp(From{1}, std::numeric_limits<To>::digits);
    const From below = std::is_signed_v<To> ? -above : From{0};
    return value >= below && value < above && value == std::floor(value);
  } else {
    return std::in_range<To>(value);
  }
}

}  // namespace

std::uint64_t checked_size(std::span<const std::uint64_t> shape, std::uint64_t most, const std::string& name) {
  std::uint64_t size = 1;
  for (const std::uint64_t side : shape) {
    if (side == 0) return 0;
  }
  for (const std::uint64_t side : shape) {
    if (size > most / side) fail_in(name, "the shape asks for more elements than the file holds");
    size *= side;
  }
  return size;
}

std::optional<Array> read_npy(std::span<const std::byte> bytes, const std::string& name) {
  const NpyHeader header = read_header(bytes, name);
  const auto type = type_of(header.descr);
  if (!type) return std::nullopt;
  const std::span<const std::byte> data = bytes.subspan(header.data_offset);
  const std::size_t width = element_size(*type);
  const std::uint64_t size = checked_size(header.shape, data.size() / width, name);
  if (size * width > data.size()) fail_at_byte(name, bytes.size(), "the data is cut");
  if (size * width < data.size()) fail_at_byte(name, header.data_offset + size * width, "data behind the last element");
  Array array{*type, header.shape, Buffer<std::byte>::copy_of(data)};
  if (header.descr[0] == '>' && width > 1) {
    for (std::size_t n = 0; n < size; ++n)
      std::reverse(array.data.data() + n * width, array.data.data() + (n + 1) * width);
  }
  if (header.fortran_order && header.shape.size() > 1)
    array.data = to_row_major(array.data.span(), header.shape, width);
  return array;
}

std::string npy_header(ElementType type, std::span<const std::uint64_t> shape) {
  const auto code =
      std::find_if(type_names.begin(), type_names.end(), [&](const TypeName& n) { return n.type == type; })->code;
  std::string dims;
  for (const std::uint64_t side : shape) dims += fmt::format("{}, ", side);
  if (shape.size() > 1) dims.resize(dims.size() - 2);
  if (shape.size() == 1) dims.resize(dims.size() - 1);
  std::string dictionary = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                       element_size(type) == 1 ? '|' : '<', code, dims);
  const std::size_t length = (10 + dictionary.size() + 1 + 63) / 64 * 64 - 10;
  dictionary.resize(length - 1, ' ');
  dictionary += '\n';
  std::string header(magic);
  header += {'\x01', '\x00', static_cast<char>(length & 0xFFU), static_cast<char>(length >> 8)};
  return header + dictionary;
}

std::size_t element_size(ElementType type) noexcept {
  return with_element_type(type, [](auto value) { return sizeof(value); });
}

const char* to_string(ElementType type) noexcept {
  constexpr std::array<const char*, 10> names{"u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"};
  return names[static_cast<std::size_t>(type)];
}

std::uint64_t Array::size() const noexcept {
  std::uint64_t size = 1;
  for (const std::uint64_t side : shape) size *= side;
  return size;
}

template <class T>
Buffer<T> Array::as() const {
  Buffer<T> out(data.size() / element_size(type));
  with_element_type(type, [&](auto zero) {
    using From = decltype(zero);
    for (std::size_t n = 0; n < out.size(); ++n) {
      From value;
      std::memcpy(&value, data.data() + n * sizeof(From), sizeof(From));
      if (!fits<T>(value))
        fail(ErrorCode::bad_input, fmt::format("element {}: {} does not fit the type wanted", n, value));
      out[n] = static_cast<T>(value);
    }
  });
  return out;
}

template Buffer<std::uint8_t> Array::as() const;
template Buffer<std::int32_t> Array::as() const;
template Buffer<std::uint32_t> Array::as() const;
template Buffer<std::int64_t> Array::as() const;
template Buffer<std::uint64_t> Array::as() const;
template Buffer<float> Array::as() const;
template Buffer<double> Array::as() const;

Array load_npy(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  auto array = read_npy(file->bytes(), path.string());
  if (!array) fail_in(path.string(), "the elements are not numbers");
  return std::move(*array);
}

void save_npy(const std::filesystem::path& path, ElementType type, std::span<const std::uint64_t> shape,
              std::span<const std::byte> data) {
  const std::string header = npy_header(type, shape);
  const std::array<std::span<const std::byte>, 2> parts{std::as_bytes(std::span(header.data(), header.size())), data};
  write_file(path, parts);
}

template <class T>
void save_npy(const std::filesystem::path& path, std::span<const T> values) {
  constexpr ElementType type = std::is_same_v<T, float>           ? ElementType::f32
                               : std::is_same_v<T, double>        ? ElementType::f64
                               : std::is_same_v<T, std::uint8_t>  ? ElementType::u8
                               : std::is_same_v<T, std::int32_t>  ? ElementType::i32
                               : std::is_same_v<T, std::uint32_t> ? ElementType::u32
                               : std::is_same_v<T, std::int64_t>  ? ElementType::i64
                                                                  : ElementType::u64;
  const std::array<std::uint64_t, 1> shape{values.size()};
  save_npy(path, type, shape, std::as_bytes(values));
}

template void save_npy(const std::filesystem::path&, std::span<const float>);
template void save_npy(const std::filesystem::path&, std::span<const double>);
template void save_npy(const std::filesystem::path&, std::span<const std::uint8_t>);
template void save_npy(const std::filesystem::path&, std::span<const std::int32_t>);
template void save_npy(const std::filesystem::path&, std::span<const std::uint32_t>);
template void save_npy(const std::filesystem::path&, std::span<const std::int64_t>);
template void save_npy(const std::filesystem::path&, std::span<const std::uint64_t>);

DenseMatrix<float> load_matrix(const std::filesystem::path& path) {
  const Array array = load_npy(path);
  if (array.shape.empty() || array.shape.size() > 2) {
    fail_in(path.string(), fmt::format("{} dimensions, expected 1 or 2", array.shape.size()));
  }
  const std::size_t ncols = array.shape.size() == 2 ? array.shape[1] : 1;
  return {array.shape[0], ncols, array.as<float>()};
}

}  // namespace bitgraph
