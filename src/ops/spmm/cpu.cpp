// SPDX-License-Identifier: Apache-2.0
// The parallel loop over blocks of rows, and the assembly of rows from tiles on the fly (BitGNN, section 3.2.1: stored
// in small tiles, computed on whole rows).
#include "ops/spmm/cpu.hpp"

#include "core/parallel.hpp"
#include "formats/rows.hpp"
#include "ops/spmm/instantiate.hpp"

#include <algorithm>
#include <array>

namespace bitgraph {

namespace {

using spmm_cpu::max_block_rows;
using spmm_cpu::RowBlock;

template <class Graph, class Out>
void run_block(const SpmmArgs<Graph, BitsIn, Out>& args, const RowBlock& rows) {
  if (args.col_scale == nullptr) {
    spmm_cpu::vote_rows(rows, args.x, args.out, args.epilogue);
  } else {
    spmm_cpu::weigh_rows(rows, args.x, args.col_scale, args.out, args.epilogue);
  }
}

template <class Graph, class Out>
void run_block(const SpmmArgs<Graph, FloatIn, Out>& args, const RowBlock& rows) {
  spmm_cpu::sum_rows(rows, args.x, args.col_scale, args.out, args.epilogue);
}

/// A CSR's rows are there as they are wanted.
template <class In, class Out>
void run_rows(const SpmmArgs<CsrPatternView, In, Out>& args, Range rows) {
  run_block(args, RowBlock{args.a.row_ptr + rows.begin, args.a.col_ind, rows.begin, rows.size()});
}

/// Rows assembled from tiles, as many at a time as fit a buffer on the stack.
class RowBuffer {
 public:
  static constexpr std::size_t capacity = 16384;

  void clear(std::size_t first_row) {
    first_row_ = first_row;
    count_ = 0;
    size_ = 0;
  }
  [[nodiscard]] bool fits(std::size_t entries) const { return size_ + entries <= capacity && count_ < max_block_rows; }
  void push(NodeId column) { cols_[size_++] = column; }
  void end_row() { row_ptr_[++count_] = size_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] RowBlock block() const { return {row_ptr_.data(), cols_.data(), first_row_, count_}; }

 private:
  std::array<EdgeOffset, max_block_rows + 1> row_ptr_{};
  std::array<NodeId, capacity> cols_;
  std::size_t first_row_ = 0;
  std::size_t count_ = 0;
  std::size_t size_ = 0;
};

template <int K>
std::size_t row_entries(const BitTileView<K>& a, NodeId i) {
  std::size_t entries = 0;
  for (EdgeOffset t = a.tile_row_ptr[i / K]; t < a.tile_row_ptr[i / K + 1]; ++t) {
    entries += static_cast<std::size_t>(std::popcount(a.tile_row(t, static_cast<int>(i % K))));
  }
  return entries;
}

float element(const BitsIn& x, std::size_t j, std::size_t f) { return PlusMinusOne::value(x.bit(j, f)); }
float element(const FloatIn& x, std::size_t j, std::size_t f) { return x(j, f); }

void store(const FloatOut& out, std::size_t i, std::size_t f, float y) { out(i, f) = y; }
void store(const BitsOut& out, std::size_t i, std::size_t f, float y) {
  if (f % 64 == 0) out.row(i)[f / 64] = 0;
  out.row(i)[f / 64] |= static_cast<std::uint64_t>(y >= 0) << (f % 64);
}

/// A row longer than the buffer, feature block by feature block, in plain code: hubs belong in pattern CSR.
template <int K, class In, class Out>
void run_long_row(const SpmmArgs<BitTileView<K>, In, Out>& args, NodeId i) {
  constexpr std::size_t width = 256;
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

template <int K, class In, class Out>
void run_rows(const SpmmArgs<BitTileView<K>, In, Out>& args, Range rows) {
  RowBuffer buffer;
  buffer.clear(rows.begin);
  const auto flush = [&](std::size_t next_row) {
    if (!buffer.empty()) run_block(args, buffer.block());
    buffer.clear(next_row);
  };
  for (std::size_t i = rows.begin; i < rows.end; ++i) {
    const auto row = static_cast<NodeId>(i);
    const std::size_t entries = row_entries(args.a, row);
    if (!buffer.fits(entries)) flush(i);
    if (entries > RowBuffer::capacity) {
      run_long_row(args, row);
      buffer.clear(i + 1);
      continue;
    }
    for_each_entry(args.a, row, [&](NodeId j) { buffer.push(j); });
    buffer.end_row();
  }
  flush(rows.end);
}

/// Rows a thread takes at a time: enough to be worth a turn, few enough to share uneven rows.
std::size_t chunk_rows(std::size_t nrows, int threads) {
  const std::size_t even = nrows / (static_cast<std::size_t>(threads) * 6) / 64 * 64;
  return std::clamp<std::size_t>(even, 64, max_block_rows);
}

template <class Graph, class In, class Out>
void run(const Device& device, const SpmmArgs<Graph, In, Out>& args) {
  const std::size_t nrows = args.a.nrows;
  parallel_chunks(device, nrows, chunk_rows(nrows, device.threads()), [&](Range rows) { run_rows(args, rows); });
}

/// Long rows one by one, then the chunks.
template <class Out>
void run(const Device& device, const SpmmArgs<SellView, BitsIn, Out>& args) {
  const SellView& a = args.a;
  // Whole parts of a sorting window: two threads that write rows of one window would share cache lines.
  const std::size_t chunks = SellPattern::sort_window / SellView::lanes / 4;
  const std::size_t num_parts = a.num_long_rows + (a.num_chunks + chunks - 1) / chunks;
  const auto run_part = [&](const spmm_cpu::SellPart& part) {
    spmm_cpu::vote_chunks(a, part, args.x, args.out, args.epilogue);
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

BITGRAPH_INSTANTIATE_SPMM(Cpu)

}  // namespace bitgraph
