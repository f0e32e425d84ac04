// SPDX-License-Identifier: Apache-2.0
// SuiteSparse:GraphBLAS's objects with owners, made from ours.
#pragma once

#include "cli/peers/peer.hpp"

extern "C" {  // version 7 leaves that to those who include it
#include <GraphBLAS.h>
}

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace bitgraph::cli::graphblas {

/// Throws std::runtime_error where a call did not succeed.
void require_success(GrB_Info info);

/// A matrix or a vector that is freed.
template <class T, GrB_Info (*Free)(T*)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(T object) : object_(object) {}
  Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { Free(&object_); }
  [[nodiscard]] T get() const { return object_; }
  [[nodiscard]] T* address() { return &object_; }  ///< for calls that make or replace it; empty before

 private:
  T object_ = nullptr;
};

using Matrix = Owned<GrB_Matrix, GrB_Matrix_free>;
using Vector = Owned<GrB_Vector, GrB_Vector_free>;

/// By row, every entry the same value 1 of `type`, nothing pending.
[[nodiscard]] Matrix pattern_matrix(const PeerMatrix& a, GrB_Type type);

/// The same with int32 values, one an entry.
[[nodiscard]] Matrix weighted_matrix(const PeerMatrix& a, std::span<const std::int32_t> weights);

[[nodiscard]] Matrix empty_matrix(GrB_Type type, GrB_Index rows, GrB_Index cols);
[[nodiscard]] Vector empty_vector(GrB_Type type, GrB_Index size);

enum class Form {
  full,    ///< every element is there
  bitmap,  ///< those that are not 0 are there
};

/// A vector of `type` (bool or float), finished.
[[nodiscard]] Vector vector_of(std::span<const float> x, GrB_Type type, Form form);
[[nodiscard]] Vector vector_of(std::span<const std::uint8_t> bits);  ///< bool, bitmap

/// The elements as numbers, `absent` for those that are not there.
[[nodiscard]] std::vector<double> numbers_of(GrB_Vector x, double absent);

// A graph's jobs; the sources say how each is done. They refer to the graph.
[[nodiscard]] std::vector<PeerWay> bfs_ways(const PeerMatrix& a);
[[nodiscard]] std::vector<PeerWay> sssp_ways(const PeerMatrix& a, std::span<const std::int32_t> weights);
[[nodiscard]] std::vector<PeerWay> pagerank_ways(const PeerMatrix& a, int iterations);
[[nodiscard]] std::vector<PeerWay> component_ways(const PeerMatrix& a);
[[nodiscard]] std::vector<PeerWay> triangle_ways(const PeerMatrix& a);
[[nodiscard]] std::vector<PeerWay> mxv_ways(const PeerMatrix& a, const MxvJob& job);
[[nodiscard]] std::vector<PeerWay> mxm_ways(const PeerMatrix& a, MxmKind kind);

}  // namespace bitgraph::cli::graphblas
