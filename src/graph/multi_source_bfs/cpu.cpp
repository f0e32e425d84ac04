// SPDX-License-Identifier: Apache-2.0
// Searches from many sources on the host. See multi_source_bfs.cpp for pull and push. A row of 512 bits is one cache
// line, and fetching these lines limits the speed.
#include "core/threads/parallel.hpp"
#include "formats/graph_views.hpp"
#include "formats/rows.hpp"
#include "graph/multi_source_bfs/cpu_gather.hpp"
#include "graph/multi_source_bfs/multi_source_bfs.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>

namespace bitgraph {

namespace {

constexpr std::size_t chunk_words = 4;    ///< words of rows that a thread takes at a time
constexpr std::uint64_t push_share = 64;  ///< push where the active rows have fewer than one edge in that many

template <std::size_t W>
struct Row {
  std::array<std::uint64_t, W> word{};

  void or_with(const std::uint64_t* from) {
    for (std::size_t w = 0; w < W; ++w) word[w] |= from[w];
  }
  [[nodiscard]] bool any() const {
    std::uint64_t all = 0;
    for (std::size_t w = 0; w < W; ++w) all |= word[w];
    return all != 0;
  }
  /// Whether a bit of this row is missing in the other.
  [[nodiscard]] bool beyond(const Row& other) const {
    std::uint64_t all = 0;
    for (std::size_t w = 0; w < W; ++w) all |= word[w] & ~other.word[w];
    return all != 0;
  }
};

/// Counts the set bits of many rows, column by column, in bit slices: slice k has bit k of all counts.
template <std::size_t W>
class ColumnCounts {
 public:
  void add(const std::uint64_t* row) {
    Row<W> carry;
    carry.or_with(row);
    for (std::size_t k = 0; k < slices_.size() && carry.any(); ++k) {
      for (std::size_t w = 0; w < W; ++w) {
        const std::uint64_t both = slices_[k].word[w] & carry.word[w];
        slices_[k].word[w] ^= carry.word[w];
        carry.word[w] = both;
      }
    }
    if (++rows_ == 255) flush();
  }
  void flush() {
    for (std::size_t b = 0; b < 64 * W; ++b) {
      NodeId count = 0;
      for (std::size_t k = 0; k < slices_.size(); ++k)
        count |= static_cast<NodeId>((slices_[k].word[b / 64] >> (b % 64)) & 1U) << k;
      totals_[b] += count;
    }
    slices_ = {};
    rows_ = 0;
  }
  [[nodiscard]] NodeId operator[](std::size_t b) const { return totals_[b]; }

 private:
  std::array<Row<W>, 8> slices_{};
  std::array<NodeId, 64 * W> totals_{};
  int rows_ = 0;
};

template <class Graph, std::size_t W>
class Pass {
 public:
  Pass(const MultiSourceBfsArgs<Graph>& args, const Device& device)
      : a_(args), device_(device), n_(args.out.nrows), set_words_((std::size_t{n_} + 63) / 64) {}

  void run() {
    parallel_ranges(device_, std::size_t{n_} * W, std::size_t{1} << 16,
                    [&](Range range) { std::fill(a_.seen + range.begin, a_.seen + range.end, std::uint64_t{0}); });
    std::fill_n(a_.active, set_words_, std::uint64_t{0});
    for (std::size_t s = 0; s < a_.num_sources; ++s) start(s);
    while (wanted_.any()) {
      device_.throw_if_stopped();
      ++depth_;
      any_ = {};
      if (push_pays()) {
        push();
      } else {
        pull();
      }
      for (std::size_t s = 0; s < a_.num_sources; ++s) {
        if (((any_.word[s / 64] >> (s % 64)) & 1U) != 0) a_.eccentricity[s] = depth_;
      }
      // A source whose last level was empty is done: nobody waits for it.
      wanted_ = any_;
      std::swap(a_.front, a_.next);
      std::swap(a_.active, a_.active_next);
    }
    count_reached();
  }

