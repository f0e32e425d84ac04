// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/io/array.hpp>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bitgraph {

using NpzMembers = std::map<std::string, Array>;

/// Reads a .npz file's bytes: its numeric members, all or those `wanted`. Throws bad_input.
[[nodiscard]] NpzMembers read_npz(std::span<const std::byte> bytes, const std::string& name,
                                  const std::vector<std::string>& wanted = {});

/// The member `key` where it is a single string (NumPy types S and U, ASCII); empty where it is missing or anything
/// else.
[[nodiscard]] std::string read_npz_string(std::span<const std::byte> bytes, const std::string& name,
                                          const std::string& key);

/// A sparse matrix held in members prefix + {data, indices, indptr, shape}.
struct NpzSparse {
  CsrPattern pattern;
  Buffer<float> values;  ///< one an entry; duplicates are added
};

/// Empty where there is no indptr member with the prefix. `by_column` reads it as CSC. Throws bad_input.
[[nodiscard]] std::optional<NpzSparse> read_sparse(const NpzMembers& members, const std::string& prefix, bool by_column,
                                                   const std::string& name, const Device& device);

}  // namespace bitgraph
