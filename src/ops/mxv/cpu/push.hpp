// SPDX-License-Identifier: Apache-2.0
// vxm by pushing: the rows of A whose element of x counts are walked, each entry adds to its column. Threads share the
// columns, not the rows: every element of the output is written by one thread, which adds its terms in the order of the
// rows. Nothing is atomic, nothing needs workspace, and the result does not depend on the number of threads; each
// thread looks for its stretch of every walked row, so more than a few threads would not pay.
#pragma once

#include "core/threads/parallel.hpp"
#include "formats/rows.hpp"
#include "ops/mxv/mxv.hpp"
#include "ops/mxv/tuning.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace bitgraph::mxv_cpu {

/// Columns first[p] .. first[p + 1] belong to part p; parts begin at whole words.
struct ColumnParts {
  static constexpr std::size_t max_parts = cpu_mxv_tuning().most_parts;
  std::size_t count = 1;
  std::array<std::size_t, max_parts + 1> first{};
};

/// Cuts the columns so that about equally many entries fall on each part, by a sample of them.
inline ColumnParts cut_columns(std::size_t ncols, std::span<const NodeId> cols, std::size_t side, std::size_t parts) {
  constexpr std::size_t sample_size = cpu_mxv_tuning().sample_size;
  ColumnParts result;
  result.count = std::min(parts, ColumnParts::max_parts);
  if (cols.size() < sample_size) result.count = 1;
  if (result.count > 1) {
    std::array<NodeId, sample_size> sample;
    for (std::size_t n = 0; n < sample_size; ++n) sample[n] = cols[cols.size() / sample_size * n];
    std::sort(sample.begin(), sample.end());
    for (std::size_t p = 1; p < result.count; ++p) {
      const std::size_t column = sample[sample_size * p / result.count] * side;
      result.first[p] = std::min(ncols, column / 64 * 64);
    }
  }
  result.first[result.count] = ncols;
  return result;
}

template <class T, class S>
constexpr bool skips_identity() {
  return S::multiply(S::template identity<T>()) == S::template identity<T>();
}

/// What row i adds to its columns; false where it adds nothing.
template <class S, class T, class In>
bool product_of(const In& x, std::size_t i, T& product) {
  if constexpr (std::is_same_v<In, BitVectorView<>>) {
    product = T{1};
    return x.bit(i);
  } else {
    if (skips_identity<T, S>() && x.data[i] == S::template identity<T>()) return false;
    product = S::multiply(x.data[i]);
    return true;
  }
}

/// The bits of word w of the output that fall into columns begin .. end, both multiples of 64 or the end.
inline std::uint64_t word_range(std::size_t w, std::size_t end) {
  const std::size_t rest = end - w * 64;
  return rest >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << rest) - 1;
}

/// What the output holds before anything is added.
template <class S>
void prepare(const BitVectorView<std::uint64_t>& out, const OutputRule& rule, Range columns) {
  for (std::size_t w = columns.begin / 64; w * 64 < columns.end; ++w) {
    const std::uint64_t selected = rule.selected(w);
    out.words[w] &= ((rule.accumulate ? selected : 0) | (rule.replace ? 0 : ~selected)) & word_range(w, columns.end);
  }
}
template <class S, class T>
void prepare(const ValuesView<T>& out, const OutputRule& rule, Range columns) {
  if (rule.accumulate && !rule.replace) return;
  for (std::size_t j = columns.begin; j < columns.end; ++j) {
    if (rule.selects(j) ? !rule.accumulate : rule.replace) out.data[j] = S::template identity<T>();
  }
}

/// Adds to the columns whose bits are set in `bits`, from `first` on.
template <class S, class T>
void add_bits(const ValuesView<T>& out, const OutputRule& rule, std::size_t first, std::uint64_t bits, T product) {
  bits &= rule.selected(first / 64) >> (first % 64);
  for (; bits != 0; bits &= bits - 1) {
    T& to = out.data[first + static_cast<std::size_t>(std::countr_zero(bits))];
    to = S::add(to, product);
  }
}

/// One row of CSR, columns begin .. end of it.
template <class S, class Out, class T>
void push_entries(const Out& out, const OutputRule& rule, std::span<const NodeId> entries, Range columns, T product) {
  const NodeId* at = columns.begin == 0 ? entries.data()
                                        : std::lower_bound(entries.data(), entries.data() + entries.size(),
                                                           static_cast<NodeId>(columns.begin));
  for (const NodeId* end = entries.data() + entries.size(); at != end && *at < columns.end; ++at) {
    const std::size_t j = *at;
    if constexpr (std::is_same_v<Out, BitVectorView<std::uint64_t>>) {
      out.words[j / 64] |= (std::uint64_t{1} << (j % 64)) & rule.selected(j / 64);
    } else {
      if (rule.mask == nullptr || rule.selects(j)) out.data[j] = S::add(out.data[j], product);
    }
  }
}

template <class Out>
struct ValueOf {
  using type = bool;
};
template <class T>
struct ValueOf<ValuesView<T>> {
  using type = T;
};

