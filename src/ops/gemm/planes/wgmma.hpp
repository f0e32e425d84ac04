// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/gemm/planes/planes.hpp"

namespace bitgraph::plane_cuda {

/// Whether the kernel of wgmma was compiled: its instructions are for compute capability 9.0 and for no other.
#ifdef BITGRAPH_WITH_SM90A
inline constexpr bool has_wgmma = true;
#else
inline constexpr bool has_wgmma = false;
#endif

/// Products that plane_gemm_by_wgmma() names, on the device's stream.
void multiply_by_wgmma(const Device& device, const PlaneGemmArgs& args);

}  // namespace bitgraph::plane_cuda
