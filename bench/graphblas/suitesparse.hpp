// SPDX-License-Identifier: Apache-2.0
// SuiteSparse:GraphBLAS as a rival: its objects with owners, made from ours.
#pragma once

#include <bitgraph/core/error.hpp>
#include <bitgraph/formats/bit_vector.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

extern "C" {  // version 7 leaves that to those who include it
#include <GraphBLAS.h>
}

#include <cmath>
#include <string>
#include <vector>

namespace bitgraph::bench {

inline void require_success(GrB_Info info) {
  if (info != GrB_SUCCESS && info != GrB_NO_VALUE) {
    fail(ErrorCode::internal, "GraphBLAS returned " + std::to_string(static_cast<int>(info)));
  }
}

/// Starts the library with a number of threads and ends it.
class BlasSession {
 public:
  explicit BlasSession(int threads) {
    require_success(GrB_init(GrB_NONBLOCKING));
    require_success(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, threads));
  }
  ~BlasSession() { GrB_finalize(); }
  BlasSession(const BlasSession&) = delete;
  BlasSession& operator=(const BlasSession&) = delete;

  [[nodiscard]] static std::string version() {
    int numbers[3] = {};
    require_success(GxB_Global_Option_get(GxB_LIBRARY_VERSION, numbers));
    return "SuiteSparse:GraphBLAS " + std::to_string(numbers[0]) + "." + std::to_string(numbers[1]) + "." +
           std::to_string(numbers[2]);
  }
};

/// By row, every entry the same value 1, nothing pending.
class BlasMatrix {
 public:
  BlasMatrix(const CsrPattern& a, GrB_Type type) {
    std::vector<GrB_Index> rows, cols;
    for (NodeId i = 0; i < a.nrows(); ++i) {
      for (const NodeId j : a.row(i)) {
        rows.push_back(i);
        cols.push_back(j);
      }
    }
    GrB_Scalar one = nullptr;
    require_success(GrB_Scalar_new(&one, type));
    require_success(GrB_Scalar_setElement_FP32(one, 1));
    require_success(GrB_Matrix_new(&matrix_, type, a.nrows(), a.ncols()));
    require_success(GxB_Matrix_Option_set(matrix_, GxB_FORMAT, GxB_BY_ROW));
    require_success(GxB_Matrix_Option_set(matrix_, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    require_success(GxB_Matrix_build_Scalar(matrix_, rows.data(), cols.data(), one, rows.size()));
    require_success(GrB_Matrix_wait(matrix_, GrB_MATERIALIZE));
    GrB_Scalar_free(&one);
  }
  ~BlasMatrix() { GrB_Matrix_free(&matrix_); }
  BlasMatrix(const BlasMatrix&) = delete;
  BlasMatrix& operator=(const BlasMatrix&) = delete;
  [[nodiscard]] GrB_Matrix get() const { return matrix_; }

 private:
  GrB_Matrix matrix_ = nullptr;
};

enum class Form {
  full,    ///< every element is there: 0 or 1
  bitmap,  ///< only the bits that are set are there
};

class BlasVector {
 public:
  BlasVector(const BitVector& x, GrB_Type type, Form form) {
    require_success(GrB_Vector_new(&vector_, type, x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (form == Form::full || x.bit(i)) require_success(GrB_Vector_setElement_FP32(vector_, x.bit(i) ? 1 : 0, i));
    }
    finish(form == Form::full ? GxB_FULL : GxB_BITMAP);
  }
  explicit BlasVector(const Buffer<float>& x) {
    require_success(GrB_Vector_new(&vector_, GrB_FP32, x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) require_success(GrB_Vector_setElement_FP32(vector_, x[i], i));
    finish(GxB_FULL);
  }
  ~BlasVector() { GrB_Vector_free(&vector_); }
  BlasVector(const BlasVector&) = delete;
  BlasVector& operator=(const BlasVector&) = delete;
  [[nodiscard]] GrB_Vector get() const { return vector_; }

 private:
  void finish(int form) {
    require_success(GrB_Vector_wait(vector_, GrB_MATERIALIZE));
    require_success(GxB_Vector_Option_set(vector_, GxB_SPARSITY_CONTROL, form));
    require_success(GrB_Vector_wait(vector_, GrB_MATERIALIZE));
  }
  GrB_Vector vector_ = nullptr;
};

/// GrB_mxv of one semiring, under the complement of a mask where there is one.
class BlasProduct {
 public:
  BlasProduct(GrB_Semiring semiring, const BlasMatrix& a, const BlasVector& x, const BlasVector* mask = nullptr)
      : semiring_(semiring), a_(a.get()), x_(x.get()), mask_(mask == nullptr ? nullptr : mask->get()) {}

  void run() const {
    with_result([](GrB_Vector) {});
  }

  /// The sum of the result's finite values.
  [[nodiscard]] double run_and_sum() const {
    double sum = 0;
    with_result([&](GrB_Vector result) {
      GrB_Index count = 0;
      require_success(GrB_Vector_nvals(&count, result));
      std::vector<GrB_Index> at(count);
      std::vector<float> values(count);
      require_success(GrB_Vector_extractTuples_FP32(at.data(), values.data(), &count, result));
      for (const float value : values) sum += std::isinf(value) ? 0 : static_cast<double>(value);
    });
    return sum;
  }

 private:
  template <class Use>
  void with_result(const Use& use) const {
    GrB_Type type = nullptr;
    GrB_Index rows = 0;
    require_success(GxB_Matrix_type(&type, a_));
    require_success(GrB_Matrix_nrows(&rows, a_));
    GrB_Vector result = nullptr;
    require_success(GrB_Vector_new(&result, type, rows));
    require_success(GrB_mxv(result, mask_, nullptr, semiring_, a_, x_, mask_ == nullptr ? nullptr : GrB_DESC_RSC));
    require_success(GrB_Vector_wait(result, GrB_MATERIALIZE));
    use(result);
    GrB_Vector_free(&result);
  }

  GrB_Semiring semiring_;
  GrB_Matrix a_;
  GrB_Vector x_, mask_;
};

}  // namespace bitgraph::bench
