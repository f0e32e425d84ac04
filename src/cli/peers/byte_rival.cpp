// SPDX-License-Identifier: Apache-2.0
// The few functions of cuBLASLt that it takes are declared here: they have been the same from version 11 on, and the
// program builds without cuBLASLt's headers.
#include "cli/peers/byte_rival.hpp"

#include <bitgraph/core/error.hpp>

#include "cli/bench/timing.hpp"
#include "core/cuda/library.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <utility>
#include <vector>

namespace bitgraph::cli {

namespace cublaslt {

namespace {

using Handle = void*;
using Status = int;                              ///< 0 is success
using Algorithm = std::array<std::uint64_t, 8>;  ///< cublasLtMatmulAlgo_t

/// cublasLtMatmulHeuristicResult_t.
struct Found {
  Algorithm algorithm{};
  std::size_t workspace = 0;
  Status status = 0;
  float waves = 0;
  std::array<int, 4> reserved{};
};

struct Functions {
  Status (*create)(Handle*) = nullptr;
  Status (*destroy)(Handle) = nullptr;
  Status (*create_operation)(Handle*, int, int) = nullptr;
  Status (*set_operation)(Handle, int, const void*, std::size_t) = nullptr;
  Status (*destroy_operation)(Handle) = nullptr;
  Status (*create_layout)(Handle*, int, std::uint64_t, std::uint64_t, std::int64_t) = nullptr;
  Status (*destroy_layout)(Handle) = nullptr;
  Status (*create_preference)(Handle*) = nullptr;
  Status (*set_preference)(Handle, int, const void*, std::size_t) = nullptr;
  Status (*destroy_preference)(Handle) = nullptr;
  Status (*find)(Handle, Handle, Handle, Handle, Handle, Handle, Handle, int, Found*, int*) = nullptr;
  Status (*multiply)(Handle, Handle, const void*, const void*, Handle, const void*, Handle, const void*, const void*,
                     Handle, void*, Handle, const Algorithm*, void*, std::size_t, void*) = nullptr;
};

void require_success(Status status, const char* what) {
  if (status != 0) fail(ErrorCode::internal, fmt::format("cuBLASLt: {} returned {}", what, status));
}

/// One of cuBLASLt's objects, with the function that gives it back.
using Owned = std::unique_ptr<void, Status (*)(Handle)>;

class Bytes final : public ByteRival {
 public:
  Bytes(const Device& device, const Functions& functions)
      : device_(device),
        call_(functions),
        workspace_(std::size_t{32} << 20, device),  // makes the device the one that is current, too
        library_(nullptr, call_.destroy),
        operation_(nullptr, call_.destroy_operation),
        a_(nullptr, call_.destroy_layout),
        x_(nullptr, call_.destroy_layout),
        out_(nullptr, call_.destroy_layout) {
    // cublasComputeType_t and cudaDataType_t; cublasLtMatmulDescAttributes_t.
    constexpr int compute = 72, transpose_first = 3;
    constexpr std::int32_t transpose = 1;
    Handle made = nullptr;
    require_success(call_.create(&made), "cublasLtCreate");
    library_.reset(made);
    require_success(call_.create_operation(&made, compute, whole_numbers), "cublasLtMatmulDescCreate");
    operation_.reset(made);
    require_success(call_.set_operation(made, transpose_first, &transpose, sizeof(transpose)),
                    "cublasLtMatmulDescSetAttribute");
  }

  bool prepare(DenseMatrix<std::int32_t>& out, const Buffer<std::int8_t>& a, const Buffer<std::int8_t>& x,
               std::size_t depth) override {
    // Rows are columns to cuBLASLt: it is asked for the transpose of the output.
    a_.reset(layout(bytes, depth, out.nrows()));
    x_.reset(layout(bytes, depth, out.ncols()));
    out_.reset(layout(whole_numbers, out.ncols(), out.nrows()));
    double least = std::numeric_limits<double>::infinity();
    for (const Found& found : named_by_heuristic()) {
      const Algorithm before = std::exchange(algorithm_, found.algorithm);
      if (status_of_product(out, a, x) != 0) {  // the heuristic may name ways that are refused
        algorithm_ = before;
        continue;
      }
      const Timing timing{.repeats = 5, .limit = 0.2, .batch = 1e-3};
      const double seconds = measure(
                                 timing, [&](int) { multiply(out, a, x); }, [&] { device_.synchronize(); })
                                 .median;
      if (seconds < least) {
        least = seconds;
      } else {
        algorithm_ = before;
      }
    }
    return least < std::numeric_limits<double>::infinity();
  }

