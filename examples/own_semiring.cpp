// SPDX-License-Identifier: Apache-2.0
// A semiring of your own: the widest path. Every node has a capacity. A path carries as much as its narrowest node
// lets through, and the best path to a node is the one that carries most. In the semiring, adding takes the maximum,
// and multiplying with an entry of the matrix changes nothing. After each step the capacity of the node limits the
// result.
#include <bitgraph/bitgraph.hpp>

#include <algorithm>
#include <cstdio>

namespace {

/// A value that carries where it came from: beyond the types of the library's own kernels.
struct Flow {
  float width = 0;
  bitgraph::NodeId from = 0;
  friend bool operator==(const Flow&, const Flow&) = default;
};

struct Widest {
  template <class T>
  static T identity() {
    return {};
  }
  template <class T>
  static T add(T a, T b) {
    if (a.width != b.width) return a.width < b.width ? b : a;
    return a.from < b.from ? a : b;  // ties go to the smaller node: adding stays commutative
  }
  template <class T>
  static T multiply(T x) {
    return x;
  }
};

}  // namespace

int main() {
  using namespace bitgraph;
  const CsrPattern graph = generate_grid(30, 20);
  const BitTileMatrix tiles = pack(graph, {.tile_dim = 8});
  const NodeId n = graph.nrows();
  const auto capacity = [](NodeId i) { return static_cast<float>(1 + i * 37 % 101); };

  Buffer<Flow> best(n, Flow{});
  Buffer<Flow> arriving(n);
  best[0] = {1000, 0};
  int steps = 0;
  for (bool changed = true; changed; ++steps) {
    mxv_with(arriving, Widest{}, tiles, best);
    changed = false;
    for (NodeId i = 0; i < n; ++i) {
      const float width = std::min(arriving[i].width, capacity(i));
      if (width > best[i].width) {
        best[i] = {width, i};
        changed = true;
      }
    }
  }
  std::printf("%d steps; node %u is reached with width %g\n", steps, n - 1, static_cast<double>(best[n - 1].width));
  return best[n - 1].width > 0 ? 0 : 1;
}
