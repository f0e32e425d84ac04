// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace bitgraph {

/// Whether the kernels of wgmma were compiled: its instructions are for compute capability 9.0 and for no other.
#ifdef BITGRAPH_WITH_SM90A
inline constexpr bool has_wgmma = true;
#else
inline constexpr bool has_wgmma = false;
#endif

}  // namespace bitgraph
