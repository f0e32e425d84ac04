// SPDX-License-Identifier: Apache-2.0
// A chunk of values: gathered into shared memory, where rows add up theirs with as many lanes each as there are for
// them; a row much longer than the others is added up by all lanes.
#pragma once

#include "ops/mxv/cuda_chunk.cuh"

namespace bitgraph::mxv_cuda {

template <class S, class Value, unsigned Items, unsigned Limit>
class ValueChunk {
 public:
  using T = Value;
  using Args = MxvArgs<S, CsrPatternView, ValuesView<const T>, ValuesView<T>>;
  using Place = Chunk<Items, Limit>;
  using FirstColumns = Columns<Items / 32>;
  static_assert(FirstColumns::together == Items);

  struct Storage {
    T value[Items + Limit];
  };

  __device__ ValueChunk(const Args& args, const Place& chunk, Storage* storage)
      : args_(args), chunk_(chunk), storage_(storage), lane_(threadIdx.x % 32), ends_(ends_from(0)) {}

  __device__ void gather(FirstColumns columns) {
    for (unsigned from = 0; from < chunk_.num_entries;) {
      T value[Items / 32];
      for (unsigned k = 0; k < Items / 32; ++k) value[k] = S::multiply(args_.x.data[columns.of[k]]);
      for (unsigned k = 0; k < Items / 32; ++k) {
        const unsigned i = from + lane_ + k * 32;
        if (i < Items + Limit) storage_->value[i] = value[k];
      }
      from += Items;
      if (from < chunk_.num_entries) columns = FirstColumns::load(args_.a, chunk_, from);
    }
    __syncwarp();
  }

  __device__ void finish(NodeId c, const Tails<T>& tails) {
    const unsigned num_rows = chunk_.num_rows();
    const unsigned num_sums = num_rows + 1;  // the last one is of the row that ends later
    const Lanes lanes = Lanes::for_sums(num_sums);
    T first = S::template identity<T>();
    unsigned before = 0;
    for (unsigned base = 0; base < num_sums; base += 32) {
      unsigned begins = __shfl_up_sync(full_warp, ends_, 1);
      if (lane_ == 0) begins = before;
      before = __shfl_sync(full_warp, ends_, 31);
      const unsigned begin = __shfl_sync(full_warp, begins, static_cast<int>(lanes.group));
      const unsigned end = __shfl_sync(full_warp, ends_, static_cast<int>(lanes.group));
      const T sum = sum_of(lanes, begin, end);
      const unsigned n = base + lanes.group;
      if (n == 0) first = sum;
      if (lanes.own == 0 && n <= num_rows) {
        if (n < num_rows && (n != 0 || !chunk_.continues())) {
          store_value<S>(args_.out, args_.rule, chunk_.row + n, sum);
        } else if (n == num_rows && end > begin) {
          tails.leave(c, sum);
        }
      }
      ends_ = ends_from(base + 32);
    }
    if (!chunk_.continues() || num_rows == 0) return;
    const T earlier = tails.template take<S>(chunk_.first_chunk(c), c);
    if (lane_ == 0) store_value<S>(args_.out, args_.rule, chunk_.row, S::add(earlier, first));
  }

 private:
  static constexpr unsigned alone = 16;  ///< entries that a lane adds up where others wait for it

  /// How the lanes of a warp are shared among sums: 1 << log of them each.
  struct Lanes {
    unsigned log, group, own;

    __device__ static Lanes for_sums(unsigned count) {
      const unsigned log = count > 16 ? 0 : count == 1 ? 5 : __clz(static_cast<int>(count - 1)) - 27;
      const unsigned lane = threadIdx.x % 32;
      return {log, lane >> log, lane & ((1U << log) - 1)};
    }
  };

  /// Where the sums base .. base + 31 end, a lane each; those behind the last with it.
  [[nodiscard]] __device__ unsigned ends_from(unsigned base) const {
    const unsigned n = base + lane_;
    return n < chunk_.num_rows() ? chunk_.end_of(args_.a, chunk_.row + n) : chunk_.num_entries;
  }

  /// Each group's own sum; all lanes of a group have it.
  __device__ T sum_of(const Lanes& lanes, unsigned begin, unsigned end) const {
    const bool is_long = lanes.log != 5 && end - begin > (alone << lanes.log);
    T sum = S::template identity<T>();
    if (!is_long) {
#pragma unroll 4
      for (unsigned e = begin + lanes.own; e < end; e += 1U << lanes.log) sum = S::add(sum, storage_->value[e]);
    }
    sum = reduce_among<S>(sum, 1U << lanes.log);
    for (unsigned rest = __ballot_sync(full_warp, is_long); rest != 0;) {
      const int owner = __ffs(static_cast<int>(rest)) - 1;
      const unsigned last = __shfl_sync(full_warp, end, owner);
      T share = S::template identity<T>();
      for (unsigned e = __shfl_sync(full_warp, begin, owner) + lane_; e < last; e += 32) {
        share = S::add(share, storage_->value[e]);
      }
      share = reduce_among<S>(share, 32);
      const bool is_own = lanes.group == static_cast<unsigned>(owner) >> lanes.log;
      if (is_own) sum = share;
      rest &= ~__ballot_sync(full_warp, is_own);
    }
    return sum;
  }

  const Args& args_;
  const Place& chunk_;
  Storage* storage_;
  unsigned lane_, ends_;
};

}  // namespace bitgraph::mxv_cuda
