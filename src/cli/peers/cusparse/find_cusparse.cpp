// SPDX-License-Identifier: Apache-2.0
// The jobs that cuSPARSE has a product for: SpMV in float32, the better of its two algorithms, and SpGEMM.
#include "cli/peers/cusparse/cusparse.hpp"
#include "cli/peers/peers.hpp"

#include <algorithm>

namespace bitgraph::cli {

namespace {

using namespace cusparse;

constexpr float damping = 0.85F;

struct Algorithm {
  cusparseSpMVAlg_t algorithm;
  const char* name;
};
constexpr std::array<Algorithm, 2> algorithms{
    {{CUSPARSE_SPMV_CSR_ALG1, "SpMV, CSR_ALG1"}, {CUSPARSE_SPMV_CSR_ALG2, "SpMV, CSR_ALG2"}}};

/// The entries (i, j) of `a` for which keep(i, j) holds; owns its arrays.
struct Part {
  template <class Keep>
  Part(const PeerMatrix& a, Keep keep) : nrows(a.nrows), ncols(a.ncols) {
    for (NodeId i = 0; i < a.nrows; ++i) {
      for (const NodeId j : a.row(i)) {
        if (keep(i, j)) col_ind.push_back(j);
      }
      row_ptr.push_back(col_ind.size());
    }
  }
  [[nodiscard]] PeerMatrix view() const { return {nrows, ncols, row_ptr, col_ind}; }

  NodeId nrows, ncols;
  std::vector<EdgeOffset> row_ptr{0};
  std::vector<NodeId> col_ind;
};

/// Ranks by SpMV: the matrix holds 1 / degree, y begins as what every node is given. A node without edges holds what
/// all such nodes hold, so what they strand is known before.
struct RankLoop {
  std::shared_ptr<Product> product;
  std::vector<float> given;  ///< to every node, in each iteration
  float first = 0;

  void run() {
    product->x().fill(first);
    for (const float teleport : given) {
      product->y().fill(teleport);
      product->run();
      product->swap();
    }
  }
};

RankLoop rank_loop(const PeerMatrix& a, int iterations) {
  RankLoop loop;
  const double n = a.nrows;
  double alone = 0;
  for (NodeId i = 0; i < a.nrows; ++i) alone += a.row(i).empty() ? 1 : 0;
  loop.first = static_cast<float>(1 / n);
  double held = 1 / n;
  for (int k = 0; k < iterations; ++k) {
    held = (1 - double{damping} + double{damping} * alone * held) / n;
    loop.given.push_back(static_cast<float>(held));
  }
  return loop;
}

std::vector<double> numbers_of(const Buffer<float>& values) {
  const Buffer<float> host = values.to(Device{});
  return {host.begin(), host.end()};
}

class CusparseGraph : public PeerGraph {
 public:
  CusparseGraph(std::shared_ptr<Session> session, const PeerMatrix& a) : session_(std::move(session)), a_(a) {}

  std::vector<PeerWay> pagerank(int iterations) override {
    std::vector<float> values;
    values.reserve(a_.col_ind.size());
    for (const NodeId j : a_.col_ind) values.push_back(1 / static_cast<float>(a_.row(j).size()));
    const auto matrix = std::make_shared<Matrix>(session_, a_, std::move(values));
    std::vector<PeerWay> ways;
    for (const Algorithm& algorithm : algorithms) {
      auto loop = std::make_shared<RankLoop>(rank_loop(a_, iterations));
      loop->product = std::make_shared<Product>(session_, matrix, algorithm.algorithm, damping, 1.0F);
      ways.push_back({.calls = algorithm.name,
                      .prepare = {},
                      .run = [loop](NodeId) { loop->run(); },
                      .result = [loop] { return numbers_of(loop->product->x()); }});
    }
    return ways;
  }

  std::vector<PeerWay> mxv(const MxvJob& job) override {
    const auto matrix = ones(a_);
    const bool sums = job.kind == MxvKind::plus_times || job.kind == MxvKind::bits_to_counts;
    std::vector<PeerWay> ways;
    for (const Algorithm& algorithm : algorithms) {
      auto product = std::make_shared<Product>(session_, matrix, algorithm.algorithm, 1.0F, 0.0F);
      product->set_x(job.x);
      PeerWay way{.calls = algorithm.name, .prepare = {}, .run = [product](NodeId) { product->run(); }, .result = {}};
      // Sums, and whether a sum is more than 0; other semirings it does not have.
      if (sums || job.kind == MxvKind::bits_to_bits) {
        way.result = [product, sums, hidden = job.hidden] { return masked(numbers_of(product->y()), sums, hidden); };
      }
      ways.push_back(std::move(way));
    }
    return ways;
  }

