// SPDX-License-Identifier: Apache-2.0
// Rows, or tile rows, that hold a large part of the matrix: one thread would work on while the others wait. Such a row
// is computed as the matrix of its pieces, by the same kernels on all threads, and the pieces' results are added up in
// order. Which rows are cut, and where, follows from the matrix alone: so do the results.
#pragma once

#include "core/threads/parallel.hpp"
#include "ops/mxv/cpu/kernels.hpp"
#include "ops/mxv/tuning.hpp"

#include <algorithm>
#include <array>
#include <atomic>

namespace bitgraph::mxv_cpu {

/// Rows of the matrix of pieces: 16 strips, whatever the tile side.
inline constexpr std::size_t piece_rows = cpu_mxv_tuning().piece_rows;

/// A row of pattern CSR, or a tile row.
inline std::size_t unit_rows(const GraphRef& a) { return a.tile_dim == 0 ? 1 : static_cast<std::size_t>(a.tile_dim); }

inline std::size_t num_units(const GraphRef& a) { return (a.nrows + unit_rows(a) - 1) / unit_rows(a); }

/// Entries, or tiles.
inline EdgeOffset total_work(const GraphRef& a) { return a.nrows == 0 ? 0 : a.ptr[num_units(a)] - a.ptr[0]; }

/// More entries, or tiles, than one thread should walk for one row: fewer than 32 rows of a matrix have that many.
inline EdgeOffset long_row_limit(EdgeOffset work) {
  const CpuMxvTuning& tuning = cpu_mxv_tuning();
  return std::max(tuning.long_row, work / tuning.long_row_share);
}

/// Units of a strip.
inline Range units_of(const GraphRef& a, std::size_t strip) {
  const std::size_t units = strip_rows / unit_rows(a);
  return {strip * units, std::min(num_units(a), (strip + 1) * units)};
}

inline bool is_long(const GraphRef& a, std::size_t unit, EdgeOffset limit) {
  return a.ptr[unit + 1] - a.ptr[unit] > limit;
}

/// The strips with a long row, put down by the threads that come across them.
class LongStrips {
 public:
  /// Calls run(StripRange) for the strips without a long row and keeps the others.
  template <class Run>
  void without_long(const GraphRef& a, StripRange strips, EdgeOffset limit, const Run& run) {
    const EdgeOffset work = a.ptr[units_of(a, strips.end - 1).end] - a.ptr[units_of(a, strips.begin).begin];
    if (work <= limit) return run(strips);
    std::size_t begin = strips.begin;
    for (std::size_t s = strips.begin; s < strips.end; ++s) {
      if (!has_long(a, s, limit)) continue;
      if (begin < s) run(StripRange{begin, s});
      strips_[count_.fetch_add(1)] = s;
      begin = s + 1;
    }
    if (begin < strips.end) run(StripRange{begin, strips.end});
  }
  [[nodiscard]] std::size_t size() const { return count_.load(); }
  [[nodiscard]] std::size_t operator[](std::size_t n) const { return strips_[n]; }

 private:
  static bool has_long(const GraphRef& a, std::size_t strip, EdgeOffset limit) {
    const Range units = units_of(a, strip);
    if (a.ptr[units.end] - a.ptr[units.begin] <= limit) return false;
    for (std::size_t u = units.begin; u < units.end; ++u) {
      if (is_long(a, u, limit)) return true;
    }
    return false;
  }
  std::array<std::size_t, 32> strips_;
  std::atomic<std::size_t> count_{0};
};

/// Elements of an output of bits, or of values.
inline bool get(const std::uint64_t* out, std::size_t i) { return ((out[i / 64] >> (i % 64)) & 1U) != 0; }
inline void put(std::uint64_t* out, std::size_t i, bool value) {
  const std::uint64_t bit = std::uint64_t{1} << (i % 64);
  out[i / 64] = value ? (out[i / 64] | bit) : (out[i / 64] & ~bit);
}
template <class T>
T get(const T* out, std::size_t i) {
  return out[i];
}
template <class T>
void put(T* out, std::size_t i, T value) {
  out[i] = value;
}

/// The rows of one unit, cut into pieces; those that are computed are stored.
template <class S, class Args, class Kernel>
void compute_long_unit(const Device& device, const Args& args, std::size_t unit, const Kernel& kernel) {
  using T = decltype(get(args.out, 0));
  const std::size_t rows = unit_rows(args.a);
  const std::size_t pieces = piece_rows / rows;
  const EdgeOffset begin = args.a.ptr[unit];
  const EdgeOffset work = args.a.ptr[unit + 1] - begin;
  std::array<EdgeOffset, piece_rows + 1> ptr;
  for (std::size_t p = 0; p < pieces; ++p) ptr[p] = begin + part_of(work, p, pieces).begin;
  ptr[pieces] = begin + work;

  std::array<std::remove_pointer_t<decltype(args.out)>, piece_rows> results{};  // bits take a part of it
  Args pieces_args = args;
  pieces_args.a.nrows = piece_rows;
  pieces_args.a.ptr = ptr.data();
  pieces_args.out = results.data();
  pieces_args.rule = {};
  parallel_chunks(device, piece_rows / strip_rows, 1, [&](Range strips) {
    kernel(pieces_args, StripRange{strips.begin, strips.end});
  });

  for (std::size_t r = 0; r < rows && unit * rows + r < args.a.nrows; ++r) {
    const std::size_t i = unit * rows + r;
    if (!args.rule.selects(i)) continue;
    T sum = S::template identity<T>();
    for (std::size_t p = 0; p < pieces; ++p) sum = S::add(sum, get(results.data(), p * rows + r));
    put(args.out, i, args.rule.accumulate ? S::add(get(args.out, i), sum) : sum);
  }
}

/// One strip with a long row: the other rows as they are, long ones in pieces.
template <class S, class Args, class Kernel>
void compute_long_strip(const Device& device, const Args& args, std::size_t strip, EdgeOffset limit,
                        const Kernel& kernel) {
  using T = decltype(get(args.out, 0));
  const std::size_t rows = unit_rows(args.a);
  const std::size_t first = strip * strip_rows;
  const Range units = units_of(args.a, strip);
  std::uint64_t short_rows = args.rule.selected(strip);
  for (std::size_t u = units.begin; u < units.end; ++u) {
    if (!is_long(args.a, u, limit)) continue;
    for (std::size_t r = 0; r < rows; ++r) short_rows &= ~(std::uint64_t{1} << (u * rows + r - first));
  }
  Args rest = args;
  rest.a.nrows = static_cast<NodeId>(std::min<std::size_t>(strip_rows, args.a.nrows - first));
  rest.a.ptr += units.begin;
  rest.out += std::is_same_v<T, bool> ? strip : first;
  rest.rule = {&short_rows, false, false, args.rule.accumulate};
  kernel(rest, StripRange{0, 1});

  for (std::size_t u = units.begin; u < units.end; ++u) {
    if (is_long(args.a, u, limit)) compute_long_unit<S>(device, args, u, kernel);
  }
  if (!args.rule.replace) return;
  for (std::size_t i = first; i < first + rest.a.nrows; ++i) {
    if (!args.rule.selects(i)) put(args.out, i, S::template identity<T>());
  }
}

}  // namespace bitgraph::mxv_cpu
