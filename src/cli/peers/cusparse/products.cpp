// SPDX-License-Identifier: Apache-2.0
#include "cli/peers/cusparse/cusparse.hpp"

#include <algorithm>

namespace bitgraph::cli::cusparse {

namespace {

constexpr auto as_it_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
constexpr float one = 1;
constexpr float zero = 0;

template <class T>
std::vector<T> on_host(const Buffer<T>& values) {
  const Buffer<T> host = values.to(Device{});
  return {host.begin(), host.end()};
}

}  // namespace

Product::Product(std::shared_ptr<Session> session, std::shared_ptr<Matrix> a, cusparseSpMVAlg_t algorithm, float alpha,
                 float beta)
    : session_(std::move(session)),
      a_(std::move(a)),
      algorithm_(algorithm),
      alpha_(alpha),
      beta_(beta),
      x_(a_->ncols(), 0.0F, session_->device()),
      y_(a_->nrows(), 0.0F, session_->device()) {
  const Functions& call = session_->call();
  require_success(call.create_vector(&x_vector_, static_cast<std::int64_t>(x_.size()), x_.data(), CUDA_R_32F));
  require_success(call.create_vector(&y_vector_, static_cast<std::int64_t>(y_.size()), y_.data(), CUDA_R_32F));
  std::size_t bytes = 0;
  require_success(call.spmv_buffer_size(session_->handle(), as_it_is, &alpha_, a_->get(), x_vector_, &beta_, y_vector_,
                                        CUDA_R_32F, algorithm_, &bytes));
  workspace_ = Buffer<std::byte>(bytes, session_->device());
  if (call.spmv_preprocess != nullptr) {
    require_success(call.spmv_preprocess(session_->handle(), as_it_is, &alpha_, a_->get(), x_vector_, &beta_, y_vector_,
                                         CUDA_R_32F, algorithm_, workspace_.data()));
  }
}

Product::~Product() {
  session_->call().destroy_vector(x_vector_);
  session_->call().destroy_vector(y_vector_);
}

void Product::run() {
  require_success(session_->call().spmv(session_->handle(), as_it_is, &alpha_, a_->get(), x_vector_, &beta_, y_vector_,
                                        CUDA_R_32F, algorithm_, workspace_.data()));
}

MatrixProduct::MatrixProduct(std::shared_ptr<Session> session, std::shared_ptr<Matrix> a, std::shared_ptr<Matrix> b)
    : session_(std::move(session)), a_(std::move(a)), b_(std::move(b)) {}

void MatrixProduct::run() {
  const Functions& call = session_->call();
  cusparseSpMatDescr_t c = nullptr;
  cusparseSpGEMMDescr_t plan = nullptr;
  row_ptr_ = Buffer<std::int32_t>(a_->nrows() + std::size_t{1}, session_->device());
  require_success(call.create_csr(&c, a_->nrows(), b_->ncols(), 0, row_ptr_.data(), nullptr, nullptr,
                                  CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
  require_success(call.spgemm_create(&plan));
  try {
    multiply(c, plan);
  } catch (...) {
    call.spgemm_destroy(plan);
    call.destroy_matrix(c);
    throw;
  }
  require_success(call.spgemm_destroy(plan));
  require_success(call.destroy_matrix(c));
}

void MatrixProduct::multiply(cusparseSpMatDescr_t c, cusparseSpGEMMDescr_t plan) {
  const Functions& call = session_->call();
  const auto ask = [&](auto function, std::size_t* bytes, void* workspace) {
    require_success(function(session_->handle(), as_it_is, as_it_is, &one, a_->get(), b_->get(), &zero, c, CUDA_R_32F,
                             CUSPARSE_SPGEMM_DEFAULT, plan, bytes, workspace));
  };
  std::size_t estimating = 0;
  std::size_t computing = 0;
  ask(call.spgemm_work, &estimating, nullptr);
  Buffer<std::byte> first(std::max<std::size_t>(estimating, 1), session_->device());
  ask(call.spgemm_work, &estimating, first.data());
  ask(call.spgemm_compute, &computing, nullptr);
  Buffer<std::byte> second(std::max<std::size_t>(computing, 1), session_->device());
  ask(call.spgemm_compute, &computing, second.data());
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t entries = 0;
  require_success(call.get_size(c, &rows, &cols, &entries));
  col_ind_ = Buffer<std::int32_t>(static_cast<std::size_t>(entries), session_->device());
  values_ = Buffer<float>(static_cast<std::size_t>(entries), session_->device());
  require_success(call.set_pointers(c, row_ptr_.data(), col_ind_.data(), values_.data()));
  require_success(call.spgemm_copy(session_->handle(), as_it_is, as_it_is, &one, a_->get(), b_->get(), &zero, c,
                                   CUDA_R_32F, CUSPARSE_SPGEMM_DEFAULT, plan));
}

MatrixProduct::HostCsr MatrixProduct::result() const {
  return {on_host(row_ptr_), on_host(col_ind_), on_host(values_)};
}

}  // namespace bitgraph::cli::cusparse
