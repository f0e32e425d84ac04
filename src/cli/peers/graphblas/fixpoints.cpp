// SPDX-License-Identifier: Apache-2.0
// PageRank and connected components with the operations of GraphBLAS. The graph is symmetric.
#include "cli/peers/graphblas/objects.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace bitgraph::cli::graphblas {

namespace {

constexpr float damping = 0.85F;

/// w = rank / (degree / damping), rank = teleport + A w, and the change of the ranks; teleport includes what nodes
/// without edges hold. In single precision, as LAGraph has it.
class PageRank {
 public:
  explicit PageRank(const PeerMatrix& a) : a_(pattern_matrix(a, GrB_FP32)), n_(a.nrows) {
    std::vector<float> degree(a.nrows);
    std::vector<std::uint8_t> sink(a.nrows);
    for (NodeId i = 0; i < a.nrows; ++i) {
      degree[i] = static_cast<float>(std::max<std::size_t>(a.row(i).size(), 1)) / damping;
      sink[i] = a.row(i).empty() ? 1 : 0;
      has_sinks_ = has_sinks_ || sink[i] != 0;
    }
    degree_ = vector_of(degree, GrB_FP32, Form::full);
    sink_ = vector_of(sink);
  }

  void run(int iterations) {
    rank_ = empty_vector(GrB_FP32, n_);
    Vector before = empty_vector(GrB_FP32, n_);
    const Vector w = empty_vector(GrB_FP32, n_);
    require_success(
        GrB_Vector_assign_FP32(rank_.get(), nullptr, nullptr, 1 / static_cast<float>(n_), GrB_ALL, n_, nullptr));
    for (int k = 0; k < iterations; ++k) {
      const float teleport = (1 - damping + damping * stranded()) / static_cast<float>(n_);
      std::swap(rank_, before);
      require_success(
          GrB_Vector_eWiseMult_BinaryOp(w.get(), nullptr, nullptr, GrB_DIV_FP32, before.get(), degree_.get(), nullptr));
      require_success(GrB_Vector_assign_FP32(rank_.get(), nullptr, nullptr, teleport, GrB_ALL, n_, nullptr));
      require_success(GrB_mxv(rank_.get(), nullptr, GrB_PLUS_FP32, GxB_PLUS_SECOND_FP32, a_.get(), w.get(), nullptr));
      require_success(GrB_Vector_assign(before.get(), nullptr, GrB_MINUS_FP32, rank_.get(), GrB_ALL, n_, nullptr));
      require_success(GrB_Vector_apply(before.get(), nullptr, nullptr, GrB_ABS_FP32, before.get(), nullptr));
      float change = 0;
      require_success(GrB_Vector_reduce_FP32(&change, nullptr, GrB_PLUS_MONOID_FP32, before.get(), nullptr));
    }
  }

  [[nodiscard]] std::vector<double> ranks() const { return numbers_of(rank_.get(), 0); }

 private:
  [[nodiscard]] float stranded() const {
    if (!has_sinks_) return 0;
    const Vector held = empty_vector(GrB_FP32, n_);
    float sum = 0;
    require_success(GrB_Vector_assign(held.get(), sink_.get(), nullptr, rank_.get(), GrB_ALL, n_, GrB_DESC_S));
    require_success(GrB_Vector_reduce_FP32(&sum, nullptr, GrB_PLUS_MONOID_FP32, held.get(), nullptr));
    return sum;
  }

  Matrix a_;
  GrB_Index n_;
  bool has_sinks_ = false;
  Vector degree_, sink_, rank_;
};

/// The entries (target[i], i) of a square matrix: a step along it takes a node's value to its target. The arrays are
/// lent to the matrix for a product and taken back.
class Hooks {
 public:
  explicit Hooks(GrB_Index n) : n_(n), matrix_(empty_matrix(GrB_BOOL, n, n)) {
    col_ptr_ = static_cast<GrB_Index*>(std::malloc((n + 1) * sizeof(GrB_Index)));
    target_ = static_cast<GrB_Index*>(std::malloc(n * sizeof(GrB_Index)));
    values_ = std::malloc(sizeof(bool));
    if (col_ptr_ == nullptr || target_ == nullptr || values_ == nullptr) throw std::bad_alloc();
    for (GrB_Index i = 0; i <= n; ++i) col_ptr_[i] = i;
    *static_cast<bool*>(values_) = true;
  }
  ~Hooks() {
    std::free(col_ptr_);
    std::free(target_);
    std::free(values_);
  }
  Hooks(const Hooks&) = delete;
  Hooks& operator=(const Hooks&) = delete;

