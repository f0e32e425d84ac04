// SPDX-License-Identifier: Apache-2.0
// safetensors (Hugging Face, format 0.4): 8 bytes of header length, a JSON header, raw little-endian data without
// holes.
#include "io/array/safetensors.hpp"

#include "io/array/array.hpp"
#include "io/file/file.hpp"
#include "io/text/nesting.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

namespace bitgraph {

namespace {

using Json = nlohmann::json;

/// The reference implementation's limit.
constexpr std::uint64_t longest_header = 100'000'000;

constexpr const char* metadata_key = "__metadata__";

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

std::uint64_t whole(const Json& value, const std::string& name, const std::string& key) {
  if (!value.is_number_unsigned())
    fail_in(name, fmt::format("tensor '{}': expected whole numbers in shape and data_offsets", printable(key)));
  return value.get<std::uint64_t>();
}

struct Extent {
  std::uint64_t begin;
  std::uint64_t end;
};

Array read_tensor(const std::string& key, const Json& entry, std::span<const std::byte> data, const std::string& name,
                  Extent& extent) {
  const auto refuse = [&](const std::string& what) {
    fail_in(name, fmt::format("tensor '{}': {}", printable(key), what));
  };
  if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string() || !entry.contains("shape") ||
      !entry["shape"].is_array() || !entry.contains("data_offsets") || !entry["data_offsets"].is_array() ||
      entry["data_offsets"].size() != 2) {
    refuse("expected dtype, shape and two data_offsets");
  }
  constexpr std::size_t most_dimensions = 64;
  std::vector<std::uint64_t> shape;
  if (entry["shape"].size() > most_dimensions) refuse("expected at most 64 dimensions");
  for (const Json& side : entry["shape"]) shape.push_back(whole(side, name, key));
  extent = {whole(entry["data_offsets"][0], name, key), whole(entry["data_offsets"][1], name, key)};
  if (extent.begin > extent.end || extent.end > data.size()) refuse("data_offsets are outside the file");
  const auto bytes = data.subspan(extent.begin, extent.end - extent.begin);
  const auto dtype = entry["dtype"].get<std::string>();
  const bool half = dtype == "F16" || dtype == "BF16";
  const auto* known = std::find_if(dtypes.begin(), dtypes.end(), [&](const DtypeName& d) { return d.name == dtype; });
  if (known == dtypes.end() && !half) refuse("unknown dtype '" + printable(dtype) + "'");
  const std::size_t width = half ? 2 : element_size(known->type);
  if (checked_size(shape, data.size() / width, name + ": tensor '" + printable(key) + "'") * width != bytes.size()) {
    refuse(fmt::format("{} bytes do not fit its shape", bytes.size()));
  }
  if (half)
    return {ElementType::f32, std::move(shape), widened(bytes, dtype == "BF16" ? HalfKind::brain : HalfKind::ieee)};
  return {known->type, std::move(shape), Buffer<std::byte>::copy_of(bytes)};
}

std::string_view dtype_of(ElementType type) {
  return std::find_if(dtypes.begin(), dtypes.end(), [&](const DtypeName& d) { return d.type == type; })->name;
}

/// The header as JSON. A key that stands twice in one object is refused: which of the two is meant?
Json parse_header(std::string_view text, const std::string& name) {
  constexpr int deepest = 8;  // more than any header needs
  if (const auto at = nested_deeper(text, deepest)) fail_at_byte(name, 8 + *at, "the header is nested too deep");
  std::vector<std::set<std::string>> keys;
  std::string twice;
  const auto watch = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second && twice.empty())
      twice = printable(value.get<std::string>());
    return true;
  };
  Json header = text.starts_with('{') ? Json::parse(text, watch, false) : Json();
  if (!header.is_object()) fail_at_byte(name, 8, "the header is not a JSON object");
  if (!twice.empty()) fail_in(name, "the key '" + twice + "' stands twice in the header");
  return header;
}

/// Every byte behind the header belongs to one tensor.
void check_extents(std::vector<Extent> extents, std::uint64_t start, std::uint64_t size, const std::string& name) {
  std::sort(extents.begin(), extents.end(),
            [](const Extent& x, const Extent& y) { return std::pair(x.begin, x.end) < std::pair(y.begin, y.end); });
  std::uint64_t at = 0;
  for (const Extent& extent : extents) {
    if (extent.begin != at) {
      fail_at_byte(name, start + std::min(at, extent.begin),
                   extent.begin < at ? "two tensors overlap" : "a hole between two tensors");
    }
    at = extent.end;
  }
  if (at != size) fail_at_byte(name, start + at, "data behind the last tensor");
}

}  // namespace

TensorFile read_safetensors(std::span<const std::byte> bytes, const std::string& name) {
  if (bytes.size() < 8) fail_at_byte(name, bytes.size(), "not a safetensors file: the header is cut");
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  if (length > longest_header || length > bytes.size() - 8)
    fail_at_byte(name, 0, fmt::format("a header of {} bytes does not fit the file", length));
  const Json header = parse_header({reinterpret_cast<const char*>(bytes.data()) + 8, length}, name);
  const auto data = bytes.subspan(8 + length);
  TensorFile file;
  std::vector<Extent> extents;
  for (const auto& [key, entry] : header.items()) {
    if (key == metadata_key) {
      if (!entry.is_object()) fail_in(name, "__metadata__ is not an object");
      for (const auto& [word, value] : entry.items()) {
        if (!value.is_string()) fail_in(name, "__metadata__: '" + printable(word) + "' is not a string");
        file.metadata[word] = value.get<std::string>();
      }
      continue;
    }
    file.tensors.emplace(key, read_tensor(key, entry, data, name, extents.emplace_back()));
  }
  check_extents(std::move(extents), 8 + length, data.size(), name);
  return file;
}

TensorFile load_safetensors(const std::filesystem::path& path) {
  return read_safetensors(MappedFile::open(path)->bytes(), path.string());
}

void save_safetensors(const std::filesystem::path& path, const TensorFile& file) {
  // Wide elements first, then by name, as the reference writes them: so every tensor is aligned to its elements.
  std::vector<const std::pair<const std::string, Array>*> order;
  for (const auto& entry : file.tensors) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(), [](const auto* x, const auto* y) {
    return element_size(x->second.type) > element_size(y->second.type);
  });
  Json header = Json::object();
  if (!file.metadata.empty()) header[metadata_key] = file.metadata;
  std::uint64_t at = 0;
  std::vector<std::span<const std::byte>> parts(2);
  for (const auto* entry : order) {
    const auto& [key, array] = *entry;
    if (key == metadata_key) fail(ErrorCode::usage, path.string() + ": a tensor must not be called __metadata__");
    require_size(array.type, array.shape, array.data.size(), path.string() + ": " + key);
    header[key] = {
        {"dtype", dtype_of(array.type)}, {"shape", array.shape}, {"data_offsets", {at, at + array.data.size()}}};
    at += array.data.size();
    parts.push_back(array.data.span());
  }
  // JSON is UTF-8: other bytes, of a file's name perhaps, are replaced rather than losing what was trained.
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size();
  parts[0] = std::as_bytes(std::span(&length, 1));
  parts[1] = std::as_bytes(std::span(text.data(), text.size()));
  write_file(path, parts);
}

}  // namespace bitgraph
