// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/tensor_map.cuh"

#include <bitgraph/core/error.hpp>
#include <bitgraph/core/kernel.cuh>

#include <array>
#include <string>

namespace bitgraph {

CUtensorMap tensor_map(const PlaneRows& rows, const PlaneBox& box) {
  using Encode = decltype(&cuTensorMapEncodeTiled);
  static const Encode encode = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    cuda_check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result),
               "cuTensorMapEncodeTiled");
    if (result != cudaDriverEntryPointSuccess) fail(ErrorCode::internal, "the CUDA driver has no tensor maps");
    return reinterpret_cast<Encode>(found);
  }();
  const std::array<cuuint64_t, 3> sizes{rows.plane_bytes, rows.planes, rows.rows};
  const std::array<cuuint64_t, 2> strides{rows.plane_bytes, rows.plane_bytes * rows.planes};
  const std::array<cuuint32_t, 3> boxes{box.bytes, box.planes, box.rows}, every{1, 1, 1};
  CUtensorMap map{};
  const CUresult result =
      encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 3, const_cast<void*>(rows.data), sizes.data(), strides.data(),
             boxes.data(), every.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  // Where a kernel before has failed, that is the error.
  if (result != CUDA_SUCCESS)
    fail(ErrorCode::internal, "the CUDA driver refuses a tensor map: error " + std::to_string(result));
  return map;
}

}  // namespace bitgraph
