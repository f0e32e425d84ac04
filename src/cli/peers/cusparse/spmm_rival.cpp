// SPDX-License-Identifier: Apache-2.0
#include "cli/peers/spmm_rival.hpp"

#include "cli/peers/cusparse/cusparse.hpp"

#include <map>

namespace bitgraph::cli {

namespace {

using cusparse::require_success;

constexpr auto as_it_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
constexpr float one = 1;
constexpr float zero = 0;

class CusparseSpmm final : public SpmmRival {
 public:
  CusparseSpmm(std::shared_ptr<cusparse::Session> session, const PeerMatrix& a, std::span<const float> values)
      : session_(session), a_(session, a, {values.begin(), values.end()}) {}

  ~CusparseSpmm() override {
    for (auto& [key, product] : products_) {
      session_->call().destroy_dense(product.x);
      session_->call().destroy_dense(product.out);
    }
  }

  void prepare(DenseMatrix<float>& out, const DenseMatrix<float>& x) override {
    const cusparse::Functions& call = session_->call();
    Product p;
    p.x = dense(const_cast<float*>(x.values().data()), x);
    p.out = dense(out.values().data(), out);
    std::size_t bytes = 0;
    require_success(call.spmm_buffer_size(session_->handle(), as_it_is, as_it_is, &one, a_.get(), p.x, &zero, p.out,
                                          CUDA_R_32F, CUSPARSE_SPMM_CSR_ALG2, &bytes));
    p.workspace = Buffer<std::byte>(bytes, session_->device());
    require_success(call.spmm_preprocess(session_->handle(), as_it_is, as_it_is, &one, a_.get(), p.x, &zero, p.out,
                                         CUDA_R_32F, CUSPARSE_SPMM_CSR_ALG2, p.workspace.data()));
    products_.insert_or_assign(out.values().data(), std::move(p));
  }

  void multiply(DenseMatrix<float>& out, const DenseMatrix<float>&) override {
    Product& p = products_.at(out.values().data());
    require_success(session_->call().spmm(session_->handle(), as_it_is, as_it_is, &one, a_.get(), p.x, &zero, p.out,
                                          CUDA_R_32F, CUSPARSE_SPMM_CSR_ALG2, p.workspace.data()));
  }

 private:
  struct Product {
    cusparseDnMatDescr_t x = nullptr, out = nullptr;
    Buffer<std::byte> workspace;
  };

  cusparseDnMatDescr_t dense(float* values, const DenseMatrix<float>& m) {
    cusparseDnMatDescr_t made = nullptr;
    const auto rows = static_cast<std::int64_t>(m.nrows());
    const auto columns = static_cast<std::int64_t>(m.ncols());
    require_success(
        session_->call().create_dense(&made, rows, columns, columns, values, CUDA_R_32F, CUSPARSE_ORDER_ROW));
    return made;
  }

  std::shared_ptr<cusparse::Session> session_;
  cusparse::Matrix a_;
  std::map<const float*, Product> products_;  ///< by where the result goes
};

}  // namespace

std::unique_ptr<SpmmRival> make_spmm_rival(const PeerMatrix& a, std::span<const float> values, const Device& device,
                                           std::string& absent) {
  auto session = cusparse::Session::start(device, absent);
  if (!session) return nullptr;
  return std::make_unique<CusparseSpmm>(std::move(session), a, values);
}

}  // namespace bitgraph::cli
