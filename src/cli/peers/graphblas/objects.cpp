// SPDX-License-Identifier: Apache-2.0
#include "cli/peers/graphblas/objects.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>

namespace bitgraph::cli::graphblas {

namespace {

template <class T>
T* allocate(std::size_t count) {
  auto* data = static_cast<T*>(std::malloc(std::max<std::size_t>(count, 1) * sizeof(T)));
  if (data == nullptr) throw std::bad_alloc();
  return data;
}

/// The library takes the arrays over; `values` has one element for all entries, or one for each.
template <class T>
Matrix import_matrix(const PeerMatrix& a, GrB_Type type, T* values, std::size_t num_values) {
  const std::size_t n = a.nrows;
  const std::size_t m = a.col_ind.size();
  auto* row_ptr = allocate<GrB_Index>(n + 1);
  auto* col_ind = allocate<GrB_Index>(m);
  std::copy(a.row_ptr.begin(), a.row_ptr.end(), row_ptr);
  std::copy(a.col_ind.begin(), a.col_ind.end(), col_ind);
  void* raw = values;
  Matrix matrix;
  require_success(GxB_Matrix_import_CSR(matrix.address(), type, n, a.ncols, &row_ptr, &col_ind, &raw,
                                        (n + 1) * sizeof(GrB_Index), std::max<std::size_t>(m, 1) * sizeof(GrB_Index),
                                        std::max<std::size_t>(num_values, 1) * sizeof(T), num_values == 1, false,
                                        nullptr));
  require_success(GxB_Matrix_Option_set(matrix.get(), GxB_SPARSITY_CONTROL, GxB_SPARSE));
  require_success(GrB_Matrix_wait(matrix.get(), GrB_MATERIALIZE));
  return matrix;
}

template <class T>
T* one() {
  T* value = allocate<T>(1);
  *value = T{1};
  return value;
}

void finish(Vector& vector, Form form) {
  require_success(GrB_Vector_wait(vector.get(), GrB_MATERIALIZE));
  require_success(
      GxB_Vector_Option_set(vector.get(), GxB_SPARSITY_CONTROL, form == Form::full ? GxB_FULL : GxB_BITMAP));
  require_success(GrB_Vector_wait(vector.get(), GrB_MATERIALIZE));
}

}  // namespace

void require_success(GrB_Info info) {
  if (info == GrB_SUCCESS || info == GrB_NO_VALUE) return;
  if (info == GrB_OUT_OF_MEMORY) throw std::bad_alloc();
  throw std::runtime_error("GraphBLAS returned " + std::to_string(static_cast<int>(info)));
}

Matrix pattern_matrix(const PeerMatrix& a, GrB_Type type) {
  if (type == GrB_FP32) return import_matrix(a, type, one<float>(), 1);
  if (type == GrB_INT64) return import_matrix(a, type, one<std::int64_t>(), 1);
  if (type == GrB_INT32) return import_matrix(a, type, one<std::int32_t>(), 1);
  return import_matrix(a, GrB_BOOL, one<bool>(), 1);
}

Matrix weighted_matrix(const PeerMatrix& a, std::span<const std::int32_t> weights) {
  if (weights.empty()) return pattern_matrix(a, GrB_INT32);
  auto* values = allocate<std::int32_t>(weights.size());
  std::copy(weights.begin(), weights.end(), values);
  return import_matrix(a, GrB_INT32, values, weights.size());
}

Matrix empty_matrix(GrB_Type type, GrB_Index rows, GrB_Index cols) {
  Matrix matrix;
  require_success(GrB_Matrix_new(matrix.address(), type, rows, cols));
  return matrix;
}

Vector empty_vector(GrB_Type type, GrB_Index size) {
  Vector vector;
  require_success(GrB_Vector_new(vector.address(), type, size));
  return vector;
}

Vector vector_of(std::span<const float> x, GrB_Type type, Form form) {
  Vector vector = empty_vector(type, x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (form == Form::full || x[i] != 0) require_success(GrB_Vector_setElement_FP32(vector.get(), x[i], i));
  }
  finish(vector, form);
  return vector;
}

Vector vector_of(std::span<const std::uint8_t> bits) {
  Vector vector = empty_vector(GrB_BOOL, bits.size());
  for (std::size_t i = 0; i < bits.size(); ++i) {
    if (bits[i] != 0) require_success(GrB_Vector_setElement_BOOL(vector.get(), true, i));
  }
  finish(vector, Form::bitmap);
  return vector;
}

std::vector<double> numbers_of(GrB_Vector x, double absent) {
  GrB_Index size = 0;
  GrB_Index count = 0;
  require_success(GrB_Vector_size(&size, x));
  require_success(GrB_Vector_nvals(&count, x));
  std::vector<GrB_Index> at(count);
  std::vector<double> values(count);
  require_success(GrB_Vector_extractTuples_FP64(at.data(), values.data(), &count, x));
  std::vector<double> numbers(size, absent);
  for (std::size_t e = 0; e < count; ++e) numbers[at[e]] = values[e];
  return numbers;
}

}  // namespace bitgraph::cli::graphblas
