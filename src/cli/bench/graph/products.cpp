// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/random.hpp>
#include <bitgraph/ops/mxm.hpp>
#include <bitgraph/ops/mxv.hpp>
#include <bitgraph/ops/select.hpp>

#include "cli/bench/graph/arena.hpp"

#include <fmt/format.h>

#include <array>

namespace bitgraph::cli {

namespace {

/// Multiplications of A A beyond which the rivals, which store the product, are left out.
constexpr std::uint64_t most_products = 200'000'000;

std::vector<double> numbers_of(const Buffer<float>& values) {
  const Buffer<float> host = values.to(Device{});
  return {host.begin(), host.end()};
}
std::vector<double> numbers_of(const BitVector& bits) {
  const BitVector host = bits.to(Device{});
  std::vector<double> numbers(host.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = host.bit(i) ? 1 : 0;
  return numbers;
}

/// A scheme of the paper: what x is, the semiring, and whether rows are masked.
struct Scheme {
  const char* name;
  MxvKind kind;
  double share = 0;  ///< of x that is set, where it is bits
  bool masked = false;
};

constexpr std::array<Scheme, 12> schemes{
    {{"bin_bin_bin or_and, half set", MxvKind::bits_to_bits, 0.5},
     {"bin_bin_bin or_and, 1/16 set", MxvKind::bits_to_bits, 1.0 / 16},
     {"bin_bin_bin or_and, 1/16 set, masked", MxvKind::bits_to_bits, 1.0 / 16, true},
     {"bin_bin_full plus_times, half set", MxvKind::bits_to_counts, 0.5},
     {"bin_bin_full plus_times, half set, masked", MxvKind::bits_to_counts, 0.5, true},
     {"bin_full_full plus_times", MxvKind::plus_times},
     {"bin_full_full plus_times, masked", MxvKind::plus_times, 0, true},
     {"bin_full_full min_plus", MxvKind::min_plus},
     {"bin_full_full min_plus, masked", MxvKind::min_plus, 0, true},
     {"bin_full_full min_first", MxvKind::min_first},
     {"bin_full_full max_times", MxvKind::max_times},
     {"bin_full_full max_times, masked", MxvKind::max_times, 0, true}}};

/// The vectors of a scheme, on the host for the rival, and where the graph lives.
struct Operands {
  Operands(const Scheme& scheme, const CsrPattern& a, std::uint64_t seed, const Device& device) : x(a.ncols()) {
    BitVector on_host(a.ncols());
    for (std::size_t j = 0; j < x.size(); ++j) {
      if (scheme.share > 0) {
        on_host.set_bit(j, random_uniform_double({seed, 3, 0}, j) < scheme.share);
        x[j] = on_host.bit(j) ? 1 : 0;
      } else {
        x[j] = static_cast<float>(random_below({seed, 4, 0}, j, 1000));
      }
    }
    BitVector out_of_sight(a.nrows());
    if (scheme.masked) hidden.resize(a.nrows());
    for (std::size_t i = 0; i < hidden.size(); ++i) {
      hidden[i] = random_uniform_double({seed, 6, 0}, i) < 0.5 ? 1 : 0;
      out_of_sight.set_bit(i, hidden[i] != 0);
    }
    bits = on_host.to(device);
    values = Buffer<float>::copy_of(x, device);
    visited = out_of_sight.to(device);
    if (scheme.masked) options = {.mask = ~visited, .replace = true};
  }

  std::vector<float> x;
  std::vector<std::uint8_t> hidden;
  BitVector bits, visited;
  Buffer<float> values;
  MxvOptions options;
};

template <class Out, class S, class X>
OurWay product_way(S semiring, const PackedGraph::Matrix& matrix, const X& x, const Operands& operands) {
  return std::visit(
      [&](const auto& a) -> OurWay {
        auto out = std::make_shared<Out>(a.nrows(), a.device());
        return {.run = [out, semiring, &a, &x, &operands](NodeId) { mxv_into(*out, semiring, a, x, operands.options); },
                .result = [out] { return numbers_of(*out); }};
      },
      matrix);
}

OurWay mxv_way(MxvKind kind, const PackedGraph::Matrix& a, const Operands& g) {
  switch (kind) {
    case MxvKind::bits_to_bits: return product_way<BitVector>(or_and, a, g.bits, g);
    case MxvKind::bits_to_counts: return product_way<Buffer<float>>(plus_times, a, g.bits, g);
    case MxvKind::plus_times: return product_way<Buffer<float>>(plus_times, a, g.values, g);
    case MxvKind::min_plus: return product_way<Buffer<float>>(min_plus, a, g.values, g);
    case MxvKind::min_first: return product_way<Buffer<float>>(min_first, a, g.values, g);
    case MxvKind::max_times: return product_way<Buffer<float>>(max_times, a, g.values, g);
  }
  return {};
}

Workload workload_of(MxvKind kind) {
  switch (kind) {
    case MxvKind::bits_to_bits: return Workload::bits;
    case MxvKind::bits_to_counts: return Workload::counts;
    default: return Workload::values;
  }
}

struct MxmScheme {
  const char* name;
  MxmKind kind;
};

constexpr std::array<MxmScheme, 7> matrix_schemes{{{"bin_bin_sum", MxmKind::sum},
                                                   {"bin_bin_sum, masked", MxmKind::masked_sum},
                                                   {"or_and", MxmKind::reach},
                                                   {"or_and, masked", MxmKind::masked_reach},
                                                   {"or_and, masked by the complement", MxmKind::outside_reach},
                                                   {"plus_pair", MxmKind::counts},
                                                   {"plus_pair, masked", MxmKind::masked_counts}}};

Workload workload_of(MxmKind kind) {
  switch (kind) {
    case MxmKind::reach:
    case MxmKind::outside_reach: return Workload::products;
    case MxmKind::masked_reach:
    case MxmKind::masked_sum: return Workload::masked_products;
    default: return Workload::counting;
  }
}

/// Whether the product is as large as A A, and stored.
bool stores_all(MxmKind kind) {
  return kind == MxmKind::reach || kind == MxmKind::outside_reach || kind == MxmKind::counts;
}

std::uint64_t products_of(const CsrPattern& a) {
  std::uint64_t products = 0;
  for (const NodeId k : a.col_ind()) products += a.row(k).size();
  return products;
}

/// The sum of each row: of ones, or of the values.
std::vector<double> row_sums(const CsrPattern& product) {
  const CsrPattern host = product.to(Device{});
  std::vector<double> sums(host.nrows());
  for (NodeId i = 0; i < host.nrows(); ++i) sums[i] = static_cast<double>(host.row(i).size());
  return sums;
}
std::vector<double> row_sums(const BitTileMatrix& product) { return row_sums(unpack(product.to(Device{}))); }
std::vector<double> row_sums(const CsrMatrix<std::uint32_t>& product) {
  const CsrMatrix<std::uint32_t> host = product.to(Device{});
  std::vector<double> sums(host.nrows());
  for (NodeId i = 0; i < host.nrows(); ++i) {
    for (const std::uint32_t value : host.row_values(i)) sums[i] += value;
  }
  return sums;
}

template <class Graph, class Multiply>
OurWay sparse_product(const Multiply& multiply) {
  auto product = std::make_shared<std::optional<Graph>>();
  return {.run = [=](NodeId) { product->emplace(multiply()); }, .result = [=] { return row_sums(**product); }};
}

template <class Count>
OurWay sum_way(const Count& count) {
  auto sum = std::make_shared<std::uint64_t>(0);
  return {.run = [=](NodeId) { *sum = count(); }, .result = [=] { return std::vector{static_cast<double>(*sum)}; }};
}

template <class Graph>
OurWay mxm_way(MxmKind kind, const Graph& a) {
  switch (kind) {
    case MxmKind::sum: return sum_way([&a] { return mxm_sum(a, a); });
    case MxmKind::masked_sum: return sum_way([&a] { return mxm_sum(a, a, a, {.transpose_b = true}); });
    case MxmKind::reach: return sparse_product<Graph>([&a] { return mxm(or_and, a, a); });
    case MxmKind::masked_reach: return sparse_product<Graph>([&a] { return mxm(or_and, a, a, a); });
    case MxmKind::outside_reach: return sparse_product<Graph>([&a] { return mxm(or_and, a, a, ~a); });
    case MxmKind::counts: return sparse_product<CsrMatrix<std::uint32_t>>([&a] { return mxm(plus_pair, a, a); });
    case MxmKind::masked_counts:
      return sparse_product<CsrMatrix<std::uint32_t>>([&a] { return mxm(plus_pair, a, a, a); });
  }
  return {};
}

}  // namespace

void bench_mxv(Arena& arena) {
  const CsrPattern& pattern = arena.pattern();
  PeerGraph& peer = arena.peer_of_pattern();
  for (const Scheme& scheme : schemes) {
    const Operands operands(scheme, pattern, arena.setting().seed, arena.setting().device);
    arena.measure_rival({.algorithm = "mxv",
                         .variant = scheme.name,
                         .ways = peer.mxv({.kind = scheme.kind, .x = operands.x, .hidden = operands.hidden}),
                         .tolerance = 1e-4});
    for (const int tile : arena.setting().tiles) {
      arena.measure_ours(tile, [&] {
        return prepare_matrix(arena.setting(), pattern, tile, workload_of(scheme.kind),
                              [&](const PackedGraph::Matrix& a) { return mxv_way(scheme.kind, a, operands); });
      });
    }
  }
}

void bench_mxm(Arena& arena) {
  const CsrPattern& pattern = arena.undirected();
  const CsrPattern lower = tril(pattern, -1);
  const std::uint64_t products = products_of(pattern);
  PeerGraph& peer = arena.peer();
  for (const MxmScheme& scheme : matrix_schemes) {
    const bool triangular = scheme.kind == MxmKind::masked_sum;
    const bool stored = stores_all(scheme.kind);
    // A rival forms the product for the sum of its entries.
    const bool too_large = (stored || scheme.kind == MxmKind::sum) && products > most_products;
    Job job{.algorithm = "mxm", .variant = scheme.name, .ways = {}};
    if (too_large) {
      job.note = fmt::format("left out: A A takes {} multiplications, and it is stored", products);
    } else {
      job.ways = peer.mxm(scheme.kind);
    }
    const std::string left_out = job.note;
    arena.measure_rival(std::move(job));
    for (const int tile : arena.setting().tiles) {
      arena.measure_ours(tile, [&] {
        if (stored && too_large) fail(ErrorCode::not_possible, left_out);
        return prepare_matrix(arena.setting(), triangular ? lower : pattern, tile, workload_of(scheme.kind),
                              [&](const PackedGraph::Matrix& matrix) {
                                return std::visit([&](const auto& a) { return mxm_way(scheme.kind, a); }, matrix);
                              });
      });
    }
  }
}

}  // namespace bitgraph::cli
