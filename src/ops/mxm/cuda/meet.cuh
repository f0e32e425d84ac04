// SPDX-License-Identifier: Apache-2.0
// What sums, masked products and counts on a CUDA device have in common: for each entry (i, k) of one matrix, the
// columns that row i of a second and row k of a third share. A block takes some entries of each of its warps:
//   two short rows     a thread compares them in registers;
//   rows much alike    a warp puts row i into a hash table in shared memory, once for all its entries (i, k), and
//                      walks along the rows k, eight lanes a row;
//   else               eight lanes, or a warp, take the columns of the shorter row and look each up in the longer:
//                      a bit of its bit row where it has one, else a binary search.
#pragma once

#include <bitgraph/core/kernel.cuh>

#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include "ops/mxm/plan.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph::mxm_cuda {

constexpr unsigned meet_threads = cuda_mxm_tuning().meet_threads;
constexpr unsigned register_row = cuda_mxm_tuning().register_row;
constexpr unsigned lone_row = cuda_mxm_tuning().lone_row;
constexpr unsigned team_row = cuda_mxm_tuning().team_row;
constexpr unsigned team_lanes = cuda_mxm_tuning().team_lanes;
constexpr unsigned table_row = cuda_mxm_tuning().table_row;
constexpr unsigned table_slots = cuda_mxm_tuning().table_slots;
constexpr unsigned walked_row = cuda_mxm_tuning().walked_row;
constexpr unsigned least_walks = cuda_mxm_tuning().least_walks;
constexpr unsigned absent = ~0U;

/// Bit rows of the long rows of a matrix.
struct HubBits {
  const std::uint32_t* place = nullptr;  ///< of each row: which bit row it has, from 1 on; null: none have one
  const std::uint32_t* bits = nullptr;
  std::size_t row_words = 0;

  [[nodiscard]] __device__ const std::uint32_t* row(NodeId i) const {
    if (place == nullptr) return nullptr;
    const std::uint32_t at = __ldg(place + i);
    return at == 0 ? nullptr : bits + (at - 1) * row_words;
  }
};

/// A matrix whose rows are compared.
struct MeetRows {
  const EdgeOffset* row_ptr = nullptr;
  const NodeId* col_ind = nullptr;
  HubBits hubs;
};

/// The place of a column in an ascending row, or `absent`.
__device__ inline unsigned place_of(const NodeId* row, unsigned size, NodeId column) {
  unsigned low = 0;
  while (size > 1) {
    const unsigned half = size / 2;
    low += __ldg(row + low + half) <= column ? half : 0;
    size -= half;
  }
  return size != 0 && __ldg(row + low) == column ? low : absent;
}

/// Adds up what the threads of a block found.
__device__ inline void add_of_block(unsigned long long found, unsigned long long* total) {
  __shared__ unsigned long long of_block;
  if (threadIdx.x == 0) of_block = 0;
  __syncthreads();
  found = warp_sum(found);
  if (threadIdx.x % 32 == 0 && found != 0) atomicAdd(&of_block, found);
  __syncthreads();
  if (threadIdx.x == 0 && of_block != 0) atomicAdd(total, of_block);
}

/// How many columns there are in all.
struct CountAll {
  static constexpr bool only_counts = true;  ///< where they stand does not matter
  static constexpr unsigned slices = 1;      ///< blocks that share what is to be done with the same entries
  unsigned long long* total;
  unsigned long long found = 0;

  __device__ void operator()(EdgeOffset, EdgeOffset, EdgeOffset) { ++found; }
  __device__ void finish() { add_of_block(found, total); }
};

/// How often an entry of the second matrix is met: counts[its place].
struct CountEach {
  static constexpr bool only_counts = false;
  static constexpr unsigned slices = 1;
  std::uint32_t* counts;

  __device__ void operator()(EdgeOffset, EdgeOffset p_at, EdgeOffset) { atomicAdd(counts + p_at, 1U); }
  __device__ void finish() {}
};

/// Row i of p and row k of q, for entry e of the driver.
struct Meeting {
  EdgeOffset e, p_begin, q_begin;
  unsigned p_size, q_size;
  NodeId p_row, q_row;
};