 private:
  void start(std::size_t s) {
    const NodeId row = a_.new_id == nullptr ? a_.sources[s] : a_.new_id[a_.sources[s]];
    std::uint64_t& word = a_.active[row / 64];
    const std::uint64_t bit = std::uint64_t{1} << (row % 64);
    std::uint64_t* front = a_.front + std::size_t{row} * W;
    if ((word & bit) == 0) std::fill_n(front, W, std::uint64_t{0});
    word |= bit;
    front[s / 64] |= std::uint64_t{1} << (s % 64);
    a_.seen[std::size_t{row} * W + s / 64] |= std::uint64_t{1} << (s % 64);
    wanted_.word[s / 64] |= std::uint64_t{1} << (s % 64);
    a_.eccentricity[s] = 0;
    if (a_.level != nullptr) a_.level[a_.sources[s] * a_.level_stride + s] = 0;
  }

  bool push_pays() const {
    if (!a_.has_in) return true;
    const std::uint64_t enough = work_of(a_.out, 0, n_) / push_share;
    std::uint64_t edges = 0;
    for (std::size_t w = 0; w < set_words_; ++w) {
      for (std::uint64_t bits = a_.active[w]; bits != 0; bits &= bits - 1) {
        const auto row = static_cast<NodeId>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
        edges += work_of(a_.out, row, row + 1);
      }
      if (edges > enough) return false;
    }
    return true;
  }

  /// Entries of the rows [first, last), or a number like it.
  static std::uint64_t work_of(const CsrPatternView& a, NodeId first, NodeId last) {
    return a.row_ptr[last] - a.row_ptr[first];
  }
  template <int K>
  static std::uint64_t work_of(const BitTileView<K>& a, NodeId first, NodeId last) {
    return (a.tile_row_ptr[(std::size_t{last} + K - 1) / K] - a.tile_row_ptr[first / K]);
  }

  void push() {
    std::fill_n(a_.active_next, set_words_, std::uint64_t{0});
    for (std::size_t w = 0; w < set_words_; ++w) {
      for (std::uint64_t bits = a_.active[w]; bits != 0; bits &= bits - 1) {
        const auto row = static_cast<NodeId>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
        Row<W> front;
        front.or_with(a_.front + std::size_t{row} * W);
        for_each_entry(a_.out, row, [&](NodeId j) { push_to(j, front); });
      }
    }
    for (std::size_t w = 0; w < set_words_; ++w) {
      for (std::uint64_t bits = a_.active_next[w]; bits != 0; bits &= bits - 1) {
        const auto row = static_cast<NodeId>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
        Row<W> found;
        found.or_with(a_.next + std::size_t{row} * W);
        keep(row, found, any_);
      }
    }
  }

  void push_to(NodeId j, const Row<W>& front) {
    Row<W> found;
    std::uint64_t* next = a_.next + std::size_t{j} * W;
    const std::uint64_t* seen = a_.seen + std::size_t{j} * W;
    for (std::size_t w = 0; w < W; ++w) found.word[w] = front.word[w] & ~seen[w];
    if (!found.any()) return;
    const std::uint64_t bit = std::uint64_t{1} << (j % 64);
    const bool first = (a_.active_next[j / 64] & bit) == 0;
    a_.active_next[j / 64] |= bit;
    for (std::size_t w = 0; w < W; ++w) next[w] = first ? found.word[w] : next[w] | found.word[w];
  }

  /// A row's new bits are seen from now on.
  void keep(NodeId row, const Row<W>& found, Row<W>& any) {
    std::uint64_t* seen = a_.seen + std::size_t{row} * W;
    for (std::size_t w = 0; w < W; ++w) {
      seen[w] |= found.word[w];
      any.word[w] |= found.word[w];
    }
    if (a_.sums != nullptr) {
      int count = 0;
      for (const std::uint64_t bits : found.word) count += std::popcount(bits);
      a_.sums[row].add(static_cast<std::uint64_t>(count), depth_);
    }
    if (a_.level == nullptr) return;
    std::int32_t* level = a_.level + std::size_t{a_.old_id == nullptr ? row : a_.old_id[row]} * a_.level_stride;
    for (std::size_t w = 0; w < W; ++w) {
      for (std::uint64_t bits = found.word[w]; bits != 0; bits &= bits - 1) {
        level[w * 64 + static_cast<std::size_t>(std::countr_zero(bits))] = depth_;
      }
    }
  }

