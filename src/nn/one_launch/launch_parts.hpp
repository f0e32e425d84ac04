// SPDX-License-Identifier: Apache-2.0
// Steps of one launch from the matrices that an operator takes.
#pragma once

#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include "nn/one_launch/row_program.hpp"

#include <utility>
#include <vector>

namespace bitgraph::nn {

inline LaunchStep into(LaunchStep::Kind kind, DenseMatrix<float>& out) {
  LaunchStep s{.kind = kind, .out_width = out.ncols()};
  s.floats_out = out.view().data;
  return s;
}
inline LaunchStep into(LaunchStep::Kind kind, BitMatrix<PlusMinusOne>& out) {
  LaunchStep s{.kind = kind, .out_width = out.ncols()};
  s.bits_out = out.view().words;
  return s;
}
/// Over a pattern's rows.
template <class Out>
LaunchStep over(LaunchStep::Kind kind, const CsrPattern& pattern, Out& out) {
  LaunchStep s = into(kind, out);
  s.row_ptr = pattern.view().row_ptr;
  s.col_ind = pattern.view().col_ind;
  return s;
}

inline void take(LaunchStep& s, const DenseMatrix<float>& x) { s.floats_in = x.view().data; }
inline void take(LaunchStep& s, const BitMatrix<PlusMinusOne>& x) { s.bits_in = x.view().words; }

template <class X>
std::vector<LaunchStep> side_by_side(X& out, const std::vector<const X*>& parts) {
  std::vector<LaunchStep> placed;
  std::size_t first = 0;
  for (const X* part : parts) {
    LaunchStep& s = placed.emplace_back(into(LaunchStep::Kind::place, out));
    take(s, *part);
    s.in_width = part->ncols();
    s.first_column = std::exchange(first, first + part->ncols());
  }
  return placed;
}

}  // namespace bitgraph::nn
