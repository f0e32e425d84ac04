// SPDX-License-Identifier: Apache-2.0
#include "ops/spmm/spmm.hpp"

#include <bitgraph/ops/spmm.hpp>

#include "core/cuda/limits.hpp"
#include "ops/explain.hpp"
#include "ops/operands.hpp"
#include "ops/sign_scales.hpp"
#include "ops/spmm/cuda/problem.hpp"
#include "ops/spmm/cuda/spmm.hpp"
#include "ops/spmm/elements.hpp"
#include "ops/spmm/instances.hpp"
#include "ops/spmm/tile_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

namespace bitgraph {

namespace {

/// Whether words of the graph's bits are to meet columns of X.
bool by_tile_words(SpmmStrategy strategy) {
  return strategy != SpmmStrategy::automatic && strategy != SpmmStrategy::carry_save;
}

template <class Graph, class X>
void check_strategy(const SpmmOptions& options) {
  if (options.strategy == SpmmStrategy::automatic) return;
  if (!std::is_same_v<X, BitMatrix<PlusMinusOne>> || !options.col_scale.empty()) {
    fail(ErrorCode::usage, "spmm: a strategy goes with X of bits and without col_scale");
  }
  if (by_tile_words(options.strategy) && !std::is_same_v<Graph, BitTileMatrix>) {
    fail(ErrorCode::usage, "spmm: this strategy is for BitTileMatrix; a pattern without tiles has carry_save alone");
  }
}

template <class Graph, class X, class Out>
void check(const Out& out, const Graph& a, const X& x, const SpmmOptions& options) {
  if (a.ncols() != x.nrows() || out.nrows() != a.nrows() || out.ncols() != x.ncols()) {
    fail(ErrorCode::usage, fmt::format("spmm: A is {} x {}, X is {} x {}, the output is {} x {}", a.nrows(), a.ncols(),
                                       x.nrows(), x.ncols(), out.nrows(), out.ncols()));
  }
  check_length("spmm", options.row_scale, a.nrows(), "row_scale");
  check_length("spmm", options.col_scale, a.ncols(), "col_scale");
  check_length("spmm", options.feature_scale, x.ncols(), "feature_scale");
  check_length("spmm", options.feature_offset, x.ncols(), "feature_offset");
  check_length("spmm", options.bias, x.ncols(), "bias");
  if constexpr (!std::is_same_v<Graph, SellPattern>)
    check_place("spmm", out.device(), a.device(), "A");  // always on the host
  check_device("spmm", out.device(), x.device(), "X");
  check_row_order("spmm", options.row_order, a.nrows(), out.device());
  check_strategy<Graph, X>(options);
}

/// On a CUDA device the carry-save vote gives a tile row to one warp: where tile rows are long, and some of a skewed
/// graph's very long, small tiles are quicker as words, which are shared out evenly.
SpmmStrategy strategy_for(const BitTileMatrix& a, const SpmmOptions& options, const Device& device) {
  const CudaTileTuning& tuning = cuda_spmm_tuning().tiles;
  if (options.strategy != SpmmStrategy::automatic || device.is_host() || !options.col_scale.empty()) {
    return options.strategy;
  }
  const bool long_rows = a.num_tiles() >= tuning.long_tile_row * a.num_tile_rows();
  return long_rows && a.tile_dim() <= tuning.word_tile_dim ? SpmmStrategy::twice_ones : SpmmStrategy::carry_save;
}

/// Without the scales that a sign behind them makes meaningless.
template <class Out>
SpmmOptions without_idle_scales(SpmmOptions options, const Device& device) {
  if (!std::is_same_v<Out, BitMatrix<PlusMinusOne>> || !options.bias.empty()) return options;
  options.row_scale = ahead_of_sign(options.row_scale, options.positive_scales, device);
  if (options.feature_offset.empty()) {
    options.feature_scale = ahead_of_sign(options.feature_scale, options.positive_scales, device);
  }
  return options;
}

/// Bytes that a run on the host reads and writes, gathers counted each.
template <class Args>
double host_bytes(const Args& args, EdgeOffset entries) {
  const std::size_t features = args.x.ncols;
  const std::size_t bit_row = words_for_bits(features) * sizeof(std::uint64_t);
  const std::size_t in_bytes = number_bytes(args.x);
  const std::size_t out_bytes = number_bytes(args.out);
  const auto in_row = static_cast<double>(in_bytes == 0 ? bit_row : features * in_bytes);
  const auto out_row = static_cast<double>(out_bytes == 0 ? bit_row : features * out_bytes);
  const auto rows = static_cast<double>(args.out.nrows);
  return static_cast<double>(entries) * (in_row + sizeof(NodeId)) + rows * (out_row + sizeof(EdgeOffset));
}

template <class GraphView, class X, class Out>
auto kernel_args(Out& out, const GraphView& a, const X& x, const SpmmOptions& given, const RowOrderView& order = {}) {
  const SpmmOptions options = without_idle_scales<Out>(given, out.device());
  return SpmmArgs<GraphView, decltype(x.view()), decltype(out.view())>{
      a,
      x.view(),
      out.view(),
      or_null(options.col_scale),
      {or_null(options.row_scale), or_null(options.feature_scale), or_null(options.feature_offset),
       or_null(options.bias)},
      order};
}

/// Each tile meets the rows of X that its columns name: a popcount for each of its rows, 32 columns and feature.
template <class X>
Cost tile_word_cost(const BitTileMatrix& a, const X& x, std::size_t out_bytes) {
  const auto tiles = static_cast<double>(a.num_tiles());
  const auto side = static_cast<double>(a.tile_dim());
  const auto features = static_cast<double>(x.ncols());
  const auto x_bytes = static_cast<double>(x.bytes());
  return {.streamed = static_cast<double>(a.bytes() + out_bytes),
          .gathers = {tiles * side, x_bytes / std::max(1.0, static_cast<double>(x.nrows())), x_bytes},
          .work = tiles * side * side / 32 * features,
          .peak = cuda_rates().word_counts};
}

/// The kernel for these operands. `entries` are the graph's.
template <class Args>
KernelChoice choice_for(const Device& device, const Args& args, EdgeOffset entries) {
  constexpr bool sell = std::is_same_v<decltype(args.a), SellView>;
  constexpr bool of_bits = std::is_same_v<decltype(args.x), BitsIn>;
  KernelChoice choice;
  if constexpr (!sell) {
    const bool chosen = on_cuda("spmm", device, [&](const auto& cuda) {
      spmm_cuda::Problem problem = spmm_cuda::problem_of(args, cuda_limits(cuda.device).multiprocessors);
      const spmm_cuda::Plan plan = spmm_cuda::plan(problem);
      problem.entries = entries;
      const Prediction cost = spmm_cuda::predict(problem, plan);
      choice = {spmm_cuda::describe(plan), cost.bytes, cost.seconds};
    });
    if (chosen) return choice;
  }
  const char* const sums = of_bits ? "spmm_weigh" : "spmm_sum";
  const char* const votes = sell ? "spmm_vote_sell" : "spmm_vote";
  const bool is_vote = of_bits && args.col_scale == nullptr;
  choice.kernel = host_kernel(device, is_vote ? votes : sums, is_vote ? Isa::avx512 : Isa::avx512_popcnt);
  choice.bytes = host_bytes(args, entries);
  return choice;
}

template <class GraphView, class X, class Out>
void run(Out& out, const GraphView& a, const X& x, const SpmmOptions& options, EdgeOffset entries,
         const RowOrderView& order = {}) {
  const auto args = kernel_args(out, a, x, options, order);
  trace_choice(out.device(), [&] { return choice_for(out.device(), args, entries); });
  const auto kernel = [&](const auto& backend) { spmm(backend, args); };
  if constexpr (std::is_same_v<GraphView, SellView>) {
    with_host_backend(out.device(), "spmm over SellPattern", kernel);
  } else {
    with_backend(out.device(), "spmm", kernel);
  }
}

}  // namespace

template <class X, class Out>
void spmm_into(Out& out, const CsrPattern& a, const X& x, const SpmmOptions& options) {
  check(out, a, x, options);
  const RowOrder* const order = options.row_order;
  run(out, a.view(), x, options, a.nvals(), order == nullptr ? RowOrderView{} : order->view_over(a));
}

template <class X, class Out>
void spmm_into(Out& out, const BitTileMatrix& a, const X& x, const SpmmOptions& options) {
  check(out, a, x, options);
  with_tile_dim(a.tile_dim(), [&](auto k) {
    if constexpr (std::is_same_v<X, BitMatrix<PlusMinusOne>>) {
      const SpmmStrategy strategy = strategy_for(a, options, out.device());
      if (by_tile_words(strategy)) {
        const TileWordArgs<k(), decltype(out.view())> args{kernel_args(out, a.view<k()>(), x, options), strategy,
                                                           a.num_tiles()};
        trace_choice(out.device(), [&] { return spmm_explain(out, a, x, options); });
        return with_backend(out.device(), "spmm", [&](const auto& backend) { spmm(backend, args); });
      }
    }
    run(out, a.view<k()>(), x, options, a.nvals());
  });
}

template <class X, class Out>
KernelChoice spmm_explain(Out& out, const CsrPattern& a, const X& x, const SpmmOptions& options) {
  check(out, a, x, options);
  const RowOrder* const order = options.row_order;
  const auto args = kernel_args(out, a.view(), x, options, order == nullptr ? RowOrderView{} : order->view_over(a));
  return choice_for(out.device(), args, a.nvals());
}

template <class X, class Out>
KernelChoice spmm_explain(Out& out, const BitTileMatrix& a, const X& x, const SpmmOptions& options) {
  check(out, a, x, options);
  if (std::is_same_v<X, SpmmBits> && by_tile_words(strategy_for(a, options, out.device()))) {
    if (out.device().is_host()) return {host_kernel(out.device(), "spmm_tile_words"), static_cast<double>(a.bytes())};
    const Prediction cost = predict(tile_word_cost(a, x, out.bytes()));
    return {"spmm_tile_words", cost.bytes, cost.seconds};
  }
  return with_tile_dim(a.tile_dim(), [&](auto k) {
    return choice_for(out.device(), kernel_args(out, a.template view<k()>(), x, options), a.nvals());
  });
}

template <class Out>
KernelChoice spmm_explain(Out& out, const SellPattern& a, const BitMatrix<PlusMinusOne>& x,
                          const SpmmOptions& options) {
  check(out, a, x, options);
  return choice_for(out.device(), kernel_args(out, a.view(), x, options), a.nvals());
}

bool spmm_sums_by_order(std::size_t ncols) noexcept { return spmm_cuda::sums_by_order(ncols); }

std::size_t spmm_copy_bytes(std::size_t nrows, std::size_t ncols, EdgeOffset entries, bool has_col_scale,
                            bool to_bits) noexcept {
  constexpr std::size_t four = 4;
  const std::size_t width = (ncols + four - 1) / four * four;
  if (to_bits && spmm_cuda::gathers_fp16(nrows, ncols, entries)) {
    constexpr std::size_t eight = 8;
    return (nrows + 1) * ((ncols + eight - 1) / eight * eight) * sizeof(std::uint16_t) + sizeof(std::uint32_t);
  }
  const bool copied = spmm_cuda::copies_features(nrows, ncols, entries, width == ncols, has_col_scale);
  return copied ? nrows * width * sizeof(float) : 0;
}

template <class Out>
void spmm_into(Out& out, const SellPattern& a, const BitMatrix<PlusMinusOne>& x, const SpmmOptions& options) {
  check(out, a, x, options);
  if (!options.col_scale.empty()) fail(ErrorCode::usage, "spmm: a vote over SellPattern has no col_scale");
  run(out, a.view(), x, options, a.nvals());
}

namespace {

template <class Graph, class X, class Out>
constexpr auto functions_of() {
  using Into = void (*)(Out&, const Graph&, const X&, const SpmmOptions&);
  using Explain = KernelChoice (*)(Out&, const Graph&, const X&, const SpmmOptions&);
  return instances_of(static_cast<Into>(&spmm_into), static_cast<Explain>(&spmm_explain));
}

[[gnu::used]] constexpr auto over_graphs = for_types(SpmmPairs(), [](auto type) {
  using Pair = TypeOf<decltype(type)>;
  return instances_of(functions_of<CsrPattern, typename Pair::X, typename Pair::Out>(),
                      functions_of<BitTileMatrix, typename Pair::X, typename Pair::Out>());
});
[[gnu::used]] constexpr auto over_sell =
    instances_of(functions_of<SellPattern, SpmmBits, SpmmBits>(), functions_of<SellPattern, SpmmBits, SpmmFloats>());

}  // namespace

}  // namespace bitgraph
