// SPDX-License-Identifier: Apache-2.0
// The kernels of reduce. See include/bitgraph/ops/reduce.hpp.
#pragma once

#include "core/devices/backend.hpp"

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <cstddef>
#include <cstdint>

namespace bitgraph {

struct BitsArgs {
  const std::uint64_t* words = nullptr;
  std::size_t num_words = 0;
};

std::size_t count_bits(const Reference& backend, const BitsArgs& args);
std::size_t count_bits(const Cpu& backend, const BitsArgs& args);
std::size_t count_bits(const Cuda& backend, const BitsArgs& args);

/// `sums` has an element for each row, or column.
void row_sums(const Cuda& backend, const CsrPattern& a, Buffer<NodeId>& sums);
void row_sums(const Cuda& backend, const BitTileMatrix& a, Buffer<NodeId>& sums);
void column_sums(const Cuda& backend, const CsrPattern& a, Buffer<NodeId>& sums);
void column_sums(const Cuda& backend, const BitTileMatrix& a, Buffer<NodeId>& sums);

template <class Monoid, class T>
T reduce_values(const Cuda& backend, const Buffer<T>& x);

namespace reduce_cpu {

std::size_t count_words(const std::uint64_t* words, std::size_t n);

}  // namespace reduce_cpu

}  // namespace bitgraph
