// SPDX-License-Identifier: Apache-2.0
#include "io/array/npz_sparse.hpp"

#include "core/threads/parallel.hpp"
#include "formats/pattern/sorted_row.hpp"
#include "io/file/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

namespace bitgraph {

namespace {

constexpr std::size_t row_grain = 256;

/// Compressed lines as the file has them: line o holds the entries [pointers[o], pointers[o + 1]).
struct Lines {
  Buffer<EdgeOffset> pointers;
  Buffer<NodeId> indices;
  Buffer<float> values;
};

struct Sides {
  NodeId nrows;
  NodeId ncols;
};

bool has_other_than_one(std::span<const float> values) {
  return std::any_of(values.begin(), values.end(), [](float v) { return v != 1.0F; });
}

/// `proven` sides cost no memory that the file does not hold; of others, a file of this size can mean only so many.
Sides read_shape(const NpzReader& reader, const std::string& key, bool proven) {
  const auto shape = reader.vector<std::uint64_t>(key);
  if (shape.size() != 2) reader.refuse(key, fmt::format("{} sides, expected 2", shape.size()));
  for (const std::uint64_t side : shape.span()) {
    if (side >= std::numeric_limits<NodeId>::max())
      reader.refuse(key, fmt::format("a side of {}, expected less than 2^32 - 1", side));
    if (!proven && side > 64 * std::uint64_t{reader.size()} + (std::uint64_t{1} << 20))
      reader.refuse(key, fmt::format("a side of {}, more than a file of this size can mean", side));
  }
  return {static_cast<NodeId>(shape[0]), static_cast<NodeId>(shape[1])};
}

Buffer<float> read_values(const NpzReader& reader, const std::string& key, std::size_t entries, const Device& device) {
  if (!reader.contains(key)) return Buffer<float>(entries, 1.0F, device);
  auto values = reader.vector<float>(key, device);
  if (values.size() != entries) reader.refuse(key, fmt::format("{} values for {} entries", values.size(), entries));
  return values;
}

Lines read_lines(const NpzReader& reader, const std::string& prefix, NodeId outer, NodeId inner, const Device& device) {
  const std::string pointers_key = prefix + "indptr";
  const std::string indices_key = prefix + "indices";
  Lines lines{reader.vector<EdgeOffset>(pointers_key, device), reader.vector<NodeId>(indices_key, device), {}};
  const auto& pointers = lines.pointers;
  if (pointers.size() != std::size_t{outer} + 1) {
    reader.refuse(pointers_key,
                  fmt::format("{} pointers, expected {} for the shape", pointers.size(), std::size_t{outer} + 1));
  }
  if (pointers[0] != 0) reader.refuse(pointers_key, fmt::format("element 0: found {}, expected 0", pointers[0]));
  for (std::size_t o = 0; o < outer; ++o) {
    if (pointers[o] > pointers[o + 1])
      reader.refuse(pointers_key, fmt::format("element {}: {} falls to {}", o + 1, pointers[o], pointers[o + 1]));
  }
  if (pointers[outer] != lines.indices.size()) {
    reader.refuse(pointers_key, fmt::format("element {}: found {}, expected {}, the number of indices", outer,
                                            pointers[outer], lines.indices.size()));
  }
  const auto bad = std::find_if(lines.indices.begin(), lines.indices.end(), [&](NodeId j) { return j >= inner; });
  if (bad != lines.indices.end()) {
    reader.refuse(indices_key,
                  fmt::format("element {}: found {}, expected less than {}", bad - lines.indices.begin(), *bad, inner));
  }
  lines.values = read_values(reader, prefix + "data", lines.indices.size(), device);
  return lines;
}

/// CSC to CSR. Rows come out with their columns in order.
Lines transposed(const Lines& columns, NodeId nrows, const Device& device) {
  const std::size_t entries = columns.indices.size();
  Lines rows{Buffer<EdgeOffset>(std::size_t{nrows} + 1, EdgeOffset{0}, device), Buffer<NodeId>(entries, device),
             Buffer<float>(entries, device)};
  for (const NodeId i : columns.indices.span()) ++rows.pointers[i];
  exclusive_scan(device, rows.pointers.span());
  for (std::size_t j = 0; j + 1 < columns.pointers.size(); ++j) {
    for (EdgeOffset e = columns.pointers[j]; e < columns.pointers[j + 1]; ++e) {
      const EdgeOffset to = rows.pointers[columns.indices[e]]++;
      rows.indices[to] = static_cast<NodeId>(j);
      rows.values[to] = columns.values[e];
    }
  }
  // The pointers moved to the ends of their rows: shift them back.
  std::copy_backward(rows.pointers.begin(), rows.pointers.end() - 1, rows.pointers.end());
  rows.pointers[0] = 0;
  return rows;
}

using Entry = std::pair<NodeId, float>;

/// Sorts a row by column and adds up the entries of one column; returns how many are left, at the front.
std::size_t sort_row(std::span<NodeId> cols, std::span<float> values, std::vector<Entry>& scratch) {
  if (std::adjacent_find(cols.begin(), cols.end(), std::greater_equal<>()) == cols.end()) return cols.size();
  scratch.clear();
  for (std::size_t e = 0; e < cols.size(); ++e) scratch.emplace_back(cols[e], values[e]);
  std::stable_sort(scratch.begin(), scratch.end(), [](const Entry& x, const Entry& y) { return x.first < y.first; });
  std::size_t kept = 0;
  for (const auto& [col, value] : scratch) {
    if (kept != 0 && cols[kept - 1] == col) {
      values[kept - 1] += value;
      continue;
    }
    cols[kept] = col;
    values[kept++] = value;
  }
  return kept;
}

/// Closes the gaps that duplicates left: row i keeps kept[i] entries.
Lines closed(const Lines& rows, std::span<const EdgeOffset> kept, const Device& device) {
  Lines out{Buffer<EdgeOffset>::copy_of(kept, device), {}, {}};
  const EdgeOffset total = exclusive_scan(device, out.pointers.span());
  out.indices = Buffer<NodeId>(total, device);
  out.values = Buffer<float>(total, device);
  parallel_for(device, kept.size() - 1, row_grain, [&](std::size_t i) {
    std::copy_n(rows.indices.begin() + rows.pointers[i], kept[i], out.indices.begin() + out.pointers[i]);
    std::copy_n(rows.values.begin() + rows.pointers[i], kept[i], out.values.begin() + out.pointers[i]);
  });
  return out;
}

}  // namespace

NpzSparse read_compressed(const NpzReader& reader, const std::string& prefix, Compressed compressed,
                          const Device& device) {
  const bool by_row = compressed == Compressed::rows;
  const Sides sides = read_shape(reader, prefix + "shape", by_row);
  Lines rows = by_row ? read_lines(reader, prefix, sides.nrows, sides.ncols, device)
                      : read_lines(reader, prefix, sides.ncols, sides.nrows, device);
  NpzSparse sparse;
  sparse.weighted = has_other_than_one(rows.values.span());
  if (!by_row) rows = transposed(rows, sides.nrows, device);
  Buffer<EdgeOffset> kept(std::size_t{sides.nrows} + 1, EdgeOffset{0}, device);
  parallel_chunks(device, sides.nrows, row_grain, [&](Range range) {
    std::vector<Entry> scratch;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const EdgeOffset begin = rows.pointers[i];
      const std::size_t size = rows.pointers[i + 1] - begin;
      kept[i] = sort_row(rows.indices.span().subspan(begin, size), rows.values.span().subspan(begin, size), scratch);
    }
  });
  if (std::accumulate(kept.begin(), kept.end(), EdgeOffset{0}) != rows.indices.size())
    rows = closed(rows, kept.span(), device);
  sparse.pattern = CsrPattern(sides.nrows, sides.ncols, std::move(rows.pointers), std::move(rows.indices), trusted);
  sparse.values = std::move(rows.values);
  return sparse;
}

