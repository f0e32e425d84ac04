// SPDX-License-Identifier: Apache-2.0
#include "ops/mxm/mxm.hpp"

#include "core/instances.hpp"
#include "core/threads/thread_chunks.hpp"
#include "formats/rows.hpp"
#include "ops/explain.hpp"
#include "ops/mxm/column_set.hpp"
#include "ops/mxm/cuda/kernels.hpp"
#include "ops/mxm/long_rows.hpp"
#include "ops/mxm/within.hpp"

#include <bitgraph/ops/mxm.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <optional>

namespace bitgraph {

namespace {

int side_of(const CsrPattern&) { return 0; }
int side_of(const BitTileMatrix& a) { return a.tile_dim(); }

/// Entries, or tiles.
EdgeOffset items_of(const CsrPattern& a) { return a.nvals(); }
EdgeOffset items_of(const BitTileMatrix& a) { return a.num_tiles(); }

/// Calls fn with the views of matrices of one format.
template <class Fn, class... More>
decltype(auto) with_views(Fn&& fn, const CsrPattern& a, const More&... more) {
  return fn(a.view(), more.view()...);
}
template <class Fn, class... More>
decltype(auto) with_views(Fn&& fn, const BitTileMatrix& a, const More&... more) {
  return with_tile_dim(a.tile_dim(), [&](auto k) { return fn(a.view<k()>(), more.template view<k()>()...); });
}

template <class Graph>
void check_together(const Graph& a, const Graph& b, const char* what) {
  if (side_of(a) != side_of(b)) {
    fail(ErrorCode::usage, fmt::format("mxm: A has tiles of side {}, {} of side {}", side_of(a), what, side_of(b)));
  }
  require_same_place("mxm", "A", a.device(), what, b.device());
}

/// Checks the operands of A B (or A B^T), and a mask of its shape.
template <class Graph>
void check(const Graph& a, const Graph& b, const MatrixMask<Graph>& mask, bool transpose_b) {
  const NodeId inner = transpose_b ? b.ncols() : b.nrows();
  const NodeId ncols = transpose_b ? b.nrows() : b.ncols();
  if (a.ncols() != inner) {
    fail(ErrorCode::usage, fmt::format("mxm: A is {} x {}, B is {} x {}{}", a.nrows(), a.ncols(), b.nrows(), b.ncols(),
                                       transpose_b ? ", transposed" : ""));
  }
  check_together(a, b, "B");
  if (mask.entries == nullptr) return;
  if (mask.entries->nrows() != a.nrows() || mask.entries->ncols() != ncols) {
    fail(ErrorCode::usage, fmt::format("mxm: the product is {} x {}, the mask {} x {}", a.nrows(), ncols,
                                       mask.entries->nrows(), mask.entries->ncols()));
  }
  check_together(a, *mask.entries, "the mask");
}

template <class Graph>
MaskUse use_of(const MatrixMask<Graph>& mask) {
  if (mask.entries == nullptr) return MaskUse::none;
  return mask.complement ? MaskUse::outside : MaskUse::inside;
}

template <class Graph>
std::uint64_t row_entries(const Graph& a, NodeId i) {
  std::uint64_t entries = 0;
  for_each_entry(a, i, [&](NodeId) { ++entries; });
  return entries;
}
std::uint64_t row_entries(const CsrPatternView& a, NodeId i) { return a.row_ptr[i + 1] - a.row_ptr[i]; }

/// The sum over the entries (i, k) of A of the entries of row k of B.
template <class View>
std::uint64_t sum_on_host(const View& a, const View& b, const Device& device) {
  constexpr std::size_t grain = 1024;
  Buffer<NodeId> lengths(b.nrows, device);
  parallel_for(device, b.nrows, grain,
               [&](std::size_t k) { lengths[k] = static_cast<NodeId>(row_entries(b, static_cast<NodeId>(k))); });
  std::atomic<std::uint64_t> total{0};
  parallel_chunks(device, a.nrows, grain, [&](Range rows) {
    std::uint64_t sum = 0;
    for (std::size_t i = rows.begin; i < rows.end; ++i) {
      for_each_entry(a, static_cast<NodeId>(i), [&](NodeId k) { sum += lengths[k]; });
    }
    total += sum;
  });
  return total;
}

template <class View>
std::uint64_t sum_of_all(const View& a, [[maybe_unused]] EdgeOffset items, const View& b, const Device& device) {
  return with_backend(device, "mxm_sum", [&](const auto& backend) {
    if constexpr (std::is_same_v<std::decay_t<decltype(backend)>, Cuda>) {
      return whole_sum(backend, a, items, b);
    } else {
      return sum_on_host(a, b, device);
    }
  });
}

/// Rows, or tile rows, that a masked sum goes over, and the words that a thread marks them in.
std::size_t sum_rows(const CsrPatternView& mask) { return mask.nrows; }
std::size_t sum_words(const CsrPatternView& x) { return LongRowBits::words_of(x.ncols); }
template <int K>
std::size_t sum_rows(const BitTileView<K>& mask) {
  return mask.num_tile_rows;
}
template <int K>
std::size_t sum_words(const BitTileView<K>& x) {
  return (std::size_t{x.ncols} + K - 1) / K;
}

template <class View>
std::uint64_t sum_within(const View& x, const View& b, const View& mask, EdgeOffset items, const Device& device) {
  MaskedSumArgs<View> args{x, b, mask, items};
  Buffer<std::uint64_t> marks;
  [[maybe_unused]] std::optional<LongRowBits> long_rows;
  if (device.is_host()) {
    args.marks_each = sum_words(x);
    marks = Buffer<std::uint64_t>(num_workspaces(device, sum_rows(mask), masked_sum_chunk) * args.marks_each,
                                  std::uint64_t{0}, device);
    args.marks = marks.data();
    if constexpr (std::is_same_v<View, CsrPatternView>) args.b_long = long_rows.emplace(b, device).view();
  }
  return with_backend(device, "mxm_sum", [&](const auto& backend) { return masked_sum(backend, args); });
}

/// What the threads gather rows of a product with.
struct Workspace {
  Workspace(std::size_t threads, std::size_t set_size, std::size_t more_words, const Device& device)
      : set_words(ColumnSet::num_words(set_size)),
        words_each(set_words + more_words),
        words(threads * words_each, std::uint64_t{0}, device) {}

