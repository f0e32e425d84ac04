// SPDX-License-Identifier: Apache-2.0
// The sum of the shares of a row. Over pattern CSR the gather limits the speed: AVX-512 gathers sixteen shares at
// once. Over tiles there is no gather: one load brings the k shares of a tile, and the bits of each row select what
// its sum gets. Short runs are summed in vector lanes, and the partial sums are added in double precision.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "graph/pagerank/cpu_step.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "graph/pagerank/cpu.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using pagerank_cpu::Matrix;

/// Terms that a lane adds up before its sum is widened.
constexpr EdgeOffset piece = 16;

#if HWY_TARGET <= HWY_AVX3
/// Sum of x over `n` columns, n at most 32 * piece. Indices are signed there: `n` of x is below 2^31.
HWY_INLINE float gather_sum(const NodeId* HWY_RESTRICT cols, EdgeOffset n, const float* HWY_RESTRICT x) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  constexpr EdgeOffset lanes = HWY_LANES(float);
  const auto* index = reinterpret_cast<const std::int32_t*>(cols);
  auto even = hn::Zero(d);
  auto odd = hn::Zero(d);
  EdgeOffset e = 0;
  for (; e + 2 * lanes <= n; e += 2 * lanes) {
    even = hn::Add(even, hn::GatherIndex(d, x, hn::LoadU(di, index + e)));
    odd = hn::Add(odd, hn::GatherIndex(d, x, hn::LoadU(di, index + e + lanes)));
  }
  for (; e < n; e += lanes) {
    // Lanes behind the end gather x(0), which is dropped.
    const auto mask = hn::FirstN(di, static_cast<std::size_t>(n - e));
    const auto values = hn::GatherIndex(d, x, hn::MaskedLoad(mask, di, index + e));
    even = hn::Add(even, hn::IfThenElseZero(hn::RebindMask(d, mask), values));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
}
#endif

template <class T>
HWY_INLINE T short_sum(const NodeId* HWY_RESTRICT cols, EdgeOffset n, const T* HWY_RESTRICT x) {
  T sums[4] = {0, 0, 0, 0};
  EdgeOffset e = 0;
  for (; e + 4 <= n; e += 4) {
    for (EdgeOffset lane = 0; lane < 4; ++lane) sums[lane] += x[cols[e + lane]];
  }
  for (; e < n; ++e) sums[0] += x[cols[e]];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <class T>
HWY_INLINE T sum_of_row(const NodeId* HWY_RESTRICT cols, EdgeOffset n, const T* HWY_RESTRICT x, bool may_gather) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (sizeof(T) == 4) {
    constexpr EdgeOffset worth_it = 6;
    if (n >= worth_it && may_gather) {
      constexpr EdgeOffset most = 32 * piece;
      if (n <= most) return gather_sum(cols, n, x);
      double sum = 0;
      for (EdgeOffset e = 0; e < n; e += most) sum += gather_sum(cols + e, n - e < most ? n - e : most, x);
      return static_cast<T>(sum);
    }
  }
#endif
  static_cast<void>(may_gather);
  constexpr EdgeOffset most = 4 * piece;
  if (n <= most) return short_sum(cols, n, x);
  double sum = 0;
  for (EdgeOffset e = 0; e < n; e += most) sum += short_sum(cols + e, n - e < most ? n - e : most, x);
  return static_cast<T>(sum);
}

template <class T>
HWY_INLINE void sum_csr(const Matrix& a, std::size_t first, std::size_t last, const T* HWY_RESTRICT x,
                        T* HWY_RESTRICT sums) {
  const bool may_gather = a.nrows < (NodeId{1} << 31);
  for (std::size_t i = first; i < last; ++i) {
    sums[i - first] = sum_of_row(a.ind + a.ptr[i], a.ptr[i + 1] - a.ptr[i], x, may_gather);
  }
}