/// Rows of at most `longest` columns; of the second, four at a time are under way.
template <unsigned longest, class Found>
__device__ void meet_in_registers(const MeetRows& p, const MeetRows& q, const Meeting& m, Found& found) {
  constexpr unsigned batch = 4;
  NodeId columns[longest];
  for (unsigned x = 0; x < longest; ++x) {
    columns[x] = x < m.p_size ? __ldg(p.col_ind + m.p_begin + x) : ~NodeId{0};
  }
  for (unsigned base = 0; base < m.q_size; base += batch) {
    NodeId others[batch];
    for (unsigned y = 0; y < batch; ++y) {
      others[y] = base + y < m.q_size ? __ldg(q.col_ind + m.q_begin + base + y) : ~NodeId{0} - 1;
    }
    for (unsigned y = 0; y < batch; ++y) {
      for (unsigned x = 0; x < longest; ++x) {
        if (columns[x] == others[y]) found(m.e, m.p_begin + x, m.q_begin + base + y);
      }
    }
  }
}

/// Any two rows, by `lanes` threads.
template <class Found>
__device__ void meet_rows(const MeetRows& p, const MeetRows& q, const Meeting& m, unsigned lane, unsigned lanes,
                          Found& found) {
  const bool p_shorter = m.p_size <= m.q_size;
  const NodeId* shorter = p_shorter ? p.col_ind + m.p_begin : q.col_ind + m.q_begin;
  const NodeId* longer = p_shorter ? q.col_ind + m.q_begin : p.col_ind + m.p_begin;
  const unsigned size = min(m.p_size, m.q_size);
  const unsigned longer_size = max(m.p_size, m.q_size);
  const std::uint32_t* bits = p_shorter ? q.hubs.row(m.q_row) : p.hubs.row(m.p_row);
  if constexpr (Found::only_counts) {
    const std::uint32_t* others = p_shorter ? p.hubs.row(m.p_row) : q.hubs.row(m.q_row);
    if (bits != nullptr && others != nullptr && size > q.hubs.row_words / 4) {
      for (std::size_t w = lane; w < q.hubs.row_words; w += lanes)
        found.found += __popc(__ldg(bits + w) & __ldg(others + w));
      return;
    }
  }
  for (unsigned x = lane; x < size; x += lanes) {
    const NodeId column = __ldg(shorter + x);
    if (bits != nullptr) {
      if (((__ldg(bits + column / 32) >> (column % 32)) & 1U) == 0) continue;
      if constexpr (Found::only_counts) {
        ++found.found;
        continue;
      }
    }
    const unsigned at = place_of(longer, longer_size, column);
    if (at != absent) found(m.e, m.p_begin + (p_shorter ? x : at), m.q_begin + (p_shorter ? at : x));
  }
}

/// The columns of a row in a hash table in shared memory, a warp's own.
class RowTable {
 public:
  __device__ explicit RowTable(NodeId* slots) : slots_(slots) {}

  /// Puts a row in the place of the one before; the whole warp.
  __device__ void hold(const NodeId* row, unsigned size) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned bits = max(6, 32 - __clz(2 * size - 1));
    shift_ = 32 - bits;
    mask_ = (1U << bits) - 1;
    __syncwarp();
    for (unsigned s = lane; s <= mask_; s += 32) slots_[s] = empty;
    __syncwarp();
    for (unsigned x = lane; x < size; x += 32) {
      const NodeId column = __ldg(row + x);
      unsigned at = slot_of(column);
      while (atomicCAS(slots_ + at, empty, column) != empty) at = (at + 1) & mask_;
    }
    __syncwarp();
  }
  [[nodiscard]] __device__ bool has(NodeId column) const {
    unsigned at = slot_of(column);
    NodeId held = slots_[at];
    while (held != empty && held != column) held = slots_[at = (at + 1) & mask_];
    return held == column;
  }

 private:
  static constexpr NodeId empty = ~NodeId{0};
  [[nodiscard]] __device__ unsigned slot_of(NodeId column) const { return column * 2654435769U >> shift_; }
  NodeId* slots_;
  unsigned shift_ = 0;
  unsigned mask_ = 0;
};

/// Row k of q against the row of p in the table, by eight lanes.
template <class Found>
__device__ void walk_along(const RowTable& table, const MeetRows& p, const MeetRows& q, const Meeting& m,
                           Found& found) {
  const auto look_up = [&](NodeId column, unsigned y) {
    if (!table.has(column)) return;
    if constexpr (Found::only_counts) {
      ++found.found;
    } else {
      found(m.e, m.p_begin + place_of(p.col_ind + m.p_begin, m.p_size, column), m.q_begin + y);
    }
  };
  const NodeId* row = q.col_ind + m.q_begin;
  for (unsigned y = threadIdx.x % team_lanes; y < m.q_size; y += 2 * team_lanes) {
    const bool two = y + team_lanes < m.q_size;
    const NodeId first = __ldg(row + y);
    const NodeId second = two ? __ldg(row + y + team_lanes) : 0;
    look_up(first, y);
    if (two) look_up(second, y + team_lanes);
  }
}

