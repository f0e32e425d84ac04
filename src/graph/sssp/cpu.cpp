// SPDX-License-Identifier: Apache-2.0
// Delta-stepping on the host (Meyer and Sanders 2003). Each thread has one list of chunks for each bucket. The calling
// thread runs a bucket of few rows alone. In a larger bucket, every thread takes chunks from a common pile, then the
// rows that it put back into the same bucket. It does not wait for the other threads.
//
// The buckets form a ring: no edge leads further ahead than the ring is long. A row has one entry in the lists for
// each bucket that its distance has been in. Outdated entries are skipped. When the chunks run out, the search marks a
// bucket as incomplete and finds its rows by a scan of all distances.
#include <bitgraph/ops/semiring.hpp>

#include "core/threads/parallel.hpp"
#include "formats/graph_views.hpp"
#include "formats/rows.hpp"
#include "graph/sssp/cpu_relax.hpp"
#include "graph/sssp/sssp.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <type_traits>
#include <utility>

namespace bitgraph {

namespace {

constexpr NodeId nothing = std::numeric_limits<NodeId>::max();  ///< no chunk
constexpr NodeId incomplete = nothing - 1;                      ///< in place of a first chunk: see above
constexpr std::size_t most_alone = 32;    ///< chunks of a bucket that one thread does alone, at most
constexpr std::size_t edges_alone = 512;  ///< the same, times the edges of a mean row
constexpr std::size_t rows_ahead = 8;

struct Chunk {
  NodeId next;
  NodeId size;
  NodeId rows[chunk_capacity];
};
static_assert(sizeof(Chunk) == chunk_size * sizeof(NodeId));

/// What one thread has to itself.
struct alignas(64) Worker {
  NodeId* buckets = nullptr;  ///< slots first chunks
  NodeId free = nothing;      ///< chunks to use again
};

void fetch_row(const CsrPatternView& a, NodeId row) { __builtin_prefetch(a.row_ptr + row); }
template <int K>
void fetch_row(const BitTileView<K>& a, NodeId row) {
  __builtin_prefetch(a.tile_row_ptr + row / K);
}

/// Where its entries and their weights begin.
template <class Weight>
void fetch_entries(const CsrPatternView& a, const Weight* weights, NodeId row) {
  __builtin_prefetch(a.col_ind + a.row_ptr[row]);
  __builtin_prefetch(weights + a.row_ptr[row]);
}
template <int K, class Weight>
void fetch_entries(const BitTileView<K>& a, const Weight*, NodeId row) {
  __builtin_prefetch(a.tile_col_ind + a.tile_row_ptr[row / K]);
}

template <class Graph, class Weight, class Distance>
class DeltaStepping {
 public:
  DeltaStepping(const SsspArgs<Graph, Weight, Distance>& args, const Device& device)
      : a_(args), device_(device), chunks_(reinterpret_cast<Chunk*>(args.chunks)), threads_(args.threads) {
    const std::size_t mean_row = a_.out.nrows == 0 ? 0 : a_.row_start[a_.out.nrows] / a_.out.nrows;
    alone_ = std::clamp<std::size_t>(edges_alone / std::max<std::size_t>(mean_row, 1), 1, most_alone);
    while (std::uint64_t{2} << shift_ <= static_cast<std::uint64_t>(1 / a_.per_delta)) ++shift_;
  }

  void run() {
    parallel_ranges(device_, a_.out.nrows, std::size_t{1} << 15, [&](Range range) {
      std::fill(a_.distance + range.begin, a_.distance + range.end, unreached<Distance>());
      std::fill(a_.settled + range.begin, a_.settled + range.end, unreached<Distance>());
    });
    for (int t = 0; t < threads_; ++t) {
      workers_[t].buckets = a_.buckets + static_cast<std::size_t>(t) * a_.slots;
      std::fill_n(workers_[t].buckets, a_.slots, nothing);
    }
    a_.distance[a_.source] = 0;
    push(workers_[0], a_.source, 0);
    // A ring's length without a row, and the search is over.
    for (std::size_t empty = 0; empty <= a_.slots; ++current_) empty = settle_bucket() ? 0 : empty + 1;
  }

 private:
  [[nodiscard]] std::uint64_t bucket_of(Distance distance) const {
    if constexpr (std::is_same_v<Distance, float>) {
      return static_cast<std::uint64_t>(static_cast<double>(distance) * a_.per_delta);
    } else {
      return static_cast<std::uint64_t>(distance) >> shift_;
    }
  }
  [[nodiscard]] NodeId& list_of(Worker& worker, std::uint64_t bucket) const {
    return worker.buckets[bucket & (a_.slots - 1)];
  }

