// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace bitgraph {

/// The kernel that an operator runs, and what a run is predicted to cost. With BITGRAPH_TRACE=1 in the environment
/// operators print theirs on stderr.
struct KernelChoice {
  std::string kernel;  ///< its name and shape: "spmm_vote_ordered, 2 lanes x 4 words", "spmm_vote (avx512)"
  double bytes = 0;    ///< read and written, gathers counted each
  double seconds = 0;  ///< of the run, launches included; 0 on the host, of which nothing is predicted
};

}  // namespace bitgraph
