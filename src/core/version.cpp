// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/version.hpp>

namespace bitgraph {

std::string_view version() noexcept { return BITGRAPH_VERSION; }

}  // namespace bitgraph
