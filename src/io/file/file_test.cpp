// SPDX-License-Identifier: Apache-2.0
#include "io/file/file.hpp"

#include <bitgraph/core/error.hpp>

#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <iterator>
#include <string>

namespace bitgraph {
namespace {

using test::contents;
using test::message_of;
using test::TemporaryFolder;
namespace fs = std::filesystem;

TEST(MappedFile, HoldsTheBytes) {
  const TemporaryFolder folder;
  const auto file = MappedFile::open(folder.put("a", std::string("x\0y", 3)));
  EXPECT_EQ(file->text(), std::string_view("x\0y", 3));
  file->data()[0] = std::byte{'z'};  // private: the file keeps what it has
  EXPECT_EQ(contents(folder / "a"), std::string("x\0y", 3));
}

TEST(MappedFile, MayBeEmpty) {
  const TemporaryFolder folder;
  EXPECT_EQ(MappedFile::open(folder.put("a", ""))->size(), 0U);
}

TEST(MappedFile, SaysWhyItCannotOpen) {
  const TemporaryFolder folder;
  const auto why = [](const fs::path& path) {
    return message_of(ErrorCode::bad_input, [&] { (void)MappedFile::open(path); });
  };
  const auto missing = folder / "missing";
  EXPECT_EQ(why(missing), missing.string() + ": cannot open: No such file or directory");
  EXPECT_EQ(why(folder.path()), folder.path().string() + ": cannot open: not a regular file");
  EXPECT_EQ(why("/dev/null"), "/dev/null: cannot open: not a regular file");
}

TEST(AtomicFile, LeavesAReadOnlyFileAsItIs) {
  const TemporaryFolder folder;
  const auto path = folder.put("a", "kept");
  fs::permissions(path, fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
  for (const fs::path& name : {path, folder / "link"}) {
    if (name != path) fs::create_symlink("a", name);
    EXPECT_EQ(message_of(ErrorCode::internal, [&] { write_file(name, "new"); }),
              name.string() + ": cannot write: Permission denied");
  }
  EXPECT_EQ(contents(path), "kept");
}

TEST(SameFile, SeesThroughNames) {
  const TemporaryFolder folder;
  const auto path = folder.put("a", "x");
  folder.put("b", "x");
  fs::create_directory(folder / "deep");
  fs::create_symlink(folder.path(), folder / "deep" / "up");
  fs::create_symlink("a", folder / "link");
  fs::create_hard_link(path, folder / "hard");
  fs::create_symlink("nothing", folder / "dangling");
  for (const char* name : {"a", "./a", "deep/../a", "deep/up/a", "link", "hard"}) {
    EXPECT_TRUE(same_file(path, folder / name)) << name;
  }
  EXPECT_FALSE(same_file(path, folder / "b"));
  EXPECT_FALSE(same_file(path, folder / "nothing"));
  for (const char* name : {"nothing", "./nothing", "deep/up/nothing", "dangling"}) {
    EXPECT_TRUE(same_file(folder / "nothing", folder / name)) << name;
  }
  EXPECT_FALSE(same_file(folder / "nothing", folder / "nothing else"));
  EXPECT_FALSE(same_file("/dev/null", "/dev/null"));
}

TEST(AtomicFile, ReplacesWhatWasThere) {
  const TemporaryFolder folder;
  const auto path = folder.put("a", "old");
  {
    AtomicFile file(path);
    file.write("new ");
    file.write("contents");
    EXPECT_EQ(contents(path), "old");
    file.commit();
  }
  EXPECT_EQ(contents(path), "new contents");
  EXPECT_EQ(folder.size(), 1U);
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const TemporaryFolder folder;
  const auto path = folder.put("a", "old");
  { AtomicFile(path).write("new"); }
  { AtomicFile(folder / "b").write("new"); }
  EXPECT_EQ(contents(path), "old");
  EXPECT_EQ(folder.size(), 1U);
}

TEST(AtomicFile, AWriterThatIsKilledLeavesNothingBehind) {
  const TemporaryFolder folder;
  const auto path = folder.put("a", "old");
  const int nameless = ::open(folder.path().c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
  if (nameless < 0) GTEST_SKIP() << "this file system has no files without a name";
  ::close(nameless);
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile file(path);
    file.write("new");
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(contents(path), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(AtomicFile, KeepsPermissionsAndLinks) {
  const TemporaryFolder folder;
  const auto path = folder.put("a", "old");
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("a", folder / "link");
  write_file(folder / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(contents(path), "new");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);

  write_file(folder / "fresh", "new");
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(static_cast<mode_t>(fs::status(folder / "fresh").permissions()), 0666 & ~mask);
}

TEST(AtomicFile, TakesNamesAsLongAsTheSystemDoes) {
  const TemporaryFolder folder;
  const std::string longest(255, 'a');
  write_file(folder / longest, "x");
  EXPECT_EQ(contents(folder / longest), "x");
}

TEST(AtomicFile, SaysWhyItCannotWrite) {
  const TemporaryFolder folder;
  const auto why = [](const fs::path& path) { return message_of(ErrorCode::internal, [&] { write_file(path, "x"); }); };
  const auto nowhere = folder / "no folder/a";
  EXPECT_EQ(why(nowhere), nowhere.string() + ": cannot write: No such file or directory");
  EXPECT_EQ(why(folder.path()), folder.path().string() + ": cannot write: Is a directory");
  EXPECT_EQ(why("/dev/full"), "/dev/full: cannot write: No space left on device");
  EXPECT_TRUE(fs::is_character_file("/dev/full")) << "a device is written to, not replaced";
}

/// Files of this process may not grow beyond so many bytes while this lives: as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    old_handler_ = ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, old_handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  sighandler_t old_handler_ = nullptr;
};

TEST(AtomicFile, AFullDiskLeavesTheOldFile) {
  const TemporaryFolder folder;
  const auto path = folder.put("a", "old");
  std::string message;
  {
    const FileSizeLimit limit(65536);
    message = message_of(ErrorCode::internal, [&] { write_file(path, std::string(100000, 'x')); });
  }
  EXPECT_EQ(message, path.string() + ": cannot write: File too large");
  EXPECT_EQ(contents(path), "old");
  EXPECT_EQ(folder.size(), 1U);
}

TEST(Messages, ShowWhatATerminalCanPrint) {
  const auto message = [](std::string_view found) {
    return message_of(ErrorCode::bad_input, [&] { fail_at_line("f", 3, found, "a number"); });
  };
  EXPECT_EQ(message("a\tb\x1B[2J\r\nnext"), "f:3: found 'a?b?[2J', expected a number");
  EXPECT_EQ(message(""), "f:3: found nothing, expected a number");
  EXPECT_EQ(message(std::string(40, 'x')), "f:3: found '" + std::string(40, 'x') + "', expected a number");
  EXPECT_EQ(message(std::string(41, 'x')), "f:3: found '" + std::string(40, 'x') + "...', expected a number");
}

}  // namespace
}  // namespace bitgraph
