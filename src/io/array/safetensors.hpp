// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/io/array.hpp>

#include <span>
#include <string>

namespace bitgraph {

/// Reads a safetensors file's bytes. Throws bad_input.
[[nodiscard]] TensorFile read_safetensors(std::span<const std::byte> bytes, const std::string& name);

}  // namespace bitgraph
