// SPDX-License-Identifier: Apache-2.0
#include "graph/triangles/orient.hpp"

#include "core/threads/thread_chunks.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

namespace bitgraph {

namespace {

constexpr std::size_t grain = std::size_t{1} << 12;

/// Rows by falling degree, those of one degree as they were: row_of[rank], and its inverse.
struct DegreeOrder {
  Buffer<NodeId> row_of, rank_of;
};

DegreeOrder order_by_degree(const CsrPattern& a) {
  const auto row_ptr = a.row_ptr();
  const NodeId n = a.nrows();
  const auto degree = [&](std::size_t i) { return static_cast<std::size_t>(row_ptr[i + 1] - row_ptr[i]); };
  std::size_t longest = 0;
  for (std::size_t i = 0; i < n; ++i) longest = std::max(longest, degree(i));
  std::vector<NodeId> next(longest + 2);
  for (std::size_t i = 0; i < n; ++i) ++next[longest - degree(i) + 1];
  for (std::size_t d = 1; d < next.size(); ++d) next[d] += next[d - 1];
  DegreeOrder order{Buffer<NodeId>(n, a.device()), Buffer<NodeId>(n, a.device())};
  for (NodeId i = 0; i < n; ++i) {
    const NodeId rank = next[longest - degree(i)]++;
    order.rank_of[i] = rank;
    order.row_of[rank] = i;
  }
  return order;
}

/// Lists of many rows, one after another, on their way to the array of all.
class ListBuffer {
 public:
  explicit ListBuffer(Oriented& to, std::atomic<EdgeOffset>& used) : to_(to), used_(used) {}
  ~ListBuffer() { flush(0); }
  ListBuffer(const ListBuffer&) = delete;
  ListBuffer& operator=(const ListBuffer&) = delete;

  /// Lists from now on begin with that of node `first`.
  void begin(NodeId first) {
    flush(0);
    first_ = next_ = first;
  }

  /// The list of the next node: the ranks of `row` that are below it.
  void add(std::span<const NodeId> row, const NodeId* rank_of) {
    const std::size_t most = std::min<std::size_t>(row.size(), next_);
    if (size_ + most + 1 > lists_.size()) flush(most + 1);
    NodeId* list = lists_.data() + size_;
    std::size_t low = 0;
    for (const NodeId j : row) {
      const NodeId rank = rank_of[j];
      list[low] = rank;
      low += rank < next_ ? 1U : 0U;
    }
    to_.low[next_++] = static_cast<NodeId>(low);
    size_ += low;
  }

 private:
  /// Copies the lists to their place. Which place that is depends on the threads; nothing else does.
  void flush(std::size_t capacity) {
    EdgeOffset at = used_.fetch_add(size_);
    std::copy_n(lists_.begin(), size_, to_.cols.data() + at);
    for (; first_ < next_; ++first_) {
      to_.start[first_] = at;
      at += to_.low[first_];
    }
    size_ = 0;
    if (lists_.size() < capacity) lists_.resize(capacity);
  }

