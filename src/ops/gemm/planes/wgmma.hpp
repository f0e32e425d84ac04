// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/gemm/planes/planes.hpp"

namespace bitgraph::plane_cuda {

/// Products that plane_gemm_by_wgmma() names, on the device's stream.
void multiply_by_wgmma(const Device& device, const PlaneGemmArgs& args);
/// The same where A has tiles.
void multiply_tiles_by_wgmma(const Device& device, const PlaneGemmArgs& args);

}  // namespace bitgraph::plane_cuda
