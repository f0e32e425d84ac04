// SPDX-License-Identifier: Apache-2.0
// Cuts the output of mxv into strips and gives each thread its share.
#include "ops/mxv/cpu.hpp"

#include "core/parallel.hpp"
#include "ops/mxv/cpu_push.hpp"
#include "ops/mxv/instantiate.hpp"

#include <algorithm>
#include <array>

namespace bitgraph {

namespace {

using mxv_cpu::GraphRef;
using mxv_cpu::Reduction;
using mxv_cpu::strip_rows;
using mxv_cpu::StripRange;

/// Below this many entries or tiles a call is over before other threads are awake.
constexpr EdgeOffset serial_work = 1U << 13;

/// run(StripRange) over all strips.
template <class Run>
void over_strips(const Device& device, const GraphRef& a, const Run& run) {
  if (a.nrows == 0) return;
  const std::size_t strips = (std::size_t{a.nrows} + strip_rows - 1) / strip_rows;
  const std::size_t units = a.tile_dim == 0 ? a.nrows : (std::size_t{a.nrows} + a.tile_dim - 1) / a.tile_dim;
  const auto threads = static_cast<std::size_t>(device.threads());
  if (threads == 1 || a.ptr[units] + a.nrows / 8 < serial_work) return run(StripRange{0, strips});
  const std::size_t chunk = std::clamp<std::size_t>(strips / (threads * 16), 1, 64);
  parallel_chunks(device, strips, chunk, [&](Range range) { run(StripRange{range.begin, range.end}); });
}

template <class Graph>
void run(const Device& device, const MxvArgs<OrAnd, Graph, BitVectorView<>, BitVectorView<std::uint64_t>>& args) {
  const mxv_cpu::AnyArgs any{mxv_cpu::graph_ref(args.a), args.x.words, args.out.words, args.rule};
  over_strips(device, any.a, [&](StripRange strips) { mxv_cpu::any_strips(any, strips); });
}

template <class T>
void count(const Device& device, const mxv_cpu::CountArgs<T>& args) {
  over_strips(device, args.a, [&](StripRange strips) { mxv_cpu::count_strips(args, strips); });
}

template <class Graph, class T>
void run(const Device& device, const MxvArgs<PlusTimes, Graph, BitVectorView<>, ValuesView<T>>& args) {
  count(device, mxv_cpu::CountArgs<T>{mxv_cpu::graph_ref(args.a), args.x.words, args.out.data, args.rule});
}

/// Degrees, whatever x holds.
template <class Graph, class T>
void run(const Device& device, const MxvArgs<PlusPair, Graph, ValuesView<const T>, ValuesView<T>>& args) {
  count(device, mxv_cpu::CountArgs<T>{mxv_cpu::graph_ref(args.a), nullptr, args.out.data, args.rule});
}

template <class S>
constexpr Reduction reduction_of() {
  if constexpr (std::is_same_v<S, PlusTimes>) return Reduction::sum;
  if constexpr (std::is_same_v<S, MaxTimes>) return Reduction::max;
  return Reduction::min;
}

template <class S, class Graph, class T>
void run(const Device& device, const MxvArgs<S, Graph, ValuesView<const T>, ValuesView<T>>& args) {
  mxv_cpu::ReduceArgs<T> reduce{
      mxv_cpu::graph_ref(args.a), args.x.data, nullptr, args.out.data, args.rule, reduction_of<S>(),
      std::is_same_v<S, MinPlus>};
  std::array<T, 64> tail{};
  if (const auto side = static_cast<std::size_t>(reduce.a.tile_dim); side != 0) {
    const std::size_t begin = args.x.size / side * side;
    std::copy(args.x.data + begin, args.x.data + args.x.size, tail.begin());
    reduce.x_tail = tail.data();
  }
  over_strips(device, reduce.a, [&](StripRange strips) { mxv_cpu::reduce_strips(reduce, strips); });
}

}  // namespace

template <class S, class Graph, class In, class Out>
void mxv(const Cpu& backend, const MxvArgs<S, Graph, In, Out>& args) {
  run(backend.device, args);
}

template <class S, class Graph, class In, class Out>
void vxm(const Cpu& backend, const MxvArgs<S, Graph, In, Out>& args) {
  mxv_cpu::push(backend.device, args);
}

BITGRAPH_INSTANTIATE_MXV(Cpu)

}  // namespace bitgraph