  void pull() {
    std::mutex merge;
    parallel_chunks(device_, set_words_, chunk_words, [&](Range range) {
      Row<W> any;
      for (std::size_t w = range.begin; w < range.end; ++w) {
        std::uint64_t active = 0;
        const std::size_t rows = std::min<std::size_t>(64, n_ - w * 64);
        for (std::size_t b = 0; b < rows; ++b) {
          if (pull_row(static_cast<NodeId>(w * 64 + b), any)) active |= std::uint64_t{1} << b;
        }
        a_.active_next[w] = active;
      }
      const std::lock_guard lock(merge);
      for (std::size_t w = 0; w < W; ++w) any_.word[w] |= any.word[w];
    });
  }

  bool pull_row(NodeId row, Row<W>& any) {
    const std::uint64_t* seen = a_.seen + std::size_t{row} * W;
    Row<W> missing;
    for (std::size_t w = 0; w < W; ++w) missing.word[w] = wanted_.word[w] & ~seen[w];
    if (!missing.any()) return false;
    Row<W> found = gather(a_.in, row, missing);
    for (std::size_t w = 0; w < W; ++w) found.word[w] &= ~seen[w];
    if (!found.any()) return false;
    std::copy_n(found.word.data(), W, a_.next + std::size_t{row} * W);
    keep(row, found, any);
    return true;
  }

  /// The rows that lead to `row`, ORed until nothing is missing any more.
  Row<W> gather(const CsrPatternView& a, NodeId row, const Row<W>& missing) const {
    Row<W> found;
    gather_rows_(a.col_ind + a.row_ptr[row], static_cast<std::size_t>(a.row_ptr[row + 1] - a.row_ptr[row]), a_.active,
                 a_.front, missing.word.data(), found.word.data());
    return found;
  }
  template <int K>
  Row<W> gather(const BitTileView<K>& a, NodeId row, const Row<W>& missing) const {
    Row<W> found;
    for (EdgeOffset t = a.tile_row_ptr[row / K]; t < a.tile_row_ptr[row / K + 1]; ++t) {
      const std::size_t first = std::size_t{a.tile_col_ind[t]} * K;
      std::uint64_t bits = a.tile_row(t, static_cast<int>(row % K)) & (a_.active[first / 64] >> (first % 64));
      if (bits == 0) continue;
      for (; bits != 0; bits &= bits - 1) {
        found.or_with(a_.front + (first + static_cast<std::size_t>(std::countr_zero(bits))) * W);
      }
      if (!missing.beyond(found)) break;
    }
    return found;
  }

  void count_reached() {
    std::fill_n(a_.reached, a_.num_sources, NodeId{0});
    std::mutex merge;
    parallel_ranges(device_, n_, 4096, [&](Range range) {
      ColumnCounts<W> counts;
      for (std::size_t i = range.begin; i < range.end; ++i) counts.add(a_.seen + i * W);
      counts.flush();
      const std::lock_guard lock(merge);
      for (std::size_t s = 0; s < a_.num_sources; ++s) a_.reached[s] += counts[s];
    });
  }

  MultiSourceBfsArgs<Graph> a_;
  const Device& device_;
  NodeId n_;
  std::size_t set_words_;
  std::int32_t depth_ = 0;
  multi_source_cpu::GatherRows gather_rows_ = multi_source_cpu::gather_rows(W);
  Row<W> wanted_;  ///< sources that reached somebody in the last level
  Row<W> any_;     ///< and in this one
};

}  // namespace

template <class Graph>
void multi_source_bfs(const Cpu& backend, const MultiSourceBfsArgs<Graph>& args) {
  switch (args.words) {
    case 1: return Pass<Graph, 1>(args, backend.device).run();
    case 2: return Pass<Graph, 2>(args, backend.device).run();
    case 4: return Pass<Graph, 4>(args, backend.device).run();
    default: return Pass<Graph, 8>(args, backend.device).run();
  }
}

namespace {

[[gnu::used]] constexpr auto instances = for_types(GraphViews(), [](auto type) {
  using Graph = TypeOf<decltype(type)>;
  return static_cast<void (*)(const Cpu&, const MultiSourceBfsArgs<Graph>&)>(&multi_source_bfs);
});

}  // namespace

}  // namespace bitgraph
