// SPDX-License-Identifier: Apache-2.0
#include "core/memory/host_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>

namespace bitgraph {

namespace {

constexpr std::size_t unknown = std::numeric_limits<std::size_t>::max();

/// The number in a file of one number; `unknown` where there is none ("max").
std::size_t number_in(const char* path) {
  std::ifstream file(path);
  std::size_t number = 0;
  return file >> number ? number : unknown;
}

/// The number behind `key` in a file of lines "key number ...".
std::size_t number_of(const char* path, const std::string& key) {
  std::ifstream file(path);
  std::string name;
  std::size_t number = 0;
  while (file >> name >> number) {
    if (name == key) return number;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return unknown;
}

std::size_t available_of_system() {
  const std::size_t kilobytes = number_of("/proc/meminfo", "MemAvailable:");
  return kilobytes == unknown ? unknown : kilobytes * 1024;
}

/// What the control group (version 2) leaves: cached files give way. A container sees its own group at the root.
std::size_t available_of_group() {
  const std::size_t limit = number_in("/sys/fs/cgroup/memory.max");
  const std::size_t used = number_in("/sys/fs/cgroup/memory.current");
  const std::size_t cached = number_of("/sys/fs/cgroup/memory.stat", "file");
  if (limit == unknown || used == unknown || cached == unknown) return unknown;
  return limit - std::min(limit, used - std::min(used, cached));
}

}  // namespace

std::size_t available_memory() { return std::min(available_of_system(), available_of_group()); }

void prefer_large_pages(void* data, std::size_t bytes) noexcept {
#ifdef MADV_HUGEPAGE
  constexpr std::size_t worth_it = std::size_t{1} << 22;  // two large pages and more
  if (bytes < worth_it) return;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t skipped = (address + page - 1) / page * page - address;  // up to the first whole page
  const std::uintptr_t whole = (bytes - skipped) / page * page;
  static_cast<void>(::madvise(static_cast<std::byte*>(data) + skipped, whole, MADV_HUGEPAGE));
#else
  static_cast<void>(data);
  static_cast<void>(bytes);
#endif
}

}  // namespace bitgraph
