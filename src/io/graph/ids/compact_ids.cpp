// SPDX-License-Identifier: Apache-2.0
#include "io/graph/ids/compact_ids.hpp"

#include "core/threads/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <iterator>
#include <utility>
#include <vector>

namespace bitgraph {

namespace {

constexpr std::size_t grain = std::size_t{1} << 14;

template <class Id>
Id largest(std::span<const Id> ids, const Device& device) {
  std::atomic<Id> most{0};
  parallel_ranges(device, ids.size(), grain, [&](Range range) {
    const Id mine = *std::max_element(ids.begin() + static_cast<std::ptrdiff_t>(range.begin),
                                      ids.begin() + static_cast<std::ptrdiff_t>(range.end));
    Id seen = most.load();
    while (seen < mine && !most.compare_exchange_weak(seen, mine)) {
    }
  });
  return most;
}

/// Sets a bit for every id.
template <class Id>
void mark(std::span<const Id> ids, std::span<std::uint64_t> bits, const Device& device) {
  parallel_ranges(device, ids.size(), grain, [&](Range range) {
    for (std::size_t e = range.begin; e < range.end; ++e) {
      std::atomic_ref<std::uint64_t> word(bits[ids[e] / 64]);
      const std::uint64_t bit = std::uint64_t{1} << (ids[e] % 64);
      // An id comes many times: looking is cheaper than writing.
      if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit, std::memory_order_relaxed);
    }
  });
}

/// For ids that are many beside their range: the range as bits.
template <class Id>
CompactIds compact_dense(std::span<const Id> first, std::span<const Id> second, std::uint64_t range,
                         const Device& device) {
  const std::size_t words = range / 64 + 1;
  Buffer<std::uint64_t> bits(words, std::uint64_t{0}, device);
  mark(first, bits.span(), device);
  mark(second, bits.span(), device);
  CompactIds nodes;
  for (const std::uint64_t word : bits.span()) nodes.num_nodes += static_cast<std::uint64_t>(std::popcount(word));
  if (nodes.num_nodes == range) return nodes;
  nodes.ids = Buffer<std::uint64_t>(nodes.num_nodes, device);
  std::uint64_t* id = nodes.ids.data();
  for (std::size_t w = 0; w < words; ++w) {
    for (std::uint64_t rest = bits[w]; rest != 0; rest &= rest - 1) {
      *id++ = w * 64 + static_cast<std::uint64_t>(std::countr_zero(rest));
    }
  }
  return nodes;
}

/// For ids far apart: parts of the lists are sorted, then united two by two.
template <class Id>
CompactIds compact_sparse(std::span<const Id> first, std::span<const Id> second, const Device& device) {
  const std::size_t threads = static_cast<std::size_t>(device.threads());
  std::vector<std::vector<Id>> parts(2 * threads);
  parallel_chunks(device, parts.size(), 1, [&](Range range) {
    for (std::size_t p = range.begin; p < range.end; ++p) {
      const std::span<const Id> list = p < threads ? first : second;
      const Range mine = part_of(list.size(), p % threads, threads);
      parts[p].assign(list.begin() + static_cast<std::ptrdiff_t>(mine.begin),
                      list.begin() + static_cast<std::ptrdiff_t>(mine.end));
      std::sort(parts[p].begin(), parts[p].end());
      parts[p].erase(std::unique(parts[p].begin(), parts[p].end()), parts[p].end());
    }
  });
  for (; parts.size() > 1; parts.resize((parts.size() + 1) / 2)) {
    const std::size_t pairs = parts.size() / 2;
    const std::size_t half = (parts.size() + 1) / 2;
    parallel_chunks(device, pairs, 1, [&](Range range) {
      for (std::size_t p = range.begin; p < range.end; ++p) {
        std::vector<Id> both;
        std::set_union(parts[p].begin(), parts[p].end(), parts[p + half].begin(), parts[p + half].end(),
                       std::back_inserter(both));
        parts[p] = std::move(both);
        parts[p + half] = {};
      }
    });
  }
  CompactIds nodes;
  nodes.num_nodes = parts[0].size();
  nodes.ids = Buffer<std::uint64_t>(parts[0].size(), device);
  std::copy(parts[0].begin(), parts[0].end(), nodes.ids.begin());
  return nodes;
}

/// Finds ids by their leading bits, then by halving what is left.
class IdIndex {
 public:
  explicit IdIndex(std::span<const std::uint64_t> ids, const Device& device) : ids_(ids) {
    const std::uint64_t range = ids.back() - ids.front();
    while ((range >> shift_) / 2 > ids.size()) ++shift_;
    starts_ = Buffer<NodeId>((range >> shift_) + 2, device);
    std::size_t node = 0;
    for (std::size_t slot = 0; slot < starts_.size(); ++slot) {
      while (node < ids.size() && (ids[node] - ids.front()) >> shift_ < slot) ++node;
      starts_[slot] = static_cast<NodeId>(node);
    }
  }
  [[nodiscard]] NodeId operator()(std::uint64_t id) const noexcept {
    const std::uint64_t slot = (id - ids_.front()) >> shift_;
    const std::uint64_t* const begin = ids_.data() + starts_[slot];
    const std::uint64_t* const end = ids_.data() + starts_[slot + 1];
    return static_cast<NodeId>(std::lower_bound(begin, end, id) - ids_.data());
  }

 private:
  std::span<const std::uint64_t> ids_;
  int shift_ = 0;
  Buffer<NodeId> starts_;  ///< first node of each slot of ids
};

}  // namespace

template <class Id>
CompactIds compact_ids(std::span<const Id> first, std::span<const Id> second, const Device& device) {
  if (first.empty()) return {};
  const std::uint64_t last = std::max(largest(first, device), largest(second, device));
  if (last < 64 * first.size() + 1024) return compact_dense(first, second, last + 1, device);
  return compact_sparse(first, second, device);
}

template <class Id>
void renumber(const CompactIds& nodes, std::span<const Id> from, NodeId* to, const Device& device) {
  if (nodes.ids.empty()) {
    parallel_for(device, from.size(), grain, [&](std::size_t e) { to[e] = static_cast<NodeId>(from[e]); });
    return;
  }
  const IdIndex index(nodes.ids.span(), device);
  parallel_for(device, from.size(), grain, [&](std::size_t e) { to[e] = index(from[e]); });
}

template CompactIds compact_ids(std::span<const std::uint32_t>, std::span<const std::uint32_t>, const Device&);
template CompactIds compact_ids(std::span<const std::uint64_t>, std::span<const std::uint64_t>, const Device&);
template void renumber(const CompactIds&, std::span<const std::uint32_t>, NodeId*, const Device&);
template void renumber(const CompactIds&, std::span<const std::uint64_t>, NodeId*, const Device&);

}  // namespace bitgraph
