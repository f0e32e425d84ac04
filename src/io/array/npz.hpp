// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/io/array.hpp>

#include "io/array/array.hpp"
#include "io/array/npy.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

struct zip;

namespace bitgraph {

/// A .npz file's bytes, opened: its members are read one by one, by name. Members that hold no numbers are never
/// unpacked beyond their header. The bytes must outlive the reader. Everything throws bad_input naming file and member.
class NpzReader {
 public:
  NpzReader(std::span<const std::byte> bytes, std::string name);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }  ///< of the archive
  [[nodiscard]] bool contains(const std::string& key) const { return members_.contains(key); }

  /// Names of all members, without .npy.
  [[nodiscard]] std::vector<std::string> keys() const;

  /// The member's values; empty where they are not numbers. Memory follows what the member really unpacks to, whatever
  /// the archive or the member's header promises.
  [[nodiscard]] std::optional<Array> array(const std::string& key) const;

  /// The member's values; throws where it is missing or holds no numbers.
  [[nodiscard]] Array numbers(const std::string& key) const;

  /// The member's shape, as its header says; its data is not read. Throws where it is missing.
  [[nodiscard]] std::vector<std::uint64_t> shape(const std::string& key) const;

  /// The member's .npy file where the archive holds it as it is, and whole; empty otherwise.
  [[nodiscard]] std::optional<std::span<const std::byte>> stored(const std::string& key) const;

  /// The values of a member of one dimension as T.
  template <class T>
  [[nodiscard]] Buffer<T> vector(const std::string& key, const Device& device = {}) const {
    const Array found = numbers(key);
    if (found.shape.size() != 1) refuse(key, "expected one dimension");
    return as<T>(key, found, device);
  }

  /// An array of the member `key` as T.
  template <class T>
  [[nodiscard]] Buffer<T> as(const std::string& key, const Array& array, const Device& device = {}) const {
    try {
      return converted<T>(array, device);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::bad_input) throw;
      refuse(key, error.what());
    }
  }

  /// The member where it is a single ASCII string (NumPy types S and U); empty where it is missing or anything else.
  [[nodiscard]] std::string text(const std::string& key) const;

  /// Throws bad_input "NAME: KEY: what".
  [[noreturn]] void refuse(const std::string& key, const std::string& what) const;

 private:
  struct Discard {
    void operator()(zip* archive) const;
  };

  std::span<const std::byte> bytes_;
  std::string name_;
  std::unique_ptr<zip, Discard> archive_;
  std::map<std::string, std::uint64_t> members_;  ///< places in the archive
};

/// Reads a .npz file's bytes: its members that hold numbers, all or those `wanted`. Throws bad_input.
[[nodiscard]] std::map<std::string, Array> read_npz(std::span<const std::byte> bytes, const std::string& name,
                                                    const std::vector<std::string>& wanted = {});

/// save_npz with members that are one string besides.
void save_npz(const std::filesystem::path& path, const std::map<std::string, Array>& arrays,
              const std::map<std::string, std::string>& texts);

}  // namespace bitgraph