/// The entries of a warp that take part, row by row.
template <class Found>
__device__ void meet_by_table(const MeetRows& p, const MeetRows& q, const Meeting& own, bool takes_part, NodeId* slots,
                              Found& found) {
  RowTable table(slots);
  for (unsigned todo = __ballot_sync(full_warp, takes_part); todo != 0;) {
    const unsigned leader = __ffs(todo) - 1;
    Meeting m{};
    m.p_row = __shfl_sync(full_warp, own.p_row, leader);
    m.p_begin = __shfl_sync(full_warp, own.p_begin, leader);
    m.p_size = __shfl_sync(full_warp, own.p_size, leader);
    table.hold(p.col_ind + m.p_begin, m.p_size);
    unsigned of_row = __ballot_sync(full_warp, takes_part && own.p_row == m.p_row);
    todo &= ~of_row;
    while (of_row != 0) {
      unsigned from = 32;  // the entry of this thread's team
      for (unsigned team = 0; team < 32 / team_lanes && of_row != 0; ++team, of_row &= of_row - 1) {
        if (team == threadIdx.x % 32 / team_lanes) from = __ffs(of_row) - 1;
      }
      m.q_begin = __shfl_sync(full_warp, own.q_begin, from % 32);
      m.q_size = __shfl_sync(full_warp, own.q_size, from % 32);
      if constexpr (!Found::only_counts) m.e = __shfl_sync(full_warp, own.e, from % 32);
      if (from < 32) walk_along(table, p, q, m, found);
      __syncwarp();
    }
  }
}

/// The rows of the `entries` entries of a block from `begin` on: rows leave their number in the chunk where they begin,
/// and the largest so far is the one. Returns that of entry `own`.
__device__ inline NodeId find_row(const CsrPatternView& driver, NodeId first_row, NodeId end_row, EdgeOffset begin,
                                  unsigned entries, unsigned own) {
  __shared__ unsigned rows[meet_threads];
  __shared__ unsigned of_warps[meet_threads / 32];
  rows[threadIdx.x] = 0;
  __syncthreads();
  for (NodeId r = first_row + 1 + threadIdx.x; r < driver.nrows && r <= end_row; r += meet_threads) {
    const EdgeOffset start = __ldg(driver.row_ptr + r);
    if (start < begin + entries) atomicMax(rows + (start <= begin ? 0 : start - begin), r - first_row);
  }
  __syncthreads();
  unsigned row = rows[threadIdx.x];
  for (unsigned step = 1; step < 32; step *= 2) {
    const unsigned other = __shfl_up_sync(full_warp, row, step);
    if (threadIdx.x % 32 >= step) row = max(row, other);
  }
  if (threadIdx.x % 32 == 31) of_warps[threadIdx.x / 32] = row;
  __syncthreads();
  for (unsigned w = 0; w < threadIdx.x / 32; ++w) row = max(row, of_warps[w]);
  rows[threadIdx.x] = row;
  __syncthreads();
  return first_row + rows[own];
}

/// The meeting of this thread's entry, one of the first of its warp; sizes of 0 where it has none. The whole block.
__device__ inline Meeting own_meeting(const CsrPatternView& driver, const MeetRows& p, const MeetRows& q,
                                      unsigned entries) {
  const unsigned parts = csr_chunk_items / entries;
  const NodeId chunk = blockIdx.x / parts;
  const NodeId first_row = __ldg(driver.chunk_row + chunk);
  const NodeId end_row = __ldg(driver.chunk_row + chunk + 1);
  const EdgeOffset items = EdgeOffset{driver.nrows} + driver.num_entries;
  const EdgeOffset end = min((EdgeOffset{chunk} + 1) * csr_chunk_items, items) - end_row;
  const EdgeOffset begin = EdgeOffset{chunk} * csr_chunk_items - first_row + blockIdx.x % parts * std::size_t{entries};
  Meeting m{};
  if (begin >= end) return m;
  const unsigned of_warp = entries / (meet_threads / 32);
  const unsigned own = threadIdx.x / 32 * of_warp + min(threadIdx.x % 32, of_warp - 1);
  const bool has_one = threadIdx.x % 32 < of_warp && begin + own < end;
  m.e = begin + own;
  if (has_one) {  // asked for before the rows are looked for
    m.q_row = __ldg(driver.col_ind + m.e);
    m.q_begin = __ldg(q.row_ptr + m.q_row);
    m.q_size = static_cast<unsigned>(__ldg(q.row_ptr + m.q_row + 1) - m.q_begin);
  }
  m.p_row = find_row(driver, first_row, end_row, begin, entries, own);
  if (has_one) {
    m.p_begin = __ldg(p.row_ptr + m.p_row);
    m.p_size = static_cast<unsigned>(__ldg(p.row_ptr + m.p_row + 1) - m.p_begin);
  }
  return m;
}

