// SPDX-License-Identifier: Apache-2.0
#include "io/file.hpp"

#include <bitgraph/core/error.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace bitgraph {

namespace {

/// A file descriptor that is closed when it goes.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

std::string reason(int error) { return std::strerror(error); }

void write_all(int fd, std::span<const std::byte> bytes) {
  constexpr std::size_t most = std::size_t{1} << 30;
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), std::min(bytes.size(), most));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(ErrorCode::internal, reason(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void sync_folder(const std::filesystem::path& folder) {
  const Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() >= 0) ::fsync(fd.get());
}

}  // namespace

std::shared_ptr<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const auto refuse = [&](const std::string& why) { fail_in(path.string(), "cannot open: " + why); };
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) refuse(reason(errno));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) refuse(reason(errno));
  if (!S_ISREG(status.st_mode)) refuse("not a regular file");
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->size_ = static_cast<std::size_t>(status.st_size);
  if (file->size_ == 0) return file;
  void* data = ::mmap(nullptr, file->size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd.get(), 0);
  if (data == MAP_FAILED) refuse(reason(errno));
  file->data_ = static_cast<std::byte*>(data);
  return file;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

void write_file(const std::filesystem::path& path, std::span<const std::span<const std::byte>> parts) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  std::string temporary = (folder / ("." + path.filename().string() + ".XXXXXX")).string();
  const Descriptor fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (fd.get() < 0) fail(ErrorCode::internal, fmt::format("{}: cannot write: {}", path.string(), reason(errno)));
  try {
    for (const auto part : parts) write_all(fd.get(), part);
    const mode_t mask = ::umask(0);
    ::umask(mask);
    if (::fchmod(fd.get(), 0666 & ~mask) != 0 || ::fsync(fd.get()) != 0 ||
        ::rename(temporary.c_str(), path.c_str()) != 0) {
      fail(ErrorCode::internal, reason(errno));
    }
  } catch (const Error& error) {
    ::unlink(temporary.c_str());
    fail(ErrorCode::internal, fmt::format("{}: cannot write: {}", path.string(), error.what()));
  }
  sync_folder(folder);
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  const std::array<std::span<const std::byte>, 1> parts{std::as_bytes(std::span(text.data(), text.size()))};
  write_file(path, parts);
}

void fail_at_line(const std::string& name, std::size_t line, std::string_view found, std::string_view expected) {
  constexpr std::size_t longest = 40;
  std::string shown;
  for (const char c : found.substr(0, longest)) {
    if (c == '\n' || c == '\r') break;
    shown += c >= ' ' && c <= '~' ? c : '?';
  }
  if (shown.size() == longest && found.size() > longest) shown += "...";
  fail(ErrorCode::bad_input, fmt::format("{}:{}: found '{}', expected {}", name, line, shown, expected));
}

void fail_at_byte(const std::string& name, std::uint64_t byte, const std::string& what) {
  fail(ErrorCode::bad_input, fmt::format("{}: byte {}: {}", name, byte, what));
}

void fail_in(const std::string& name, const std::string& what) { fail(ErrorCode::bad_input, name + ": " + what); }

std::string printable(std::string_view word) {
  constexpr std::size_t longest = 40;
  std::string text(word.substr(0, longest));
  std::replace_if(text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return word.size() > longest ? text + "..." : text;
}

}  // namespace bitgraph
