// SPDX-License-Identifier: Apache-2.0
// Builds the layout for strips. One radix sort ranks the nodes. Every entry then becomes a key of its block, strip,
// slot and column, and a second radix sort orders the lists of all blocks.
#include "graph/pagerank/cuda_strips.cuh"

#include "core/cuda/limits.hpp"
#include "formats/cuda/keys.cuh"

#include <bitgraph/core/error.hpp>
#include <bitgraph/formats/rows_of.cuh>

#include <algorithm>
#include <utility>

namespace bitgraph::pagerank_cuda {

namespace {

constexpr unsigned threads = 256;
constexpr EdgeOffset least_entries = EdgeOffset{1} << 20;  ///< fewer are done before the strips are there
constexpr EdgeOffset pieces_a_block = 16;                  ///< that a block's work would be, if it had long rows only
constexpr EdgeOffset least_near = 1500;                    ///< entries of a block in a strip that is worth bringing
/// Shared memory of a block, what the system and the kernel take besides included, as far as there is so much. More
/// would leave the first-level cache too little for the entries that are under way.
constexpr std::size_t most_shared = std::size_t{196} << 10;
constexpr std::size_t other_shared = 2048;

// The fields of an entry's key, from the lowest bit on.
constexpr int column_bits = 28;
constexpr int strip_bits = 10;
constexpr int block_bits = 10;
constexpr int slot_at = column_bits;
constexpr int strip_at = slot_at + strip_slot_bits;
constexpr int block_at = strip_at + strip_bits;
static_assert(block_at + block_bits == 64);

/// A list of a block: the entries of a strip, or what is far.
struct List {
  unsigned first_key = 0;
  unsigned size = 0;
  unsigned run = 0;    ///< entries a thread
  unsigned begin = 0;  ///< in entries_together of all threads, of far ones in pairs
};

struct Ranking {
  const NodeId* rank_of = nullptr;            ///< of each row
  const EdgeOffset* pieces_before = nullptr;  ///< pieces of long rows of smaller rank
  EdgeOffset longest_piece = 0;
};

__device__ EdgeOffset length_of(const CsrPatternView& a, NodeId row) { return a.row_ptr[row + 1] - a.row_ptr[row]; }

__device__ EdgeOffset pieces_of(EdgeOffset length, EdgeOffset longest_piece) {
  return length <= longest_piece ? 0 : (length + longest_piece - 1) / longest_piece;
}

/// Nodes with many out-edges come first, those without any edge last.
__global__ void write_rank_keys(CsrPatternView in, CsrPatternView out, std::uint64_t* keys) {
  const NodeId i = blockIdx.x * threads + threadIdx.x;
  if (i < in.nrows) keys[i] = ((out.longest_row - length_of(out, i)) * 2 + (length_of(in, i) == 0 ? 1 : 0)) << 32 | i;
}

/// By rank: the row, its out-edges, its pieces; and the number of nodes with edges.
__global__ void read_ranks(const std::uint64_t* keys, CsrPatternView in, CsrPatternView out, EdgeOffset longest_piece,
                           NodeId* rank_of, NodeId* row_of, EdgeOffset* degree, EdgeOffset* pieces, NodeId* num_tied) {
  const NodeId i = blockIdx.x * threads + threadIdx.x;
  if (i >= in.nrows) return;
  const auto row = static_cast<NodeId>(keys[i]);
  rank_of[row] = i;
  row_of[i] = row;
  degree[i] = length_of(out, row);
  pieces[i] = pieces_of(length_of(in, row), longest_piece);
  if (degree[i] == 0 && length_of(in, row) == 0) atomicMin(num_tied, i);
}

/// samples[i]: what there is before strip i.
__global__ void sample(const EdgeOffset* before, Deal deal, EdgeOffset* samples, unsigned size) {
  const unsigned i = blockIdx.x * threads + threadIdx.x;
  if (i < size) samples[i] = before[min(i * deal.strip(), deal.n)];
}

/// A block a chunk of rows and entries. The entries of a long row are dealt to its pieces.
__global__ void __launch_bounds__(threads)
    write_entry_keys(CsrPatternView in, StripView a, Ranking ranking, std::uint64_t* keys) {
  const NodeId low = in.chunk_row[blockIdx.x];
  const NodeId high = min(in.chunk_row[blockIdx.x + 1], in.nrows - 1);
  const EdgeOffset end =
      min(EdgeOffset{blockIdx.x + 1} * csr_chunk_items - in.chunk_row[blockIdx.x + 1], in.num_entries);
  for (EdgeOffset e = EdgeOffset{blockIdx.x} * csr_chunk_items - low + threadIdx.x; e < end; e += threads) {
    const NodeId row = detail::row_of(in.row_ptr, low, high, e);
    const NodeId rank = ranking.rank_of[row];
    unsigned block = a.deal.block(rank);
    unsigned slot = a.deal.slot(rank);
    const EdgeOffset pieces = pieces_of(length_of(in, row), ranking.longest_piece);
    if (pieces != 0) {
      const EdgeOffset piece = ranking.pieces_before[rank] + (e - in.row_ptr[row]) % pieces;
      block = static_cast<unsigned>(piece % a.deal.blocks);
      slot = a.num_slots + static_cast<unsigned>(piece / a.deal.blocks);
    }
    const NodeId place = a.deal.place(ranking.rank_of[in.col_ind[e]]);
    const unsigned strip = min(place / a.deal.strip(), a.num_near);
    const NodeId column = strip == a.num_near ? place : place % a.deal.strip();
    keys[e] =
        std::uint64_t{block} << block_at | std::uint64_t{strip} << strip_at | std::uint64_t{slot} << slot_at | column;
  }
}

/// Where the lists begin; one more, where the last one ends.
__global__ void find_lists(const std::uint64_t* keys, EdgeOffset size, unsigned lists, unsigned of_block,
                           unsigned* first_key) {
  const unsigned list = blockIdx.x * threads + threadIdx.x;
  if (list > lists) return;
  const std::uint64_t key = std::uint64_t{list / of_block} << strip_bits | list % of_block;
  EdgeOffset low = 0;
  EdgeOffset high = size;
  while (low < high) {
    const EdgeOffset middle = (low + high) / 2;
    if (keys[middle] >> strip_at < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  first_key[list] = static_cast<unsigned>(low);
}

/// Entry k of a list as it lies in memory: of which thread, and which of its run.
template <unsigned Together, class Entry>
__device__ Entry entry_at(const std::uint64_t* keys, const List& list, unsigned k, NodeId nothing, int slot_shift) {
  const unsigned thread = k / Together % strip_threads;
  const unsigned at = thread * list.run + k / (Together * strip_threads) * Together + k % Together;
  // Behind the last entry come zeros for its slot.
  const std::uint64_t key = keys[list.first_key + min(at, list.size - 1)];
  const Entry slot = static_cast<Entry>(key >> slot_at & ((1U << strip_slot_bits) - 1));
  const Entry column = at < list.size ? static_cast<Entry>(key & ((1U << column_bits) - 1)) : Entry{nothing};
  return slot << slot_shift | column;
}

__global__ void write_near(const std::uint64_t* keys, const List* lists, StripView a, std::uint32_t* entries) {
  const List list = lists[blockIdx.y * (a.num_near + 1) + blockIdx.x];
  for (unsigned k = threadIdx.x; k < list.run * strip_threads; k += blockDim.x) {
    entries[std::size_t{list.begin} * strip_threads * entries_together + k] =
        entry_at<entries_together, std::uint32_t>(keys, list, k, a.deal.strip(), strip_column_bits);
  }
}

__global__ void write_far(const std::uint64_t* keys, const List* lists, StripView a, std::uint64_t* entries) {
  const List list = lists[blockIdx.y * (a.num_near + 1) + a.num_near];
  for (unsigned k = blockIdx.x * blockDim.x + threadIdx.x; k < list.run * strip_threads; k += gridDim.x * blockDim.x) {
    entries[std::size_t{list.begin} * strip_threads * 2 + k] =
        entry_at<2, std::uint64_t>(keys, list, k, a.deal.num_places(), 32);
  }
}

/// A long row has two pieces at least: half its first piece's number is its own.
__global__ void write_long_rows(Deal deal, const EdgeOffset* pieces_before, LongRow* long_rows,
                                std::uint32_t* is_long) {
  const NodeId i = blockIdx.x * threads + threadIdx.x;
  if (i >= deal.n || pieces_before[i] == pieces_before[i + 1]) return;
  const NodeId place = deal.place(i);
  const auto first = static_cast<unsigned>(pieces_before[i]);
  atomicOr(&is_long[place / 32], 1U << (place % 32));
  long_rows[first / 2] = {place, first, static_cast<unsigned>(pieces_before[i + 1]) - first};
}

__global__ void write_inverse_degrees(Deal deal, const NodeId* row_of, CsrPatternView out, float* inverse_degree) {
  const NodeId i = blockIdx.x * threads + threadIdx.x;
  if (i >= deal.n) return;
  const EdgeOffset degree = length_of(out, row_of[i]);
  inverse_degree[deal.place(i)] = degree == 0 ? 0.0F : static_cast<float>(1 / static_cast<double>(degree));
}

__global__ void __launch_bounds__(threads) start_places(Deal deal, Nodes<float> nodes, Gathering sums) {
  Totals mine;
  for (NodeId i = blockIdx.x * threads + threadIdx.x; i < deal.n; i += gridDim.x * threads) {
    const NodeId place = deal.place(i);
    const auto rank = static_cast<float>(1 / static_cast<double>(deal.n));
    nodes.rank[place] = rank;
    nodes.share[place] = rank * nodes.inverse_degree[place];
    mine = mine + Totals{0, nodes.inverse_degree[place] == 0 ? rank : 0, rank};
  }
  gather<threads>(sums, mine);
}

__global__ void write_rows(Deal deal, const NodeId* row_of, const float* of_place, float* of_row) {
  const NodeId i = blockIdx.x * threads + threadIdx.x;
  if (i < deal.n) of_row[row_of[i]] = of_place[deal.place(i)];
}

}  // namespace

/// Makes a layout step by step.
class StripLayoutMaker {
 public:
  StripLayoutMaker(const Device& device, const CsrPatternView& in, const CsrPatternView& out)
      : in_(in), out_(out), stream_(stream_of(device)), limits_(cuda_limits(device)), longest_piece_(0) {
    layout_.device_ = device;
  }

  /// False where it does not pay.
  [[nodiscard]] bool rank_nodes() {
    const Device& device = layout_.device_;
    const NodeId n = in_.nrows;
    if (limits_.major < 9 || in_.num_entries < least_entries || in_.num_entries >= EdgeOffset{1} << 32 ||
        n >= NodeId{1} << (column_bits - 1)) {
      return false;
    }
    Deal& deal = view().deal;
    deal.n = n;
    deal.blocks = limits_.multiprocessors;
    if (deal.blocks >= 1U << block_bits) return false;
    longest_piece_ = in_.num_entries / deal.blocks / pieces_a_block;
    Buffer<std::uint64_t> keys(n, device);
    write_rank_keys<<<blocks_for(n, threads), threads, 0, stream_>>>(in_, out_, keys.data());
    cuda_check_launch("write_rank_keys");
    keys = cuda_formats::sorted(std::move(keys), 32, 32 + cuda_formats::bits_for(2 * out_.longest_row + 2));
    rank_of_ = Buffer<NodeId>(n, device);
    layout_.row_of_ = Buffer<NodeId>(n, device);
    columns_before_ = Buffer<EdgeOffset>(std::size_t{n} + 1, 0, device);
    pieces_before_ = Buffer<EdgeOffset>(std::size_t{n} + 1, 0, device);
    Buffer<NodeId> num_tied(1, n, device);
    read_ranks<<<blocks_for(n, threads), threads, 0, stream_>>>(keys.data(), in_, out_, longest_piece_, rank_of_.data(),
                                                                layout_.row_of_.data(), columns_before_.data(),
                                                                pieces_before_.data(), num_tied.data());
    cuda_check_launch("read_ranks");
    static_cast<void>(cuda_formats::exclusive_scan(columns_before_));
    view().num_pieces = static_cast<unsigned>(cuda_formats::exclusive_scan(pieces_before_));
    view().num_long = (view().num_pieces + 1) / 2;
    view().num_slots = (num_tied.to(Device{})[0] + deal.blocks - 1) / deal.blocks;
    view().all_slots = view().num_slots + (view().num_pieces + deal.blocks - 1) / deal.blocks;
    const std::size_t shared = limits_.shared_bytes_a_multiprocessor;
    return choose_strips(std::min(shared, most_shared) - other_shared);
  }

  void lay_out() {
    write_lists(sorted_keys());
    const Device& device = layout_.device_;
    const Deal& deal = view().deal;
    layout_.is_long_ = Buffer<std::uint32_t>(deal.num_places() / 32 + 1, 0U, device);
    layout_.long_rows_ = Buffer<LongRow>(view().num_long, device);
    cuda_check(cudaMemsetAsync(layout_.long_rows_.data(), 0, layout_.long_rows_.bytes(), stream_), "long rows");
    write_long_rows<<<blocks_for(deal.n, threads), threads, 0, stream_>>>(
        deal, pieces_before_.data(), layout_.long_rows_.data(), layout_.is_long_.data());
    cuda_check_launch("write_long_rows");
  }

  [[nodiscard]] StripLayout take() { return std::move(layout_); }

 private:
  [[nodiscard]] StripView& view() { return layout_.view_; }

  /// Strips are as wide as the shared memory beside the sums allows, `capacity` bytes in all. A strip is near as long
  /// as enough entries are in it.
  [[nodiscard]] bool choose_strips(std::size_t capacity) {
    StripView& a = view();
    if (a.all_slots >= 1U << strip_slot_bits) return false;
    const std::size_t fixed = a.shared_bytes();  // strips without columns, as yet
    if (fixed > capacity / 2) return false;
    const std::size_t most = (std::size_t{1} << strip_column_bits) - 4;  // behind the last column come four zeros
    const std::size_t columns = std::min((capacity - fixed) / sizeof(float), most);
    a.deal.part = static_cast<unsigned>(columns / a.deal.blocks / 4 * 4);
    if (a.deal.part == 0) return false;
    const Buffer<EdgeOffset> before = entries_before_strips();
    while (a.num_near + 1 < before.size() && a.num_near + 2 < 1U << strip_bits &&
           before[a.num_near + 1] - before[a.num_near] >= least_near * a.deal.blocks) {
      ++a.num_near;
    }
    return 2 * before[a.num_near] > in_.num_entries;
  }

  /// Of all strips, and of one behind them.
  [[nodiscard]] Buffer<EdgeOffset> entries_before_strips() {
    const Deal& deal = view().deal;
    Buffer<EdgeOffset> before(deal.num_places() / deal.strip() + 1, layout_.device_);
    sample<<<blocks_for(before.size(), threads), threads, 0, stream_>>>(columns_before_.data(), deal, before.data(),
                                                                        static_cast<unsigned>(before.size()));
    cuda_check_launch("sample");
    return before.to(Device{});
  }

  [[nodiscard]] Buffer<std::uint64_t> sorted_keys() {
    Buffer<std::uint64_t> keys(in_.num_entries, layout_.device_);
    write_entry_keys<<<in_.num_chunks, threads, 0, stream_>>>(
        in_, view(), Ranking{rank_of_.data(), pieces_before_.data(), longest_piece_}, keys.data());
    cuda_check_launch("write_entry_keys");
    return cuda_formats::sorted(std::move(keys), slot_at, block_at + cuda_formats::bits_for(view().deal.blocks));
  }

  void write_lists(const Buffer<std::uint64_t>& keys) {
    const Device& device = layout_.device_;
    const StripView& a = view();
    const unsigned of_block = a.num_near + 1;
    const unsigned num_lists = a.deal.blocks * of_block;
    Buffer<unsigned> first_key(num_lists + 1, device);
    find_lists<<<blocks_for(num_lists + 1, threads), threads, 0, stream_>>>(keys.data(), keys.size(), num_lists,
                                                                            of_block, first_key.data());
    cuda_check_launch("find_lists");
    const Buffer<List> lists = place_lists(first_key.to(Device{}));
    layout_.near_ = Buffer<std::uint32_t>(std::size_t{near_} * strip_threads * entries_together, device);
    layout_.far_ = Buffer<std::uint64_t>(std::size_t{far_} * strip_threads * 2, device);
    write_near<<<dim3(a.num_near, a.deal.blocks), 512, 0, stream_>>>(keys.data(), lists.data(), a,
                                                                     layout_.near_.data());
    write_far<<<dim3(16, a.deal.blocks), 512, 0, stream_>>>(keys.data(), lists.data(), a, layout_.far_.data());
    cuda_check_launch("write_far");
  }

  /// Where the lists lie, and what the kernel needs to know of it.
  [[nodiscard]] Buffer<List> place_lists(const Buffer<unsigned>& first_key) {
    const StripView& a = view();
    const unsigned of_block = a.num_near + 1;
    Buffer<List> lists(std::size_t{a.deal.blocks} * of_block);
    Buffer<unsigned> near_begin(a.deal.blocks + 1);
    Buffer<unsigned> far_begin(a.deal.blocks + 1);
    Buffer<unsigned> near_end(std::size_t{a.deal.blocks} * a.num_near);
    for (unsigned block = 0; block < a.deal.blocks; ++block) {
      near_begin[block] = near_;
      far_begin[block] = far_;
      for (unsigned strip = 0; strip < of_block; ++strip) {
        const unsigned number = block * of_block + strip;
        const bool is_far = strip == a.num_near;
        const unsigned together = is_far ? 2 : entries_together;
        unsigned& end = is_far ? far_ : near_;
        List& list = lists[number];
        list = {first_key[number], first_key[number + 1] - first_key[number], 0, end};
        const unsigned steps = (list.size + strip_threads * together - 1) / (strip_threads * together);
        list.run = steps * together;
        end += steps;
        if (!is_far) near_end[std::size_t{block} * a.num_near + strip] = near_ - near_begin[block];
      }
    }
    near_begin[a.deal.blocks] = near_;
    far_begin[a.deal.blocks] = far_;
    layout_.near_begin_ = near_begin.to(layout_.device_);
    layout_.near_end_ = near_end.to(layout_.device_);
    layout_.far_begin_ = far_begin.to(layout_.device_);
    return lists.to(layout_.device_);
  }

  CsrPatternView in_, out_;
  cudaStream_t stream_;
  CudaLimits limits_;
  EdgeOffset longest_piece_;
  StripLayout layout_;
  Buffer<NodeId> rank_of_;
  Buffer<EdgeOffset> columns_before_, pieces_before_;  // of each rank
  unsigned near_ = 0;                                  // entries_together of all threads
  unsigned far_ = 0;                                   // pairs
};

std::optional<StripLayout> StripLayout::make(const Device& device, const CsrPatternView& in,
                                             const CsrPatternView& out) {
  const ScopedCudaDevice scope(device.index());
  try {
    StripLayoutMaker maker(device, in, out);
    if (!maker.rank_nodes()) return std::nullopt;
    maker.lay_out();
    return maker.take();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_possible) throw;
    return std::nullopt;  // for lack of memory
  }
}

StripView StripLayout::view() const {
  StripView a = view_;
  a.near = near_.data();
  a.near_begin = near_begin_.data();
  a.near_end = near_end_.data();
  a.far = reinterpret_cast<const ulonglong2*>(far_.data());
  a.far_begin = far_begin_.data();
  a.long_rows = long_rows_.data();
  a.is_long = is_long_.data();
  return a;
}

std::size_t StripLayout::bytes() const noexcept {
  return row_of_.bytes() + near_.bytes() + is_long_.bytes() + far_.bytes() + near_begin_.bytes() + near_end_.bytes() +
         far_begin_.bytes() + long_rows_.bytes();
}

void StripLayout::start(const Nodes<float>& nodes, const Gathering& sums) const {
  constexpr unsigned most_blocks = 528;
  start_places<<<std::min(blocks_for(view_.deal.n, threads), most_blocks), threads, 0, stream_of(device_)>>>(
      view_.deal, nodes, sums);
  cuda_check_launch("start_places");
}

void StripLayout::invert_degrees(const CsrPatternView& out, float* inverse_degree) const {
  write_inverse_degrees<<<blocks_for(view_.deal.n, threads), threads, 0, stream_of(device_)>>>(
      view_.deal, row_of_.data(), out, inverse_degree);
  cuda_check_launch("write_inverse_degrees");
}

void StripLayout::order(const float* of_place, float* of_row) const {
  write_rows<<<blocks_for(view_.deal.n, threads), threads, 0, stream_of(device_)>>>(view_.deal, row_of_.data(),
                                                                                    of_place, of_row);
  cuda_check_launch("write_rows");
}

}  // namespace bitgraph::pagerank_cuda