  /// Room for counts, where no row has more entries than `longest`.
  void add_counts(std::size_t threads, std::size_t ncols, std::size_t longest, const Device& device) {
    const bool direct = ncols <= cpu_mxm_tuning().most_direct_columns;
    counts_each = direct ? ncols : std::bit_ceil(2 * longest);
    counts = Buffer<std::uint32_t>(threads * counts_each, 0U, device);
    if (!direct) keys = Buffer<NodeId>(threads * counts_each, device);
  }

  [[nodiscard]] ProductWorkspace view() {
    return {words.data(), words_each, set_words, counts.data(), keys.data(), counts_each};
  }

  std::size_t set_words;
  std::size_t words_each;
  std::size_t counts_each = 0;
  Buffer<std::uint64_t> words;
  Buffer<std::uint32_t> counts;
  Buffer<NodeId> keys;
};

template <class Backend, class View>
CsrPattern product_on_host(const Backend& backend, const View& a, const View& b, const View& mask, MaskUse mask_use,
                           Buffer<std::uint32_t>* counts, const Device& device) {
  const NodeId nrows = a.nrows;
  const std::size_t threads = num_workspaces(device, nrows, product_chunk);
  Buffer<EdgeOffset> row_ptr(std::size_t{nrows} + 1, EdgeOffset{0}, device);
  if (b.ncols == 0) {
    if (counts != nullptr) *counts = Buffer<std::uint32_t>(0, device);
    return {nrows, b.ncols, std::move(row_ptr), Buffer<NodeId>(0, device)};
  }
  Workspace workspace(threads, b.ncols, mask_use == MaskUse::none ? 0 : (std::size_t{b.ncols} + 63) / 64, device);
  ProductArgs<View> args{a, b, mask, mask_use, workspace.view()};
  product_sizes(backend, args, row_ptr.data());
  if (counts != nullptr) {
    const EdgeOffset longest = nrows == 0 ? 0 : *std::max_element(row_ptr.begin(), row_ptr.end());
    workspace.add_counts(threads, b.ncols, static_cast<std::size_t>(longest), device);
    args.workspace = workspace.view();
  }
  Buffer<NodeId> col_ind(exclusive_scan(device, row_ptr.span()), device);
  if (counts != nullptr) *counts = Buffer<std::uint32_t>(col_ind.size(), device);
  product_fill(backend, args, {row_ptr.data(), col_ind.data(), counts == nullptr ? nullptr : counts->data()});
  return {nrows, b.ncols, std::move(row_ptr), std::move(col_ind), trusted};
}

/// The product as pattern CSR, and its counts where `counts` is not null.
CsrPattern product(const CsrPatternView& a, const CsrPatternView& b, const CsrPatternView& mask, MaskUse mask_use,
                   Buffer<std::uint32_t>* counts, const Device& device) {
  return with_backend(device, "mxm", [&](const auto& backend) -> CsrPattern {
    using Backend = std::decay_t<decltype(backend)>;
    if constexpr (std::is_same_v<Backend, Cuda>) {
      return product(backend, ProductArgs<CsrPatternView>{a, b, mask, mask_use, {}}, counts);
    } else {
      if constexpr (std::is_same_v<Backend, Cpu>) {
        if (mask_use == MaskUse::inside) {
          std::optional<CsrPattern> within = product_within(backend, a, b, mask, counts);
          if (within) return std::move(*within);
        }
      }
      return product_on_host(backend, a, b, mask, mask_use, counts, device);
    }
  });
}

/// Of tiles: the reference alone; the other backends unpack them.
template <int K>
CsrPattern product(const BitTileView<K>& a, const BitTileView<K>& b, const BitTileView<K>& mask, MaskUse mask_use,
                   Buffer<std::uint32_t>* counts, const Device& device) {
  return product_on_host(Reference{}, a, b, mask, mask_use, counts, device);
}

/// The boolean product of tiles.
template <int K>
BitTileMatrix tile_product(const Cpu& backend, const BitTileView<K>& a, const BitTileView<K>& b,
                           const BitTileView<K>& mask, MaskUse mask_use) {
  const Device& device = backend.device;
  const std::size_t columns = (std::size_t{b.ncols} + K - 1) / K;
  const std::size_t threads = num_workspaces(device, a.num_tile_rows, product_chunk);
  Buffer<EdgeOffset> tile_row_ptr(std::size_t{a.num_tile_rows} + 1, EdgeOffset{0}, device);
  Workspace workspace(threads, columns, TileRowSpace<K>(columns).words(), device);
  const TileProductArgs<K> args{a, b, mask, mask_use, workspace.view()};
  if (columns != 0) tile_product_sizes(backend, args, tile_row_ptr.data());
  const auto tiles = static_cast<std::size_t>(exclusive_scan(device, tile_row_ptr.span()));
  Buffer<NodeId> tile_col_ind(tiles, device);
  Buffer<std::byte> bits(tiles * tile_bytes(K), device);
  EdgeOffset nvals = 0;
  if (tiles != 0) {
    auto* words = reinterpret_cast<TileWord<K>*>(bits.data());
    nvals = tile_product_fill(backend, args, TileProductOut<K>{tile_row_ptr.data(), tile_col_ind.data(), words});
  }
  return {a.nrows, b.ncols, K, std::move(tile_row_ptr), std::move(tile_col_ind), std::move(bits), nvals, trusted};
}

CsrPattern boolean_product(const CsrPatternView& a, const CsrPatternView& b, const CsrPatternView& mask,
                           MaskUse mask_use, const ProductItems&, const Device& device) {
  return product(a, b, mask, mask_use, nullptr, device);
}

template <int K>
BitTileMatrix boolean_product(const BitTileView<K>& a, const BitTileView<K>& b, const BitTileView<K>& mask,
                              MaskUse mask_use, [[maybe_unused]] const ProductItems& tiles, const Device& device) {
  return with_backend(device, "mxm", [&](const auto& backend) {
    using Backend = std::decay_t<decltype(backend)>;
    if constexpr (std::is_same_v<Backend, Reference>) {
      return pack(product(a, b, mask, mask_use, nullptr, device), {.tile_dim = K}, device);
    } else if constexpr (std::is_same_v<Backend, Cuda>) {
      return tile_product(backend, TileProductArgs<K>{a, b, mask, mask_use, {}}, tiles);
    } else {
      return tile_product(backend, a, b, mask, mask_use);
    }
  });
}

/// Operands of tiles as pattern CSR, each matrix once.
class UnpackedOperands {
 public:
  UnpackedOperands(const BitTileMatrix& a, const BitTileMatrix& b, const MatrixMask<BitTileMatrix>& mask)
      : a_(unpack(a)), complement_(mask.complement) {
    if (&b != &a) b_ = unpack(b);
    if (mask.entries == nullptr) return;
    mask_at_ = mask.entries == &a ? &a_ : mask.entries == &b ? &b_.value() : &mask_.emplace(unpack(*mask.entries));
  }
  [[nodiscard]] const CsrPattern& a() const { return a_; }
  [[nodiscard]] const CsrPattern& b() const { return b_ ? *b_ : a_; }
  [[nodiscard]] MatrixMask<CsrPattern> mask() const {
    MatrixMask<CsrPattern> mask;
    mask.entries = mask_at_;
    mask.complement = complement_;
    return mask;
  }