/// The sums of one tile row, for tiles [t, end), end - t at most `piece`. Lanes hold columns; a vector is a part of one
/// row of the tile. The parts of a tile are added up first: with short vectors there are many, and a sum that took all
/// of them one after another would be off by more than single_precision_floor() allows.
template <int K, class T>
HWY_INLINE void sum_tiles(const TileWord<K>* HWY_RESTRICT tiles, const NodeId* HWY_RESTRICT ind, EdgeOffset t,
                          EdgeOffset end, const T* HWY_RESTRICT x, double* HWY_RESTRICT sums) {
  const hn::CappedTag<T, K> d;
  constexpr int lanes = HWY_MIN(static_cast<int>(HWY_LANES(T)), K), parts = K / lanes;
  hn::Vec<decltype(d)> rows[K];
  for (auto& row : rows) row = hn::Zero(d);
  for (; t < end; ++t) {
    const T* from = x + std::size_t{ind[t]} * K;
    hn::Vec<decltype(d)> values[parts];
    for (int part = 0; part < parts; ++part) values[part] = hn::LoadU(d, from + part * lanes);
    for (int r = 0; r < K; ++r) {
      std::uint64_t bits = 0;
      if constexpr (K == 4) {
        bits = static_cast<unsigned>(tiles[t]) >> (4 * r);
      } else {
        bits = static_cast<std::uint64_t>(tiles[t * K + static_cast<EdgeOffset>(r)]);
      }
      if constexpr (K > 16) {
        if (bits == 0) continue;
      }
      const auto set_of = [&](int part) HWY_ATTR {
        const std::uint64_t its = bits >> (part * lanes);
        return hn::IfThenElseZero(hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(&its)), values[part]);
      };
      auto sum = set_of(0);
      for (int part = 1; part < parts && bits >> (part * lanes) != 0; ++part) sum = hn::Add(sum, set_of(part));
      rows[r] = hn::Add(rows[r], sum);
    }
  }
  for (int r = 0; r < K; ++r) sums[r] += hn::GetLane(hn::SumOfLanes(d, rows[r]));
}

#if HWY_TARGET <= HWY_AVX3
/// Side 4 in single precision: a tile's 16 bits are the mask of one vector, four rows of four columns.
HWY_INLINE void sum_small_tiles(const std::uint16_t* HWY_RESTRICT tiles, const NodeId* HWY_RESTRICT ind, EdgeOffset t,
                                EdgeOffset end, const float* HWY_RESTRICT x, double* HWY_RESTRICT sums) {
  const hn::ScalableTag<float> d;
  auto even = hn::Zero(d);
  auto odd = hn::Zero(d);
  const auto add = [&](auto& sum, EdgeOffset at) HWY_ATTR {
    const auto mask = hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(tiles + at));
    sum = hn::Add(sum, hn::IfThenElseZero(mask, hn::LoadDup128(d, x + std::size_t{ind[at]} * 4)));
  };
  for (; t + 2 <= end; t += 2) {
    add(even, t);
    add(odd, t + 1);
  }
  if (t < end) add(even, t);
  auto sum = hn::Add(even, odd);
  sum = hn::Add(sum, hn::Shuffle2301(sum));
  sum = hn::Add(sum, hn::Shuffle1032(sum));
  HWY_ALIGN float lanes[16];
  hn::Store(sum, d, lanes);
  for (int r = 0; r < 4; ++r) sums[r] += lanes[4 * r];
}
#endif

template <int K, class T>
HWY_INLINE void sum_tile_rows(const Matrix& a, std::size_t first, std::size_t last, const T* HWY_RESTRICT x,
                              T* HWY_RESTRICT sums) {
  const auto* tiles = static_cast<const TileWord<K>*>(a.tiles);
  for (std::size_t i = first; i < last; i += K) {
    double rows[K] = {};
    const EdgeOffset end = a.ptr[i / K + 1];
    for (EdgeOffset t = a.ptr[i / K]; t < end; t += piece) {
      const EdgeOffset stop = end - t < piece ? end : t + piece;
#if HWY_TARGET <= HWY_AVX3
      if constexpr (K == 4 && sizeof(T) == 4) {
        sum_small_tiles(tiles, a.ind, t, stop, x, rows);
        continue;
      }
#endif
      sum_tiles<K>(tiles, a.ind, t, stop, x, rows);
    }
    for (std::size_t r = 0; r < K; ++r) sums[i - first + r] = static_cast<T>(rows[r]);
  }
}

