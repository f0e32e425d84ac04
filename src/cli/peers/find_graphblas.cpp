// SPDX-License-Identifier: Apache-2.0
// The module is loaded where it is asked for, not linked: the library behind it is large, and few runs need it.
#include "cli/peers/peers.hpp"

#include <dlfcn.h>

#include <filesystem>

namespace bitgraph::cli {

namespace {

/// Where the module is, seen from the folder of the program; empty where it was not built.
constexpr std::string_view module_path = BITGRAPH_GRAPHBLAS_MODULE;

}  // namespace

FoundPeer find_graphblas(int threads) {
  FoundPeer found{.name = "SuiteSparse:GraphBLAS", .library = nullptr, .absent = {}};
  if (module_path.empty()) {
    found.absent = "not built in: install libgraphblas-dev and build again";
    return found;
  }
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto path = (program.parent_path() / module_path).lexically_normal();
  void* module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* open = module == nullptr ? nullptr : ::dlsym(module, "bitgraph_open_peer");
  if (open == nullptr) {
    const char* reason = ::dlerror();
    found.absent = std::string("cannot be loaded: ") + (reason == nullptr ? path.c_str() : reason);
    return found;
  }
  found.library.reset(reinterpret_cast<PeerLibrary* (*)(int)>(open)(threads));
  return found;
}

}  // namespace bitgraph::cli
