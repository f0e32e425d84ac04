// SPDX-License-Identifier: Apache-2.0
// The .b2sr container; docs/formats.md has its layout byte for byte.
#pragma once

#include <bitgraph/io/graph.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace bitgraph {

/// Whether the header's checksum is compared. Only a fuzzer, which cannot guess checksums, leaves it out.
enum class HeaderChecksum { compare, ignore };

/// Checks the header, the places of the sections and the last row pointer, and borrows the arrays from `bytes`, which
/// `owner` keeps alive and which start at a multiple of 64: O(1). Throws bad_input.
[[nodiscard]] B2srFile open_b2sr(std::span<std::byte> bytes, std::shared_ptr<const void> owner, const std::string& name,
                                 const Device& device, HeaderChecksum checksum = HeaderChecksum::compare);

/// Compares the payload's checksum. `bytes` have a header that open_b2sr took. Throws bad_input.
void check_b2sr_payload(std::span<const std::byte> bytes, const std::string& name);

/// Checks every invariant of the arrays. Throws bad_input.
void check_b2sr_arrays(const B2srFile& file, const std::string& name);

}  // namespace bitgraph
