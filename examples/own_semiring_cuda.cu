// SPDX-License-Identifier: Apache-2.0
// own_semiring.cpp on a CUDA device. The functions of the semiring are constexpr, and nvcc compiles the file with
// --expt-relaxed-constexpr. The loop around the product runs on the device.
#include <bitgraph/bitgraph.hpp>

#include <cstdio>

namespace {

using bitgraph::NodeId;

struct Flow {
  float width = 0;
  NodeId from = 0;
};

struct Widest {
  template <class T>
  static constexpr T identity() {
    return {};
  }
  template <class T>
  static constexpr T add(T a, T b) {
    if (a.width != b.width) return a.width < b.width ? b : a;
    return a.from < b.from ? a : b;  // ties go to the smaller node: adding stays commutative
  }
  template <class T>
  static constexpr T multiply(T x) {
    return x;
  }
};

/// What arrives goes on as far as the node's capacity lets it; a wider path than the best so far takes its place. The
/// capacity stands in the place of a flow's width, the node in that of where it comes from.
struct Arrive {
  constexpr Flow operator()(const Flow& arriving, const Flow& node) const {
    return {arriving.width < node.width ? arriving.width : node.width, node.from};
  }
};
struct KeepWider {
  constexpr Flow operator()(const Flow& best, const Flow& arrived) const {
    return arrived.width > best.width ? arrived : best;
  }
};
struct Width {
  constexpr float operator()(const Flow& flow) const { return flow.width; }
};

}  // namespace

int main() {
  using namespace bitgraph;
  const Device device = Device::best();
  std::printf("on %s\n", device.name().c_str());
  const CsrPattern graph = generate_grid(30, 20);
  const NodeId n = graph.nrows();
  const BitTileMatrix tiles = pack(graph, {.tile_dim = 8}, device);

  Buffer<Flow> nodes(n);
  Buffer<Flow> start(n, Flow{});
  for (NodeId i = 0; i < n; ++i) nodes[i] = {static_cast<float>(1 + i * 37 % 101), i};
  start[0] = {1000, 0};
  const Buffer<Flow> capacity = nodes.to(device);
  Buffer<Flow> best = start.to(device);
  Buffer<Flow> arriving(n, device);
  int steps = 0;
  float before = -1;
  for (float total = 0; total != before; ++steps) {  // widths only grow: when their sum stays, all of them do
    before = total;
    mxv_with(arriving, Widest{}, tiles, best);
    ewise_mult_into(arriving, Arrive{}, arriving, capacity);
    ewise_mult_into(best, KeepWider{}, best, arriving);
    total = reduce(plus_monoid, apply(Width{}, best));
  }
  const Flow last = best.to(Device{})[n - 1];
  std::printf("%d steps; node %u is reached with width %g\n", steps, n - 1, static_cast<double>(last.width));
  return last.width > 0 ? 0 : 1;
}
