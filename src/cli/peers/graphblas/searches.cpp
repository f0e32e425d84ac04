// SPDX-License-Identifier: Apache-2.0
// Breadth-first search and shortest paths written with the operations of GraphBLAS, as one who knows it would: push and
// pull with a complemented mask, delta-stepping over light and heavy edges. The graph is symmetric.
#include "cli/peers/graphblas/objects.hpp"

#include <limits>
#include <memory>
#include <string>

namespace bitgraph::cli::graphblas {

namespace {

/// Parents by any.secondi; a step goes from the frontier's rows (push) or to the unvisited ones (pull).
class Bfs {
 public:
  explicit Bfs(const PeerMatrix& graph)
      : a_(pattern_matrix(graph, GrB_BOOL)),
        n_(graph.nrows),
        edges_(graph.col_ind.size()),
        degree_(empty_vector(GrB_INT64, n_)) {
    for (NodeId i = 0; i < graph.nrows; ++i) {
      const auto degree = static_cast<std::int64_t>(graph.row(i).size());
      if (degree != 0) require_success(GrB_Vector_setElement_INT64(degree_.get(), degree, i));
    }
    require_success(GrB_Vector_wait(degree_.get(), GrB_MATERIALIZE));
  }

  void run(NodeId source) {
    source_ = source;
    parent_ = empty_vector(GrB_INT64, n_);
    GrB_Vector parent = parent_.get();
    require_success(GxB_Vector_Option_set(parent, GxB_SPARSITY_CONTROL, GxB_BITMAP + GxB_FULL));
    require_success(GrB_Vector_setElement_INT64(parent, source, source));
    Vector front_owner = empty_vector(GrB_INT64, n_);
    Vector work = empty_vector(GrB_INT64, n_);
    GrB_Vector front = front_owner.get();
    require_success(GrB_Vector_setElement_INT64(front, source, source));
    bool push = true;
    GrB_Index size = 1;
    GrB_Index before = 0;
    auto unexplored = static_cast<std::int64_t>(edges_);
    for (GrB_Index visited = 1; visited < n_;) {
      push = push ? keep_pushing(front, work.get(), size, before, unexplored) : size < before && size <= n_ / 512;
      require_success(GxB_Vector_Option_set(front, GxB_SPARSITY_CONTROL, push ? GxB_SPARSE : GxB_BITMAP));
      if (push) {
        require_success(GrB_vxm(front, parent, nullptr, GxB_ANY_SECONDI_INT64, front, a_.get(), GrB_DESC_RSC));
      } else {
        require_success(GrB_mxv(front, parent, nullptr, GxB_ANY_SECONDI_INT64, a_.get(), front, GrB_DESC_RSC));
      }
      before = size;
      require_success(GrB_Vector_nvals(&size, front));
      if (size == 0) break;
      require_success(GrB_Vector_assign(parent, front, nullptr, front, GrB_ALL, n_, GrB_DESC_S));
      visited += size;
    }
  }

  /// A node's level is its parent's and one more.
  [[nodiscard]] std::vector<double> levels() const {
    const std::vector<double> parent = numbers_of(parent_.get(), -1);
    std::vector<double> level(n_, -1);
    std::vector<std::size_t> path;
    level[source_] = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      std::size_t node = i;
      while (level[node] < 0 && parent[node] >= 0 && path.size() <= n_) {
        path.push_back(node);
        node = static_cast<std::size_t>(parent[node]);
      }
      for (; !path.empty(); path.pop_back()) {
        level[path.back()] = level[node] < 0 ? -1 : level[node] + 1;
        node = path.back();
      }
    }
    return level;
  }

 private:
  bool keep_pushing(GrB_Vector front, GrB_Vector work, GrB_Index size, GrB_Index before, std::int64_t& unexplored) {
    std::int64_t edges = 0;
    require_success(GrB_Vector_assign(work, front, nullptr, degree_.get(), GrB_ALL, n_, GrB_DESC_RS));
    require_success(GrB_Vector_reduce_INT64(&edges, nullptr, GrB_PLUS_MONOID_INT64, work, nullptr));
    unexplored -= edges;
    return !(size > before && (edges > unexplored / 8 || size > n_ / 8));
  }

  Matrix a_;
  GrB_Index n_, edges_;
  Vector degree_, parent_;
  NodeId source_ = 0;
};

/// Delta-stepping by min.plus over int32.
class Sssp {
 public:
  Sssp(const PeerMatrix& graph, std::span<const std::int32_t> weights)
      : a_(weighted_matrix(graph, weights)), n_(graph.nrows) {}

  void set_delta(std::int32_t delta) {
    delta_ = delta;
    light_ = empty_matrix(GrB_INT32, n_, n_);
    heavy_ = empty_matrix(GrB_INT32, n_, n_);
    require_success(
        GrB_Matrix_select_INT32(light_.get(), nullptr, nullptr, GrB_VALUELE_INT32, a_.get(), delta, nullptr));
    require_success(
        GrB_Matrix_select_INT32(heavy_.get(), nullptr, nullptr, GrB_VALUEGT_INT32, a_.get(), delta, nullptr));
    require_success(GrB_Matrix_wait(light_.get(), GrB_MATERIALIZE));
    require_success(GrB_Matrix_wait(heavy_.get(), GrB_MATERIALIZE));
  }