  [[nodiscard]] const GrB_Index* targets() const { return target_; }

  void set_targets(GrB_Vector parent) {
    GrB_Index count = n_;
    require_success(GrB_Vector_extractTuples_UINT64(nullptr, target_, &count, parent));
  }

  /// into = the least of into and of the values that are led there.
  void lead(GrB_Vector into, GrB_Vector values) {
    require_success(GxB_Matrix_pack_CSC(matrix_.get(), &col_ptr_, &target_, &values_, (n_ + 1) * sizeof(GrB_Index),
                                        n_ * sizeof(GrB_Index), sizeof(bool), true, false, nullptr));
    require_success(GrB_mxv(into, nullptr, GrB_MIN_UINT64, GxB_MIN_SECOND_UINT64, matrix_.get(), values, nullptr));
    GrB_Index sizes[3] = {};
    bool iso = true;
    require_success(GxB_Matrix_unpack_CSC(matrix_.get(), &col_ptr_, &target_, &values_, &sizes[0], &sizes[1], &sizes[2],
                                          &iso, nullptr, nullptr));
  }

 private:
  GrB_Index n_;
  Matrix matrix_;
  GrB_Index* col_ptr_ = nullptr;
  GrB_Index* target_ = nullptr;
  void* values_ = nullptr;
};

/// FastSV (Zhang, Azad, Hu 2020): parents are hooked to the smallest grandparent among neighbours, until nothing moves.
class Components {
 public:
  explicit Components(const PeerMatrix& a) : a_(pattern_matrix(a, GrB_BOOL)), n_(a.nrows), hooks_(n_) {}

  void run() {
    parent_ = empty_vector(GrB_UINT64, n_);
    require_success(GrB_Vector_assign_UINT64(parent_.get(), nullptr, nullptr, 0, GrB_ALL, n_, nullptr));
    require_success(GrB_Vector_apply_IndexOp_INT64(parent_.get(), nullptr, nullptr, GrB_ROWINDEX_INT64, parent_.get(),
                                                   std::int64_t{0}, nullptr));
    Vector grand = copy(parent_);
    Vector further = copy(parent_);
    const Vector nearest = copy(parent_);
    const Vector moved = empty_vector(GrB_BOOL, n_);
    hooks_.set_targets(parent_.get());
    for (bool any = true; any;) {
      require_success(
          GrB_mxv(nearest.get(), nullptr, GrB_MIN_UINT64, GxB_MIN_SECOND_UINT64, a_.get(), grand.get(), nullptr));
      hooks_.lead(parent_.get(), nearest.get());
      take_smaller(nearest);
      take_smaller(grand);
      hooks_.set_targets(parent_.get());
      require_success(
          GrB_Vector_extract(further.get(), nullptr, nullptr, parent_.get(), hooks_.targets(), n_, nullptr));
      require_success(GrB_Vector_eWiseMult_BinaryOp(moved.get(), nullptr, nullptr, GrB_NE_UINT64, further.get(),
                                                    grand.get(), nullptr));
      require_success(GrB_Vector_reduce_BOOL(&any, nullptr, GrB_LOR_MONOID_BOOL, moved.get(), nullptr));
      std::swap(grand, further);
    }
  }

  [[nodiscard]] std::vector<double> labels() const { return numbers_of(parent_.get(), 0); }

 private:
  static Vector copy(const Vector& from) {
    Vector vector;
    require_success(GrB_Vector_dup(vector.address(), from.get()));
    return vector;
  }
  void take_smaller(const Vector& other) {
    require_success(GrB_Vector_eWiseAdd_BinaryOp(parent_.get(), nullptr, nullptr, GrB_MIN_UINT64, parent_.get(),
                                                 other.get(), nullptr));
  }

  Matrix a_;
  GrB_Index n_;
  Hooks hooks_;
  Vector parent_;
};

}  // namespace

std::vector<PeerWay> pagerank_ways(const PeerMatrix& a, int iterations) {
  auto ranks = std::make_shared<PageRank>(a);
  return {{.calls = "mxv over plus_second, float32",
           .prepare = {},
           .run = [ranks, iterations](NodeId) { ranks->run(iterations); },
           .result = [ranks] { return ranks->ranks(); }}};
}

std::vector<PeerWay> component_ways(const PeerMatrix& a) {
  auto components = std::make_shared<Components>(a);
  return {{.calls = "FastSV, without sampling",
           .prepare = {},
           .run = [components](NodeId) { components->run(); },
           .result = [components] { return components->labels(); }}};
}

}  // namespace bitgraph::cli::graphblas
