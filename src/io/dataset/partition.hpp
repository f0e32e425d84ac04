// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/io/partition.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace bitgraph {

/// Reads a part file's bytes. Throws bad_input.
[[nodiscard]] Partition read_partition(std::span<const std::byte> bytes, const std::string& name);

}  // namespace bitgraph
