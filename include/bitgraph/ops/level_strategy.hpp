// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/level_view.hpp>

namespace bitgraph {

/// How levels of few bits are multiplied and added up. The results are the same. A product of the host does not look at
/// it, and its plans hand levels in planes from operator to operator unless they are to be bytes.
enum class LevelStrategy {
  automatic,  ///< what was measured to be quicker for the bits and the shapes
  planes,  ///< planes of bits, where there is a kernel for them: see level_gemm_has_planes(), level_spmm_has_planes()
  bytes    ///< bytes, into which nibbles are widened on their way to registers
};

/// Which X a W is made ready for. Any dense X in places is right; what is known of it makes products faster on a CUDA
/// device. An X in planes needs a W that was made ready for it.
struct LevelWeightsUse {
  int x_bits = 0;                                     ///< of a dense X; 0: not known
  bool sparse = false;                                ///< X comes in SparseLevels, too
  LevelStrategy strategy = LevelStrategy::automatic;  ///< of products of a dense X of `x_bits`, in places
  LevelPacking x_packing = LevelPacking::places;      ///< of a dense X
  LevelPacking out_packing = LevelPacking::places;    ///< of levels out

  friend bool operator==(const LevelWeightsUse&, const LevelWeightsUse&) = default;
};

}  // namespace bitgraph
