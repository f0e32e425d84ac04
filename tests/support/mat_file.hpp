// SPDX-License-Identifier: Apache-2.0
// MATLAB files of version 5, put together by hand.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

namespace bitgraph::test {

template <class T>
std::string raw(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

/// A tag, the data, and padding to 8 bytes.
inline std::string mat_element(std::uint32_t type, const std::string& data) {
  const std::string padding((8 - data.size() % 8) % 8, '\0');
  return raw(type) + raw(static_cast<std::uint32_t>(data.size())) + data + padding;
}

/// Data of 1 to 4 bytes in the tag.
inline std::string short_mat_element(std::uint16_t type, std::string data) {
  const auto size = static_cast<std::uint16_t>(data.size());
  data.resize(4);
  return raw(type) + raw(size) + data;
}

/// A matrix of a class, with what its class adds.
inline std::string mat_matrix(std::uint8_t kind, const std::vector<std::int32_t>& sides, const std::string& name,
                              const std::string& rest) {
  std::string lengths;
  for (const std::int32_t side : sides) lengths += raw(side);
  return mat_element(14,
                     mat_element(6, raw<std::uint64_t>(kind)) + mat_element(5, lengths) + mat_element(1, name) + rest);
}

/// A dense matrix of numbers stored as bytes, column by column.
inline std::string mat_numbers(const std::vector<std::int32_t>& sides, const std::string& values,
                               const std::string& name = "") {
  return mat_matrix(6, sides, name, mat_element(2, values));
}

/// A struct array: elements have the fields one behind the other.
inline std::string mat_struct(std::int32_t count, const std::vector<std::string>& fields, const std::string& values,
                              const std::string& name = "") {
  constexpr std::size_t length = 8;
  std::string names;
  for (std::string field : fields) {
    field.resize(length);
    names += field;
  }
  return mat_matrix(2, {1, count}, name,
                    short_mat_element(5, raw(static_cast<std::int32_t>(length))) + mat_element(1, names) + values);
}

/// The field nl of a graph.
inline std::string mat_node_labels(const std::string& labels) {
  return mat_struct(1, {"values"}, mat_numbers({static_cast<std::int32_t>(labels.size()), 1}, labels));
}

/// The element as MATLAB compresses it: a zlib stream, here of one stored block.
inline std::string mat_compressed(const std::string& element) {
  std::uint32_t a = 1, b = 0;  // Adler-32
  for (const char c : element) {
    a = (a + static_cast<unsigned char>(c)) % 65521;
    b = (b + a) % 65521;
  }
  const auto size = static_cast<std::uint16_t>(element.size());
  std::string packed = "\x78\x01\x01" + raw(size) + raw(static_cast<std::uint16_t>(~size)) + element;
  for (const std::uint32_t part : {b >> 8, b, a >> 8, a}) packed += static_cast<char>(part & 0xFF);
  return raw(std::uint32_t{15}) + raw(static_cast<std::uint32_t>(packed.size())) + packed;
}

inline std::string mat_file(const std::string& variables) {
  std::string header = "MATLAB 5.0 MAT-file";
  header.resize(124, ' ');
  return header + raw(std::uint16_t{0x0100}) + "IM" + variables;
}

}  // namespace bitgraph::test