  /// A chunk to fill, or nothing.
  NodeId take_chunk(Worker& worker) {
    if (worker.free != nothing) return std::exchange(worker.free, chunks_[worker.free].next);
    if (used_.load(std::memory_order_relaxed) >= a_.num_chunks) return nothing;
    const std::size_t chunk = used_.fetch_add(1, std::memory_order_relaxed);
    return chunk < a_.num_chunks ? static_cast<NodeId>(chunk) : nothing;
  }
  void give_chunk(Worker& worker, NodeId chunk) {
    std::atomic_ref<NodeId>(chunks_[chunk].next).store(worker.free, std::memory_order_relaxed);  // see next_of
    worker.free = chunk;
  }

  void push(Worker& worker, NodeId row, std::uint64_t bucket) {
    NodeId& first = list_of(worker, bucket);
    if (first >= incomplete || chunks_[first].size == chunk_capacity) {
      if (first == incomplete || !add_chunk(worker, first)) return;
    }
    Chunk& chunk = chunks_[first];
    chunk.rows[chunk.size++] = row;
  }

  /// An empty chunk in front of a list. Where there is none, the list becomes incomplete.
  [[gnu::noinline]] bool add_chunk(Worker& worker, NodeId& first) {
    const NodeId fresh = take_chunk(worker);
    if (fresh == nothing) {
      // What the list holds is dropped: it will all be found again.
      while (first != nothing) {
        const NodeId next = chunks_[first].next;
        give_chunk(worker, first);
        first = next;
      }
      first = incomplete;
      return false;
    }
    std::atomic_ref<NodeId>(chunks_[fresh].next).store(first, std::memory_order_relaxed);
    chunks_[fresh].size = 0;
    first = fresh;
    return true;
  }

  /// False where the bucket is empty.
  bool settle_bucket() {
    bool any = false;
    for (;;) {
      device_.throw_if_stopped();
      std::size_t chunks = 0;
      bool look_at_all = false;
      for (int t = 0; t < threads_; ++t) {
        NodeId& first = list_of(workers_[t], current_);
        if (first == incomplete) {
          look_at_all = true;
          first = nothing;
        }
        for (NodeId c = first; c != nothing && chunks <= alone_; c = chunks_[c].next) ++chunks;
      }
      if (chunks == 0 && !look_at_all) return any;
      any = true;
      if (look_at_all) settle_all_rows();
      if (chunks > alone_ && threads_ > 1) {
        settle_in_parallel();
      } else {
        for (int t = 0; t < threads_; ++t) settle_list<false>(workers_[0], list_of(workers_[t], current_));
      }
    }
  }

  void settle_all_rows() {
    for (NodeId row = 0; row < a_.out.nrows; ++row) {
      if (a_.distance[row] != unreached<Distance>()) follow<false>(workers_[0], row);
    }
  }

  /// Round after round: what comes back into the bucket waits until the others have had their turn, or rows would be
  /// followed again and again with distances that are still far off.
  template <bool kShared>
  void settle_list(Worker& worker, NodeId& first) {
    while (first != nothing && first != incomplete) {
      NodeId round = std::exchange(first, nothing);
      while (round != nothing) {
        const NodeId next = chunks_[round].next;
        settle_chunk<kShared>(worker, round);
        give_chunk(worker, round);
        round = next;
      }
    }
  }

  void settle_in_parallel() {
    // The lists become one pile, from whose top threads take chunks.
    NodeId pile = nothing;
    for (int t = 0; t < threads_; ++t) {
      NodeId& first = list_of(workers_[t], current_);
      while (first != nothing && first != incomplete) {
        const NodeId next = chunks_[first].next;
        chunks_[first].next = pile;
        pile = first;
        first = next;
      }
    }
    std::atomic<NodeId> top{pile};
    parallel_region(device_, [&](int thread, int) {
      if (thread >= threads_) return;
      Worker& worker = workers_[thread];
      for (;;) {
        // Nothing is put on the pile, and a chunk taken off it is changed only by who has it: no other value of `next`
        // can come between.
        NodeId chunk = top.load(std::memory_order_acquire);
        while (chunk != nothing && !top.compare_exchange_weak(chunk, next_of(chunk))) {
        }
        if (chunk == nothing) break;
        settle_chunk<true>(worker, chunk);
        give_chunk(worker, chunk);
      }
      settle_list<true>(worker, list_of(worker, current_));
    });
  }

  NodeId next_of(NodeId chunk) const {
    return std::atomic_ref<NodeId>(chunks_[chunk].next).load(std::memory_order_relaxed);
  }

  template <bool kShared>
  void settle_chunk(Worker& worker, NodeId number) {
    const Chunk& chunk = chunks_[number];
    const NodeId size = chunk.size;
    for (NodeId k = 0; k < size; ++k) {
      if (k + rows_ahead < size) {
        fetch_row(a_.out, chunk.rows[k + rows_ahead]);
        __builtin_prefetch(a_.distance + chunk.rows[k + rows_ahead]);
        __builtin_prefetch(a_.settled + chunk.rows[k + rows_ahead]);
      }
      if (k + rows_ahead / 2 < size) fetch_entries(a_.out, a_.weights, chunk.rows[k + rows_ahead / 2]);
      follow<kShared>(worker, chunk.rows[k]);
    }
  }