/// What the threads of a block leave to teams, from the front, and to warps, from the back.
struct MeetingQueue {
  Meeting meetings[meet_threads];
  unsigned num_team, num_warp, next_team, next_warp;
};

template <class Found>
__global__ void __launch_bounds__(meet_threads)
    meet(CsrPatternView driver, MeetRows p, MeetRows q, unsigned entries, Found found) {
  __shared__ MeetingQueue queue;
  __shared__ NodeId slots[meet_threads / 32][table_slots];
  if (threadIdx.x == 0) queue.num_team = queue.num_warp = queue.next_team = queue.next_warp = 0;
  __syncthreads();
  const Meeting own = own_meeting(driver, p, q, entries);
  const unsigned size = min(own.p_size, own.q_size);
  const bool is_short = max(own.p_size, own.q_size) <= register_row;
  const bool walks = !is_short && size > lone_row && own.p_size <= table_row && own.q_size <= walked_row;
  const unsigned same_row = __match_any_sync(full_warp, walks ? own.p_row : ~NodeId{0});
  const bool by_table = walks && __popc(same_row) >= least_walks;
  if (is_short) {
    if (max(own.p_size, own.q_size) <= register_row / 2) {
      if (size != 0) meet_in_registers<register_row / 2>(p, q, own, found);
    } else if (size != 0) {
      meet_in_registers<register_row>(p, q, own, found);
    }
  } else if (size <= lone_row) {
    meet_rows(p, q, own, 0, 1, found);
  } else if (by_table) {
    // below, with its warp
  } else if (size <= team_row) {
    queue.meetings[atomicAdd(&queue.num_team, 1U)] = own;
  } else {
    queue.meetings[meet_threads - 1 - atomicAdd(&queue.num_warp, 1U)] = own;
  }
  __syncwarp();
  meet_by_table(p, q, own, by_table, slots[threadIdx.x / 32], found);
  __syncthreads();
  const unsigned lane = threadIdx.x % 32;
  for (;;) {
    unsigned next = lane == 0 ? atomicAdd(&queue.next_warp, 1U) : 0;
    next = __shfl_sync(full_warp, next, 0);
    if (next >= queue.num_warp) break;
    meet_rows(p, q, queue.meetings[meet_threads - 1 - next], lane, 32, found);
  }
  constexpr unsigned teams = 32 / team_lanes;
  for (;;) {
    unsigned next = lane == 0 ? atomicAdd(&queue.next_team, teams) : 0;
    next = __shfl_sync(full_warp, next, 0);
    if (next >= queue.num_team) break;
    next += lane / team_lanes;
    if (next < queue.num_team) meet_rows(p, q, queue.meetings[next], lane % team_lanes, team_lanes, found);
    __syncwarp();
  }
  found.finish();
}

/// `longest` is that of the rows of p and q, or 0 where it is not known. Where there are few entries, and some take
/// much longer than others, blocks take fewer each.
template <class Found>
void launch_meet(const Device& device, const CsrPatternView& driver, const MeetRows& p, const MeetRows& q,
                 EdgeOffset longest, const Found& found) {
  if (driver.num_entries == 0) return;
  const bool in_small_blocks = mxm_plan::compares_in_small_blocks(driver.num_entries, driver.nrows, longest);
  const unsigned entries = in_small_blocks ? meet_threads / cuda_mxm_tuning().small_share : meet_threads;
  const dim3 blocks(driver.num_chunks * static_cast<unsigned>(csr_chunk_items / entries), Found::slices);
  meet<<<blocks, meet_threads, 0, stream_of(device)>>>(driver, p, q, entries, found);
  cuda_check_launch("meet");
}

}  // namespace bitgraph::mxm_cuda
