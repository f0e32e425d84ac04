// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace bitgraph {

/// How a CUDA device multiplies levels of few bits and adds them up. The results are the same; the host does not look
/// at it.
enum class LevelStrategy {
  automatic,  ///< what was measured to be quicker for the bits and the shapes
  planes,  ///< planes of bits, where there is a kernel for them: see level_gemm_has_planes(), level_spmm_has_planes()
  bytes    ///< bytes, into which nibbles are widened on their way to registers
};

}  // namespace bitgraph
