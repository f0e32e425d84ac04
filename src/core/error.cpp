// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>

namespace bitgraph {

void fail(ErrorCode code, const std::string& message) { throw Error(code, message); }

}  // namespace bitgraph
