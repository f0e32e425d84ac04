// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace bitgraph {

/// Unpacks a gzip file of one or more members; zero bytes behind the last one are padding. Memory is bounded by the
/// file's size, since deflate expands at most 1,032 to 1, and by what the machine has: throws not_possible before more
/// is taken. Throws bad_input naming the file and the byte.
[[nodiscard]] Buffer<std::byte> gunzip(std::span<const std::byte> packed, const std::string& name,
                                       const Device& device = {});

/// Packs as one gzip member (level 6). Members behind one another are a gzip file too.
[[nodiscard]] Buffer<std::byte> gzip(std::span<const std::byte> plain);

[[nodiscard]] bool is_gzip(std::span<const std::byte> bytes) noexcept;

}  // namespace bitgraph
