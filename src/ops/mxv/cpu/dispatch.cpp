// SPDX-License-Identifier: Apache-2.0
// Cuts the output of mxv into strips and gives each thread its share.
#include "ops/mxv/cpu/kernels.hpp"

#include "core/threads/parallel.hpp"
#include "ops/mxv/cpu/long_rows.hpp"
#include "ops/mxv/cpu/push.hpp"
#include "ops/mxv/instances.hpp"
#include "ops/mxv/tuning.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace bitgraph {

namespace {

using mxv_cpu::GraphRef;
using mxv_cpu::LongStrips;
using mxv_cpu::Reduction;
using mxv_cpu::strip_rows;
using mxv_cpu::StripRange;
using mxv_cpu::total_work;

/// Below this many entries or tiles a call is over before other threads are awake.
template <class Args>
EdgeOffset serial_work(const Args&) {
  return cpu_mxv_tuning().serial_bits;
}
template <class T>
EdgeOffset serial_work(const mxv_cpu::ReduceArgs<T>&) {
  return cpu_mxv_tuning().serial_values;
}

std::size_t num_strips(const GraphRef& a) { return (std::size_t{a.nrows} + strip_rows - 1) / strip_rows; }

/// run(StripRange) over all strips.
template <class Args, class Run>
void over_strips(const Device& device, const Args& args, const Run& run) {
  const GraphRef& a = args.a;
  const std::size_t strips = num_strips(a);
  const auto threads = static_cast<std::size_t>(device.threads());
  if (threads == 1 || total_work(a) + a.nrows / 8 < serial_work(args)) return run(StripRange{0, strips});
  const std::size_t chunk = std::clamp<std::size_t>(strips / (threads * 16), 1, 64);
  parallel_chunks(device, strips, chunk, [&](Range range) { run(StripRange{range.begin, range.end}); });
}

/// All strips by kernel(args, strips); rows that are too long for one thread are shared by all of them.
template <class S, class Args, class Kernel>
void compute(const Device& device, const Args& args, const Kernel& kernel) {
  if (args.a.nrows == 0) return;
  const EdgeOffset limit = mxv_cpu::long_row_limit(total_work(args.a));
  LongStrips strips;
  over_strips(device, args, [&](StripRange range) {
    strips.without_long(args.a, range, limit, [&](StripRange rest) { kernel(args, rest); });
  });
  for (std::size_t n = 0; n < strips.size(); ++n) {
    mxv_cpu::compute_long_strip<S>(device, args, strips[n], limit, kernel);
  }
}

/// The share of the bits that are set, by a sample of at most 1024 words.
double density(const BitVectorView<>& x) {
  const std::size_t words = x.size / 64;
  const std::size_t step = words / 1024 + 1;
  std::size_t set = 0, seen = 0;
  for (std::size_t w = 0; w < words; w += step, ++seen) set += static_cast<std::size_t>(std::popcount(x.words[w]));
  return seen == 0 ? 0.5 : static_cast<double>(set) / static_cast<double>(64 * seen);
}

// From here on no kernel knows the graph's format: each of these is compiled once for all of them.

void any(const Device& device, const mxv_cpu::AnyArgs& args) {
  compute<OrAnd>(device, args, [](const auto& part, StripRange strips) { mxv_cpu::any_strips(part, strips); });
}

template <class T>
void count(const Device& device, const mxv_cpu::CountArgs<T>& args) {
  compute<PlusTimes>(device, args, [](const auto& part, StripRange strips) { mxv_cpu::count_strips(part, strips); });
}

template <class S, class T>
void reduce(const Device& device, const mxv_cpu::ReduceArgs<T>& args) {
  compute<S>(device, args, [](const auto& part, StripRange strips) { mxv_cpu::reduce_strips(part, strips); });
}

template <class Graph>
void run(const Device& device, const MxvArgs<OrAnd, Graph, BitVectorView<>, BitVectorView<std::uint64_t>>& args) {
  // So many entries are looked at until one hits, about: longer rows stop early.
  const CpuMxvTuning& tuning = cpu_mxv_tuning();
  const double wanted = tuning.entries_for_a_hit / std::max(density(args.x), 1e-6);
  any(device, mxv_cpu::AnyArgs{
                  mxv_cpu::graph_ref(args.a), args.x.words, args.out.words, args.rule,
                  static_cast<std::size_t>(std::clamp(wanted, tuning.least_long_degree, tuning.most_long_degree))});
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
  mxv_cpu::ReduceArgs<T> reducing{
      mxv_cpu::graph_ref(args.a), args.x.data, nullptr, args.out.data, args.rule, reduction_of<S>(),
      std::is_same_v<S, MinPlus>};
  std::array<T, 64> tail{};
  if (const auto side = static_cast<std::size_t>(reducing.a.tile_dim); side != 0) {
    const std::size_t begin = args.x.size / side * side;
    std::copy(args.x.data + begin, args.x.data + args.x.size, tail.begin());
    reducing.x_tail = tail.data();
  }
  reduce<S>(device, reducing);
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

[[gnu::used]] constexpr auto mxv_cpu_kernels = mxv_kernels_of_all<Cpu>();

}  // namespace bitgraph
