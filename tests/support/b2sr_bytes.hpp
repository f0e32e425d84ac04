// SPDX-License-Identifier: Apache-2.0
// .b2sr files put together and broken by hand, after docs/formats.md: nothing of the writer is used.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace bitgraph::test {

/// Where the numbers of the header are.
namespace b2sr_at {
inline constexpr std::size_t version = 8, tile_dim = 12, nrows = 16, ncols = 24, nvals = 32, num_indices = 40;
inline constexpr std::size_t row_ptr = 48, col_ind = 56, bits = 64, new_id = 72, ids = 80;
inline constexpr std::size_t file_size = 88, payload_hash = 96, reserved = 104, header_hash = 120, payload = 128;
}  // namespace b2sr_at

/// Writes a little-endian number into bytes that are there.
template <class T>
void put_number(std::string& bytes, std::size_t at, T value) {
  for (std::size_t b = 0; b < sizeof(T); ++b)
    bytes[at + b] = static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * b) & 0xFFU);
}

template <class T>
[[nodiscard]] T number_at(const std::string& bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// The right checksums for whatever the bytes are now.
inline void seal_b2sr(std::string& bytes) {
  const std::string_view payload = std::string_view(bytes).substr(b2sr_at::payload);
  put_number(bytes, b2sr_at::payload_hash, std::uint64_t{XXH3_64bits(payload.data(), payload.size())});
  put_number(bytes, b2sr_at::header_hash, std::uint64_t{XXH3_64bits(bytes.data(), b2sr_at::header_hash)});
}

}  // namespace bitgraph::test
