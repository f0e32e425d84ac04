// SPDX-License-Identifier: Apache-2.0
// The OR of rows of a bit matrix, until a row holds all that is wanted.
#pragma once

#include <bitgraph/core/types.hpp>

#include <cstddef>
#include <cstdint>

namespace bitgraph::multi_source_cpu {

/// Sets found[0 .. words) to the OR of the rows columns[0 .. size) of `rows` that are in the set `active`, taken in
/// this order until no bit of `missing` is missing any more.
using GatherRows = void (*)(const NodeId* columns, std::size_t size, const std::uint64_t* active,
                            const std::uint64_t* rows, const std::uint64_t* missing, std::uint64_t* found);

/// For rows of `words` words (1, 2, 4 or 8) and the instruction set in use.
[[nodiscard]] GatherRows gather_rows(std::size_t words);

}  // namespace bitgraph::multi_source_cpu
