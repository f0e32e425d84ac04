// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/library.hpp"

#include <dlfcn.h>

namespace bitgraph {

void* LibraryFunctions::symbol(const char* name) const noexcept { return ::dlsym(library_, name); }

std::string load_functions(std::span<const std::string> names, const std::function<void(LibraryFunctions&)>& look_up) {
  std::string reason;
  for (const std::string& name : names) {
    for (const std::string& path : {name, "/usr/local/cuda/lib64/" + name}) {
      void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) continue;
      LibraryFunctions functions(library);
      look_up(functions);
      if (functions.missing().empty()) return {};
      if (reason.empty()) reason = path + " has no " + functions.missing();
    }
  }
  if (!reason.empty()) return reason;
  return (names.empty() ? std::string("no library") : names.front()) + " not found: add its folder to LD_LIBRARY_PATH";
}

}  // namespace bitgraph
