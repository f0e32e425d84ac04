// SPDX-License-Identifier: Apache-2.0
// cuSPARSE's functions, found in the library when the program runs: it is not linked.
#pragma once

#include <bitgraph/core/buffer.hpp>

#include "cli/peers/peer.hpp"

#include <cusparse.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::cli::cusparse {

/// Types are the header's; nothing of it is called but through this.
struct Functions {
  decltype(&cusparseCreate) create = nullptr;
  decltype(&cusparseDestroy) destroy = nullptr;
  decltype(&cusparseGetVersion) get_version = nullptr;
  decltype(&cusparseSetStream) set_stream = nullptr;
  decltype(&cusparseCreateCsr) create_csr = nullptr;
  decltype(&cusparseCsrSetPointers) set_pointers = nullptr;
  decltype(&cusparseSpMatGetSize) get_size = nullptr;
  decltype(&cusparseDestroySpMat) destroy_matrix = nullptr;
  decltype(&cusparseCreateDnVec) create_vector = nullptr;
  decltype(&cusparseDestroyDnVec) destroy_vector = nullptr;
  decltype(&cusparseSpMV_bufferSize) spmv_buffer_size = nullptr;
  decltype(&cusparseSpMV) spmv = nullptr;
  decltype(&cusparseSpMV) spmv_preprocess = nullptr;  ///< has spmv's arguments; null in old versions
  decltype(&cusparseCreateDnMat) create_dense = nullptr;
  decltype(&cusparseDestroyDnMat) destroy_dense = nullptr;
  decltype(&cusparseSpMM_bufferSize) spmm_buffer_size = nullptr;
  decltype(&cusparseSpMM_preprocess) spmm_preprocess = nullptr;
  decltype(&cusparseSpMM) spmm = nullptr;
  decltype(&cusparseSpGEMM_createDescr) spgemm_create = nullptr;
  decltype(&cusparseSpGEMM_destroyDescr) spgemm_destroy = nullptr;
  decltype(&cusparseSpGEMM_workEstimation) spgemm_work = nullptr;
  decltype(&cusparseSpGEMM_compute) spgemm_compute = nullptr;
  decltype(&cusparseSpGEMM_copy) spgemm_copy = nullptr;
};

/// Throws internal where a call did not succeed, not_possible where memory ran out.
void require_success(cusparseStatus_t status);

/// The library, and a handle that works on the device's stream.
class Session {
 public:
  /// Why there is none in `absent`, then empty.
  static std::shared_ptr<Session> start(const Device& device, std::string& absent);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] const Functions& call() const { return functions_; }
  [[nodiscard]] cusparseHandle_t handle() const { return handle_; }
  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] std::string version() const;

 private:
  Session(const Device& device, const Functions& functions);
  Functions functions_;
  Device device_;
  cusparseHandle_t handle_ = nullptr;
};

/// A float32 CSR matrix on the device, int32 indices, which is how cuSPARSE is fastest.
class Matrix {
 public:
  /// Throws not_possible where int32 is too small for the entries.
  Matrix(std::shared_ptr<Session> session, const PeerMatrix& a, std::vector<float> values);
  ~Matrix();
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  [[nodiscard]] cusparseSpMatDescr_t get() const { return matrix_; }
  /// The same matrix once more: one of them can be prepared for one product. The caller destroys it.
  [[nodiscard]] cusparseSpMatDescr_t describe();
  [[nodiscard]] NodeId nrows() const { return nrows_; }
  [[nodiscard]] NodeId ncols() const { return ncols_; }

 private:
  std::shared_ptr<Session> session_;
  NodeId nrows_, ncols_;
  Buffer<std::int32_t> row_ptr_, col_ind_;
  Buffer<float> values_;
  cusparseSpMatDescr_t matrix_ = nullptr;
};

/// y = alpha A x + beta y by one of the algorithms, prepared.
class Product {
 public:
  Product(std::shared_ptr<Session> session, std::shared_ptr<Matrix> a, cusparseSpMVAlg_t algorithm, float alpha,
          float beta);
  ~Product();
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  void run();  ///< y from x
  void swap() {
    std::swap(x_, y_);
    std::swap(x_vector_, y_vector_);
  }
  void set_x(std::span<const float> values) { Device::copy(x_.data(), x_.device(), values.data(), {}, x_.bytes()); }
  [[nodiscard]] Buffer<float>& x() { return x_; }
  [[nodiscard]] Buffer<float>& y() { return y_; }

 private:
  std::shared_ptr<Session> session_;
  std::shared_ptr<Matrix> a_;
  cusparseSpMVAlg_t algorithm_;
  float alpha_, beta_;
  Buffer<float> x_, y_;
  Buffer<std::byte> workspace_;
  cusparseDnVecDescr_t x_vector_ = nullptr, y_vector_ = nullptr;
};

/// C = A B, made anew by every run: work estimation, computing and copying, as cuSPARSE asks for it.
class MatrixProduct {
 public:
  MatrixProduct(std::shared_ptr<Session> session, std::shared_ptr<Matrix> a, std::shared_ptr<Matrix> b);
  void run();

  struct HostCsr {
    std::vector<std::int32_t> row_ptr, col_ind;
    std::vector<float> values;
  };
  [[nodiscard]] HostCsr result() const;

 private:
  void multiply(cusparseSpMatDescr_t c, cusparseSpGEMMDescr_t plan);
  std::shared_ptr<Session> session_;
  std::shared_ptr<Matrix> a_, b_;
  Buffer<std::int32_t> row_ptr_, col_ind_;
  Buffer<float> values_;
};

}  // namespace bitgraph::cli::cusparse
