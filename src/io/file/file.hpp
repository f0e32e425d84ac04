// SPDX-License-Identifier: Apache-2.0
// Files as the readers and writers use them: mapped for reading, replaced whole or not at all for writing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace bitgraph {

/// A file mapped into memory, private and copy-on-write: what it holds may be borrowed by a Buffer for as long as a
/// shared_ptr to it lives. An empty file maps to nothing. A file must not be cut while it is mapped.
class MappedFile {
 public:
  /// Throws bad_input "FILE: cannot open: reason" for what is missing, unreadable or not a regular file.
  static std::shared_ptr<MappedFile> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  [[nodiscard]] std::string_view text() const noexcept { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  MappedFile() = default;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// The file that writing to `path` would replace: links are followed, also those that lead to nothing yet.
[[nodiscard]] std::filesystem::path written_file(const std::filesystem::path& path);

/// True where both names are of one file, whatever they look like: `./`, `..`, symbolic and hard links, linked folders.
/// The files need not be there. False for what is no file: pipes, terminals, /dev/null.
[[nodiscard]] bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

/// A file being written without a name, or, where the file system knows no such files, under a temporary one beside its
/// own. commit() syncs and renames it: the path holds the old or the new contents, whenever the process dies. What is
/// not committed goes, and a process that is killed leaves nothing behind but a temporary name. A file that was there
/// keeps its permissions, a symbolic link its place; what is no regular file (a pipe, a terminal) is written straight
/// to. A file that its owner made read-only (no write bit at all) is not replaced, whoever asks.
///
/// All members but the destructor throw internal with the file and the reason: a full disk, no permission, no folder.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }

  /// The last call.
  void commit();

 private:
  [[noreturn]] void refuse(int error) const;
  [[nodiscard]] std::filesystem::path folder() const;
  void open_temporary();
  template <class Fn>
  bool with_free_name(Fn&& take);

  std::filesystem::path name_;    ///< as the caller gave it, for messages
  std::filesystem::path target_;  ///< without symbolic links
  bool straight_ = false;         ///< to the target
  std::string temporary_;         ///< its name as long as it has one
  int fd_ = -1;
};

/// Writes the parts one behind another as an AtomicFile.
void write_file(const std::filesystem::path& path, std::span<const std::span<const std::byte>> parts);
void write_file(const std::filesystem::path& path, std::string_view text);

/// Throws bad_input "NAME:LINE: found 'X', expected Y". `found` ends at its line's end, is cut after 40 characters and
/// cleaned of what a terminal would not print.
[[noreturn]] void fail_at_line(const std::string& name, std::size_t line, std::string_view found,
                               std::string_view expected);

/// Throws bad_input "NAME:LINE: what".
[[noreturn]] void fail_on_line(const std::string& name, std::size_t line, const std::string& what);

/// Throws bad_input "NAME: byte N: what".
[[noreturn]] void fail_at_byte(const std::string& name, std::uint64_t byte, const std::string& what);

/// Throws bad_input "NAME: what".
[[noreturn]] void fail_in(const std::string& name, const std::string& what);

/// A word of a file as a message may show it: cut after `longest` characters, cleaned of what a terminal would not
/// print.
[[nodiscard]] std::string printable(std::string_view word, std::size_t longest = 40);

}  // namespace bitgraph