template <class T>
HWY_INLINE void sum_rows(const Matrix& a, std::size_t first, std::size_t last, const T* HWY_RESTRICT x,
                         T* HWY_RESTRICT sums) {
  switch (a.tile_dim) {
    case 4: return sum_tile_rows<4>(a, first, last, x, sums);
    case 8: return sum_tile_rows<8>(a, first, last, x, sums);
    case 16: return sum_tile_rows<16>(a, first, last, x, sums);
    case 32: return sum_tile_rows<32>(a, first, last, x, sums);
    case 64: return sum_tile_rows<64>(a, first, last, x, sums);
    default: return sum_csr(a, first, last, x, sums);
  }
}

template <class T>
HWY_INLINE void step_block(const PageRankArgs<Matrix, T>& args, std::size_t block) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t lanes = HWY_LANES(T);
  const std::size_t first = block * pagerank_block;
  const std::size_t last = HWY_MIN(first + pagerank_block, std::size_t{args.in.nrows});
  HWY_ALIGN T sums[pagerank_block];
  sum_rows(args.in, first, last, args.share, sums);
  const auto base = hn::Set(d, args.base);
  const auto damping = hn::Set(d, args.damping);
  auto change = hn::Zero(d);
  auto stranded = hn::Zero(d);
  std::size_t i = first;
  for (; i + lanes <= last; i += lanes) {
    const auto after = hn::Add(base, hn::Mul(damping, hn::Load(d, sums + (i - first))));
    const auto inverse = hn::Load(d, args.inverse_degree + i);
    change = hn::Add(change, hn::Abs(hn::Sub(after, hn::Load(d, args.rank + i))));
    stranded = hn::Add(stranded, hn::IfThenElseZero(hn::Eq(inverse, hn::Zero(d)), after));
    hn::Store(after, d, args.rank + i);
    hn::Store(hn::Mul(after, inverse), d, args.next_share + i);
  }
  double changed = hn::GetLane(hn::SumOfLanes(d, change));
  double left = hn::GetLane(hn::SumOfLanes(d, stranded));
  for (; i < last; ++i) {
    const T after = args.base + args.damping * sums[i - first];
    const T by = after - args.rank[i];
    changed += by < 0 ? -by : by;
    if (args.inverse_degree[i] == 0) left += after;
    args.rank[i] = after;
    args.next_share[i] = after * args.inverse_degree[i];
  }
  args.partial[2 * block] = changed;
  args.partial[2 * block + 1] = left;
}

void step_floats(const PageRankArgs<Matrix, float>& args, std::size_t first, std::size_t last) {
  for (std::size_t block = first; block < last; ++block) step_block(args, block);
}

void step_doubles(const PageRankArgs<Matrix, double>& args, std::size_t first, std::size_t last) {
  for (std::size_t block = first; block < last; ++block) step_block(args, block);
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bitgraph::pagerank_cpu {
namespace {
HWY_EXPORT(step_floats);
HWY_EXPORT(step_doubles);
}  // namespace

void step_blocks(const PageRankArgs<Matrix, float>& args, std::size_t first, std::size_t last) {
  HWY_DYNAMIC_DISPATCH(step_floats)(args, first, last);
}

void step_blocks(const PageRankArgs<Matrix, double>& args, std::size_t first, std::size_t last) {
  HWY_DYNAMIC_DISPATCH(step_doubles)(args, first, last);
}

}  // namespace bitgraph::pagerank_cpu
#endif  // HWY_ONCE
