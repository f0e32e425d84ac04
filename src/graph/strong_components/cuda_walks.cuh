// SPDX-License-Identifier: Apache-2.0
// The arguments of the kernel of strong components, and the work of its steps on one edge. See cuda.cu.
#pragma once

#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <bitgraph/core/kernel.cuh>

#include <cstdint>

namespace bitgraph::strong_cuda {

constexpr unsigned near_width = 4;    ///< entries of a row in a table of columns
constexpr unsigned most_near = 1024;  ///< rows that a block alone queues in shared memory
constexpr NodeId none = ~NodeId{0};
constexpr std::uint64_t done = ~std::uint64_t{0};  ///< the part of a row whose component is known

/// State that all blocks share. A step writes the entries of its number modulo 3.
struct Control {
  unsigned queued[3];
  unsigned num_long[2][3];                        ///< of each of two lists
  unsigned count;                                 ///< of components
  unsigned queued_alone, turn_alone, step_alone;  ///< where a block alone left off
};

/// State that the threads of a block share when it works alone. By turns, the rows that are queued and their columns.
struct Alone {
  unsigned queued[3];
  NodeId row[2][most_near];
  uint4 columns[2][most_near];
};

struct Args {
  CsrPatternView out;
  CsrPatternView in;
  const uint4* near_out;  ///< columns of all rows, nrows where there is none; null where a row has more
  const uint4* near_in;
  unsigned few_rows;     ///< no more than this in a queue are left to one block
  NodeId* owner;         ///< out: a row of every row's component, the same for all of them
  std::uint64_t* color;  ///< of rows
  std::uint64_t* part;   ///< rows of different ones are in different components
  unsigned* num_in;      ///< other rows left that lead to a row; later, the step that queued it last
  unsigned* num_out;
  NodeId* queue[2];
  NodeId* open[2];
  NodeId* long_rows[2];
  Control* control;
};

/// Others' values are read past the first-level cache.
inline __device__ std::uint64_t load(const std::uint64_t* value) {
  return __ldcg(reinterpret_cast<const unsigned long long*>(value));
}

// Walks, of which each_edge() makes a step: what is known of a row and of a row that it leads to is loaded first, for a
// few edges at a time; then take(), where wants() says so, changes the latter; is_first() tells from what take()
// returned whether the row is to be queued, and none of them waits for the one before.

/// Colours go on to rows of the same part.
struct RaiseColors {
  struct Known {
    std::uint64_t part, color;
  };
  const Args& a;
  unsigned step;

  __device__ Known of_row(NodeId v) const { return {load(a.part + v), load(a.color + v)}; }
  __device__ Known look(NodeId w) const { return of_row(w); }
  __device__ bool wants(const Known& v, const Known& w) const { return w.part == v.part && w.color < v.color; }
  __device__ unsigned take(const Known& v, NodeId w) const {
    atomicMax(reinterpret_cast<unsigned long long*>(a.color + w), v.color);
    return atomicExch(a.num_in + w, step);
  }
  /// Of a step, whichever colour the row gets.
  __device__ bool is_first(NodeId /*w*/, unsigned before) const { return before != step; }
};

/// Rows that lead to an owned row of their colour, which is of their part then, have its owner.
struct SendOwners {
  struct Known {
    std::uint64_t color;
    NodeId owner;
  };
  const Args& a;

  __device__ Known of_row(NodeId v) const { return {load(a.color + v), __ldcg(a.owner + v)}; }
  __device__ Known look(NodeId w) const { return of_row(w); }
  __device__ bool wants(const Known& v, const Known& w) const { return w.owner == none && w.color == v.color; }
  __device__ NodeId take(const Known& v, NodeId w) const { return atomicCAS(a.owner + w, none, v.owner); }
  __device__ bool is_first(NodeId /*w*/, NodeId before) const { return before == none; }
};

/// Makes a row a component of its own; false where it was one.
inline __device__ bool take_away(const Args& a, NodeId v) {
  if (atomicCAS(a.owner + v, none, v) != none) return false;
  a.part[v] = done;
  return true;
}

/// Rows that are taken away count no more among the neighbours of others.
struct LeaveNeighbors {
  using Known = NodeId;
  const Args& a;
  unsigned* num;  ///< of edges one way

  __device__ Known of_row(NodeId v) const { return v; }
  __device__ Known look(NodeId w) const { return w; }
  __device__ bool wants(NodeId v, NodeId w) const { return w != v; }
  __device__ unsigned take(NodeId /*v*/, NodeId w) const { return atomicSub(num + w, 1U); }
  __device__ bool is_first(NodeId w, unsigned before) const { return before == 1 && take_away(a, w); }
};

}  // namespace bitgraph::strong_cuda
