// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/partition.hpp>

#include <filesystem>

namespace bitgraph {

/// Writes a part file: safetensors with the part of each node and what the partition was made from. See
/// docs/formats.md. Throws internal where it cannot be written.
void save_partition(const Partition& partition, const std::filesystem::path& path);

/// Reads a part file. Throws bad_input naming the file, what was found and what was expected.
[[nodiscard]] Partition load_partition(const std::filesystem::path& path);

/// The same, and bad_input where it belongs to another graph than `graph` (Partition::require_graph).
[[nodiscard]] Partition load_partition(const std::filesystem::path& path, const CsrPattern& graph);

}  // namespace bitgraph
