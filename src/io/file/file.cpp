// SPDX-License-Identifier: Apache-2.0
#include "io/file/file.hpp"

#include <bitgraph/core/error.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

namespace bitgraph {

namespace {

constexpr const char* own_files = "/proc/self/fd";  ///< where a file without a name can be found to give it one

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

/// What a terminal would print of the start of a line.
std::string shown(std::string_view found) {
  constexpr std::size_t longest = 40;
  std::string text;
  for (const char c : found.substr(0, found.find_first_of("\r\n"))) {
    if (text.size() == longest) return text + "...";
    text += c >= ' ' && c <= '~' ? c : '?';
  }
  return text;
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

std::filesystem::path written_file(const std::filesystem::path& path) {
  constexpr int most_links = 40;  // as the system has it
  std::error_code none;
  std::filesystem::path file = path;
  for (int n = 0; n < most_links && std::filesystem::is_symlink(file, none); ++n) {
    const std::filesystem::path next = std::filesystem::read_symlink(file, none);
    file = next.is_absolute() ? next : file.parent_path() / next;
  }
  return file;
}

bool same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  struct stat first {};
  struct stat second {};
  const bool a_exists = ::stat(a.c_str(), &first) == 0;
  const bool b_exists = ::stat(b.c_str(), &second) == 0;
  if (a_exists != b_exists) return false;
  if (a_exists) {
    return first.st_dev == second.st_dev && first.st_ino == second.st_ino &&
           (S_ISREG(first.st_mode) || S_ISDIR(first.st_mode));
  }
  std::error_code none;
  return std::filesystem::weakly_canonical(std::filesystem::absolute(written_file(a)), none) ==
         std::filesystem::weakly_canonical(std::filesystem::absolute(written_file(b)), none);
}

AtomicFile::AtomicFile(const std::filesystem::path& path) : name_(path), target_(written_file(path)) {
  struct stat status {};
  const bool exists = ::stat(target_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) refuse(EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    straight_ = true;
    fd_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0) refuse(errno);
    return;
  }
  // A rename asks for rights on the folder alone, and root has all rights: the file's own mode is asked here.
  constexpr mode_t any_may_write = S_IWUSR | S_IWGRP | S_IWOTH;
  if (exists && ((status.st_mode & any_may_write) == 0 || ::access(target_.c_str(), W_OK) != 0)) refuse(EACCES);
  open_temporary();
  if (exists && ::fchmod(fd_, status.st_mode & 07777) != 0) {
    const int error = errno;
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    ::close(fd_);
    refuse(error);
  }
}

std::filesystem::path AtomicFile::folder() const { return target_.has_parent_path() ? target_.parent_path() : "."; }

/// Calls take(name) with names that no other thread or process uses, whatever the length of the file's own, until one
/// is taken. False, and errno, where that cannot be.
template <class Fn>
bool AtomicFile::with_free_name(Fn&& take) {
  static std::atomic<unsigned> serial{0};
  bool taken = false;
  do {
    temporary_ = (folder() / fmt::format(".bitgraph-{}-{}.tmp", ::getpid(), serial++)).string();
    taken = take(temporary_.c_str());
  } while (!taken && errno == EEXIST);
  if (!taken) temporary_.clear();
  return taken;
}

void AtomicFile::open_temporary() {
  if (::access(own_files, X_OK) == 0) fd_ = ::open(folder().c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (fd_ >= 0) return;
  const bool opened = with_free_name([this](const char* name) {
    fd_ = ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return fd_ >= 0;
  });
  if (!opened) refuse(errno);
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::refuse(int error) const {
  fail(ErrorCode::internal, fmt::format("{}: cannot write: {}", name_.string(), reason(error)));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  constexpr std::size_t most = std::size_t{1} << 30;  // the system takes less than 2^31 at once
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), std::min(bytes.size(), most));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) refuse(written < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit() {
  if (!straight_) {
    if (::fsync(fd_) != 0) refuse(errno);
    const std::string file = fmt::format("{}/{}", own_files, fd_);
    // A link cannot take the place of a file that is there: a rename can.
    const auto link = [&](const char* name) {
      return ::linkat(AT_FDCWD, file.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
    };
    if (temporary_.empty() && !with_free_name(link)) refuse(errno);
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) refuse(errno);
    temporary_.clear();
    const Descriptor entry(::open(folder().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (entry.get() >= 0) ::fsync(entry.get());
  }
  if (::close(std::exchange(fd_, -1)) != 0) refuse(errno);
}

void write_file(const std::filesystem::path& path, std::span<const std::span<const std::byte>> parts) {
  AtomicFile file(path);
  for (const auto part : parts) file.write(part);
  file.commit();
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void fail_at_line(const std::string& name, std::size_t line, std::string_view found, std::string_view expected) {
  const std::string text = shown(found);
  fail_on_line(name, line, fmt::format("found {}, expected {}", text.empty() ? "nothing" : "'" + text + "'", expected));
}

void fail_on_line(const std::string& name, std::size_t line, const std::string& what) {
  fail(ErrorCode::bad_input, fmt::format("{}:{}: {}", name, line, what));
}

void fail_at_byte(const std::string& name, std::uint64_t byte, const std::string& what) {
  fail(ErrorCode::bad_input, fmt::format("{}: byte {}: {}", name, byte, what));
}

void fail_in(const std::string& name, const std::string& what) { fail(ErrorCode::bad_input, name + ": " + what); }

std::string printable(std::string_view word, std::size_t longest) {
  std::string text(word.substr(0, longest));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return word.size() > longest ? text + "..." : text;
}

}  // namespace bitgraph
