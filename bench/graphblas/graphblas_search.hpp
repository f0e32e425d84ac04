// SPDX-License-Identifier: Apache-2.0
// Breadth-first search and shortest paths written with the operations of GraphBLAS, as one who knows it would: push and
// pull with a complemented mask, delta-stepping over light and heavy edges. The graph is symmetric.
#pragma once

#include "graphblas_graph.hpp"

#include <bitgraph/core/types.hpp>

#include <cstdint>
#include <vector>

namespace bitgraph::graphblas {

/// Parents by any.secondi; a step goes from the frontier's rows (push) or to the unvisited ones (pull).
class Bfs {
 public:
  explicit Bfs(const CsrPattern& graph) : a_(matrix_of(graph)), n_(graph.nrows()), edges_(graph.nvals()) {
    check(GrB_Vector_new(&degree_, GrB_INT64, n_), "degree");
    for (NodeId i = 0; i < n_; ++i) {
      if (!graph.row(i).empty())
        check(GrB_Vector_setElement_INT64(degree_, static_cast<std::int64_t>(graph.row(i).size()), i), "degree");
    }
    check(GrB_Vector_wait(degree_, GrB_MATERIALIZE), "degree");
  }
  ~Bfs() {
    GrB_Matrix_free(&a_);
    GrB_Vector_free(&degree_);
  }
  Bfs(const Bfs&) = delete;
  Bfs& operator=(const Bfs&) = delete;

  /// How many nodes were reached.
  GrB_Index run(NodeId source) {
    GrB_Vector parent = nullptr;
    GrB_Vector front = nullptr;
    GrB_Vector work = nullptr;
    check(GrB_Vector_new(&parent, GrB_INT64, n_), "parent");
    check(GxB_Vector_Option_set(parent, GxB_SPARSITY_CONTROL, GxB_BITMAP + GxB_FULL), "parent");
    check(GrB_Vector_setElement_INT64(parent, source, source), "parent");
    check(GrB_Vector_new(&front, GrB_INT64, n_), "front");
    check(GrB_Vector_setElement_INT64(front, source, source), "front");
    check(GrB_Vector_new(&work, GrB_INT64, n_), "work");
    bool push = true;
    GrB_Index size = 1;
    GrB_Index before = 0;
    auto unexplored = static_cast<std::int64_t>(edges_);
    for (GrB_Index visited = 1; visited < n_;) {
      push = push ? keep_pushing(front, work, size, before, unexplored) : size < before && size <= n_ / 512;
      check(GxB_Vector_Option_set(front, GxB_SPARSITY_CONTROL, push ? GxB_SPARSE : GxB_BITMAP), "format");
      if (push) {
        check(GrB_vxm(front, parent, nullptr, GxB_ANY_SECONDI_INT64, front, a_, GrB_DESC_RSC), "push");
      } else {
        check(GrB_mxv(front, parent, nullptr, GxB_ANY_SECONDI_INT64, a_, front, GrB_DESC_RSC), "pull");
      }
      before = size;
      check(GrB_Vector_nvals(&size, front), "size");
      if (size == 0) break;
      check(GrB_Vector_assign(parent, front, nullptr, front, GrB_ALL, n_, GrB_DESC_S), "assign");
      visited += size;
    }
    GrB_Index reached = 0;
    check(GrB_Vector_nvals(&reached, parent), "reached");
    GrB_Vector_free(&parent);
    GrB_Vector_free(&front);
    GrB_Vector_free(&work);
    return reached;
  }

 private:
  bool keep_pushing(GrB_Vector front, GrB_Vector work, GrB_Index size, GrB_Index before, std::int64_t& unexplored) {
    std::int64_t edges = 0;
    check(GrB_Vector_assign(work, front, nullptr, degree_, GrB_ALL, n_, GrB_DESC_RS), "edges");
    check(GrB_Vector_reduce_INT64(&edges, nullptr, GrB_PLUS_MONOID_INT64, work, nullptr), "edges");
    unexplored -= edges;
    return !(size > before && (edges > unexplored / 8 || size > n_ / 8));
  }

  GrB_Matrix a_;
  GrB_Vector degree_ = nullptr;
  GrB_Index n_;
  GrB_Index edges_;
};

/// Delta-stepping by min.plus over int32.
class Sssp {
 public:
  Sssp(const CsrPattern& graph, std::span<const float> weights) : a_(matrix_of(graph, weights)), n_(graph.nrows()) {}
  ~Sssp() {
    GrB_Matrix_free(&a_);
    GrB_Matrix_free(&light_);
    GrB_Matrix_free(&heavy_);
  }
  Sssp(const Sssp&) = delete;
  Sssp& operator=(const Sssp&) = delete;

  void set_delta(std::int32_t delta) {
    delta_ = delta;
    GrB_Matrix_free(&light_);
    GrB_Matrix_free(&heavy_);
    check(GrB_Matrix_new(&light_, GrB_INT32, n_, n_), "light");
    check(GrB_Matrix_new(&heavy_, GrB_INT32, n_, n_), "heavy");
    check(GrB_Matrix_select_INT32(light_, nullptr, nullptr, GrB_VALUELE_INT32, a_, delta, nullptr), "light");
    check(GrB_Matrix_select_INT32(heavy_, nullptr, nullptr, GrB_VALUEGT_INT32, a_, delta, nullptr), "heavy");
    check(GrB_Matrix_wait(light_, GrB_MATERIALIZE), "light");
    check(GrB_Matrix_wait(heavy_, GrB_MATERIALIZE), "heavy");
  }

