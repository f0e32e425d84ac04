// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace bitgraph {

/// Unpacks a gzip file of one or more members; zero bytes behind the last one are padding. Memory is bounded by the
/// file's size, since deflate expands at most 1,032 to 1, and by what the machine has: throws not_possible before more
/// is taken. Throws bad_input naming the file and the byte.
[[nodiscard]] Buffer<std::byte> gunzip(std::span<const std::byte> packed, const std::string& name,
                                       const Device& device = {});

/// The first bytes of what gunzip() would give, at most `most`, and how many packed bytes they took: enough to see a
/// header and the ratio without unpacking the rest. Throws bad_input as gunzip(), for what it reads.
struct GzipFront {
  Buffer<std::byte> bytes;
  std::size_t packed = 0;
  bool whole = false;  ///< nothing follows
};
[[nodiscard]] GzipFront gunzip_front(std::span<const std::byte> packed, std::size_t most, const std::string& name);

/// Unpacks a zlib stream (RFC 1950), the whole of `packed`, whose size is not known before. Memory is bounded as
/// above. Throws bad_input naming the file and `byte`, where the stream begins.
[[nodiscard]] Buffer<std::byte> inflate_zlib(std::span<const std::byte> packed, const std::string& name,
                                             std::uint64_t byte);

/// Packs as one gzip member (level 6). Members behind one another are a gzip file too.
[[nodiscard]] Buffer<std::byte> gzip(std::span<const std::byte> plain);

[[nodiscard]] bool is_gzip(std::span<const std::byte> bytes) noexcept;

}  // namespace bitgraph
