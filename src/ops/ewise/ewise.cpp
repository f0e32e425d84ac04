// SPDX-License-Identifier: Apache-2.0
#include "ops/ewise/ewise.hpp"

#include <bitgraph/ops/ewise.hpp>

#include "core/threads/parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>

namespace bitgraph {

namespace {

constexpr std::size_t word_grain = std::size_t{1} << 14;
constexpr std::size_t row_chunk = 1024;
constexpr NodeId end_of_row = ~NodeId{0};

/// fn(f), f(a, b) the operation on words: chosen once, not for each word.
template <class Fn>
auto with_operation(SetOp op, Fn&& fn) {
  switch (op) {
    case SetOp::either: return fn([](auto a, auto b) { return static_cast<decltype(a)>(a | b); });
    case SetOp::both: return fn([](auto a, auto b) { return static_cast<decltype(a)>(a & b); });
    case SetOp::without: return fn([](auto a, auto b) { return static_cast<decltype(a)>(a & ~b); });
    case SetOp::exactly_one: break;
  }
  return fn([](auto a, auto b) { return static_cast<decltype(a)>(a ^ b); });
}

/// fn(column, position in a or end, position in b or end) for the columns that either row has, in order.
template <class Fn>
void merge_rows(std::span<const NodeId> a, std::span<const NodeId> b, Fn&& fn) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() || j < b.size()) {
    const NodeId left = i < a.size() ? a[i] : end_of_row;
    const NodeId right = j < b.size() ? b[j] : end_of_row;
    const NodeId column = std::min(left, right);
    fn(column, left == column ? i : a.size(), right == column ? j : b.size());
    i += left == column ? 1U : 0U;
    j += right == column ? 1U : 0U;
  }
}

template <class Graph>
void check(const Graph& a, const Graph& b) {
  if (a.nrows() != b.nrows() || a.ncols() != b.ncols()) {
    fail(ErrorCode::usage,
         fmt::format("ewise: A is {} x {}, B is {} x {}", a.nrows(), a.ncols(), b.nrows(), b.ncols()));
  }
  require_same_place("ewise", "A", a.device(), "B", b.device());
}

template <class Host>
CsrPattern merged(const Host&, SetOp op, const CsrPattern& a, const CsrPattern& b) {
  const Device& device = a.device();
  return with_operation(op, [&](const auto& operation) -> CsrPattern {
    const auto for_each_result = [&](NodeId row, auto&& fn) {
      const auto left = a.row(row);
      const auto right = b.row(row);
      merge_rows(left, right, [&](NodeId column, std::size_t i, std::size_t j) {
        if (operation(static_cast<unsigned>(i != left.size()), static_cast<unsigned>(j != right.size())) != 0)
          fn(column);
      });
    };
    Buffer<EdgeOffset> row_ptr(std::size_t{a.nrows()} + 1, EdgeOffset{0}, device);
    parallel_chunks(device, a.nrows(), row_chunk, [&](Range rows) {
      for (std::size_t i = rows.begin; i < rows.end; ++i) {
        EdgeOffset size = 0;
        for_each_result(static_cast<NodeId>(i), [&](NodeId) { ++size; });
        row_ptr[i] = size;
      }
    });
    Buffer<NodeId> col_ind(static_cast<std::size_t>(exclusive_scan(device, row_ptr.span())), device);
    parallel_chunks(device, a.nrows(), row_chunk, [&](Range rows) {
      for (std::size_t i = rows.begin; i < rows.end; ++i) {
        EdgeOffset to = row_ptr[i];
        for_each_result(static_cast<NodeId>(i), [&](NodeId column) { col_ind[to++] = column; });
      }
    });
    return {a.nrows(), a.ncols(), std::move(row_ptr), std::move(col_ind), trusted};
  });
}

