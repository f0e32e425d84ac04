// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy (NEP 1): magic, version, a Python dictionary as header, raw data.
#include "io/array/npy.hpp"

#include "io/array/array.hpp"
#include "io/file/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace bitgraph {

namespace {

constexpr std::string_view magic("\x93NUMPY", 6);

/// The few forms of a Python literal that the header uses.
class HeaderParser {
 public:
  /// `start` is the text's place in the file.
  HeaderParser(std::string_view text, std::size_t start, const std::string& name)
      : text_(text), start_(start), name_(name) {}

  NpyHeader parse() {
    NpyHeader header;
    std::array<bool, 3> have{};
    const auto once = [&](bool& seen) {
      if (std::exchange(seen, true)) refuse("a header key stands twice");
    };
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr") {
        once(have[0]);
        header.descr = peek() == '\'' || peek() == '"' ? quoted() : skip_nested();
      } else if (key == "fortran_order") {
        once(have[1]);
        header.fortran_order = boolean();
      } else if (key == "shape") {
        once(have[2]);
        header.shape = tuple();
      } else {
        refuse("unknown header key '" + printable(key) + "', expected descr, fortran_order and shape");
      }
      if (!accept(',') && peek() != '}') refuse("expected ',' or '}' in the header");
    }
    if (peek() != '\0' || at_ != text_.size()) refuse("expected nothing behind the header's '}'");
    if (!have[0] || !have[1] || !have[2]) refuse("the header lacks descr, fortran_order or shape");
    return header;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { fail_at_byte(name_, start_ + at_, what); }
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
  std::string_view quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') refuse("expected a quoted word in the header");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) refuse("an open quote in the header");
    const std::string_view word = text_.substr(at_ + 1, end - at_ - 1);
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
    constexpr std::size_t most_dimensions = 32;
    std::vector<std::uint64_t> values;
    expect('(');
    while (!accept(')')) {
      peek();
      std::uint64_t value = 0;
      const auto [stop, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (error != std::errc() || values.size() == most_dimensions)
        refuse("expected a shape of at most 32 whole numbers below 2^64 in the header");
      at_ = static_cast<std::size_t>(stop - text_.data());
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long integers so
      values.push_back(value);
      if (!accept(',') && (peek() != ')' || values.size() == 1)) refuse("expected ',' or ')' in the shape");
    }
    return values;
  }
  /// A record type: a list in brackets. It is not read, only passed over.
  std::string_view skip_nested() {
    if (peek() != '[' && peek() != '(') refuse("expected a quoted word or a list of fields in the header");
    int depth = 0;
    do {
      const char c = peek();
      if (c == '\'' || c == '"') {
        quoted();
        continue;
      }
      if (c == '\0') refuse("an open bracket in the header");
      depth += c == '[' || c == '(' ? 1 : c == ']' || c == ')' ? -1 : 0;
      ++at_;
    } while (depth > 0);
    return "record";
  }

  std::string_view text_;
  std::size_t start_;
  const std::string& name_;
  std::size_t at_ = 0;
};

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

/// Magic, version 1.0, the dictionary padded with blanks to a multiple of 64 bytes.
std::string header_of(std::string_view descr, std::span<const std::uint64_t> shape) {
  std::string dims;
  for (const std::uint64_t side : shape) dims += fmt::format("{}, ", side);
  if (shape.size() > 1) dims.resize(dims.size() - 2);
  if (shape.size() == 1) dims.resize(dims.size() - 1);
  std::string dictionary = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, dims);
  const std::size_t length = (10 + dictionary.size() + 1 + 63) / 64 * 64 - 10;
  dictionary.resize(length - 1, ' ');
  dictionary += '\n';
  std::string header(magic);
  header += {'\x01', '\x00', static_cast<char>(length & 0xFFU), static_cast<char>(length >> 8)};
  return header + dictionary;
}

}  // namespace

