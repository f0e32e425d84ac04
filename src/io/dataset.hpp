// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/io/dataset.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace bitgraph {

/// Reads a data set's bytes; it has no name yet. Throws bad_input.
[[nodiscard]] Dataset read_dataset(std::span<const std::byte> bytes, const std::string& name, const Device& device);

}  // namespace bitgraph
