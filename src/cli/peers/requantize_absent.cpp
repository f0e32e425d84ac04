// SPDX-License-Identifier: Apache-2.0
// Where the program is built without CUDA.
#include "cli/peers/requantize.hpp"

#include <bitgraph/core/error.hpp>

namespace bitgraph::cli {

void requantize(const Device&, const RequantizeArgs&) {
  fail(ErrorCode::not_possible, "requantize: this build has no CUDA");
}

}  // namespace bitgraph::cli