  std::vector<PeerWay> mxm(MxmKind kind) override {
    if (kind == MxmKind::masked_sum) return masked_product();
    if (kind != MxmKind::sum && kind != MxmKind::reach && kind != MxmKind::counts) return {};
    const auto matrix = ones(a_);
    auto product = std::make_shared<MatrixProduct>(session_, matrix, matrix);
    return {{.calls = "SpGEMM",
             .prepare = {},
             .run = [product](NodeId) { product->run(); },
             .result = [product, kind] { return row_sums(product->result(), kind); }}};
  }

 private:
  /// L times its transpose; only the sum over L's entries is the job's result.
  std::vector<PeerWay> masked_product() {
    auto lower = std::make_shared<Part>(a_, [](NodeId i, NodeId j) { return j < i; });
    const Part upper(a_, [](NodeId i, NodeId j) { return j > i; });
    auto product = std::make_shared<MatrixProduct>(session_, ones(lower->view()), ones(upper.view()));
    return {{.calls = "SpGEMM, without a mask",
             .prepare = {},
             .run = [product](NodeId) { product->run(); },
             .result = [product, lower] { return std::vector{sum_under(product->result(), lower->view())}; }}};
  }

  [[nodiscard]] std::shared_ptr<Matrix> ones(const PeerMatrix& a) const {
    return std::make_shared<Matrix>(session_, a, std::vector<float>(a.col_ind.size(), 1.0F));
  }

  static std::vector<double> masked(std::vector<double> y, bool sums, std::span<const std::uint8_t> hidden) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (!sums) y[i] = y[i] > 0 ? 1 : 0;
      if (!hidden.empty() && hidden[i] != 0) y[i] = 0;
    }
    return y;
  }

  static std::vector<double> row_sums(const MatrixProduct::HostCsr& c, MxmKind kind) {
    std::vector<double> sums(c.row_ptr.size() - 1);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      for (auto e = static_cast<std::size_t>(c.row_ptr[i]); e < static_cast<std::size_t>(c.row_ptr[i + 1]); ++e) {
        sums[i] += kind == MxmKind::reach ? 1 : static_cast<double>(c.values[e]);
      }
    }
    if (kind != MxmKind::sum) return sums;
    double total = 0;
    for (const double sum : sums) total += sum;
    return {total};
  }

  static double sum_under(const MatrixProduct::HostCsr& c, const PeerMatrix& mask) {
    double total = 0;
    for (NodeId i = 0; i < mask.nrows; ++i) {
      const auto row = mask.row(i);
      for (auto e = static_cast<std::size_t>(c.row_ptr[i]); e < static_cast<std::size_t>(c.row_ptr[i + 1]); ++e) {
        const auto column = static_cast<NodeId>(c.col_ind[e]);
        if (std::binary_search(row.begin(), row.end(), column)) total += static_cast<double>(c.values[e]);
      }
    }
    return total;
  }

  std::shared_ptr<Session> session_;
  PeerMatrix a_;
};

class Cusparse : public PeerLibrary {
 public:
  explicit Cusparse(std::shared_ptr<Session> session) : session_(std::move(session)) {}
  [[nodiscard]] std::string name() const override { return "cuSPARSE"; }
  [[nodiscard]] std::string version() const override { return session_->version(); }
  [[nodiscard]] std::unique_ptr<PeerGraph> open(const PeerMatrix& graph) override {
    return std::make_unique<CusparseGraph>(session_, graph);
  }
  void finish() override { session_->device().synchronize(); }

 private:
  std::shared_ptr<Session> session_;
};

}  // namespace

FoundPeer find_cusparse(const Device& device) {
  FoundPeer found{.name = "cuSPARSE", .library = nullptr, .absent = {}};
  if (auto session = Session::start(device, found.absent)) found.library = std::make_unique<Cusparse>(session);
  return found;
}

}  // namespace bitgraph::cli