 private:
  CsrPattern a_;
  std::optional<CsrPattern> b_, mask_;
  const CsrPattern* mask_at_ = nullptr;
  bool complement_;
};

bool is_loose(const CsrPattern&) { return false; }
bool is_loose(const BitTileMatrix& a) { return mxm_plan::is_loose(a.num_tiles(), a.nvals(), a.tile_dim()); }

using mxm_plan::Operation;

template <class Graph>
mxm_plan::Plan plan_for(Operation operation, const Graph& a, const Graph& b, const MatrixMask<Graph>& mask) {
  return mxm_plan::plan({.operation = operation,
                         .tiles = std::is_same_v<Graph, BitTileMatrix>,
                         .loose = mask.entries != nullptr && is_loose(a) && is_loose(b) && is_loose(*mask.entries),
                         .mask_use = use_of(mask),
                         .backend = backend_for(a.device())});
}

/// On the host a product within a mask goes one of two ways.
template <class Graph>
std::string host_name(const mxm_plan::Plan& chosen, Operation operation, const Graph& a, const Graph& b,
                      const MatrixMask<Graph>& mask) {
  std::string name = describe(chosen);
  if constexpr (std::is_same_v<Graph, CsrPattern>) {
    if (chosen.kernel == mxm_plan::Kernel::within) {
      const bool counted = operation == Operation::counts;
      const bool compares = plan_within(Cpu{a.device()}, a.view(), b.view(), mask.entries->view(), counted).compares;
      name += compares ? ", compared" : ", gathered";
    }
  }
  return host_kernel(a.device(), name);
}

mxm_plan::Sizes sizes_of(const CsrPattern& a, const CsrPattern& b, const CsrPattern* mask, bool) {
  return {.rows = a.nrows(),
          .a_items = a.nvals(),
          .b_rows = b.nrows(),
          .b_items = b.nvals(),
          .mask_items = mask == nullptr ? 0 : mask->nvals()};
}
mxm_plan::Sizes sizes_of(const BitTileMatrix& a, const BitTileMatrix& b, const BitTileMatrix* mask, bool unpacks) {
  const auto items = [&](const BitTileMatrix& of) { return unpacks ? of.nvals() : of.num_tiles(); };
  const auto side = static_cast<std::size_t>(a.tile_dim());
  return {.rows = unpacks ? a.nrows() : a.num_tile_rows(),
          .a_items = items(a),
          .b_rows = unpacks ? b.nrows() : b.num_tile_rows(),
          .b_items = items(b),
          .mask_items = mask == nullptr ? 0 : items(*mask),
          .item_bytes = sizeof(NodeId) + (unpacks ? 0 : side * side / 8)};
}

/// On the host bytes are those of the operands: those of the result are not known before it is there.
template <class Graph>
KernelChoice choice_for(Operation operation, const Graph& a, const Graph& b, const MatrixMask<Graph>& mask) {
  const mxm_plan::Plan chosen = plan_for(operation, a, b, mask);
  const std::size_t bytes = a.bytes() + b.bytes() + (mask.entries == nullptr ? 0 : mask.entries->bytes());
  if (a.device().is_host()) return {host_name(chosen, operation, a, b, mask), static_cast<double>(bytes)};
  mxm_plan::Sizes sizes = sizes_of(a, b, mask.entries, chosen.unpacks);
  sizes.bytes = bytes;
  const Prediction cost = predict(sizes, chosen);
  return {describe(chosen), cost.bytes, cost.seconds};
}

}  // namespace

template <class Graph>
KernelChoice mxm_explain(OrAnd, const Graph& a, const Graph& b, const std::type_identity_t<MatrixMask<Graph>>& mask) {
  check(a, b, mask, false);
  return choice_for(Operation::product, a, b, mask);
}

template <class Graph>
KernelChoice mxm_explain(PlusPair, const Graph& a, const Graph& b,
                         const std::type_identity_t<MatrixMask<Graph>>& mask) {
  check(a, b, mask, false);
  return choice_for(Operation::counts, a, b, mask);
}

template <class Graph>
KernelChoice mxm_sum_explain(const Graph& a, const Graph& b, const std::type_identity_t<MatrixMask<Graph>>& mask,
                             const MxmSumOptions& options) {
  check(a, b, mask, options.transpose_b);
  return choice_for(mask.entries == nullptr ? Operation::sum : Operation::masked_sum, a, b, mask);
}

template <class Graph>
std::uint64_t mxm_sum(const Graph& a, const Graph& b) {
  check(a, b, {}, false);
  trace_choice(a.device(), [&] { return choice_for<Graph>(Operation::sum, a, b, {}); });
  return with_views([&](const auto& x, const auto& y) { return sum_of_all(x, items_of(a), y, a.device()); }, a, b);
}

template <class Graph>
std::uint64_t mxm_sum(const Graph& a, const Graph& b, const std::type_identity_t<MatrixMask<Graph>>& mask,
                      const MxmSumOptions& options) {
  if (mask.entries == nullptr) fail(ErrorCode::usage, "mxm_sum: the mask is empty");
  if (mask.complement) fail(ErrorCode::usage, "mxm_sum: a complemented mask: subtract the masked sum from the whole");
  check(a, b, mask, options.transpose_b);
  trace_choice(a.device(), [&] { return choice_for(Operation::masked_sum, a, b, mask); });
  if constexpr (std::is_same_v<Graph, BitTileMatrix>) {
    if (plan_for(Operation::masked_sum, a, b, mask).unpacks) {
      const UnpackedOperands of(a, b, mask);
      return mxm_sum(of.a(), of.b(), of.mask(), options);
    }
  }
  // Without the transposition A and the mask change places: see MaskedSumArgs.
  const Graph& x = options.transpose_b ? a : *mask.entries;
  const Graph& m = options.transpose_b ? *mask.entries : a;
  const auto run = [&](const auto& left, const auto& right, const auto& within) {
    return sum_within(left, right, within, items_of(m), a.device());
  };
  return with_views(run, x, b, m);
}

template <class Graph>
Graph mxm(OrAnd, const Graph& a, const Graph& b, const std::type_identity_t<MatrixMask<Graph>>& mask) {
  check(a, b, mask, false);
  trace_choice(a.device(), [&] { return choice_for(Operation::product, a, b, mask); });
  if constexpr (std::is_same_v<Graph, BitTileMatrix>) {
    if (plan_for(Operation::product, a, b, mask).unpacks) {
      const UnpackedOperands of(a, b, mask);
      return pack(mxm(or_and, of.a(), of.b(), of.mask()), {.tile_dim = a.tile_dim()}, a.device());
    }
  }
  const ProductItems items{items_of(a), items_of(b), mask.entries == nullptr ? 0 : items_of(*mask.entries)};
  const auto run = [&](const auto& left, const auto& right, const auto& within) -> Graph {
    return boolean_product(left, right, within, use_of(mask), items, a.device());
  };
  return with_views(run, a, b, mask.entries == nullptr ? a : *mask.entries);
}

template <class Graph>
CsrMatrix<std::uint32_t> mxm(PlusPair, const Graph& a, const Graph& b,
                             const std::type_identity_t<MatrixMask<Graph>>& mask) {
  check(a, b, mask, false);
  trace_choice(a.device(), [&] { return choice_for(Operation::counts, a, b, mask); });
  if constexpr (std::is_same_v<Graph, BitTileMatrix>) {
    if (plan_for(Operation::counts, a, b, mask).unpacks) {
      const UnpackedOperands of(a, b, mask);
      return mxm(plus_pair, of.a(), of.b(), of.mask());
    }
  }
  const auto run = [&](const auto& left, const auto& right, const auto& within) -> CsrMatrix<std::uint32_t> {
    Buffer<std::uint32_t> counts;
    CsrPattern pattern = product(left, right, within, use_of(mask), &counts, a.device());
    return {std::move(pattern), std::move(counts)};
  };
  return with_views(run, a, b, mask.entries == nullptr ? a : *mask.entries);
}

namespace {

[[gnu::used]] constexpr auto instances = for_types(Types<CsrPattern, BitTileMatrix>(), [](auto type) {
  using Graph = TypeOf<decltype(type)>;
  using Mask = MatrixMask<Graph>;
  using Choice = KernelChoice (*)(const Graph&, const Graph&, const Mask&, const MxmSumOptions&);
  return instances_of(
      static_cast<std::uint64_t (*)(const Graph&, const Graph&)>(&mxm_sum<Graph>),
      static_cast<std::uint64_t (*)(const Graph&, const Graph&, const Mask&, const MxmSumOptions&)>(&mxm_sum<Graph>),
      static_cast<Graph (*)(OrAnd, const Graph&, const Graph&, const Mask&)>(&mxm<Graph>),
      static_cast<CsrMatrix<std::uint32_t> (*)(PlusPair, const Graph&, const Graph&, const Mask&)>(&mxm<Graph>),
      static_cast<KernelChoice (*)(OrAnd, const Graph&, const Graph&, const Mask&)>(&mxm_explain<Graph>),
      static_cast<KernelChoice (*)(PlusPair, const Graph&, const Graph&, const Mask&)>(&mxm_explain<Graph>),
      static_cast<Choice>(&mxm_sum_explain<Graph>));
});

}  // namespace

}  // namespace bitgraph
