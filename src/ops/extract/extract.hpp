// SPDX-License-Identifier: Apache-2.0
// The kernels of extract. See include/bitgraph/ops/extract.hpp. Indices are on the device.
#pragma once

#include "core/devices/backend.hpp"

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/bit_vector.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <cstddef>

namespace bitgraph {

Buffer<NodeId> indices_of(const Cuda& backend, const BitVector& set);
void set_bits(const Cuda& backend, BitVector& set, const Buffer<NodeId>& elements);

/// The place of the first index from `size` on; the number of indices where there is none.
std::size_t first_beyond(const Cuda& backend, const Buffer<NodeId>& indices, std::size_t size);

/// detail::gather_values, of indices that are in range.
void gather_values(const Cuda& backend, void* out, const void* x, std::size_t value_size,
                   const Buffer<NodeId>& indices);
void gather_bits(const Cuda& backend, BitVector& out, const BitVector& x, const Buffer<NodeId>& indices);

/// Where each column of A goes; ~0 where it is not wanted.
struct ColumnPlaces {
  Buffer<NodeId> place;
  bool in_order = true;      ///< columns are named in rising order
  std::size_t repeated = 0;  ///< the place of the first that is named for the second time, else their number
};
ColumnPlaces places_of(const Cuda& backend, const Buffer<NodeId>& cols, NodeId ncols);

/// The same of columns in rising order, each once.
ColumnPlaces places_of_elements(const Cuda& backend, const Buffer<NodeId>& cols, NodeId ncols);

CsrPattern submatrix(const Cuda& backend, const CsrPattern& a, const Buffer<NodeId>& rows, NodeId ncols,
                     const ColumnPlaces& places);

}  // namespace bitgraph
