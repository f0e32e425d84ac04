// SPDX-License-Identifier: Apache-2.0
// safetensors (Hugging Face, format 0.4): 8 bytes of header length, a JSON header, raw little-endian data without
// holes.
#include <bitgraph/io/array.hpp>

#include "io/file.hpp"
#include "io/npy.hpp"
#include "io/safetensors.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

namespace bitgraph {

namespace {

using Json = nlohmann::json;

/// The reference implementation's limit.
constexpr std::uint64_t longest_header = 100'000'000;

struct DtypeName {
  std::string_view name;
  ElementType type;
};
constexpr std::array<DtypeName, 11> dtypes{{{"U8", ElementType::u8},
                                            {"I8", ElementType::i8},
                                            {"U16", ElementType::u16},
                                            {"I16", ElementType::i16},
                                            {"U32", ElementType::u32},
                                            {"I32", ElementType::i32},
                                            {"U64", ElementType::u64},
                                            {"I64", ElementType::i64},
                                            {"F32", ElementType::f32},
                                            {"F64", ElementType::f64},
                                            {"BOOL", ElementType::u8}}};

/// Nesting deeper than any header needs is refused before the parser's stack grows with it.
void check_nesting(std::string_view text, const std::string& name) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t n = 0; n < text.size(); ++n) {
    const char c = text[n];
    if (quoted) {
      n += c == '\\' ? 1U : 0U;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > 8) fail_at_byte(name, 8 + n, "the header is nested too deep");
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
}

std::uint64_t whole(const Json& value, const std::string& name, const std::string& key) {
  if (!value.is_number_unsigned())
    fail_in(name, fmt::format("tensor '{}': expected whole numbers in shape and data_offsets", key));
  return value.get<std::uint64_t>();
}

/// Half and bfloat16 are read as float.
float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1FU;
  std::uint32_t mantissa = half & 0x3FFU;
  std::uint32_t bits = 0;
  if (exponent == 31) {
    bits = sign | 0x7F800000U | (mantissa << 13);
  } else if (exponent != 0) {
    bits = sign | ((exponent + 112) << 23) | (mantissa << 13);
  } else {
    const float value = static_cast<float>(mantissa) * 0x1.0p-24F;
    std::memcpy(&bits, &value, 4);
    bits |= sign;
  }
  float value = 0;
  std::memcpy(&value, &bits, 4);
  return value;
}

Array widened(std::span<const std::byte> data, std::vector<std::uint64_t> shape, bool brain) {
  Array array{ElementType::f32, std::move(shape), Buffer<std::byte>(data.size() * 2)};
  for (std::size_t n = 0; n * 2 < data.size(); ++n) {
    std::uint16_t half = 0;
    std::memcpy(&half, data.data() + n * 2, 2);
    float value = 0;
    if (brain) {
      const std::uint32_t bits = static_cast<std::uint32_t>(half) << 16;
      std::memcpy(&value, &bits, 4);
    } else {
      value = half_to_float(half);
    }
    std::memcpy(array.data.data() + n * 4, &value, 4);
  }
  return array;
}

struct Extent {
  std::uint64_t begin;
  std::uint64_t end;
};

Array read_tensor(const std::string& key, const Json& entry, std::span<const std::byte> data, const std::string& name,
                  Extent& extent) {
  const auto refuse = [&](const std::string& what) { fail_in(name, fmt::format("tensor '{}': {}", key, what)); };
  if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string() || !entry.contains("shape") ||
      !entry["shape"].is_array() || !entry.contains("data_offsets") || !entry["data_offsets"].is_array() ||
      entry["data_offsets"].size() != 2) {
    refuse("expected dtype, shape and two data_offsets");
  }
  std::vector<std::uint64_t> shape;
  for (const Json& side : entry["shape"]) shape.push_back(whole(side, name, key));
  extent = {whole(entry["data_offsets"][0], name, key), whole(entry["data_offsets"][1], name, key)};
  if (extent.begin > extent.end || extent.end > data.size()) refuse("data_offsets are outside the file");
  const auto bytes = data.subspan(extent.begin, extent.end - extent.begin);
  const auto dtype = entry["dtype"].get<std::string>();
  const bool half = dtype == "F16" || dtype == "BF16";
  const auto* known = std::find_if(dtypes.begin(), dtypes.end(), [&](const DtypeName& d) { return d.name == dtype; });
  if (known == dtypes.end() && !half) refuse("unknown dtype '" + dtype + "'");
  const std::size_t width = half ? 2 : element_size(known->type);
  if (checked_size(shape, data.size() / width, name + ": tensor '" + key + "'") * width != bytes.size()) {
    refuse(fmt::format("{} bytes do not fit its shape", bytes.size()));
  }
  if (half) return widened(bytes, std::move(shape), dtype == "BF16");
  return {known->type, std::move(shape), Buffer<std::byte>::copy_of(bytes)};
}

std::string_view dtype_of(ElementType type) {
  return std::find_if(dtypes.begin(), dtypes.end(), [&](const DtypeName& d) { return d.type == type; })->name;
}

}  // namespace

TensorFile read_safetensors(std::span<const std::byte> bytes, const std::string& name) {
  if (bytes.size() < 8) fail_at_byte(name, bytes.size(), "not a safetensors file: the header is cut");
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  if (length > longest_header || length > bytes.size() - 8)
    fail_at_byte(name, 0, fmt::format("a header of {} bytes does not fit the file", length));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 8, length);
  check_nesting(text, name);
  const Json header = Json::parse(text, nullptr, false);
  if (!header.is_object()) fail_at_byte(name, 8, "the header is not a JSON object");
  const auto data = bytes.subspan(8 + length);
  TensorFile file;
  std::vector<Extent> extents;
  for (const auto& [key, entry] : header.items()) {
    if (key == "__metadata__") {
      if (!entry.is_object()) fail_in(name, "__metadata__ is not an object");
      for (const auto& [word, value] : entry.items()) {
        if (!value.is_string()) fail_in(name, "__metadata__: '" + word + "' is not a string");
        file.metadata[word] = value.get<std::string>();
      }
      continue;
    }
    file.tensors.emplace(key, read_tensor(key, entry, data, name, extents.emplace_back()));
  }
  std::sort(extents.begin(), extents.end(),
            [](const Extent& x, const Extent& y) { return std::pair(x.begin, x.end) < std::pair(y.begin, y.end); });
  std::uint64_t at = 0;
  for (const Extent& extent : extents) {
    if (extent.begin != at) fail_at_byte(name, 8 + length + at, "tensors overlap or leave a hole");
    at = extent.end;
  }
  if (at != data.size()) fail_at_byte(name, 8 + length + at, "data behind the last tensor");
  return file;
}

TensorFile load_safetensors(const std::filesystem::path& path) {
  return read_safetensors(MappedFile::open(path)->bytes(), path.string());
}

void save_safetensors(const std::filesystem::path& path, const TensorFile& file) {
  Json header = Json::object();
  if (!file.metadata.empty()) header["__metadata__"] = file.metadata;
  std::uint64_t at = 0;
  std::vector<std::span<const std::byte>> parts(2);
  for (const auto& [key, array] : file.tensors) {
    header[key] = {
        {"dtype", dtype_of(array.type)}, {"shape", array.shape}, {"data_offsets", {at, at + array.data.size()}}};
    at += array.data.size();
    parts.push_back(array.data.span());
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size();
  parts[0] = std::as_bytes(std::span(&length, 1));
  parts[1] = std::as_bytes(std::span(text.data(), text.size()));
  write_file(path, parts);
}

}  // namespace bitgraph
