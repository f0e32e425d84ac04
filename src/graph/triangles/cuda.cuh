// SPDX-License-Identifier: Apache-2.0
// Triangles on a CUDA device: the prepared lists, and the arguments of the kernels. See cuda.cu.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <cstdint>

namespace bitgraph {

/// Where a node's list begins and how long it is, in one word: a list of earlier neighbours, where nodes go by falling
/// degree, is no longer than the square root of 2 m.
struct ListPlace {
  static constexpr int length_bits = 24;
  std::uint64_t packed = 0;

  static constexpr ListPlace make(std::uint64_t first, std::uint64_t length) noexcept {
    return {first << length_bits | length};
  }
  [[nodiscard]] constexpr std::uint64_t first() const noexcept { return packed >> length_bits; }
  [[nodiscard]] constexpr unsigned length() const noexcept {
    return static_cast<unsigned>(packed & ((1U << length_bits) - 1));
  }
};

/// A part of a node's list that a warp takes on: the node, and the number of the first element.
struct TriangleTask {
  NodeId node;
  unsigned begin;
};

inline constexpr unsigned hub_task = 64;  ///< elements of a task whose other lists are bit rows
inline constexpr unsigned far_task = 32;  ///< of one whose other lists are looked through
inline constexpr unsigned tiny_list = 4;  ///< longest list that a thread takes on alone
inline constexpr int hub_word_bits = 32;

/// Nodes in the order of falling degree; each has the list of its neighbours earlier in that order, ascending. The
/// lists of the first nodes, the hubs, are bit rows too, and what any list has among the hubs stands as words also: the
/// word's number in a bit row in the upper half, its bits in the lower.
struct TriangleLists {
  NodeId num_nodes = 0;
  NodeId num_hubs = 0;                   ///< a multiple of 32, or of all nodes
  std::size_t row_words = 0;             ///< 32-bit words of a bit row
  const std::uint64_t* place = nullptr;  ///< ListPlace of each node
  const NodeId* neighbours = nullptr;    ///< the lists
  const std::uint64_t* words = nullptr;  ///< a node's first one stands where its list's first neighbour does
  const unsigned* num_words = nullptr;   ///< of each node
  const unsigned* num_near = nullptr;    ///< of each node: neighbours among the hubs
  const std::uint32_t* bits = nullptr;   ///< bit rows of the hubs
  const TriangleTask* hub_tasks = nullptr;
  unsigned num_hub_tasks = 0;
  const TriangleTask* far_tasks = nullptr;
  unsigned num_far_tasks = 0;
};

struct TriangleTotals {
  std::uint64_t triangles = 0;
  std::uint64_t pairs = 0;  ///< of neighbours, of all nodes
};

/// The lists of a graph and the memory they take.
class CudaTriangles {
 public:
  /// `a` is symmetric and on the device; it is not needed afterwards. Throws not_possible for 2^30 nodes or more.
  CudaTriangles(const Device& device, const CsrPatternView& a, EdgeOffset nvals);

  /// The number of triangles. Waits for it.
  [[nodiscard]] std::uint64_t count();

  /// Puts the counting on the device's stream and returns where its result will be, on the device.
  const std::uint64_t* launch();

  /// Writes the triangles of each node, on the device. `new_id` is the row of every node; null where rows are nodes.
  /// Put on the device's stream.
  void count_of_nodes(const NodeId* new_id, std::uint64_t* counts);

  /// Writes the clustering coefficient of each node, from its triangles. Waits for the totals.
  [[nodiscard]] TriangleTotals coefficients(const NodeId* new_id, const std::uint64_t* counts, double* local);

 private:
  void order_nodes(const CsrPatternView& a);
  void make_lists(const CsrPatternView& a, EdgeOffset nvals);
  void make_bit_rows();
  void make_tasks();

  Device device_;
  TriangleLists lists_;
  Buffer<NodeId> rank_;
  Buffer<std::uint64_t> place_;
  Buffer<NodeId> neighbours_;
  Buffer<std::uint64_t> words_;
  Buffer<unsigned> num_words_, num_near_;
  Buffer<std::uint32_t> bits_;
  Buffer<TriangleTask> hub_tasks_, far_tasks_;
  Buffer<std::uint64_t> total_;
  Buffer<unsigned> num_others_;    // neighbours of each row, itself left out
  Buffer<std::uint64_t> of_rank_;  // only where counts of nodes were asked for
};

/// Adds the triangles to *total.
void launch_triangles(const Device& device, const TriangleLists& lists, std::uint64_t* total);

}  // namespace bitgraph
