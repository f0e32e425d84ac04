// SPDX-License-Identifier: Apache-2.0
// Direction-optimising breadth-first search on the host. See bfs.cpp for the methods and when each one wins. Levels of
// little work run on the calling thread: a parallel region costs more than a thousand edges.
#include "core/threads/parallel.hpp"
#include "formats/graph_views.hpp"
#include "formats/rows.hpp"
#include "graph/bfs/bfs.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>

namespace bitgraph {

namespace {

constexpr std::size_t serial_edges = 1 << 13;  ///< levels below that run on one thread
constexpr std::size_t chunk_words = 64;        ///< words of rows that a thread takes at a time: whole cache lines
constexpr std::size_t chunk_rows = 256;        ///< rows of the queue that a thread takes at a time
constexpr std::uint64_t bottom_up_share = 15;  ///< bottom up from one edge in that many on
constexpr std::size_t top_down_share = 18;     ///< top down again below one row in that many
constexpr std::size_t row_ahead = 16;          ///< queue elements between the fetch of a row's bounds and its use
constexpr std::size_t columns_ahead = 8;       ///< and of its columns

std::uint64_t bit_of(NodeId row) { return std::uint64_t{1} << (row % 64); }

void fetch_bounds(const CsrPatternView& a, NodeId row) { __builtin_prefetch(a.row_ptr + row); }
void fetch_columns(const CsrPatternView& a, NodeId row) { __builtin_prefetch(a.col_ind + a.row_ptr[row]); }
template <int K>
void fetch_bounds(const BitTileView<K>& a, NodeId row) {
  __builtin_prefetch(a.tile_row_ptr + row / K);
}
template <int K>
void fetch_columns(const BitTileView<K>& a, NodeId row) {
  __builtin_prefetch(a.tile_col_ind + a.tile_row_ptr[row / K]);
}

/// Entries of a row; for tiles at most that many.
std::uint64_t work_of(const CsrPatternView& a, NodeId row) { return a.row_ptr[row + 1] - a.row_ptr[row]; }
template <int K>
std::uint64_t work_of(const BitTileView<K>& a, NodeId row) {
  return 2 * (a.tile_row_ptr[row / K + 1] - a.tile_row_ptr[row / K]);
}

std::uint64_t work_of(const CsrPatternView& a) { return a.nvals(); }
template <int K>
std::uint64_t work_of(const BitTileView<K>& a) {
  return a.num_tile_rows == 0 ? 0 : 2 * K * a.tile_row_ptr[a.num_tile_rows];
}

/// Whether row i has an entry in the set.
bool touches(const CsrPatternView& a, NodeId i, const std::uint64_t* set) {
  EdgeOffset e = a.row_ptr[i];
  const EdgeOffset end = a.row_ptr[i + 1];
  const auto in_set = [&](EdgeOffset at) { return set[a.col_ind[at] / 64] >> (a.col_ind[at] % 64); };
  // Two at a time: half the branches, and rarely more work.
  for (; e + 2 <= end; e += 2) {
    if (((in_set(e) | in_set(e + 1)) & 1U) != 0) return true;
  }
  return e < end && (in_set(e) & 1U) != 0;
}
template <int K>
bool touches(const BitTileView<K>& a, NodeId i, const std::uint64_t* set) {
  for (EdgeOffset t = a.tile_row_ptr[i / K]; t < a.tile_row_ptr[i / K + 1]; ++t) {
    const std::size_t first = std::size_t{a.tile_col_ind[t]} * K;
    if ((a.tile_row(t, static_cast<int>(i % K)) & (set[first / 64] >> (first % 64))) != 0) return true;
  }
  return false;
}

template <class Graph>
class Search {
 public:
  Search(const BfsArgs<Graph>& args, const Device& device)
      : a_(args), device_(device), n_(args.out.nrows), words_((std::size_t{n_} + 63) / 64) {}

