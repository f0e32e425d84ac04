// SPDX-License-Identifier: Apache-2.0
// Tiles to machine words on the fly (FRDC: BitGNN, sections 3.2.1 and 3.3.2). As many tiles as fill words of 64 columns
// are taken from the stream of tiles, whether they are of one tile row, of several short ones or a part of a long one:
// X is transposed once for all of them.
#include "core/threads/parallel.hpp"
#include "ops/spmm/cpu/tile_words.hpp"
#include "ops/spmm/instances.hpp"
#include "ops/spmm/tuning.hpp"

#include <algorithm>
#include <array>

namespace bitgraph {

namespace {

using spmm_cpu::BitBlock;
using spmm_cpu::Sums;

/// One word of features of some tile rows.
template <int K, class Out>
class TileWalk {
 public:
  TileWalk(const TileWordArgs<K, Out>& args, std::size_t word) : args_(args), a_(args.spmm.a), word_(word) { clear(); }

  void run(Range tile_rows) {
    row_ = tile_rows.begin;
    const EdgeOffset end = a_.tile_row_ptr[tile_rows.end];
    for (EdgeOffset t = a_.tile_row_ptr[tile_rows.begin]; t < end; t += tiles_a_word) {
      const EdgeOffset set_end = std::min(end, t + tiles_a_word);
      load(t, set_end);
      EdgeOffset at = t;
      while (row_ < tile_rows.end) {
        const EdgeOffset row_end = a_.tile_row_ptr[row_ + 1];
        const EdgeOffset own_end = std::min(row_end, set_end);
        if (at < own_end) add(at - t, own_end - t);
        if (row_end > set_end) break;
        at = row_end;
        finish_row();
      }
    }
    while (row_ < tile_rows.end) finish_row();  // without tiles
  }

 private:
  static constexpr EdgeOffset tiles_a_word = 64 / K;

  void clear() {
    for (Sums& sums : sums_) std::fill_n(sums.of_feature, 64, std::int64_t{0});
  }

  /// Rows of the graph's bits, and the rows of X that they meet.
  void load(EdgeOffset begin, EdgeOffset end) {
    const BitsIn& x = args_.spmm.x;
    graph_.fill(0);
    std::fill_n(block_.words, 64, std::uint64_t{0});
    for (EdgeOffset t = begin; t < end; ++t) {
      const auto place = static_cast<std::size_t>(t - begin) * K;
      for (int r = 0; r < K; ++r) graph_[static_cast<std::size_t>(r)] |= a_.tile_row(t, r) << place;
      const std::size_t first = std::size_t{a_.tile_col_ind[t]} * K;
      const std::size_t count = std::min<std::size_t>(K, x.nrows - first);
      for (std::size_t c = 0; c < count; ++c) block_.words[place + c] = x.row(first + c)[word_];
    }
    if (args_.strategy == SpmmStrategy::each_bit) return;
    spmm_cpu::transpose_block(block_, columns_);
  }

  /// The tiles begin .. end of those loaded are the current row's.
  void add(EdgeOffset begin, EdgeOffset end) {
    const std::uint64_t mask = (~std::uint64_t{0} >> (64 - (end - begin) * K)) << (begin * K);
    std::array<std::uint64_t, K> own;
    for (std::size_t r = 0; r < K; ++r) own[r] = graph_[r] & mask;
    const bool by_rows = args_.strategy == SpmmStrategy::each_bit;
    spmm_cpu::add_products(own.data(), K, by_rows ? block_ : columns_, args_.strategy, sums_.data());
  }

  void finish_row() {
    const std::size_t first = row_ * K;
    const std::size_t end = std::min<std::size_t>(a_.nrows, first + K);
    for (std::size_t i = first; i < end; ++i) {
      spmm_cpu::finish_sums(sums_[i - first], {args_.spmm.out, args_.spmm.epilogue}, i, word_);
    }
    clear();
    ++row_;
  }

  const TileWordArgs<K, Out>& args_;
  const BitTileView<K>& a_;
  std::size_t word_;
  std::size_t row_ = 0;
  std::array<std::uint64_t, K> graph_;
  std::array<Sums, K> sums_;
  BitBlock block_;
  BitBlock columns_;
};

}  // namespace

template <int K, class Out>
void spmm(const Cpu& backend, const TileWordArgs<K, Out>& args) {
  const std::size_t num_rows = args.spmm.a.num_tile_rows;
  const auto threads = static_cast<std::size_t>(backend.device.threads());
  const std::size_t chunk = std::clamp<std::size_t>(num_rows / (threads * cpu_spmm_tuning().tile_word_turns), 1,
                                                    cpu_spmm_tuning().tile_word_rows / K);
  parallel_chunks(backend.device, num_rows, chunk, [&](Range tile_rows) {
    for (std::size_t word = 0; word < args.spmm.x.words_per_row; ++word) TileWalk<K, Out>(args, word).run(tile_rows);
  });
}

[[gnu::used]] constexpr auto spmm_cpu_tile_words = tile_word_kernels<Cpu>();

}  // namespace bitgraph