  void multiply(DenseMatrix<std::int32_t>& out, const Buffer<std::int8_t>& a, const Buffer<std::int8_t>& x) override {
    require_success(status_of_product(out, a, x), "cublasLtMatmul");
  }

 private:
  static constexpr int bytes = 3, whole_numbers = 10;  // cudaDataType_t: CUDA_R_8I, CUDA_R_32I

  /// Of the way that is chosen.
  [[nodiscard]] Status status_of_product(DenseMatrix<std::int32_t>& out, const Buffer<std::int8_t>& a,
                                         const Buffer<std::int8_t>& x) {
    const std::int32_t one = 1, zero = 0;
    std::int32_t* const sums = out.values().data();
    return call_.multiply(library_.get(), operation_.get(), &one, x.data(), x_.get(), a.data(), a_.get(), &zero, sums,
                          out_.get(), sums, out_.get(), &algorithm_, workspace_.data(), workspace_.size(),
                          device_.stream());
  }

  [[nodiscard]] Handle layout(int type, std::size_t rows, std::size_t columns) const {
    Handle made = nullptr;
    require_success(call_.create_layout(&made, type, rows, columns, static_cast<std::int64_t>(rows)),
                    "cublasLtMatrixLayoutCreate");
    return made;
  }

  /// The ways that its heuristic names for the layouts, the one that it holds for the quickest first.
  [[nodiscard]] std::vector<Found> named_by_heuristic() const {
    constexpr int most_workspace = 1, most = 8;  // cublasLtMatmulPreferenceAttributes_t
    Handle made = nullptr;
    require_success(call_.create_preference(&made), "cublasLtMatmulPreferenceCreate");
    const Owned preference(made, call_.destroy_preference);
    const std::size_t room = workspace_.size();
    require_success(call_.set_preference(made, most_workspace, &room, sizeof(room)),
                    "cublasLtMatmulPreferenceSetAttribute");
    std::vector<Found> all(most);
    int count = 0;
    const Status status = call_.find(library_.get(), operation_.get(), x_.get(), a_.get(), out_.get(), out_.get(),
                                     preference.get(), most, all.data(), &count);
    all.resize(status == 0 ? static_cast<std::size_t>(count) : 0);  // for some shapes there is none
    std::erase_if(all, [](const Found& found) { return found.status != 0; });
    return all;
  }

  Device device_;
  Functions call_;
  Buffer<std::byte> workspace_;
  Owned library_, operation_, a_, x_, out_;
  Algorithm algorithm_{};
};

}  // namespace

}  // namespace cublaslt

std::unique_ptr<ByteRival> make_byte_rival(const Device& device, std::string& absent) {
  static constexpr std::array versions{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", "libcublasLt.so"};
  const std::array<std::string, versions.size()> names{versions[0], versions[1], versions[2], versions[3]};
  cublaslt::Functions f;
  absent = load_functions(names, [&](LibraryFunctions& library) {
    library.find(f.create, "cublasLtCreate");
    library.find(f.destroy, "cublasLtDestroy");
    library.find(f.create_operation, "cublasLtMatmulDescCreate");
    library.find(f.set_operation, "cublasLtMatmulDescSetAttribute");
    library.find(f.destroy_operation, "cublasLtMatmulDescDestroy");
    library.find(f.create_layout, "cublasLtMatrixLayoutCreate");
    library.find(f.destroy_layout, "cublasLtMatrixLayoutDestroy");
    library.find(f.create_preference, "cublasLtMatmulPreferenceCreate");
    library.find(f.set_preference, "cublasLtMatmulPreferenceSetAttribute");
    library.find(f.destroy_preference, "cublasLtMatmulPreferenceDestroy");
    library.find(f.find, "cublasLtMatmulAlgoGetHeuristic");
    library.find(f.multiply, "cublasLtMatmul");
  });
  if (!absent.empty()) return nullptr;
  return std::make_unique<cublaslt::Bytes>(device, f);
}

}  // namespace bitgraph::cli
