// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/graph/generate.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace bitgraph::cli {

/// The planted graph that a word such as planted:flickr or planted:reddit/10 (a tenth of its nodes and entries) stands
/// for; empty for a word of another kind. Throws usage for an unknown preset or scale.
[[nodiscard]] std::optional<PlantedGraphOptions> planted_of_spec(const std::string& spec, std::uint64_t seed);

}  // namespace bitgraph::cli
