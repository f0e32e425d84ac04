// SPDX-License-Identifier: Apache-2.0
// A chunk of a binary x: one bit an entry, the word w of them in lane w. What a row gives is the difference of two
// counts of the bits before a place, however long the row is.
#pragma once

#include "ops/mxv/cuda/chunk.cuh"
#include "ops/mxv/cuda/rules.cuh"
#include "ops/mxv/cuda/tails.cuh"

namespace bitgraph::mxv_cuda {

/// Which bits of a chunk's entries are set, for a whole warp.
class EntryBits {
 public:
  /// x at the columns of the chunk's entries; those of the first entries are there already.
  template <class Place, unsigned a_lane>
  __device__ void gather(const CsrPatternView& a, const Place& chunk, Columns<a_lane> columns, const BitsIn& x) {
    const unsigned lane = threadIdx.x % 32;
    for (unsigned from = 0; from < chunk.num_entries;) {
      std::uint32_t word[a_lane];
      for (unsigned k = 0; k < a_lane; ++k) word[k] = bits_word(x.words, columns.of[k] / 32);
      for (unsigned k = 0; k < a_lane; ++k) {
        const unsigned bits = __ballot_sync(full_warp, ((word[k] >> (columns.of[k] % 32)) & 1U) != 0);
        if (lane == from / 32 + k) word_ = bits;
      }
      from += Columns<a_lane>::together;
      if (from < chunk.num_entries) columns = Columns<a_lane>::load(a, chunk, from);
    }
  }

  /// Before any count.
  __device__ void add_up() {
    unsigned sum = __popc(word_);
    sum = warp_inclusive_sum(sum);
    before_ = sum - __popc(word_);
  }

  /// The bits that are set of the entries 0 .. i - 1, fewer than 1,024; each lane has its own i.
  [[nodiscard]] __device__ unsigned count_before(unsigned i) const {
    const unsigned before = __shfl_sync(full_warp, before_, static_cast<int>(i / 32));
    const std::uint32_t word = __shfl_sync(full_warp, word_, static_cast<int>(i / 32));
    return before + __popc(word & ((1U << (i % 32)) - 1));
  }

 private:
  std::uint32_t word_ = 0;
  unsigned before_ = 0;
};

template <class S, class Out, unsigned Items, unsigned Limit>
class BitChunk {
 public:
  using T = typename ValueOf<Out>::type;
  using Args = MxvArgs<S, CsrPatternView, BitsIn, Out>;
  using Place = Chunk<Items, Limit>;
  using FirstColumns = Columns<Items / 32>;
  static_assert(Items + Limit <= 1024);

  struct Storage {};

  __device__ BitChunk(const Args& args, const Place& chunk, Storage*) : args_(args), chunk_(chunk) {
    last_end_ = chunk.row == chunk.end_row ? 0 : chunk.end_of(args.a, chunk.end_row - 1);
    ends_ = ends_from(chunk.row / 32 * 32);
  }

  __device__ void run(const FirstColumns& columns, bool is_selected, NodeId c, const Tails<T>& tails) {
    const unsigned lane = threadIdx.x % 32;
    if (is_selected) bits_.gather(args_.a, chunk_, columns, args_.x);
    bits_.add_up();
    // What a later chunk waits for comes first.
    if (chunk_.num_entries > last_end_) {
      const unsigned tail = bits_.count_before(chunk_.num_entries) - bits_.count_before(last_end_);
      if (lane == 0) tails.leave(c, value_of(tail));
    }
    if (chunk_.row == chunk_.end_row) return;
    T earlier{};
    if (chunk_.continues()) earlier = tails.template take<S>(chunk_.first_chunk(c), c);
    unsigned before = 0;
    for (NodeId base = chunk_.row / 32 * 32; base < chunk_.end_row; base += 32) {
      const unsigned up_to = bits_.count_before(ends_);
      unsigned from = __shfl_up_sync(full_warp, up_to, 1);
      if (lane == 0) from = before;
      before = __shfl_sync(full_warp, up_to, 31);
      T value = value_of(up_to - from);
      if (base + lane == chunk_.row) value = S::add(earlier, value);
      store(base, value);
      ends_ = ends_from(base + 32);
    }
  }

 private:
  __device__ static T value_of(unsigned count) {
    if constexpr (std::is_same_v<S, OrAnd>) return static_cast<T>(count != 0 ? 1 : 0);
    return static_cast<T>(count);
  }

  /// Where the rows base .. base + 31 end, a lane a row: those before the first at 0, those behind the last with it.
  [[nodiscard]] __device__ unsigned ends_from(NodeId base) const {
    const NodeId row = base + threadIdx.x % 32;
    if (row < chunk_.row) return 0;
    return row < chunk_.end_row ? chunk_.end_of(args_.a, row) : last_end_;
  }

  __device__ void store(NodeId base, T value) const {
    const NodeId row = base + threadIdx.x % 32;
    if constexpr (is_bits<Out>) {
      const std::uint32_t values = __ballot_sync(full_warp, value != 0);
      const std::uint32_t own = rows_of_word(base / 32, chunk_.row, chunk_.end_row);
      if (threadIdx.x % 32 == 0) store_bits(args_.out, args_.rule, base / 32, own, values, own != ~0U);
    } else {
      if (row >= chunk_.row && row < chunk_.end_row) store_value<S>(args_.out, args_.rule, row, value);
    }
  }

  const Args& args_;
  const Place& chunk_;
  unsigned last_end_, ends_;
  EntryBits bits_;
};

}  // namespace bitgraph::mxv_cuda
