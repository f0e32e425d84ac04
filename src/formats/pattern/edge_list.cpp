// SPDX-License-Identifier: Apache-2.0
// Edge lists to pattern CSR, as a sort in two steps: entries are dealt into buckets of neighbouring rows, then each
// bucket, small enough for a cache, is brought into rows where it lies. Dealing straight into rows would miss the cache
// at every entry and need an atomic counter for every row; this needs neither.
#include <bitgraph/formats/csr_pattern.hpp>

#include "core/threads/parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

namespace bitgraph {

namespace {

/// Few enough that the open ends of all of them stay in the cache, many enough that a bucket does too.
constexpr std::size_t few_buckets = 512;

/// But no bucket has more rows than one byte tells apart: that byte beside each entry is the memory that sorting takes.
constexpr int most_row_bits = 8;

/// Buckets of more than this part of all entries, of which a skewed graph has some, are sorted without room of their
/// own.
constexpr std::size_t large_part = 128;

/// Processors fetch ahead for a few dozen places of writing, not for hundreds.
void fetch_for_writing(const void* place) { __builtin_prefetch(place, 1); }

struct Edges {
  NodeId nrows = 0;
  NodeId ncols = 0;
  std::span<const NodeId> rows;
  std::span<const NodeId> cols;
  EdgeListOptions options;

  [[nodiscard]] bool all_inside(Range range) const {
    bool inside = true;
    for (std::size_t e = range.begin; e < range.end; ++e) inside &= rows[e] < nrows && cols[e] < ncols;
    return inside;
  }

  /// fn(row, column) for every entry that edges [range) stand for.
  template <class Fn>
  void for_each(Range range, Fn&& fn) const {
    for (std::size_t e = range.begin; e < range.end; ++e) {
      const NodeId i = rows[e];
      const NodeId j = cols[e];
      if (i == j) {
        if (!options.drop_loops) fn(i, j);
        continue;
      }
      fn(i, j);
      if (options.symmetrize) fn(j, i);
    }
  }
};

/// Sorts N values by counting for each how many are smaller: no branch depends on the values. True where all differ.
template <std::size_t N>
bool rank_sort(const NodeId* in, NodeId* out) {
  std::array<std::uint32_t, N> rank{};
  bool differ = true;
#pragma GCC unroll 8
  for (std::size_t i = 1; i < N; ++i) {
#pragma GCC unroll 8
    for (std::size_t j = 0; j < i; ++j) {
      const std::uint32_t smaller = in[i] < in[j] ? 1 : 0;
      rank[j] += smaller;
      rank[i] += 1 - smaller;
      differ &= in[i] != in[j];
    }
  }
  for (std::size_t i = 0; i < N; ++i) out[rank[i]] = in[i];
  return differ;
}

/// The values of `in` sorted and each once, in `out`, which has room for all of them and does not overlap `in`; returns
/// how many there are. Most rows are short, and what is short is sorted without guessing.
std::size_t sorted_unique(const NodeId* in, std::size_t size, NodeId* out) {
  bool differ = false;
  switch (size) {
    case 0: return 0;
    case 1: out[0] = in[0]; return 1;
    case 2: differ = rank_sort<2>(in, out); break;
    case 3: differ = rank_sort<3>(in, out); break;
    case 4: differ = rank_sort<4>(in, out); break;
    case 5: differ = rank_sort<5>(in, out); break;
    case 6: differ = rank_sort<6>(in, out); break;
    case 7: differ = rank_sort<7>(in, out); break;
    case 8: differ = rank_sort<8>(in, out); break;
    default:
      std::copy_n(in, size, out);
      if (!std::is_sorted(out, out + size)) std::sort(out, out + size);
  }
  return differ ? size : static_cast<std::size_t>(std::unique(out, out + size) - out);
}

/// Rows [b << shift, (b + 1) << shift) are bucket b.
struct Buckets {
  int shift = 0;
  std::size_t count = 0;
  std::vector<EdgeOffset> begins;  ///< count + 1 positions in the slots

