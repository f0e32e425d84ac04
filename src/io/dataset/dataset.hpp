// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/io/dataset.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace bitgraph {

/// The label of a node that has none (Dataset::labels).
inline constexpr std::int32_t unlabelled = -1;

/// The most classes that a file may name.
inline constexpr std::size_t most_classes = 65536;

/// Reads a data set's bytes; it has no name yet. Dense features may stay in bytes that have an owner. Throws bad_input.
[[nodiscard]] Dataset read_dataset(std::span<const std::byte> bytes, const std::string& name, const Device& device,
                                   const std::shared_ptr<const void>& owner = {});

}  // namespace bitgraph