  void run(NodeId source) {
    GrB_Index heavy_edges = 0;
    require_success(GrB_Matrix_nvals(&heavy_edges, heavy_.get()));
    make_vectors(source);
    for (std::int32_t step = 0;; ++step) {
      const std::int32_t end = (step + 1) * delta_;
      // The bucket's nodes, among those whose distance changed since they were looked at.
      select(bucket_, GrB_VALUELT_INT32, open_, end);
      if (is_empty(bucket_)) {
        if (is_empty(open_)) break;
        std::int32_t nearest = 0;
        require_success(GrB_Vector_reduce_INT32(&nearest, nullptr, GrB_MIN_MONOID_INT32, open_.get(), nullptr));
        step = nearest / delta_ - 1;
        continue;
      }
      select(open_, GrB_VALUEGE_INT32, open_, end);
      require_success(GrB_Vector_clear(settled_.get()));
      do {
        take_over(settled_, bucket_);
        relax(light_);
        select(bucket_, GrB_VALUELT_INT32, nearer_, end);
        open_the_rest(end);
      } while (!is_empty(bucket_));
      if (heavy_edges != 0) {
        // The settled nodes with the distances they have now.
        require_success(
            GrB_Vector_assign(bucket_.get(), settled_.get(), nullptr, distance_.get(), GrB_ALL, n_, GrB_DESC_RS));
        relax(heavy_);
        open_the_rest(end);
      }
    }
  }

  [[nodiscard]] std::vector<double> distances() const { return numbers_of(distance_.get(), unreached); }

 private:
  static constexpr std::int32_t unreached = std::numeric_limits<std::int32_t>::max();

  void make_vectors(NodeId source) {
    for (Vector* vector : {&distance_, &open_, &bucket_, &settled_, &request_, &nearer_}) {
      *vector = empty_vector(GrB_INT32, n_);
    }
    less_ = empty_vector(GrB_BOOL, n_);
    require_success(GrB_Vector_assign_INT32(distance_.get(), nullptr, nullptr, unreached, GrB_ALL, n_, nullptr));
    require_success(GrB_Vector_setElement_INT32(distance_.get(), 0, source));
    require_success(GrB_Vector_setElement_INT32(open_.get(), 0, source));
  }

  static bool is_empty(const Vector& vector) {
    GrB_Index size = 0;
    require_success(GrB_Vector_nvals(&size, vector.get()));
    return size == 0;
  }

  static void select(Vector& into, GrB_IndexUnaryOp which, const Vector& from, std::int32_t bound) {
    require_success(GrB_Vector_select_INT32(into.get(), nullptr, nullptr, which, from.get(), bound, nullptr));
  }

  /// into<from> = from
  void take_over(Vector& into, const Vector& from) const {
    require_success(GrB_Vector_assign(into.get(), from.get(), nullptr, from.get(), GrB_ALL, n_, GrB_DESC_S));
  }

  /// nearer_ = what comes nearer along `edges` from the bucket; distance_ takes it over.
  void relax(const Matrix& edges) {
    require_success(
        GrB_vxm(request_.get(), nullptr, nullptr, GrB_MIN_PLUS_SEMIRING_INT32, bucket_.get(), edges.get(), nullptr));
    require_success(GrB_Vector_eWiseMult_BinaryOp(less_.get(), nullptr, nullptr, GrB_LT_INT32, request_.get(),
                                                  distance_.get(), nullptr));
    require_success(GrB_Vector_assign(nearer_.get(), less_.get(), nullptr, request_.get(), GrB_ALL, n_, GrB_DESC_R));
    take_over(distance_, nearer_);
  }

  /// What came nearer and is behind the bucket.
  void open_the_rest(std::int32_t end) {
    select(nearer_, GrB_VALUEGE_INT32, nearer_, end);
    take_over(open_, nearer_);
  }

  Matrix a_, light_, heavy_;
  GrB_Index n_;
  std::int32_t delta_ = 1;
  Vector distance_, open_, bucket_, settled_, request_, nearer_, less_;
};

}  // namespace

std::vector<PeerWay> bfs_ways(const PeerMatrix& a) {
  auto search = std::make_shared<Bfs>(a);
  return {{.calls = "push and pull over any_secondi",
           .prepare = {},
           .run = [search](NodeId source) { search->run(source); },
           .result = [search] { return search->levels(); }}};
}

std::vector<PeerWay> sssp_ways(const PeerMatrix& a, std::span<const std::int32_t> weights) {
  auto search = std::make_shared<Sssp>(a, weights);
  std::vector<PeerWay> ways;
  for (const std::int32_t delta : weights.empty() ? std::vector{1, 4, 64} : std::vector{16, 32, 64, 128, 256, 1024}) {
    ways.push_back({.calls = "delta-stepping over min_plus, delta " + std::to_string(delta),
                    .prepare = [search, delta] { search->set_delta(delta); },
                    .run = [search](NodeId source) { search->run(source); },
                    .result = [search] { return search->distances(); }});
  }
  return ways;
}

}  // namespace bitgraph::cli::graphblas
