// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>
#include <bitgraph/formats/sparse_levels.hpp>

#include "core/preconditions.hpp"
#include "core/threads/parallel.hpp"
#include "formats/levels/level_rows.hpp"

#include <utility>
#include <vector>

namespace bitgraph {

namespace {

constexpr std::size_t row_grain = 64;

}  // namespace

SparseLevels to_sparse(const QuantizedMatrix& x, CsrPattern pattern) {
  require_host(x.device(), "to_sparse");
  require(pattern.nrows() == x.nrows() && pattern.ncols() == x.ncols(), "to_sparse: the pattern has another shape");
  SparseLevels made{std::move(pattern), Buffer<std::uint16_t>(), x.bits(), x.scale().to(x.device())};
  made.levels = Buffer<std::uint16_t>(made.pattern.nvals(), x.device());
  parallel_for(x.device(), x.nrows(), row_grain, [&](std::size_t i) {
    EdgeOffset at = made.pattern.row_ptr()[i];
    for (const NodeId j : made.pattern.row(static_cast<NodeId>(i)))
      made.levels[at++] = static_cast<std::uint16_t>(level_at(x.view(), i, j));
  });
  return made;
}

QuantizedMatrix to_quantized(const SparseLevels& x) {
  require_host(x.device(), "to_quantized");
  QuantizedMatrix made(x.nrows(), x.ncols(), x.bits, x.pattern.device());
  parallel_chunks(x.pattern.device(), x.nrows(), row_grain, [&](Range rows) {
    std::vector<std::uint32_t> row(x.ncols());
    for (std::size_t i = rows.begin; i < rows.end; ++i) {
      std::fill(row.begin(), row.end(), zero_level(x.scale.step(i, 0), x.scale.offset(i, 0), x.bits));
      EdgeOffset at = x.pattern.row_ptr()[i];
      for (const NodeId j : x.pattern.row(static_cast<NodeId>(i))) row[j] = x.levels[at++];
      pack_levels(row, x.bits, {made.view().row(i), made.row_bytes()});
    }
  });
  made.set_scale(x.scale.to(x.pattern.device()));
  return made;
}

}  // namespace bitgraph
