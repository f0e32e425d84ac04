// SPDX-License-Identifier: Apache-2.0
// The parallel loop over blocks of rows, and the assembly of rows from tiles on the fly (BitGNN, section 3.2.1: stored
// in small tiles, computed on whole rows).
#include "ops/spmm/cpu/kernels.hpp"

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/sell_pattern.hpp>

#include "core/threads/parallel.hpp"
#include "formats/rows.hpp"
#include "ops/spmm/elements.hpp"
#include "ops/spmm/instances.hpp"
#include "ops/spmm/tuning.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace bitgraph {

namespace {

using spmm_cpu::max_block_rows;
using spmm_cpu::RowBlock;

template <class Graph, class Out>
void run_block(const SpmmArgs<Graph, BitsIn, Out>& args, const RowBlock& rows) {
  if (args.col_scale == nullptr) {
    spmm_cpu::vote_rows(rows, args.x, {args.out, args.epilogue});
  } else {
    spmm_cpu::weigh_rows(rows, args.x, args.col_scale, {args.out, args.epilogue});
  }
}

template <class Graph, class T, class Out>
void run_block(const SpmmArgs<Graph, DenseView<const T>, Out>& args, const RowBlock& rows) {
  spmm_cpu::sum_rows(rows, args.x, args.col_scale, args.out, args.epilogue);
}

/// A CSR's rows are there as they are wanted.
template <class In, class Out>
void run_rows(const SpmmArgs<CsrPatternView, In, Out>& args, Range rows) {
  run_block(args, RowBlock{args.a.row_ptr + rows.begin, args.a.col_ind, rows.begin, rows.size()});
}

/// fn(row, column) within tile t for each of its entries, those of a row in increasing order.
template <int K, class Fn>
void for_each_bit(const BitTileView<K>& a, EdgeOffset t, const Fn& fn) {
  if constexpr (K <= 8) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, a.bit_tiles + t * tile_words<K>, tile_bytes(K));
    for (; bits != 0; bits &= bits - 1) {
      const auto bit = static_cast<unsigned>(std::countr_zero(bits));
      fn(bit / K, bit % K);
    }
  } else {
    for (unsigned r = 0; r < K; ++r) {
      for (std::uint64_t bits = a.tile_row(t, static_cast<int>(r)); bits != 0; bits &= bits - 1) {
        fn(r, static_cast<unsigned>(std::countr_zero(bits)));
      }
    }
  }
}

/// Entries of the rows of a tile row.
template <int K>
struct TileRowSizes {
  std::array<std::size_t, K> of_row{};
  std::size_t all = 0;

  TileRowSizes(const BitTileView<K>& a, std::size_t tile_row) {
    for (EdgeOffset t = a.tile_row_ptr[tile_row]; t < a.tile_row_ptr[tile_row + 1]; ++t) {
      for (std::size_t r = 0; r < K; ++r) {
        of_row[r] += static_cast<std::size_t>(std::popcount(a.tile_row(t, static_cast<int>(r))));
      }
    }
    for (const std::size_t entries : of_row) all += entries;
  }
};

/// Rows assembled from tiles, as many at a time as fit a buffer on the stack.
class RowBuffer {
 public:
  static constexpr std::size_t capacity = cpu_spmm_tuning().tile_entries;

  void clear(std::size_t first_row) {
    first_row_ = first_row;
    count_ = 0;
    size_ = 0;
  }
  [[nodiscard]] bool fits(std::size_t entries, std::size_t rows) const {
    return size_ + entries <= capacity && count_ + rows <= max_block_rows;
  }
  void push(NodeId column) { cols_[size_++] = column; }
  void end_row() { row_ptr_[++count_] = size_; }

  /// The first `rows` rows of a tile row, which fit: its tiles are passed once.
  template <int K>
  void push_tile_row(const BitTileView<K>& a, std::size_t tile_row, const TileRowSizes<K>& sizes, std::size_t rows) {
    std::array<std::size_t, K> place;
    for (std::size_t r = 0; r < K; ++r) {
      place[r] = size_;
      size_ += sizes.of_row[r];
      if (r < rows) end_row();
    }
    for (EdgeOffset t = a.tile_row_ptr[tile_row]; t < a.tile_row_ptr[tile_row + 1]; ++t) {
      const NodeId first = a.tile_col_ind[t] * K;
      for_each_bit(a, t, [&](unsigned r, unsigned c) { cols_[place[r]++] = first + c; });
    }
  }

  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] RowBlock block() const { return {row_ptr_.data(), cols_.data(), first_row_, count_}; }

 private:
  std::array<EdgeOffset, max_block_rows + 1> row_ptr_{};
  std::array<NodeId, capacity> cols_;
  std::size_t first_row_ = 0;
  std::size_t count_ = 0;
  std::size_t size_ = 0;
};

/// A row longer than the buffer, feature block by feature block, in plain code: hubs belong in pattern CSR.
template <int K, class In, class Out>
void run_long_row(const SpmmArgs<BitTileView<K>, In, Out>& args, NodeId i) {
  constexpr std::size_t width = cpu_spmm_tuning().long_row_features;
  for (std::size_t begin = 0; begin < args.x.ncols; begin += width) {
    const std::size_t end = std::min(args.x.ncols, begin + width);
    std::array<float, width> sums{};
    for_each_entry(args.a, i, [&](NodeId j) {
      const float scale = args.col_scale == nullptr ? 1.0F : args.col_scale[j];
      for (std::size_t f = begin; f < end; ++f) sums[f - begin] += scale * element(args.x, j, f);
    });
    for (std::size_t f = begin; f < end; ++f) store(args.out, i, f, args.epilogue.apply(i, f, sums[f - begin]));
  }
}

