// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace bitgraph::cli {

/// The kinds of generated graphs, for --help.
inline constexpr const char* graph_kinds =
    "rmat:SCALE, uniform:SCALE (16 edges drawn a node), grid:SIDE, mesh:SIDE, mycielskian:ORDER, bruijn:SCALE, "
    "planted:flickr and the other presets of generate (planted:reddit/10: a tenth of it)";

/// The pattern that a word stands for: a file, a generated graph (KIND:SIZE, planted:NAME), or a data set's name.
/// Throws usage for an unknown kind or size, bad_input where there is no such file or data set.
[[nodiscard]] CsrPattern graph_of_spec(const std::string& spec, std::uint64_t seed, const Device& host);

/// Throws what graph_of_spec would of a word that names nothing: nothing is measured then before the fault is told.
void require_graphs(const std::vector<std::string>& specs);

/// About how many bytes the pattern of a word takes, as far as its name or the front of its file tell. Throws as
/// require_graphs().
[[nodiscard]] double spec_bytes(const std::string& spec);

}  // namespace bitgraph::cli
