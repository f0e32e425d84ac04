// SPDX-License-Identifier: Apache-2.0
// Part files: safetensors with one tensor, `part_of`, and metadata that say which graph it belongs to.
#include "io/dataset/partition.hpp"

#include <bitgraph/core/error.hpp>
#include <bitgraph/io/array.hpp>

#include "io/array/array.hpp"
#include "io/array/safetensors.hpp"
#include "io/file/file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace bitgraph {

namespace {

constexpr const char* format_name = "bitgraph-partition";
constexpr const char* version = "1";
constexpr const char* tensor_name = "part_of";

/// The metadata of a part file.
class Metadata {
 public:
  Metadata(const TensorFile& file, const std::string& name) : file_(file), name_(name) {}

  [[nodiscard]] const std::string& text(const std::string& key) const {
    const auto found = file_.metadata.find(key);
    if (found == file_.metadata.end()) fail_in(name_, "no part file: the metadata lack '" + key + "'");
    return found->second;
  }

  void expect(const std::string& key, std::string_view value) const {
    const std::string& found = text(key);
    if (found != value)
      fail_in(name_, fmt::format("no part file: metadata '{}' is '{}', expected '{}'", key, printable(found), value));
  }

  template <class T>
  [[nodiscard]] T number(const std::string& key) const {
    const std::string& value = text(key);
    T parsed = 0;
    const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
    if (error != std::errc() || stop != value.data() + value.size())
      fail_in(name_, fmt::format("metadata '{}' is '{}', expected a whole number", key, printable(value)));
    return parsed;
  }

  /// 16 hexadecimal digits, or nothing.
  [[nodiscard]] const std::string& fingerprint(const std::string& key) const {
    const std::string& value = text(key);
    const bool digits = value.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!value.empty() && (value.size() != 16 || !digits))
      fail_in(name_, fmt::format("metadata '{}' is '{}', expected 16 hexadecimal digits", key, printable(value)));
    return value;
  }

 private:
  const TensorFile& file_;
  const std::string& name_;
};

}  // namespace

Partition read_partition(std::span<const std::byte> bytes, const std::string& name) {
  const TensorFile file = read_safetensors(bytes, name);
  const Metadata metadata(file, name);
  metadata.expect("format", format_name);
  metadata.expect("version", version);
  const auto num_parts = metadata.number<NodeId>("num_parts");
  PartitionOrigin origin{metadata.fingerprint("graph"), metadata.number<std::uint64_t>("seed")};
  if (file.tensors.size() != 1 || !file.tensors.contains(tensor_name))
    fail_in(name, fmt::format("{} tensors, expected one, '{}'", file.tensors.size(), tensor_name));
  const Array& parts = file.tensors.at(tensor_name);
  if (parts.type != ElementType::u32 || parts.shape.size() != 1) {
    fail_in(name, fmt::format("the tensor '{}' is {} [{}], expected {} [nodes]", tensor_name, to_string(parts.type),
                              fmt::join(parts.shape, ", "), to_string(ElementType::u32)));
  }
  const Buffer<NodeId> part_of = parts.as<NodeId>();
  try {
    return {{part_of.begin(), part_of.end()}, num_parts, std::move(origin)};
  } catch (const Error& error) {
    fail_in(name, error.what());
  }
}

Partition load_partition(const std::filesystem::path& path) {
  return read_partition(MappedFile::open(path)->bytes(), path.string());
}

Partition load_partition(const std::filesystem::path& path, const CsrPattern& graph) {
  Partition partition = load_partition(path);
  partition.require_graph(graph, path.string());
  return partition;
}

void save_partition(const Partition& partition, const std::filesystem::path& path) {
  TensorFile file;
  file.metadata = {{"format", format_name},
                   {"version", version},
                   {"num_parts", std::to_string(partition.num_parts())},
                   {"graph", partition.origin().graph},
                   {"seed", std::to_string(partition.origin().seed)}};
  file.tensors.emplace(tensor_name, vector_array(partition.part_of()));
  save_safetensors(path, file);
}

}  // namespace bitgraph