  Oriented& to_;
  std::atomic<EdgeOffset>& used_;
  std::vector<NodeId> lists_ = std::vector<NodeId>(std::size_t{1} << 15);
  std::size_t size_ = 0;
  NodeId first_ = 0, next_ = 0;
};

/// How many of the first nodes get bit rows, so that the time is least: in cycles, a list of l nodes costs a look-up
/// for each, a bit row a step for each block. Weighed once for each node before that has the row in its list.
NodeId choose_bit_rows(const CsrPattern& a, const Oriented& oriented) {
  constexpr double cycles_a_node = 0.8;
  constexpr double cycles_a_block = 1.6;
  constexpr double cycles_a_row = 6;
  constexpr std::size_t step = 64;
  const std::size_t most_blocks = a.bytes() / 2 / (bit_block / 8);
  const auto row_ptr = a.row_ptr();
  double saved = 0;
  double best = 0;
  NodeId chosen = 0;
  for (NodeId v = 0; v < a.nrows() && blocks_before(v) <= most_blocks; ++v) {
    if (v % step == 0 && saved > best) {
      best = saved;
      chosen = v;
    }
    const NodeId row = oriented.row_of[v];
    const auto degree = static_cast<double>(row_ptr[row + 1] - row_ptr[row]);
    const double uses = degree - oriented.low[v];
    const double as_list = cycles_a_row + cycles_a_node * oriented.low[v];
    saved += uses * (as_list - cycles_a_block * static_cast<double>(blocks_of(v)));
    saved -= static_cast<double>(blocks_of(v)) * cycles_a_block * 4;  // clearing and filling it
  }
  return chosen;
}

void fill_bit_rows(const Device& device, Oriented& oriented) {
  constexpr std::size_t words_a_block = bit_block / 64;
  oriented.bits = Buffer<std::uint64_t>(blocks_before(oriented.num_bit_rows) * words_a_block, device);
  parallel_chunks(device, oriented.num_bit_rows, 64, [&](Range nodes) {
    for (std::size_t v = nodes.begin; v < nodes.end; ++v) {
      std::uint64_t* bits = oriented.bits.data() + blocks_before(v) * words_a_block;
      std::fill_n(bits, blocks_of(v) * words_a_block, std::uint64_t{0});
      const NodeId* list = oriented.cols.data() + oriented.start[v];
      for (NodeId e = 0; e < oriented.low[v]; ++e) bits[list[e] / 64] |= std::uint64_t{1} << (list[e] % 64);
    }
  });
}

}  // namespace

bool degrees_are_alike(std::span<const EdgeOffset> row_ptr) {
  constexpr double most_spread = 2;  // mean square over squared mean
  constexpr double highest_mean = 64;
  const std::size_t n = row_ptr.size() - 1;
  double squares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto degree = static_cast<double>(row_ptr[i + 1] - row_ptr[i]);
    squares += degree * degree;
  }
  const double mean = n == 0 ? 0 : static_cast<double>(row_ptr[n]) / static_cast<double>(n);
  return mean <= highest_mean && squares <= most_spread * mean * mean * static_cast<double>(n);
}

Oriented orient_in_place(const CsrPattern& a) {
  Oriented oriented;
  oriented.low = Buffer<NodeId>(a.nrows(), a.device());
  parallel_for(a.device(), a.nrows(), grain, [&](std::size_t i) {
    NodeId low = 0;
    for (const NodeId j : a.row(static_cast<NodeId>(i))) low += j < i ? 1U : 0U;  // no branch to mispredict
    oriented.low[i] = low;
  });
  return oriented;
}

Oriented orient_by_degree(const CsrPattern& a) {
  constexpr std::size_t chunk = 1024;
  const Device& device = a.device();
  Oriented oriented;
  DegreeOrder order = order_by_degree(a);
  oriented.row_of = std::move(order.row_of);
  oriented.start = Buffer<EdgeOffset>(a.nrows(), device);
  oriented.low = Buffer<NodeId>(a.nrows(), device);
  oriented.cols = Buffer<NodeId>(static_cast<std::size_t>(a.nvals() / 2), device);
  std::atomic<EdgeOffset> used{0};
  std::atomic<std::size_t> next{0};
  parallel_region(device, [&](int, int) {
    ListBuffer lists(oriented, used);
    for (std::size_t begin = next.fetch_add(chunk); begin < a.nrows(); begin = next.fetch_add(chunk)) {
      lists.begin(static_cast<NodeId>(begin));
      for (std::size_t r = begin; r < std::min<std::size_t>(a.nrows(), begin + chunk); ++r) {
        lists.add(a.row(oriented.row_of[r]), order.rank_of.data());
      }
    }
  });
  oriented.num_bit_rows = choose_bit_rows(a, oriented);
  fill_bit_rows(device, oriented);
  return oriented;
}

}  // namespace bitgraph