  template <bool kShared>
  static Distance load(Distance& value) {
    if constexpr (kShared) return std::atomic_ref<Distance>(value).load(std::memory_order_relaxed);
    return value;
  }

  /// The edges of a row of the current bucket, unless they were followed with this distance before.
  template <bool kShared>
  void follow(Worker& worker, NodeId row) {
    const Distance distance = load<kShared>(a_.distance[row]);
    if (bucket_of(distance) != current_) return;
    if (load<kShared>(a_.settled[row]) == distance) return;
    if constexpr (kShared) {
      std::atomic_ref<Distance>(a_.settled[row]).store(distance, std::memory_order_relaxed);
    } else {
      a_.settled[row] = distance;
    }
    relax_row<kShared>(worker, a_.out, row, distance);
  }

  template <bool kShared>
  void relax_row(Worker& worker, const CsrPatternView& a, NodeId row, Distance distance) {
    const NodeId* columns = a.col_ind + a.row_ptr[row];
    const Weight* weights = a_.weights + a_.row_start[row];
    auto left = static_cast<std::size_t>(a.row_ptr[row + 1] - a.row_ptr[row]);
    if (left >= sssp_cpu::least_columns) {
      sssp_cpu::Nearer<Distance> found;
      do {
        const std::size_t size = std::min(left, sssp_cpu::most_columns);
        const std::size_t nearer = relax_columns_(columns, weights, size, distance, a_.distance, found);
        for (std::size_t k = 0; k < nearer; ++k) relax<kShared>(worker, found.column[k], found.distance[k]);
        columns += size;
        weights += size;
        left -= size;
      } while (left != 0);
      return;
    }
    // The branches on distances are what nobody can predict: first the columns that come nearer, without any.
    std::array<NodeId, sssp_cpu::least_columns> nearer;     // NOLINT(cppcoreguidelines-pro-type-member-init)
    std::array<Distance, sssp_cpu::least_columns> through;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    std::size_t size = 0;
    for (std::size_t k = 0; k < left; ++k) {
      nearer[size] = columns[k];
      through[size] = sum(distance, weights[k]);
      size += through[size] < load<kShared>(a_.distance[columns[k]]) ? 1U : 0U;
    }
    for (std::size_t k = 0; k < size; ++k) relax<kShared>(worker, nearer[k], through[k]);
  }

  template <bool kShared, int K>
  void relax_row(Worker& worker, const BitTileView<K>& a, NodeId row, Distance distance) {
    const Weight* weight = a_.weights + a_.row_start[row];
    for_each_entry(a, row, [&](NodeId j) { relax<kShared>(worker, j, sum(distance, *weight++)); });
  }

  /// The largest integer where the sum would be above it.
  static Distance sum(Distance distance, Weight weight) {
    if constexpr (std::is_same_v<Distance, float>) {
      return distance + weight;
    } else {
      return static_cast<Distance>(
          std::min<std::uint32_t>(static_cast<std::uint32_t>(distance) + weight, unreached<Distance>()));
    }
  }

  template <bool kShared>
  void relax(Worker& worker, NodeId j, Distance through) {
    Distance before = load<kShared>(a_.distance[j]);
    if (!(through < before)) return;
    if constexpr (kShared) {
      const std::atomic_ref<Distance> target(a_.distance[j]);
      while (!target.compare_exchange_weak(before, through, std::memory_order_relaxed)) {
        if (!(through < before)) return;
      }
    } else {
      a_.distance[j] = through;
    }
    const std::uint64_t bucket = bucket_of(through);
    // Where it was in this bucket, and the bucket is yet to come, it waits there already.
    if (bucket != current_ && before != unreached<Distance>() && bucket_of(before) == bucket) return;
    push(worker, j, bucket);
  }

  SsspArgs<Graph, Weight, Distance> a_;
  const Device& device_;
  Chunk* chunks_;
  int threads_;
  std::size_t alone_ = most_alone;
  int shift_ = 0;              ///< for whole distances delta is a power of two
  std::uint64_t current_ = 0;  ///< bucket
  std::atomic<std::size_t> used_{0};
  std::array<Worker, 64> workers_;
  sssp_cpu::RelaxColumns<Weight, Distance> relax_columns_ = sssp_cpu::relax_columns<Weight, Distance>();
};

}  // namespace

template <class Graph, class Weight, class Distance>
void sssp(const Cpu& backend, const SsspArgs<Graph, Weight, Distance>& args) {
  DeltaStepping<Graph, Weight, Distance>(args, backend.device).run();
}

namespace {

[[gnu::used]] constexpr auto instances = for_types(GraphViews(), [](auto type) {
  using Graph = TypeOf<decltype(type)>;
  return instances_of(static_cast<void (*)(const Cpu&, const SsspArgs<Graph, std::uint8_t, std::int32_t>&)>(&sssp),
                      static_cast<void (*)(const Cpu&, const SsspArgs<Graph, float, float>&)>(&sssp));
});

}  // namespace

}  // namespace bitgraph
