// SPDX-License-Identifier: Apache-2.0
// Which rivals there are.
#pragma once

#include <bitgraph/core/device.hpp>

#include "cli/peers/peer.hpp"

#include <memory>
#include <string>

namespace bitgraph::cli {

/// A rival, or why it is not there.
struct FoundPeer {
  std::string name;
  std::unique_ptr<PeerLibrary> library;
  std::string absent;
};

/// SuiteSparse:GraphBLAS, a module beside the program. Once in a process.
[[nodiscard]] FoundPeer find_graphblas(int threads);

/// cuSPARSE, looked for when the program runs; it works on the device's stream.
[[nodiscard]] FoundPeer find_cusparse(const Device& device);

}  // namespace bitgraph::cli