NpzSparse read_coordinates(const NpzReader& reader, const Device& device) {
  const Sides sides = read_shape(reader, "shape", false);
  const auto rows = reader.vector<NodeId>("row");
  const auto cols = reader.vector<NodeId>("col");
  if (rows.size() != cols.size()) reader.refuse("col", fmt::format("{} columns for {} rows", cols.size(), rows.size()));
  const auto check = [&](const std::string& key, std::span<const NodeId> indices, NodeId side) {
    const auto bad = std::find_if(indices.begin(), indices.end(), [&](NodeId i) { return i >= side; });
    if (bad != indices.end()) {
      reader.refuse(key, fmt::format("element {}: found {}, expected less than {}", bad - indices.begin(), *bad, side));
    }
  };
  check("row", rows.span(), sides.nrows);
  check("col", cols.span(), sides.ncols);
  const Buffer<float> values = read_values(reader, "data", rows.size(), device);
  NpzSparse sparse{csr_from_edges(sides.nrows, sides.ncols, rows.span(), cols.span(), {}, device), {}, false};
  sparse.weighted = has_other_than_one(values.span());
  sparse.values = Buffer<float>(sparse.pattern.nvals(), 0.0F, device);
  for (std::size_t e = 0; e < rows.size(); ++e) {
    const EdgeOffset entry = sparse.pattern.row_ptr()[rows[e]] + columns_below(sparse.pattern.row(rows[e]), cols[e]);
    sparse.values[entry] += values[e];
  }
  return sparse;
}

void put_csr(std::map<std::string, Array>& members, const std::string& prefix, const CsrPattern& pattern,
             std::span<const float> values) {
  const auto put_indices = [&]<class Index>(Index) {
    const std::vector<Index> indices(pattern.col_ind().begin(), pattern.col_ind().end());
    const std::vector<Index> pointers(pattern.row_ptr().begin(), pattern.row_ptr().end());
    members[prefix + "indices"] = vector_array<Index>(indices);
    members[prefix + "indptr"] = vector_array<Index>(pointers);
  };
  constexpr std::uint64_t most = std::numeric_limits<std::int32_t>::max();
  if (std::max<std::uint64_t>({pattern.nvals(), pattern.nrows(), pattern.ncols()}) <= most) {
    put_indices(std::int32_t{});
  } else {
    put_indices(std::int64_t{});
  }
  const std::array<std::int64_t, 2> shape{pattern.nrows(), pattern.ncols()};
  members[prefix + "shape"] = vector_array<std::int64_t>(shape);
  members[prefix + "data"] = vector_array(values);
}

}  // namespace bitgraph
