// SPDX-License-Identifier: Apache-2.0
// The few functions of cuBLAS that a product needs, declared here: they have been the same from version 11 on, and the
// library builds without cuBLAS's headers.
#include "ops/gemm/cuda/blas.hpp"

#include <bitgraph/core/kernel.cuh>

#include "core/cuda/library.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

namespace bitgraph::cuda_blas {

namespace {

using Handle = void*;
using Status = int;  ///< 0 is success
constexpr int no_transpose = 0;
constexpr int transpose = 1;

struct Functions {
  Status (*create)(Handle*) = nullptr;
  Status (*get_version)(Handle, int*) = nullptr;
  Status (*set_stream)(Handle, cudaStream_t) = nullptr;
  Status (*set_workspace)(Handle, void*, std::size_t) = nullptr;
  Status (*sgemm)(Handle, int, int, int, int, int, const float*, const float*, int, const float*, int, const float*,
                  float*, int) = nullptr;
  Status (*gemm_ex)(Handle, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int,
                    const void*, void*, int, int, int, int) = nullptr;
  Status (*set_math_mode)(Handle, int) = nullptr;
};

/// Scratch given to cuBLAS: with one of its own it may choose other kernels from call to call. Room for the parts of a
/// small result whose depth is shared out.
std::size_t workspace_bytes(std::size_t m, std::size_t n) {
  constexpr std::size_t parts = 16;
  return std::clamp(parts * m * n * sizeof(float), std::size_t{1} << 20, std::size_t{32} << 20);
}

/// Null where there is none. The version that the CUDA runtime is of comes first; others work with a newer driver.
const Functions* functions() {
  static const Functions* const found = []() -> const Functions* {
    static Functions f;
    std::vector<std::string> names{"libcublas.so." + std::to_string(CUDART_VERSION / 1000)};
    for (const char* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"}) {
      names.emplace_back(name);
    }
    const std::string absent = load_functions(names, [](LibraryFunctions& library) {
      library.find(f.create, "cublasCreate_v2");
      library.find(f.get_version, "cublasGetVersion_v2");
      library.find(f.set_stream, "cublasSetStream_v2");
      library.find(f.set_workspace, "cublasSetWorkspace_v2");
      library.find(f.sgemm, "cublasSgemm_v2");
      library.find(f.gemm_ex, "cublasGemmEx");
      library.find(f.set_math_mode, "cublasSetMathMode");
    });
    return absent.empty() ? &f : nullptr;
  }();
  return found;
}

void require_success(Status status, const char* what) {
  if (status != 0) fail(ErrorCode::internal, std::string("cuBLAS: ") + what + " returned " + std::to_string(status));
}

/// A handle a device, kept until the process ends: by then the driver may be gone, so none is given back.
class Handles {
 public:
  Handle of(const Functions& f, int index) {
    const auto at = static_cast<std::size_t>(index);
    handles_.resize(std::max(handles_.size(), at + 1), nullptr);
    if (handles_[at] == nullptr) require_success(f.create(&handles_[at]), "cublasCreate");
    return handles_[at];
  }
  std::mutex mutex;  ///< a handle is for one host thread at a time

 private:
  std::vector<Handle> handles_;
};

Handles& handles() {
  static Handles all;
  return all;
}

int side(std::size_t size) { return static_cast<int>(size); }
int step(std::size_t stride) { return static_cast<int>(std::max<std::size_t>(stride, 1)); }

/// Calls fn(functions, handle) with the device's stream and a workspace. `sizes` are m and n of the output, then the
/// others. False where there is no cuBLAS or a size does not fit its int32.
template <class Fn>
bool with_handle(const Device& device, std::initializer_list<std::size_t> sizes, const Fn& fn) {
  constexpr std::size_t most = std::numeric_limits<int>::max();
  if (std::max(sizes) > most) return false;
  const Functions* const f = functions();
  if (f == nullptr) return false;
  const std::size_t bytes = workspace_bytes(sizes.begin()[0], sizes.begin()[1]);
  void* const workspace = device.workspace(bytes);
  const ScopedCudaDevice scope(device.index());
  const std::scoped_lock lock(handles().mutex);
  const Handle handle = handles().of(*f, device.index());
  require_success(f->set_stream(handle, stream_of(device)), "cublasSetStream");
  require_success(f->set_workspace(handle, workspace, bytes), "cublasSetWorkspace");
  fn(*f, handle);
  return true;
}

}  // namespace

bool multiply(const Device& device, float* out, std::size_t out_stride, const Matrix& a, const Matrix& b, std::size_t m,
              std::size_t n, std::size_t k, float alpha, float beta) {
  return with_handle(device, {m, n, k, a.stride, b.stride, out_stride}, [&](const Functions& f, Handle handle) {
    // Rows are columns to cuBLAS: it is asked for the transpose, op(B)^T op(A)^T.
    require_success(
        f.sgemm(handle, b.transpose ? transpose : no_transpose, a.transpose ? transpose : no_transpose, side(n),
                side(m), side(k), &alpha, b.data, step(b.stride), a.data, step(a.stride), &beta, out, step(out_stride)),
        "cublasSgemm");
  });
}

bool multiply_bfloat16(const Device& device, const Output& out, const Bfloats& a, const Bfloats& b, std::size_t m,
                       std::size_t n, std::size_t k) {
  // cudaDataType_t, cublasComputeType_t, cublasMath_t, cublasGemmAlgo_t.
  constexpr int float32 = 0;
  constexpr int bfloat16 = 14;
  constexpr int compute_float32 = 68;
  constexpr int sums_stay_float32 = 16;  // of parts of the depth, too
  constexpr int default_algorithm = -1;
  return with_handle(device, {m, n, k, a.stride, b.stride, out.stride}, [&](const Functions& f, Handle handle) {
    const float one = 1;
    const float zero = 0;
    require_success(f.set_math_mode(handle, sums_stay_float32), "cublasSetMathMode");
    const Status status =
        f.gemm_ex(handle, transpose, no_transpose, side(n), side(m), side(k), &one, b.data, bfloat16, step(b.stride),
                  a.data, bfloat16, step(a.stride), &zero, out.data, out.is_bfloat16 ? bfloat16 : float32,
                  step(out.stride), compute_float32, default_algorithm);
    require_success(f.set_math_mode(handle, 0), "cublasSetMathMode");
    require_success(status, "cublasGemmEx");
  });
}

std::string version(const Device& device) {
  const Functions* const f = functions();
  if (f == nullptr) return {};
  const ScopedCudaDevice scope(device.index());
  const std::scoped_lock lock(handles().mutex);
  int number = 0;
  require_success(f->get_version(handles().of(*f, device.index()), &number), "cublasGetVersion");
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." + std::to_string(number % 100);
}

}  // namespace bitgraph::cuda_blas