/// Blocks of rows from tiles. Ranges begin and end with tile rows.
template <int K, class In, class Out>
void run_rows(const SpmmArgs<BitTileView<K>, In, Out>& args, Range rows) {
  RowBuffer buffer;
  buffer.clear(rows.begin);
  const auto flush = [&](std::size_t next_row) {
    if (!buffer.empty()) run_block(args, buffer.block());
    buffer.clear(next_row);
  };
  const auto take_row = [&](std::size_t i, std::size_t entries) {
    if (!buffer.fits(entries, 1)) flush(i);
    if (entries > RowBuffer::capacity) {
      run_long_row(args, static_cast<NodeId>(i));
      return buffer.clear(i + 1);
    }
    for_each_entry(args.a, static_cast<NodeId>(i), [&](NodeId j) { buffer.push(j); });
    buffer.end_row();
  };
  for (std::size_t first = rows.begin; first < rows.end; first += K) {
    const std::size_t count = std::min<std::size_t>(K, rows.end - first);
    const TileRowSizes<K> sizes(args.a, first / K);
    if (!buffer.fits(sizes.all, count)) flush(first);
    if (buffer.fits(sizes.all, count)) {
      buffer.push_tile_row(args.a, first / K, sizes, count);
    } else {
      for (std::size_t r = 0; r < count; ++r) take_row(first + r, sizes.of_row[r]);
    }
  }
  flush(rows.end);
}

/// Rows a thread takes at a time: enough to be worth a turn, few enough to share uneven rows.
std::size_t chunk_rows(std::size_t nrows, int threads) {
  const CpuSpmmTuning& tuning = cpu_spmm_tuning();
  const std::size_t even = nrows / (static_cast<std::size_t>(threads) * tuning.turns) / 64 * 64;
  return std::clamp<std::size_t>(even, tuning.least_block_rows, max_block_rows);
}

template <class Graph, class In, class Out>
void run(const Device& device, const SpmmArgs<Graph, In, Out>& args) {
  const std::size_t nrows = args.a.nrows;
  parallel_chunks(device, nrows, chunk_rows(nrows, device.threads()), [&](Range rows) { run_rows(args, rows); });
}

/// Words of a thread's own, kept for its next call.
std::uint64_t* words_of_thread(std::size_t count) {
  thread_local Buffer<std::uint64_t> words;
  if (words.size() < count) words = Buffer<std::uint64_t>(count);
  return words.data();
}

/// A thread takes so many windows at a time that the rows of X in a strip are not fetched for a few, while there are
/// enough for all threads.
template <class Out>
void run_strips(const Device& device, const SpmmArgs<SellView, BitsIn, Out>& args) {
  const std::size_t most_windows = cpu_spmm_tuning().rows_of_strip / SellPattern::strip_window;
  const SellView& a = args.a;
  const std::size_t even = a.num_windows / static_cast<std::size_t>(device.threads());
  parallel_chunks(device, a.num_windows, std::clamp<std::size_t>(even, 1, most_windows), [&](Range windows) {
    std::uint64_t* counters = words_of_thread(spmm_cpu::strip_counters(a, most_windows, args.x.words_per_row));
    for (std::size_t first = windows.begin; first < windows.end; first += most_windows) {
      const std::size_t end = std::min(windows.end, first + most_windows);
      spmm_cpu::vote_windows(a, {first, end, counters}, args.x, {args.out, args.epilogue});
    }
  });
}

/// Long rows one by one, then the chunks.
template <class Out>
void run(const Device& device, const SpmmArgs<SellView, BitsIn, Out>& args) {
  const SellView& a = args.a;
  if (a.num_strips > 1) return run_strips(device, args);
  // Whole parts of a sorting window: two threads that write rows of one window would share cache lines. Few chunks are
  // shared out more finely.
  const CpuSpmmTuning& tuning = cpu_spmm_tuning();
  const std::size_t even = a.num_chunks / (static_cast<std::size_t>(device.threads()) * tuning.sell_turns);
  const std::size_t chunks =
      std::clamp<std::size_t>(even, tuning.least_sell_chunks, SellPattern::sort_window / SellView::lanes / 4);
  const std::size_t num_parts = a.num_long_rows + (a.num_chunks + chunks - 1) / chunks;
  const auto run_part = [&](const spmm_cpu::SellPart& part) {
    spmm_cpu::vote_chunks(a, part, args.x, {args.out, args.epilogue});
  };
  if (device.threads() == 1) return run_part({0, a.num_long_rows, 0, a.num_chunks});
  parallel_chunks(device, num_parts, 1, [&](Range parts) {
    if (parts.begin < a.num_long_rows) return run_part({parts.begin, parts.end, 0, 0});
    const std::size_t first = (parts.begin - a.num_long_rows) * chunks;
    run_part({0, 0, first, std::min(a.num_chunks, first + chunks)});
  });
}

}  // namespace

template <class Graph, class In, class Out>
void spmm(const Cpu& backend, const SpmmArgs<Graph, In, Out>& args) {
  run(backend.device, args);
}

[[gnu::used]] constexpr auto spmm_cpu_kernels = spmm_kernels_of_all<Cpu>();

}  // namespace bitgraph
