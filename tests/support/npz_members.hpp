// SPDX-License-Identifier: Apache-2.0
// Members of .npz archives, for archives put together by hand.
#pragma once

#include "io/array/array.hpp"
#include "io/array/npy.hpp"
#include "support/zip_builder.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace bitgraph::test {

/// A member of any shape with those values.
template <class T>
ZipMember array_member(const std::string& key, const std::vector<std::uint64_t>& shape, const std::vector<T>& values) {
  std::string bytes = npy_header(element_type_of<T>(), shape);
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return {key + ".npy", bytes};
}

/// A member of one dimension.
template <class T>
ZipMember vector_member(const std::string& key, const std::vector<T>& values) {
  return array_member(key, {values.size()}, values);
}

/// A member that is one string.
inline ZipMember text_member(const std::string& key, const std::string& text) {
  return {key + ".npy", npy_of_text(text)};
}

}  // namespace bitgraph::test
