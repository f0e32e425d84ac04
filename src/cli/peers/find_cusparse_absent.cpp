// SPDX-License-Identifier: Apache-2.0
// Where the program is built without CUDA, or without cuSPARSE's header.
#include "cli/peers/peers.hpp"

namespace bitgraph::cli {

FoundPeer find_cusparse(const Device&) {
  return {.name = "cuSPARSE", .library = nullptr, .absent = "not built in: its header was not there"};
}

}  // namespace bitgraph::cli
