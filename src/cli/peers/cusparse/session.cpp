// SPDX-License-Identifier: Apache-2.0
#include "cli/peers/cusparse/cusparse.hpp"

#include <bitgraph/core/error.hpp>

#include "core/cuda/library.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>

namespace bitgraph::cli::cusparse {

namespace {

void look_up(LibraryFunctions& library, Functions& f) {
  library.find(f.create, "cusparseCreate");
  library.find(f.destroy, "cusparseDestroy");
  library.find(f.get_version, "cusparseGetVersion");
  library.find(f.set_stream, "cusparseSetStream");
  library.find(f.create_csr, "cusparseCreateCsr");
  library.find(f.set_pointers, "cusparseCsrSetPointers");
  library.find(f.get_size, "cusparseSpMatGetSize");
  library.find(f.destroy_matrix, "cusparseDestroySpMat");
  library.find(f.create_vector, "cusparseCreateDnVec");
  library.find(f.destroy_vector, "cusparseDestroyDnVec");
  library.find(f.spmv_buffer_size, "cusparseSpMV_bufferSize");
  library.find(f.spmv, "cusparseSpMV");
  library.find_optional(f.spmv_preprocess, "cusparseSpMV_preprocess");
  library.find(f.create_dense, "cusparseCreateDnMat");
  library.find(f.destroy_dense, "cusparseDestroyDnMat");
  library.find(f.spmm_buffer_size, "cusparseSpMM_bufferSize");
  library.find(f.spmm_preprocess, "cusparseSpMM_preprocess");
  library.find(f.spmm, "cusparseSpMM");
  library.find(f.spgemm_create, "cusparseSpGEMM_createDescr");
  library.find(f.spgemm_destroy, "cusparseSpGEMM_destroyDescr");
  library.find(f.spgemm_work, "cusparseSpGEMM_workEstimation");
  library.find(f.spgemm_compute, "cusparseSpGEMM_compute");
  library.find(f.spgemm_copy, "cusparseSpGEMM_copy");
}

}  // namespace

void require_success(cusparseStatus_t status) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  const bool memory = status == CUSPARSE_STATUS_ALLOC_FAILED || status == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES;
  fail(memory ? ErrorCode::not_possible : ErrorCode::internal,
       fmt::format("cuSPARSE returned {}", static_cast<int>(status)));
}

std::shared_ptr<Session> Session::start(const Device& device, std::string& absent) {
  // The version that the header is of: types may differ in another.
  const std::array<std::string, 1> names{fmt::format("libcusparse.so.{}", CUSPARSE_VER_MAJOR)};
  Functions functions;
  absent = load_functions(names, [&](LibraryFunctions& library) { look_up(library, functions); });
  if (!absent.empty()) return nullptr;
  return std::shared_ptr<Session>(new Session(device, functions));
}

Session::Session(const Device& device, const Functions& functions) : functions_(functions), device_(device) {
  const Buffer<float> first(1, device);  // makes the device the one that is current
  require_success(functions_.create(&handle_));
  require_success(functions_.set_stream(handle_, static_cast<cudaStream_t>(device.stream())));
}

Session::~Session() { functions_.destroy(handle_); }

std::string Session::version() const {
  int number = 0;
  require_success(functions_.get_version(handle_, &number));
  return fmt::format("{}.{}.{}", number / 1000, number / 100 % 10, number % 100);
}

Matrix::Matrix(std::shared_ptr<Session> session, const PeerMatrix& a, std::vector<float> values)
    : session_(std::move(session)), nrows_(a.nrows), ncols_(a.ncols) {
  if (a.col_ind.size() > std::numeric_limits<std::int32_t>::max()) {
    fail(ErrorCode::not_possible, fmt::format("{} entries are too many for cuSPARSE's int32", a.col_ind.size()));
  }
  const std::vector<std::int32_t> row_ptr(a.row_ptr.begin(), a.row_ptr.end());
  const std::vector<std::int32_t> col_ind(a.col_ind.begin(), a.col_ind.end());
  row_ptr_ = Buffer<std::int32_t>::copy_of(row_ptr, session_->device());
  col_ind_ = Buffer<std::int32_t>::copy_of(col_ind, session_->device());
  values_ = Buffer<float>::copy_of(values, session_->device());
  matrix_ = describe();
}

cusparseSpMatDescr_t Matrix::describe() {
  cusparseSpMatDescr_t made = nullptr;
  require_success(session_->call().create_csr(&made, nrows_, ncols_, static_cast<std::int64_t>(col_ind_.size()),
                                              row_ptr_.data(), col_ind_.data(), values_.data(), CUSPARSE_INDEX_32I,
                                              CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
  return made;
}

Matrix::~Matrix() { session_->call().destroy_matrix(matrix_); }

}  // namespace bitgraph::cli::cusparse
