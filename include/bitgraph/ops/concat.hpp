// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include <array>
#include <cstddef>
#include <span>

namespace bitgraph {

/// The most matrices that one call of concat takes.
inline constexpr std::size_t most_concat_parts = 64;

/// out = [parts[0] | parts[1] | ...], columns side by side: CONCAT of BitGNN (section 3.1.2, Figure 2), the layers of a
/// network ahead of its last one (SAINT). X is BitMatrix<PlusMinusOne> or DenseMatrix<float>; widths need be no
/// multiple of anything. Throws usage naming the shapes or devices that do not fit, for an output that is one of the
/// parts, and for no parts or more than most_concat_parts. O(nrows ncols), or O(nrows ncols / 64) for bits; allocates
/// nothing.
template <class X>
void concat_into(X& out, std::span<const X* const> parts);

/// The same of two.
template <class X>
void concat_into(X& out, const X& a, const X& b) {
  const std::array<const X*, 2> parts{&a, &b};
  concat_into(out, std::span<const X* const>(parts));
}

/// The same with a new output.
template <class X>
[[nodiscard]] X concat(std::span<const X* const> parts) {
  std::size_t ncols = 0;
  for (const X* part : parts) ncols += part->ncols();
  X out = parts.empty() ? X() : X(parts.front()->nrows(), ncols, parts.front()->device());
  concat_into(out, parts);
  return out;
}
template <class X>
[[nodiscard]] X concat(const X& a, const X& b) {
  const std::array<const X*, 2> parts{&a, &b};
  return concat(std::span<const X* const>(parts));
}

}  // namespace bitgraph
