// SPDX-License-Identifier: Apache-2.0
// Where the program is built without CUDA, or without cuSPARSE's header.
#include "cli/peers/peers.hpp"
#include "cli/peers/spmm_rival.hpp"

namespace bitgraph::cli {

FoundPeer find_cusparse(const Device&) {
  return {.name = "cuSPARSE", .library = nullptr, .absent = "not built in: its header was not there"};
}

std::unique_ptr<SpmmRival> make_spmm_rival(const PeerMatrix&, std::span<const float>, const Device&,
                                           std::string& absent) {
  absent = "cuSPARSE is not built in: its header was not there";
  return nullptr;
}

}  // namespace bitgraph::cli
