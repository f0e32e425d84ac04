// SPDX-License-Identifier: Apache-2.0
// Help for the fuzz targets of the formats that hold arrays.
#pragma once

#include <bitgraph/io/array.hpp>

#include "fuzz_promise.hpp"

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace bitgraph::fuzz {

/// The bytes and the shape of an array fit each other, and its values can be converted or are refused.
inline void expect_sound(const Array& array) {
  expect(array.data.size() == array.size() * element_size(array.type), "as many bytes as the shape asks for");
  expect(array.as<double>().size() == array.size(), "any number is a double");
  try {
    (void)array.as<std::uint32_t>();
  } catch (const Error& error) {
    expect(error.code() == ErrorCode::bad_input, error.what());
  }
}

/// A zip archive whose stored members have the right checksums, so that what was changed in them is looked at at all.
inline std::vector<std::byte> with_checksums(std::span<const std::byte> bytes) {
  std::vector<std::byte> archive(bytes.begin(), bytes.end());
  const auto number = [&](std::size_t at, std::size_t width) {
    std::uint32_t value = 0;
    for (std::size_t b = 0; b < width; ++b) value |= std::to_integer<std::uint32_t>(archive[at + b]) << (8 * b);
    return std::size_t{value};
  };
  constexpr std::size_t local = 30;    // bytes of a member's header before its name
  constexpr std::size_t central = 46;  // and of its entry in the directory
  for (std::size_t at = 0; at + central <= archive.size(); ++at) {
    if (std::memcmp(archive.data() + at, "PK\1\2", 4) != 0 || number(at + 10, 2) != 0) continue;
    const std::size_t start = number(at + 42, 4);
    if (start + local > archive.size()) continue;
    const std::size_t data = start + local + number(start + 26, 2) + number(start + 28, 2);
    const std::size_t size = number(at + 20, 4);
    if (data > archive.size() || size > archive.size() - data) continue;
    const auto* begin = reinterpret_cast<const Bytef*>(archive.data() + data);
    const auto sum = static_cast<std::uint32_t>(crc32(0, begin, static_cast<uInt>(size)));
    std::memcpy(archive.data() + at + 16, &sum, 4);
    std::memcpy(archive.data() + start + 14, &sum, 4);
  }
  return archive;
}

}  // namespace bitgraph::fuzz