  void run() {
    std::copy_n(a_.unreachable, words_, a_.visited);
    a_.visited[a_.source / 64] |= bit_of(a_.source);
    a_.level[a_.source] = 0;
    a_.queue[0] = a_.source;
    begin_ = 0;
    end_ = 1;
    edges_left_ = work_of(a_.out);
    for (std::size_t w = 0; w < words_; ++w) unvisited_ += static_cast<std::size_t>(std::popcount(~a_.visited[w]));
    while (begin_ != end_) {
      device_.throw_if_stopped();
      ++depth_;
      if (unvisited_ == 0) break;  // the level is the last one
      if (bottom_up_pays()) {
        bottom_up();
      } else {
        top_down();
      }
    }
    mark_unreached();
  }

 private:
  [[nodiscard]] std::size_t queued() const { return end_ - begin_; }

  /// Counts the edges of the level, as far as they matter.
  bool bottom_up_pays() {
    parallel_ = false;
    if (queued() * a_.max_degree <= serial_edges) return false;
    const std::uint64_t enough = edges_left_ / bottom_up_share;
    const std::uint64_t most = std::max<std::uint64_t>(enough, serial_edges);
    std::uint64_t edges = 0;
    for (std::size_t q = begin_; q < end_ && edges <= most; ++q) {
      if (q + row_ahead < end_) fetch_bounds(a_.out, a_.queue[q + row_ahead]);
      edges += work_of(a_.out, a_.queue[q]);
    }
    parallel_ = edges > serial_edges && device_.threads() > 1;
    edges_left_ -= std::min(edges, edges_left_);
    return a_.has_in && edges > serial_edges && edges > enough;
  }

  void top_down() {
    const std::size_t begin = end_;
    if (parallel_) {
      top_down_parallel();
    } else {
      top_down_serial();
    }
    begin_ = begin;
    unvisited_ -= queued();
  }

  void top_down_serial() {
    std::size_t tail = end_;
    for (std::size_t q = begin_; q < end_; ++q) {
      if (q + row_ahead < end_) fetch_bounds(a_.out, a_.queue[q + row_ahead]);
      if (q + columns_ahead < end_) fetch_columns(a_.out, a_.queue[q + columns_ahead]);
      for_each_entry(a_.out, a_.queue[q], [&](NodeId j) {
        // Without a branch, which nobody could predict: the element is written anyway, and stays if it is new.
        const std::uint64_t word = a_.visited[j / 64];
        a_.queue[tail] = j;
        tail += static_cast<std::size_t>(~(word >> (j % 64)) & 1U);
        a_.visited[j / 64] = word | bit_of(j);
      });
    }
    for (std::size_t q = end_; q < tail; ++q) a_.level[a_.queue[q]] = depth_;
    end_ = tail;
  }

  void top_down_parallel() {
    std::atomic<std::size_t> tail{end_};
    parallel_chunks(device_, queued(), chunk_rows, [&](Range range) {
      std::array<NodeId, 1024> found;  // NOLINT(cppcoreguidelines-pro-type-member-init)
      std::size_t size = 0;
      const auto flush = [&] {
        std::copy_n(found.data(), size, a_.queue + tail.fetch_add(size, std::memory_order_relaxed));
        size = 0;
      };
      for (std::size_t q = begin_ + range.begin; q < begin_ + range.end; ++q) {
        if (q + row_ahead < end_) fetch_bounds(a_.out, a_.queue[q + row_ahead]);
        if (q + columns_ahead < end_) fetch_columns(a_.out, a_.queue[q + columns_ahead]);
        for_each_entry(a_.out, a_.queue[q], [&](NodeId j) {
          const std::atomic_ref<std::uint64_t> word(a_.visited[j / 64]);
          if ((word.load(std::memory_order_relaxed) & bit_of(j)) != 0) return;
          if ((word.fetch_or(bit_of(j), std::memory_order_relaxed) & bit_of(j)) != 0) return;
          a_.level[j] = depth_;
          found[size++] = j;
          if (size == found.size()) flush();
        });
      }
      flush();
    });
    end_ = tail.load();
  }

