// SPDX-License-Identifier: Apache-2.0
// The kernels of mxm: argument structs of views, one overload a backend. See include/bitgraph/ops/mxm.hpp for what is
// computed. Kernels do not check and do not allocate: mxm.cpp brings their workspaces.
#pragma once

#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include "core/devices/backend.hpp"
#include "ops/mxm/plan.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// Rows of a matrix that have bit rows beside their columns.
struct LongRows {
  const std::uint32_t* place = nullptr;  ///< of each row: its number among them, from 1 on, or 0; null: none has one
  const std::uint64_t* bits = nullptr;
  std::size_t words = 0;  ///< of a bit row, a multiple of long_row_block
};

inline constexpr std::size_t long_row_block = 8;  ///< words of 64 bits: as many as a vector may hold

/// The sum over the entries (i, j) of `mask` of the number of columns that row i of x and row j of b share. That is
/// the masked sum of x b^T; and the sum of a b within m is that of x = m, mask = a: both add up
/// m(i, j) a(i, k) b(k, j).
template <class Graph>
struct MaskedSumArgs {
  Graph x;
  Graph b;
  Graph mask;
  EdgeOffset mask_items = 0;        ///< entries of the mask; of tiles the tiles
  std::uint64_t* marks = nullptr;   ///< zeros: marks_each a thread
  std::size_t marks_each = 0;       ///< a bit a column, in whole blocks; of tiles a word a tile column
  LongRows b_long;                  ///< of CSR on the host
  std::uint32_t* counts = nullptr;  ///< on the host, of CSR, where wanted: of each entry of the mask its number
  bool any = false;                 ///< then 1 will do for every number but 0
};

/// Rows of the mask that a thread takes at a time; tile rows where the format is tiles.
inline constexpr std::size_t masked_sum_chunk = cpu_mxm_tuning().chunk_rows;

template <class Graph>
std::uint64_t masked_sum(const Reference& backend, const MaskedSumArgs<Graph>& args);
template <class Graph>
std::uint64_t masked_sum(const Cpu& backend, const MaskedSumArgs<Graph>& args);

/// Per thread: a ColumnSet, marks for the row of the mask, and what counts are gathered in.
struct ProductWorkspace {
  std::uint64_t* words = nullptr;   ///< zeros: those of the set, then those of the marks
  std::size_t words_each = 0;       ///< a workspace's share
  std::size_t set_words = 0;        ///< of them the set's
  std::uint32_t* counts = nullptr;  ///< zeros; null where no counts are wanted
  NodeId* keys = nullptr;           ///< null: counts are indexed by column; else a hash table of counts_each places
  std::size_t counts_each = 0;      ///< a power of two where there are keys
};

/// a b. Rows are counted by product_sizes, then written by product_fill.
template <class Graph>
struct ProductArgs {
  Graph a;
  Graph b;
  Graph mask;
  MaskUse mask_use = MaskUse::none;
  ProductWorkspace workspace;
};

inline constexpr std::size_t product_chunk =
    cpu_mxm_tuning().chunk_rows;  ///< rows, or tile rows, that a thread takes at a time

/// sizes[i] = the entries of row i of the product.
template <class Graph>
void product_sizes(const Reference& backend, const ProductArgs<Graph>& args, EdgeOffset* sizes);
template <class Graph>
void product_sizes(const Cpu& backend, const ProductArgs<Graph>& args, EdgeOffset* sizes);

/// Columns of row i from position row_ptr[i] on, and counts where there is a place for them.
struct ProductOut {
  const EdgeOffset* row_ptr = nullptr;
  NodeId* col_ind = nullptr;
  std::uint32_t* counts = nullptr;
};

template <class Graph>
void product_fill(const Reference& backend, const ProductArgs<Graph>& args, const ProductOut& out);
template <class Graph>
void product_fill(const Cpu& backend, const ProductArgs<Graph>& args, const ProductOut& out);

/// Behind the ColumnSet of a tile row, in 64-bit words: the tiles of one tile row of the product, then marks of the
/// tile columns that the mask has.
template <int K>
struct TileRowSpace {
  std::size_t tile_words;
  std::size_t mark_words;

  explicit TileRowSpace(std::size_t columns) noexcept
      : tile_words((columns * tile_bytes(K) + 7) / 8), mark_words((columns + 63) / 64) {}
  [[nodiscard]] std::size_t words() const noexcept { return tile_words + mark_words; }
};

/// The boolean product of tiles as tiles. Workspace: a ColumnSet of tile columns, then a TileRowSpace.
template <int K>
struct TileProductArgs {
  BitTileView<K> a;
  BitTileView<K> b;
  BitTileView<K> mask;
  MaskUse mask_use = MaskUse::none;
  ProductWorkspace workspace;
};

/// sizes[i] = the non-empty tiles of tile row i.
template <int K>
void tile_product_sizes(const Cpu& backend, const TileProductArgs<K>& args, EdgeOffset* sizes);

template <int K>
struct TileProductOut {
  const EdgeOffset* tile_row_ptr = nullptr;
  NodeId* tile_col_ind = nullptr;
  TileWord<K>* bit_tiles = nullptr;
};

/// Returns the number of entries.
template <int K>
EdgeOffset tile_product_fill(const Cpu& backend, const TileProductArgs<K>& args, const TileProductOut<K>& out);

}  // namespace bitgraph