  /// The sum of the distances, to compare with.
  std::int64_t run(NodeId source) {
    GrB_Index heavy_edges = 0;
    check(GrB_Matrix_nvals(&heavy_edges, heavy_), "heavy");
    make_vectors(source);
    for (std::int32_t step = 0;; ++step) {
      const std::int32_t low = step * delta_;
      // The bucket's nodes, among those whose distance changed since they were looked at.
      check(GrB_Vector_select_INT32(bucket_, nullptr, nullptr, GrB_VALUELT_INT32, open_, low + delta_, nullptr),
            "bucket");
      GrB_Index size = 0;
      check(GrB_Vector_nvals(&size, bucket_), "size");
      if (size == 0) {
        GrB_Index waiting = 0;
        check(GrB_Vector_nvals(&waiting, open_), "waiting");
        if (waiting == 0) break;
        std::int32_t nearest = 0;
        check(GrB_Vector_reduce_INT32(&nearest, nullptr, GrB_MIN_MONOID_INT32, open_, nullptr), "nearest");
        step = nearest / delta_ - 1;
        continue;
      }
      check(GrB_Vector_select_INT32(open_, nullptr, nullptr, GrB_VALUEGE_INT32, open_, low + delta_, nullptr), "open");
      check(GrB_Vector_clear(settled_), "settled");
      while (size != 0) {
        check(GrB_Vector_assign(settled_, bucket_, nullptr, bucket_, GrB_ALL, n_, GrB_DESC_S), "settled");
        relax(bucket_, light_);
        check(GrB_Vector_select_INT32(bucket_, nullptr, nullptr, GrB_VALUELT_INT32, nearer_, low + delta_, nullptr),
              "bucket");
        open_the_rest(low);
        check(GrB_Vector_nvals(&size, bucket_), "size");
      }
      if (heavy_edges != 0) {
        // The settled nodes with the distances they have now.
        check(GrB_Vector_assign(bucket_, settled_, nullptr, distance_, GrB_ALL, n_, GrB_DESC_RS), "again");
        relax(bucket_, heavy_);
        open_the_rest(low);
      }
    }
    std::int64_t sum = 0;
    check(GrB_Vector_select_INT32(nearer_, nullptr, nullptr, GrB_VALUELT_INT32, distance_, unreached, nullptr),
          "reached");
    check(GrB_Vector_reduce_INT64(&sum, nullptr, GrB_PLUS_MONOID_INT64, nearer_, nullptr), "sum");
    for (GrB_Vector* vector : {&distance_, &open_, &bucket_, &settled_, &request_, &nearer_, &less_})
      GrB_Vector_free(vector);
    return sum;
  }

 private:
  static constexpr std::int32_t unreached = 0x7FFFFFFF;

  void make_vectors(NodeId source) {
    for (GrB_Vector* vector : {&distance_, &open_, &bucket_, &settled_, &request_, &nearer_})
      check(GrB_Vector_new(vector, GrB_INT32, n_), "vector");
    check(GrB_Vector_new(&less_, GrB_BOOL, n_), "vector");
    check(GrB_Vector_assign_INT32(distance_, nullptr, nullptr, unreached, GrB_ALL, n_, nullptr), "distance");
    check(GrB_Vector_setElement_INT32(distance_, 0, source), "distance");
    check(GrB_Vector_setElement_INT32(open_, 0, source), "open");
  }

  /// nearer_ = what comes nearer along the edges of `edges` from `from`; distance_ takes it over.
  void relax(GrB_Vector from, GrB_Matrix edges) {
    check(GrB_vxm(request_, nullptr, nullptr, GrB_MIN_PLUS_SEMIRING_INT32, from, edges, nullptr), "relax");
    check(GrB_Vector_eWiseMult_BinaryOp(less_, nullptr, nullptr, GrB_LT_INT32, request_, distance_, nullptr), "less");
    check(GrB_Vector_assign(nearer_, less_, nullptr, request_, GrB_ALL, n_, GrB_DESC_R), "nearer");
    check(GrB_Vector_assign(distance_, nearer_, nullptr, nearer_, GrB_ALL, n_, GrB_DESC_S), "distance");
  }

  /// What came nearer and is behind the bucket.
  void open_the_rest(std::int32_t low) {
    check(GrB_Vector_select_INT32(nearer_, nullptr, nullptr, GrB_VALUEGE_INT32, nearer_, low + delta_, nullptr),
          "rest");
    check(GrB_Vector_assign(open_, nearer_, nullptr, nearer_, GrB_ALL, n_, GrB_DESC_S), "open");
  }

  GrB_Matrix a_, light_ = nullptr, heavy_ = nullptr;
  GrB_Index n_;
  std::int32_t delta_ = 1;
  GrB_Vector distance_ = nullptr, open_ = nullptr, bucket_ = nullptr, settled_ = nullptr, request_ = nullptr,
             nearer_ = nullptr, less_ = nullptr;
};

}  // namespace bitgraph::graphblas