template <int K>
BitTileMatrix merged_tiles(SetOp op, const BitTileMatrix& a, const BitTileMatrix& b) {
  constexpr auto words = static_cast<std::size_t>(tile_words<K>);
  const Device& device = a.device();
  const BitTileView<K> x = a.view<K>();
  const BitTileView<K> y = b.view<K>();
  const auto row_of = [](const BitTileView<K>& m, std::size_t i) {
    return std::span<const NodeId>(m.tile_col_ind + m.tile_row_ptr[i],
                                   static_cast<std::size_t>(m.tile_row_ptr[i + 1] - m.tile_row_ptr[i]));
  };
  return with_operation(op, [&](const auto& operation) -> BitTileMatrix {
    // fn(tile column, words) for each non-empty tile of the result.
    const auto for_each_result = [&](std::size_t row, auto&& fn) {
      const auto left = row_of(x, row);
      const auto right = row_of(y, row);
      merge_rows(left, right, [&](NodeId column, std::size_t i, std::size_t j) {
        TileWord<K> tile[words];
        TileWord<K> any = 0;
        for (std::size_t w = 0; w < words; ++w) {
          const TileWord<K> p = i == left.size() ? TileWord<K>{0} : x.bit_tiles[(x.tile_row_ptr[row] + i) * words + w];
          const TileWord<K> q = j == right.size() ? TileWord<K>{0} : y.bit_tiles[(y.tile_row_ptr[row] + j) * words + w];
          tile[w] = operation(p, q);
          any = static_cast<TileWord<K>>(any | tile[w]);
        }
        if (any != 0) fn(column, tile);
      });
    };
    Buffer<EdgeOffset> tile_row_ptr(std::size_t{x.num_tile_rows} + 1, EdgeOffset{0}, device);
    parallel_chunks(device, x.num_tile_rows, row_chunk, [&](Range rows) {
      for (std::size_t i = rows.begin; i < rows.end; ++i) {
        EdgeOffset size = 0;
        for_each_result(i, [&](NodeId, const TileWord<K>*) { ++size; });
        tile_row_ptr[i] = size;
      }
    });
    const auto tiles = static_cast<std::size_t>(exclusive_scan(device, tile_row_ptr.span()));
    Buffer<NodeId> tile_col_ind(tiles, device);
    Buffer<std::byte> bits(tiles * tile_bytes(K), device);
    auto* to_words = reinterpret_cast<TileWord<K>*>(bits.data());
    std::atomic<EdgeOffset> nvals{0};
    parallel_chunks(device, x.num_tile_rows, row_chunk, [&](Range rows) {
      EdgeOffset entries = 0;
      for (std::size_t i = rows.begin; i < rows.end; ++i) {
        EdgeOffset to = tile_row_ptr[i];
        for_each_result(i, [&](NodeId column, const TileWord<K>* tile) {
          tile_col_ind[to] = column;
          std::copy_n(tile, words, to_words + to * words);
          for (std::size_t w = 0; w < words; ++w) entries += static_cast<EdgeOffset>(std::popcount(tile[w]));
          ++to;
        });
      }
      nvals += entries;
    });
    return {a.nrows(), a.ncols(), K, std::move(tile_row_ptr), std::move(tile_col_ind), std::move(bits), nvals, trusted};
  });
}

template <class Host>
BitTileMatrix merged(const Host&, SetOp op, const BitTileMatrix& a, const BitTileMatrix& b) {
  return with_tile_dim(a.tile_dim(), [&](auto k) { return merged_tiles<k()>(op, a, b); });
}

void check_tiles(const CsrPattern&, const CsrPattern&) {}
void check_tiles(const BitTileMatrix& a, const BitTileMatrix& b) {
  if (a.tile_dim() != b.tile_dim()) {
    fail(ErrorCode::usage, fmt::format("ewise: A has tiles of side {}, B of side {}", a.tile_dim(), b.tile_dim()));
  }
}

template <class Host>
void ewise_sets(const Host&, BitVector& out, SetOp op, const BitVector& a, const BitVector& b) {
  with_operation(op, [&](const auto& operation) {
    const auto left = a.words();
    const auto right = b.words();
    const auto to = out.words();
    parallel_for(a.device(), to.size(), word_grain, [&](std::size_t w) { to[w] = operation(left[w], right[w]); });
  });
}

}  // namespace

void ewise_into(BitVector& out, SetOp op, const BitVector& a, const BitVector& b) {
  if (a.size() != b.size() || out.size() != a.size()) {
    fail(ErrorCode::usage, fmt::format("ewise: {} and {} bits into {} places", a.size(), b.size(), out.size()));
  }
  require_same_stream("ewise", "the output", out.device(), "a", a.device());
  require_same_stream("ewise", "the output", out.device(), "b", b.device());
  with_backend(out.device(), "ewise", [&](const auto& backend) { ewise_sets(backend, out, op, a, b); });
}

template <class Graph>
Graph ewise(SetOp op, const Graph& a, const Graph& b) {
  check(a, b);
  check_tiles(a, b);
  return with_backend(a.device(), "ewise", [&](const auto& backend) { return merged(backend, op, a, b); });
}

template <class S, class T>
requires detail::LibraryAdd<S, T>
void detail::ewise_add_values(Buffer<T>& out, const Buffer<T>& a, const Buffer<T>& b) {
  with_cuda(out.device(), "ewise", [&](const auto& cuda) { bitgraph::ewise_add_values<S>(cuda, out, a, b); });
}

template CsrPattern ewise(SetOp, const CsrPattern&, const CsrPattern&);
template BitTileMatrix ewise(SetOp, const BitTileMatrix&, const BitTileMatrix&);

namespace {

[[gnu::used]] constexpr auto instances = for_ewise_types([](auto semiring, auto type) {
  return &detail::ewise_add_values<TypeOf<decltype(semiring)>, TypeOf<decltype(type)>>;
});

}  // namespace

}  // namespace bitgraph
