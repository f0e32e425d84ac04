// SPDX-License-Identifier: Apache-2.0
// A warp reduces the rows of one chunk of entries. It gathers the values of some hundred entries into shared memory,
// and replaces each by the sum from the first entry of its row up to it (a segmented scan). The value of a row's last
// entry is then the row's sum. The cost does not depend on the lengths of the rows.
#pragma once

#include "ops/mxv/cuda/chunk.cuh"
#include "ops/mxv/cuda/rules.cuh"
#include "ops/mxv/cuda/tails.cuh"

namespace bitgraph::mxv_cuda {

template <class S, class Value, unsigned Items, unsigned Limit, unsigned Together>
class ValueChunk {
 public:
  using T = Value;
  using Args = MxvArgs<S, CsrPatternView, ValuesView<const T>, ValuesView<T>>;
  using Place = Chunk<Items, Limit>;
  static constexpr unsigned together = Together;  ///< entries at a time
  static constexpr unsigned a_lane = together / 32;
  using FirstColumns = Columns<a_lane>;

  struct Storage {
    alignas(16) T value[together];
    std::uint32_t heads[together / 32];  ///< one bit an entry: set for the first entry of a row
  };

  __device__ ValueChunk(const Args& args, const Place& chunk, Storage* storage)
      : args_(args), chunk_(chunk), storage_(*storage), lane_(threadIdx.x % 32), ends_(ends_from(0)) {
    mark_heads(0);
  }

  __device__ void run(FirstColumns columns, bool is_selected, NodeId c, const Tails<T>& tails) {
    for (unsigned from = 0;; from += together) {
      const bool is_last = from + together >= chunk_.num_entries;
      if (is_selected && from < chunk_.num_entries) gather(columns);
      if (is_selected && !is_last) columns = FirstColumns::load(args_.a, chunk_, from + together);
      __syncwarp();
      add_up();
      __syncwarp();
      finish_rows(from);
      if (is_last) break;
      __syncwarp();
      mark_heads(from + together);
    }
    if (chunk_.num_entries > last_end_ && lane_ == 0) {
      tails.leave(c, storage_.value[(chunk_.num_entries - 1) % together]);
    }
    if (!chunk_.continues() || chunk_.num_rows() == 0) return;
    const T earlier = tails.template take<S>(chunk_.first_chunk(c), c);
    if (lane_ == 0) store_value<S>(args_.out, args_.rule, chunk_.row, S::add(earlier, first_));
  }

 private:
  /// The values that one lane adds up.
  struct alignas(a_lane * sizeof(T) < 16 ? a_lane * sizeof(T) : 16) Share {
    T value[a_lane];
  };

  /// The ends of the rows n .. n + 31, one a lane, counted from the chunk's first entry; num_entries where a row ends
  /// behind the chunk.
  [[nodiscard]] __device__ unsigned ends_from(unsigned n) const {
    return n + lane_ < chunk_.num_rows() ? chunk_.end_of(args_.a, chunk_.row + n + lane_) : chunk_.num_entries;
  }

  /// Sets the bits of `heads` for the entries from .. from + together - 1. Rows that are finished have none there.
  __device__ void mark_heads(unsigned from) {
    if (lane_ < together / 32) storage_.heads[lane_] = 0;
    __syncwarp();
    unsigned ends = ends_;
    unsigned before = last_end_;
    for (unsigned n = done_;;) {
      unsigned begin = __shfl_up_sync(full_warp, ends, 1);
      if (lane_ == 0) begin = before;
      before = __shfl_sync(full_warp, ends, 31);
      const unsigned place = begin - from;  // wraps to a huge number where begin < from
      if (begin < ends && place < together) atomicOr(&storage_.heads[place / 32], 1U << (place % 32));
      n += 32;
      if (n > chunk_.num_rows() || before >= from + together) break;
      ends = ends_from(n);
    }
    __syncwarp();
  }

  __device__ void gather(const FirstColumns& columns) {
    T value[a_lane];
    for (unsigned k = 0; k < a_lane; ++k) value[k] = S::multiply(args_.x.data[columns.of[k]]);
    for (unsigned k = 0; k < a_lane; ++k) storage_.value[lane_ + k * 32] = value[k];
  }

  /// Replaces every value by the sum from the first entry of its row up to it. carried_ is the sum of the entries of
  /// the row that began before these.
  __device__ void add_up() {
    const unsigned own = lane_ * a_lane;
    const unsigned heads = (storage_.heads[own / 32] >> (own % 32)) & ((1U << a_lane) - 1);
    Share share = *reinterpret_cast<const Share*>(&storage_.value[own]);
    T sum = lane_ == 0 ? carried_ : S::template identity<T>();
    for (unsigned k = 0; k < a_lane; ++k) {
      sum = ((heads >> k) & 1U) != 0 ? share.value[k] : S::add(sum, share.value[k]);
      share.value[k] = sum;
    }
    // A lane's sum goes on from the lanes below it, down to the nearest lane that has a head.
    const unsigned with_head = __ballot_sync(full_warp, heads != 0) & (~0U >> (31 - lane_));
    const unsigned reach = with_head == 0 ? lane_ : lane_ - (31 - __clz(static_cast<int>(with_head)));
    for (unsigned step = 1; step < 32; step *= 2) {
      const T other = __shfl_up_sync(full_warp, sum, step);
      if (step <= reach) sum = S::add(other, sum);
    }
    carried_ = __shfl_sync(full_warp, sum, 31);
    const T before = __shfl_up_sync(full_warp, sum, 1);
    for (unsigned k = 0; k < a_lane; ++k) {
      if (lane_ != 0 && (heads & ((2U << k) - 1)) == 0) share.value[k] = S::add(before, share.value[k]);
    }
    *reinterpret_cast<Share*>(&storage_.value[own]) = share;
  }

  /// Stores the rows that end among the entries from .. from + together - 1, empty rows included.
  __device__ void finish_rows(unsigned from) {
    for (;;) {
      unsigned begin = __shfl_up_sync(full_warp, ends_, 1);
      if (lane_ == 0) begin = last_end_;
      const unsigned n = done_ + lane_;
      const bool is_over = n < chunk_.num_rows() && ends_ <= from + together;
      if (is_over) {
        const T sum = begin < ends_ ? storage_.value[ends_ - 1 - from] : S::template identity<T>();
        if (n == 0) first_ = sum;
        if (n != 0 || !chunk_.continues()) store_value<S>(args_.out, args_.rule, chunk_.row + n, sum);
      }
      const unsigned count = __popc(__ballot_sync(full_warp, is_over));
      if (count == 0) return;
      last_end_ = __shfl_sync(full_warp, ends_, static_cast<int>(count - 1));
      done_ += count;
      if (done_ == chunk_.num_rows() && count != 32) {
        ends_ = chunk_.num_entries;
        return;
      }
      ends_ = ends_from(done_);
      if (count != 32) return;
    }
  }

  const Args& args_;
  const Place& chunk_;
  Storage& storage_;
  unsigned lane_;
  unsigned done_ = 0, last_end_ = 0;  ///< finished rows; the end of the last of them
  unsigned ends_;                     ///< the end of row done_ + lane_
  T carried_ = S::template identity<T>();
  T first_ = S::template identity<T>();  ///< in lane 0: the sum of the first row
};

}  // namespace bitgraph::mxv_cuda