template <class S, class In, class Out>
void push_part(const MxvArgs<S, CsrPatternView, In, Out>& args, Range columns) {
  using T = typename ValueOf<Out>::type;
  if constexpr (std::is_same_v<In, BitVectorView<>>) {
    for (std::size_t w = 0; w * 64 < args.a.nrows; ++w) {
      for (std::uint64_t bits = args.x.words[w]; bits != 0; bits &= bits - 1) {
        const auto i = static_cast<NodeId>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
        push_entries<S>(args.out, args.rule, args.a.row(i), columns, T{1});
      }
    }
  } else {
    for (NodeId i = 0; i < args.a.nrows; ++i) {
      T product;
      if (product_of<S>(args.x, i, product)) {
        push_entries<S>(args.out, args.rule, args.a.row(i), columns, product);
      }
    }
  }
}

/// One tile: its rows in `active` push.
template <class S, int K, class Out, class T>
void push_tile(const Out& out, const OutputRule& rule, const BitTileView<K>& a, EdgeOffset t, std::uint64_t active,
               const T* products) {
  const std::size_t first = std::size_t{a.tile_col_ind[t]} * K;
  if constexpr (std::is_same_v<Out, BitVectorView<std::uint64_t>>) {
    std::uint64_t columns = 0;
    for (; active != 0; active &= active - 1) columns |= a.tile_row(t, std::countr_zero(active));
    out.words[first / 64] |= (columns << (first % 64)) & rule.selected(first / 64);
  } else {
    for (; active != 0; active &= active - 1) {
      const int r = std::countr_zero(active);
      add_bits<S>(out, rule, first, a.tile_row(t, r), products[r]);
    }
  }
}

template <class S, int K, class In, class Out>
void push_part(const MxvArgs<S, BitTileView<K>, In, Out>& args, Range columns) {
  using T = typename ValueOf<Out>::type;
  const BitTileView<K>& a = args.a;
  std::array<T, K> products{};
  for (NodeId tile_row = 0; tile_row < a.num_tile_rows; ++tile_row) {
    const std::size_t first_row = std::size_t{tile_row} * K;
    const std::size_t rows = std::min<std::size_t>(K, a.nrows - first_row);
    std::uint64_t active = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      active |= static_cast<std::uint64_t>(product_of<S>(args.x, first_row + r, products[r])) << r;
    }
    if (active == 0) continue;
    const NodeId* end = a.tile_col_ind + a.tile_row_ptr[tile_row + 1];
    const NodeId* at = a.tile_col_ind + a.tile_row_ptr[tile_row];
    if (columns.begin != 0) at = std::lower_bound(at, end, static_cast<NodeId>(columns.begin / K));
    for (; at != end && std::size_t{*at} * K < columns.end; ++at) {
      const std::size_t word = std::size_t{*at} * K / 64;
      if (args.rule.mask != nullptr && args.rule.selected(word) == 0) continue;
      push_tile<S>(args.out, args.rule, a, static_cast<EdgeOffset>(at - a.tile_col_ind), active, products.data());
    }
  }
}

/// About how many entries will be walked.
template <class T>
std::size_t expected_work(const ValuesView<T>&, std::size_t, std::size_t entries) {
  return entries;
}
inline std::size_t expected_work(const BitVectorView<>& x, std::size_t nrows, std::size_t entries) {
  std::size_t set = 0;
  for (std::size_t w = 0; w * 64 < nrows; ++w) set += static_cast<std::size_t>(std::popcount(x.words[w]));
  return nrows == 0 ? 0
                    : static_cast<std::size_t>(static_cast<double>(entries) * static_cast<double>(set) /
                                               static_cast<double>(nrows));
}

inline std::span<const NodeId> columns_of(const CsrPatternView& a) { return {a.col_ind, a.nvals()}; }
template <int K>
std::span<const NodeId> columns_of(const BitTileView<K>& a) {
  return {a.tile_col_ind, a.num_tile_rows == 0 ? 0 : a.tile_row_ptr[a.num_tile_rows]};
}
inline std::size_t side_of(const CsrPatternView&) { return 1; }
template <int K>
std::size_t side_of(const BitTileView<K>&) {
  return K;
}

template <class S, class Graph, class In, class Out>
void push(const Device& device, const MxvArgs<S, Graph, In, Out>& args) {
  const std::span<const NodeId> cols = columns_of(args.a);
  const bool serial =
      expected_work(args.x, args.a.nrows, cols.size()) + args.a.ncols / 8 < cpu_mxv_tuning().serial_push;
  const ColumnParts parts =
      cut_columns(args.a.ncols, cols, side_of(args.a), serial ? 1 : static_cast<std::size_t>(device.threads()));
  parallel_chunks(device, parts.count, 1, [&](Range range) {
    for (std::size_t p = range.begin; p < range.end; ++p) {
      const Range columns{parts.first[p], parts.first[p + 1]};
      if (columns.begin >= columns.end) continue;
      prepare<S>(args.out, args.rule, columns);
      push_part(args, columns);
    }
  });
}

}  // namespace bitgraph::mxv_cpu