NpyHeader read_npy_header(std::span<const std::byte> bytes, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(magic)) fail_at_byte(name, 0, "not a .npy file: expected the magic \\x93NUMPY");
  if (text.size() < 12) fail_at_byte(name, text.size(), "the header is cut");
  const auto major = static_cast<unsigned char>(text[6]);
  if (major < 1 || major > 3) fail_at_byte(name, 6, fmt::format("version {}, expected 1, 2 or 3", major));
  const std::size_t width = major == 1 ? 2 : 4;
  std::size_t length = 0;
  for (std::size_t b = 0; b < width; ++b) length |= std::size_t{static_cast<unsigned char>(text[8 + b])} << (8 * b);
  const std::size_t start = 8 + width;
  if (length > longest_npy_header - start)
    fail_at_byte(name, 8, fmt::format("a header of {} bytes, expected at most {}", length, longest_npy_header - start));
  if (length > text.size() - start) fail_at_byte(name, text.size(), "the header is cut");
  NpyHeader header = HeaderParser(text.substr(start, length), start, name).parse();
  header.data_offset = start + length;
  return header;
}

std::optional<NpyElement> npy_element(std::string_view descr) {
  if (descr.size() != 3 || std::string_view("<>|=").find(descr[0]) == std::string_view::npos) return std::nullopt;
  const bool reversed = descr[0] == '>';
  if (descr.substr(1) == "f2") return NpyElement{ElementType::f32, 2, reversed, true};
  for (const TypeName& name : type_names) {
    if (descr.substr(1) == name.code) return NpyElement{name.type, element_size(name.type), reversed, false};
  }
  return std::nullopt;
}

Array npy_array(const NpyHeader& header, const NpyElement& element, Buffer<std::byte> data) {
  if (element.reversed) {
    for (std::byte* at = data.begin(); at != data.end(); at += element.size) std::reverse(at, at + element.size);
  }
  if (element.half) data = widened(data.span(), HalfKind::ieee);
  if (header.fortran_order && header.shape.size() > 1)
    data = to_row_major(data.span(), header.shape, element_size(element.type));
  return {element.type, header.shape, std::move(data)};
}

std::optional<Array> read_npy(std::span<const std::byte> bytes, const std::string& name) {
  const NpyHeader header = read_npy_header(bytes, name);
  const auto element = npy_element(header.descr);
  if (!element) return std::nullopt;
  const std::span<const std::byte> data = bytes.subspan(header.data_offset);
  const std::uint64_t size = element->size * checked_size(header.shape, data.size() / element->size,
                                                          fmt::format("{}: byte {}", name, bytes.size()));
  if (size < data.size()) fail_at_byte(name, header.data_offset + size, "data behind the last element");
  return npy_array(header, *element, Buffer<std::byte>::copy_of(data));
}

std::string npy_header(ElementType type, std::span<const std::uint64_t> shape) {
  const auto code =
      std::find_if(type_names.begin(), type_names.end(), [&](const TypeName& n) { return n.type == type; })->code;
  return header_of(fmt::format("{}{}", element_size(type) == 1 ? '|' : '<', code), shape);
}

std::string npy_of_text(std::string_view text) {
  return header_of(fmt::format("|S{}", text.size()), {}) + std::string(text);
}

Array load_npy(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  auto array = read_npy(file->bytes(), path.string());
  if (!array) {
    fail_in(path.string(), "elements of type '" + printable(read_npy_header(file->bytes(), path.string()).descr) +
                               "', expected numbers");
  }
  return std::move(*array);
}

void save_npy(const std::filesystem::path& path, ElementType type, std::span<const std::uint64_t> shape,
              std::span<const std::byte> data) {
  require_size(type, shape, data.size(), path.string());
  const std::string header = npy_header(type, shape);
  const std::array<std::span<const std::byte>, 2> parts{std::as_bytes(std::span(header.data(), header.size())), data};
  write_file(path, parts);
}

template <class T>
void save_npy(const std::filesystem::path& path, std::span<const T> values) {
  const std::array<std::uint64_t, 1> shape{values.size()};
  save_npy(path, element_type_of<T>(), shape, std::as_bytes(values));
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
  try {
    return {array.shape[0], ncols, array.as<float>()};
  } catch (const Error& error) {
    fail_in(path.string(), error.what());
  }
}

}  // namespace bitgraph
