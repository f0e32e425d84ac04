// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/error.hpp>

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace bitgraph::test {

/// A folder that goes with all it holds.
class TemporaryFolder {
 public:
  TemporaryFolder() : TemporaryFolder(std::filesystem::temp_directory_path()) {}
  explicit TemporaryFolder(const std::filesystem::path& within) {
    std::string name = (within / "bitgraph-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) fail(ErrorCode::internal, "cannot make the folder " + name);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

  /// A file with these bytes.
  std::filesystem::path put(std::string_view name, std::string_view bytes) const {
    const auto file = path_ / name;
    std::ofstream(file, std::ios::binary) << bytes;
    return file;
  }

  /// How many entries the folder has.
  [[nodiscard]] std::size_t size() const {
    std::size_t entries = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) entries += entry.path().empty() ? 0 : 1;
    return entries;
  }

 private:
  std::filesystem::path path_;
};

/// Where a file that is synced hundreds of times costs nothing, if there is such a place.
inline std::filesystem::path folder_in_memory() {
  const std::filesystem::path shared = "/dev/shm";
  return std::filesystem::is_directory(shared) ? shared : std::filesystem::temp_directory_path();
}

/// The bytes of a file.
inline std::string contents(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

/// The message of the Error that call() throws, after checking its code; "no error" where it throws none.
template <class Call>
std::string message_of(ErrorCode code, Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    if (error.code() == code) return error.what();
    return "another code: " + std::string(error.what());
  }
  return "no error";
}

}  // namespace bitgraph::test
