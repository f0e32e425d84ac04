// SPDX-License-Identifier: Apache-2.0
// Neighbour samples that a CUDA device draws by itself, bit for bit those of NeighborSampler, with all that a layer
// needs beside its pattern.
//
// A hop of a batch is a list of kernels over arrays whose sizes only the device knows. Launches are therefore as large
// as the most that a batch may need, and are the same for every batch: they can be recorded once.
//
//   count     how many neighbours each row draws; their scan is where the rows begin
//   draw      a warp a row: Floyd's way, or along the whole row where many are drawn; new nodes set a bit
//   append    the bits, counted and scanned, list the new nodes by rising id: their numbers
//   renumber  a warp a row: neighbours become numbers, with the row's own where it is missing; up to 64 are sorted
//   sort      by column, stable: the transposed pattern. Where rows are longer, back by row: rows are then sorted too
//   describe  what kernels of products know of rows beside their entries; scales
//
// Random numbers have the keys of NodeDraws (draws.hpp), so that neither the order of threads nor the device counts.
#pragma once

#include <bitgraph/core/types.hpp>

#include "core/devices/backend.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace bitgraph::nn::cuda_sampling {

/// Which batch is drawn.
struct BatchRequest {
  std::uint64_t seed = 0;   ///< seed_of_batch()
  std::uint32_t begin = 0;  ///< of its targets in the order of the epoch
  std::uint32_t count = 0;  ///< of them, at least 1
};

/// What the host learns of a hop after it is drawn.
struct HopSizes {
  std::uint32_t rows = 0;
  std::uint32_t inputs = 0;
  std::uint32_t entries = 0;
  std::uint32_t longest_row = 0;
  std::uint32_t longest_column = 0;
};

/// The graph whose nodes are drawn.
struct SampledGraph {
  NodeId num_nodes = 0;
  const EdgeOffset* row_ptr = nullptr;
  const NodeId* col_ind = nullptr;
  const std::int32_t* labels = nullptr;  ///< one a node
  const NodeId* order = nullptr;         ///< of the training nodes, in this epoch
};

/// Arrays of a CsrPattern on a device.
struct PatternArrays {
  EdgeOffset* row_ptr = nullptr;
  NodeId* col_ind = nullptr;
  NodeId* chunk_row = nullptr;
};

/// One hop: a layer of rows x inputs. The arrays have room for the most that a batch may need.
struct HopArgs {
  std::size_t fan_out = 0;
  std::uint32_t most_rows = 0;
  std::uint32_t most_inputs = 0;
  std::uint32_t most_entries = 0;
  std::size_t longest_row = 0;  ///< that a batch may have
  bool loops = false;           ///< each row takes itself in
  bool sums = false;            ///< rows are scaled up from the neighbours drawn to all, times factor
  float factor = 1;
  PatternArrays pattern, transposed;
  float* row_scale = nullptr;
  float* vote_scale = nullptr;
};

/// All of a batch but its hops.
struct BatchArrays {
  std::uint32_t most_targets = 0;
  const BatchRequest* request = nullptr;
  NodeId* nodes = nullptr;         ///< targets, then what each hop adds
  std::int32_t* labels = nullptr;  ///< one a target
  HopSizes* sizes = nullptr;       ///< one a hop
};

/// Memory that samples drawn one after another share.
struct SampleScratch {
  NodeId* place = nullptr;          ///< a node's number, all bits set between samples
  std::uint32_t* marks = nullptr;   ///< a bit a node, 0 between samples
  NodeId* fresh_before = nullptr;   ///< one a word of marks and one more
  EdgeOffset* drawn_ptr = nullptr;  ///< rows + 1: where the neighbours of each begin
  NodeId* drawn = nullptr;          ///< one a neighbour, and so are the next four with the rows' own entries
  NodeId* numbered = nullptr;       ///< columns, before they are sorted
  NodeId* rows_of_entries = nullptr;
  NodeId* sorted_columns = nullptr;
  NodeId* sorted_rows = nullptr;
  void* library = nullptr;  ///< for scans and sorts
  std::size_t library_bytes = 0;
};

struct SampleArgs {
  SampledGraph graph;
  BatchArrays batch;
  SampleScratch scratch;
  std::span<const HopArgs> hops;               ///< the targets' first
  const BatchRequest* request_here = nullptr;  ///< in pinned memory of the host, and so is the next
  HopSizes* sizes_here = nullptr;
};

/// Rows of more entries are sorted by another way.
inline constexpr std::size_t most_sorted_by_warp = 64;

/// Words of SampleScratch::marks.
[[nodiscard]] constexpr std::size_t mark_words(NodeId num_nodes) noexcept { return (std::size_t{num_nodes} + 31) / 32; }

/// SampleScratch::library_bytes for these hops.
[[nodiscard]] std::size_t library_bytes(const Cuda& backend, NodeId num_nodes, std::span<const HopArgs> hops);

/// Draws the batch that `request_here` asks for at the time when the device comes to it, and brings its sizes to
/// `sizes_here`. Allocates nothing and waits for nothing: it may be recorded. At least one hop, none of them with a
/// fan-out of 0; the targets are different nodes of the graph.
void draw_sample(const Cuda& backend, const SampleArgs& args);

}  // namespace bitgraph::nn::cuda_sampling