  explicit Buckets(std::size_t nrows) {
    while (shift < most_row_bits && ((nrows + (std::size_t{1} << shift) - 1) >> shift) > few_buckets) ++shift;
    count = (nrows + (std::size_t{1} << shift) - 1) >> shift;
    begins.assign(count + 1, 0);
  }
};

/// Where each part of the edges puts its first entry of each bucket: [part * count + bucket]. Throws usage where an
/// index is out of range.
std::vector<EdgeOffset> first_slots(const Edges& edges, std::size_t parts, Buckets& buckets, const Device& device) {
  std::vector<EdgeOffset> next(parts * buckets.count, 0);
  std::atomic<bool> outside{false};
  constexpr std::size_t block = 4096;  // checked and counted while it is in the cache
  parallel_chunks(device, parts, 1, [&](Range range) {
    for (std::size_t p = range.begin; p < range.end; ++p) {
      std::vector<EdgeOffset> counts(buckets.count, 0);  // a thread's own: neighbours in `next` share cache lines
      const Range mine = part_of(edges.rows.size(), p, parts);
      for (std::size_t e = mine.begin; e < mine.end; e += block) {
        const Range now{e, std::min(e + block, mine.end)};
        device.throw_if_stopped();
        if (!edges.all_inside(now)) {
          outside = true;
          break;
        }
        edges.for_each(now, [&](NodeId i, NodeId) { ++counts[i >> buckets.shift]; });
      }
      std::copy(counts.begin(), counts.end(), next.begin() + static_cast<std::ptrdiff_t>(p * buckets.count));
    }
  });
  if (outside) fail(ErrorCode::usage, fmt::format("edge list: an index is outside {} x {}", edges.nrows, edges.ncols));
  EdgeOffset sum = 0;
  for (std::size_t b = 0; b < buckets.count; ++b) {
    buckets.begins[b] = sum;
    for (std::size_t p = 0; p < parts; ++p) sum += std::exchange(next[p * buckets.count + b], sum);
  }
  buckets.begins[buckets.count] = sum;
  return next;
}

using RowByte = std::uint8_t;
constexpr std::size_t most_bucket_rows = std::size_t{1} << most_row_bits;

/// A bucket's entries, and beside each its row within the bucket; null where a bucket is one row.
struct Bucket {
  NodeId* slots = nullptr;
  RowByte* low = nullptr;
  std::size_t size = 0;
};

/// Brings the entries of a bucket into rows where they lie: each goes to the next place of its row, and what it finds
/// there goes on from there. begins: of each row and of the end.
void deal_in_place(const Bucket& bucket, std::span<const EdgeOffset> begins) {
  std::array<EdgeOffset, most_bucket_rows> next{};
  std::copy(begins.begin(), begins.end() - 1, next.begin());
  for (std::size_t r = 0; r + 1 < begins.size(); ++r) {
    while (next[r] < begins[r + 1]) {
      const EdgeOffset here = next[r];
      const RowByte row = bucket.low[here];
      const EdgeOffset there = next[row]++;
      std::swap(bucket.slots[here], bucket.slots[there]);
      std::swap(bucket.low[here], bucket.low[there]);
    }
  }
}

/// Sorts a bucket in place by row and column and drops duplicates. Writes the rows' sizes and returns how many entries
/// are left, at the front. `room` is a thread's, grown as needed; buckets of more than `most_room` do without.
EdgeOffset sort_bucket(const Bucket& bucket, std::span<EdgeOffset> row_sizes, std::size_t most_room,
                       Buffer<NodeId>& room, const Device& device) {
  std::array<EdgeOffset, most_bucket_rows + 1> begins{};
  const std::size_t num_rows = row_sizes.size();
  begins[num_rows] = bucket.size;
  if (bucket.low != nullptr) {
    begins[num_rows] = 0;
    for (std::size_t e = 0; e < bucket.size; ++e) ++begins[bucket.low[e] + std::size_t{1}];
    for (std::size_t r = 0; r < num_rows; ++r) begins[r + 1] += begins[r];
  }
  NodeId* out = bucket.slots;
  if (bucket.size > most_room) {
    if (bucket.low != nullptr) deal_in_place(bucket, std::span(begins).first(num_rows + 1));
    for (std::size_t r = 0; r < num_rows; ++r) {
      NodeId* const first = bucket.slots + begins[r];
      NodeId* const last = bucket.slots + begins[r + 1];
      if (!std::is_sorted(first, last)) std::sort(first, last);
      NodeId* const end = std::unique(first, last);
      row_sizes[r] = static_cast<EdgeOffset>(end - first);
      out = out == first ? end : std::copy(first, end, out);
    }
    return static_cast<EdgeOffset>(out - bucket.slots);
  }
  if (room.size() < bucket.size) room = Buffer<NodeId>(most_room, device);
  if (bucket.low == nullptr) {
    std::copy_n(bucket.slots, bucket.size, room.data());
  } else {
    std::array<EdgeOffset, most_bucket_rows> next{};
    std::copy_n(begins.begin(), num_rows, next.begin());
    for (std::size_t e = 0; e < bucket.size; ++e) room[next[bucket.low[e]]++] = bucket.slots[e];
  }
  for (std::size_t r = 0; r < num_rows; ++r) {
    row_sizes[r] = sorted_unique(room.data() + begins[r], begins[r + 1] - begins[r], out);
    out += row_sizes[r];
  }
  return static_cast<EdgeOffset>(out - bucket.slots);
}

struct Sorted {
  Buffer<NodeId> slots;          ///< the entries, sorted, each once; behind them as much room as there were duplicates
  Buffer<EdgeOffset> row_sizes;  ///< nrows + 1, the last one 0
};

/// Closes the gaps that duplicates left behind the buckets. Entries only move towards the front.
void close_gaps(NodeId* slots, const Buckets& buckets, std::span<const EdgeOffset> kept) {
  EdgeOffset filled = 0;
  for (std::size_t b = 0; b < buckets.count; ++b) {
    const NodeId* const from = slots + buckets.begins[b];
    if (filled != buckets.begins[b]) std::copy(from, from + kept[b], slots + filled);
    filled += kept[b];
  }
}

/// Deals the entries into buckets, with the row's low bits beside each, and sorts every bucket.
Sorted sort_entries(const Edges& edges, const Device& device) {
  const std::size_t nrows = edges.nrows;
  Buckets buckets(nrows);
  const std::size_t parts = edges.rows.size() < (std::size_t{1} << 14) ? 1 : static_cast<std::size_t>(device.threads());
  const std::vector<EdgeOffset> first = first_slots(edges, parts, buckets, device);
  const EdgeOffset total = buckets.begins[buckets.count];
  Sorted sorted{Buffer<NodeId>(total, device), Buffer<EdgeOffset>(nrows + 1, device)};
  Buffer<RowByte> low(buckets.shift == 0 ? 0 : total, device);
  parallel_chunks(device, parts, 1, [&](Range range) {
    for (std::size_t p = range.begin; p < range.end; ++p) {
      const auto begin = first.begin() + static_cast<std::ptrdiff_t>(p * buckets.count);
      std::vector<EdgeOffset> next(begin, begin + static_cast<std::ptrdiff_t>(buckets.count));
      const NodeId mask = (NodeId{1} << buckets.shift) - 1;
      constexpr std::size_t line = 64;  // bytes of a cache line
      edges.for_each(part_of(edges.rows.size(), p, parts), [&](NodeId i, NodeId j) {
        const EdgeOffset slot = next[i >> buckets.shift]++;
        sorted.slots[slot] = j;
        fetch_for_writing(sorted.slots.data() + slot + line / sizeof(NodeId));
        if (buckets.shift != 0) {
          low[slot] = static_cast<RowByte>(i & mask);
          fetch_for_writing(low.data() + slot + line / sizeof(RowByte));
        }
      });
    }
  });
  std::vector<EdgeOffset> kept(buckets.count, 0);
  const std::size_t most_room = std::max<std::size_t>(1024, total / large_part / parts);
  parallel_chunks(device, buckets.count, 4, [&](Range range) {
    device.throw_if_stopped();
    Buffer<NodeId> room;
    for (std::size_t b = range.begin; b < range.end; ++b) {
      const std::size_t row = b << buckets.shift;
      const EdgeOffset begin = buckets.begins[b];
      const std::size_t rows = std::min(std::size_t{1} << buckets.shift, nrows - row);
      const Bucket bucket{sorted.slots.data() + begin, buckets.shift == 0 ? nullptr : low.data() + begin,
                          buckets.begins[b + 1] - begin};
      kept[b] = sort_bucket(bucket, sorted.row_sizes.span().subspan(row, rows), most_room, room, device);
    }
  });
  sorted.row_sizes[nrows] = 0;
  close_gaps(sorted.slots.data(), buckets, kept);
  return sorted;
}

/// The first `size` values of a buffer: where little is lost the rest stays unused behind them, else they are copied.
Buffer<NodeId> shortened(Buffer<NodeId> buffer, std::size_t size, const Device& device) {
  if (size == buffer.size()) return buffer;
  if (buffer.size() - size > buffer.size() / 8) return Buffer<NodeId>::copy_of(buffer.span().first(size), device);
  auto whole = std::make_shared<Buffer<NodeId>>(std::move(buffer));
  NodeId* const data = whole->data();
  return Buffer<NodeId>::borrow(data, size, std::move(whole), device);
}

}  // namespace

CsrPattern csr_from_edges(NodeId nrows, NodeId ncols, std::span<const NodeId> rows, std::span<const NodeId> cols,
                          const EdgeListOptions& options, const Device& device) {
  if (rows.size() != cols.size())
    fail(ErrorCode::usage, fmt::format("edge list: {} rows but {} columns", rows.size(), cols.size()));
  if (!device.is_host()) return csr_from_edges(nrows, ncols, rows, cols, options).to(device);
  if (options.symmetrize) require(nrows == ncols, "edge list: only a square matrix can be made symmetric");
  const Edges edges{nrows, ncols, rows, cols, options};
  Sorted sorted = sort_entries(edges, device);
  const EdgeOffset kept = exclusive_scan(device, sorted.row_sizes.span());
  return {nrows, ncols, std::move(sorted.row_sizes), shortened(std::move(sorted.slots), kept, device), trusted};
}

}  // namespace bitgraph
