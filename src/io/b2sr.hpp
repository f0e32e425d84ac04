// SPDX-License-Identifier: Apache-2.0
// The .b2sr container; docs/formats.md has its layout byte for byte.
#pragma once

#include <bitgraph/io/graph.hpp>

#include "io/file.hpp"

#include <memory>
#include <string>

namespace bitgraph {

/// What a .b2sr file holds: tiles or a pattern.
struct B2srContents {
  std::optional<BitTileMatrix> tiles;
  std::optional<CsrPattern> pattern;
};

/// Checks the header and the sections' bounds and borrows the arrays from the mapping: O(1). Throws bad_input.
[[nodiscard]] B2srContents open_b2sr(const std::shared_ptr<MappedFile>& file, const std::string& name,
                                     const Device& device);

/// Compares the payload's checksum. Throws bad_input.
void check_b2sr_payload(const MappedFile& file, const std::string& name);

}  // namespace bitgraph
