// SPDX-License-Identifier: Apache-2.0
// .npz archives whose members are stored, not deflated: written without holding them, read where they are mapped.
#pragma once

#include <bitgraph/io/array.hpp>

#include "io/file/file.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bitgraph {

/// Writes members one by one as they are given, straight to the file. The values of each begin at a multiple of 64
/// bytes. Sizes and places of 4 GiB and more are told in the fields of ZIP64. Equal members make equal files.
class StoredNpzWriter {
 public:
  explicit StoredNpzWriter(const std::filesystem::path& path) : path_(path.string()), file_(path) {}

  /// Throws usage unless the shape asks for exactly these bytes; internal for a full disk.
  void add(const std::string& key, ElementType type, std::span<const std::uint64_t> shape,
           std::span<const std::byte> data);

  template <class T>
  void add(const std::string& key, ElementType type, std::span<const T> values) {
    const std::uint64_t size = values.size_bytes() / element_size(type);
    add(key, type, {&size, 1}, std::as_bytes(values));
  }

  /// Writes the directory and gives the file its name. The last call.
  void commit();

 private:
  struct Entry {
    std::string name;
    std::uint32_t checksum = 0;
    std::uint64_t size = 0;
    std::uint64_t offset = 0;
  };

  void put(std::span<const std::byte> bytes);
  void put(std::string_view text) { put(std::as_bytes(std::span(text.data(), text.size()))); }

  std::string path_;
  AtomicFile file_;
  std::uint64_t at_ = 0;
  std::vector<Entry> entries_;
};

/// The contents of a member where the archive's bytes hold them as they are, and whole by their checksum; empty
/// otherwise: what is wrong with an archive another reader says. O(directory + contents).
[[nodiscard]] std::optional<std::span<const std::byte>> stored_member(std::span<const std::byte> bytes,
                                                                      std::string_view name);

}  // namespace bitgraph
