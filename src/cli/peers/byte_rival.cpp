// SPDX-License-Identifier: Apache-2.0
// The few functions of cuBLAS that it takes are declared here: they have been the same from version 11 on, and the
// program builds without cuBLAS's headers.
#include "cli/peers/byte_rival.hpp"

#include <bitgraph/core/error.hpp>

#include "core/cuda/library.hpp"

#include <fmt/format.h>

#include <array>

namespace bitgraph::cli {

namespace {

using Handle = void*;
using Status = int;  ///< 0 is success

struct Functions {
  Status (*create)(Handle*) = nullptr;
  Status (*destroy)(Handle) = nullptr;
  Status (*set_stream)(Handle, void*) = nullptr;
  Status (*gemm)(Handle, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int,
                 const void*, void*, int, int, int, int) = nullptr;
};

void require_success(Status status) {
  if (status != 0) fail(ErrorCode::internal, fmt::format("cuBLAS returned {}", status));
}

class CublasBytes final : public ByteRival {
 public:
  CublasBytes(const Device& device, const Functions& functions) : functions_(functions) {
    const Buffer<float> first(1, device);  // makes the device the one that is current
    require_success(functions_.create(&handle_));
    require_success(functions_.set_stream(handle_, device.stream()));
  }
  ~CublasBytes() override { functions_.destroy(handle_); }

  void multiply(DenseMatrix<std::int32_t>& out, const Buffer<std::int8_t>& a, const Buffer<std::int8_t>& x,
                std::size_t depth) override {
    // Rows are columns to cuBLAS: it is asked for the transpose of the output. cudaDataType_t, cublasComputeType_t.
    constexpr int no_transpose = 0, transpose = 1, bytes = 3, whole_numbers = 10, compute = 72, default_algorithm = -1;
    const std::int32_t one = 1, zero = 0;
    const auto side = [](std::size_t size) { return static_cast<int>(size); };
    require_success(functions_.gemm(handle_, transpose, no_transpose, side(out.ncols()), side(out.nrows()), side(depth),
                                    &one, x.data(), bytes, side(depth), a.data(), bytes, side(depth), &zero,
                                    out.values().data(), whole_numbers, side(out.ncols()), compute, default_algorithm));
  }

 private:
  Functions functions_;
  Handle handle_ = nullptr;
};

}  // namespace

std::unique_ptr<ByteRival> make_byte_rival(const Device& device, std::string& absent) {
  static constexpr std::array versions{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"};
  const std::array<std::string, versions.size()> names{versions[0], versions[1], versions[2], versions[3]};
  Functions functions;
  absent = load_functions(names, [&](LibraryFunctions& library) {
    library.find(functions.create, "cublasCreate_v2");
    library.find(functions.destroy, "cublasDestroy_v2");
    library.find(functions.set_stream, "cublasSetStream_v2");
    library.find(functions.gemm, "cublasGemmEx");
  });
  if (!absent.empty()) return nullptr;
  return std::make_unique<CublasBytes>(device, functions);
}

}  // namespace bitgraph::cli