  /// Bottom up, level after level, until few rows are left in a level; these become the queue.
  void bottom_up() {
    set_of_queue();
    std::size_t found = queued();
    for (;; ++depth_) {
      device_.throw_if_stopped();
      const std::size_t before = found;
      found = bottom_up_level();
      std::swap(a_.front, a_.next);
      unvisited_ -= found;
      if (found == 0 || unvisited_ == 0 || (found < before && found < n_ / top_down_share)) break;
    }
    queue_of_set();
  }

  void set_of_queue() {
    std::fill_n(a_.front, words_, std::uint64_t{0});
    parallel_ranges(device_, queued(), chunk_rows * 16, [&](Range range) {
      for (std::size_t q = begin_ + range.begin; q < begin_ + range.end; ++q) {
        const NodeId row = a_.queue[q];
        std::atomic_ref<std::uint64_t>(a_.front[row / 64]).fetch_or(bit_of(row), std::memory_order_relaxed);
      }
    });
  }

  void queue_of_set() {
    begin_ = 0;
    end_ = 0;
    for (std::size_t w = 0; w < words_; ++w) {
      for (std::uint64_t bits = a_.front[w]; bits != 0; bits &= bits - 1) {
        a_.queue[end_++] = static_cast<NodeId>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
      }
    }
  }

  std::size_t bottom_up_level() {
    std::atomic<std::size_t> total{0};
    parallel_chunks(device_, words_, chunk_words, [&](Range range) {
      std::size_t found = 0;
      for (std::size_t w = range.begin; w < range.end; ++w) {
        std::uint64_t now = 0;
        for (std::uint64_t left = ~a_.visited[w]; left != 0; left &= left - 1) {
          const auto row = static_cast<NodeId>(w * 64 + static_cast<std::size_t>(std::countr_zero(left)));
          if (!touches(a_.in, row, a_.front)) continue;
          now |= left & -left;
          a_.level[row] = depth_;
        }
        a_.next[w] = now;
        a_.visited[w] |= now;
        found += static_cast<std::size_t>(std::popcount(now));
      }
      total.fetch_add(found, std::memory_order_relaxed);
    });
    return total.load();
  }

  /// The level of rows that were not reached, and the number of those that were.
  void mark_unreached() {
    std::atomic<std::size_t> total{0};
    parallel_chunks(device_, words_, chunk_words * 16, [&](Range range) {
      std::size_t reached = 0;
      for (std::size_t w = range.begin; w < range.end; ++w) {
        std::uint64_t seen = a_.visited[w] & ~a_.unreachable[w];
        if (w == a_.source / 64) seen |= bit_of(a_.source);
        reached += static_cast<std::size_t>(std::popcount(seen));
        const std::size_t rows = std::min<std::size_t>(64, n_ - w * 64);
        for (std::uint64_t left = ~seen & (~std::uint64_t{0} >> (64 - rows)); left != 0; left &= left - 1) {
          a_.level[w * 64 + static_cast<std::size_t>(std::countr_zero(left))] = a_.unreached;
        }
      }
      total.fetch_add(reached, std::memory_order_relaxed);
    });
    *a_.counts = {depth_, static_cast<NodeId>(total.load())};
  }

  BfsArgs<Graph> a_;
  const Device& device_;
  NodeId n_;
  std::size_t words_;
  std::size_t begin_ = 0, end_ = 0;  ///< the level's rows in the queue
  std::int32_t depth_ = 0;
  std::uint64_t edges_left_ = 0;  ///< of rows that no level has had
  std::size_t unvisited_ = 0;     ///< rows that a level may still find
  bool parallel_ = false;         ///< the level is worth all threads
};

}  // namespace

template <class Graph>
void bfs(const Cpu& backend, const BfsArgs<Graph>& args) {
  Search<Graph>(args, backend.device).run();
}

namespace {

[[gnu::used]] constexpr auto instances = for_types(GraphViews(), [](auto type) {
  using Graph = TypeOf<decltype(type)>;
  return static_cast<void (*)(const Cpu&, const BfsArgs<Graph>&)>(&bfs);
});

}  // namespace

}  // namespace bitgraph
