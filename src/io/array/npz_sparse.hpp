// SPDX-License-Identifier: Apache-2.0
// Sparse matrices in the members of a .npz.
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>

#include "io/array/npz.hpp"

#include <map>
#include <span>
#include <string>

namespace bitgraph {

/// A sparse matrix of a file, brought to CSR: columns sorted, entries of one place added up in the file's order.
struct NpzSparse {
  CsrPattern pattern;
  Buffer<float> values;   ///< one an entry
  bool weighted = false;  ///< the file has a value other than 1, before any adding up
};

/// What the members prefix + {indices, indptr} run along: the rows (CSR) or the columns (CSC).
enum class Compressed { rows, columns };

/// The matrix of the members prefix + {data, indices, indptr, shape}; values are 1 where there is no data.
/// Throws bad_input naming file and member. O(nvals log d).
[[nodiscard]] NpzSparse read_compressed(const NpzReader& reader, const std::string& prefix, Compressed compressed,
                                        const Device& device);

/// A SciPy matrix of format coo, members {row, col, data, shape}. O(nvals log d).
[[nodiscard]] NpzSparse read_coordinates(const NpzReader& reader, const Device& device);

/// Puts the members prefix + {data, indices, indptr, shape}: 32-bit indices where they fit, as SciPy has them.
void put_csr(std::map<std::string, Array>& members, const std::string& prefix, const CsrPattern& pattern,
             std::span<const float> values);

}  // namespace bitgraph
