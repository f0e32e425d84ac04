// SPDX-License-Identifier: Apache-2.0
// Predicts the time of a product in every format, from a sample of the graph. Bit-GraphBLAS (section III-C) takes the
// tile side with the fewest bytes. Bytes are not time: a tile of side 32 costs little more than one of side 16, a
// random read costs more than a bit, and data in the cache costs nothing to read again.
#include "graph/packed_graph/choice.hpp"

#include "graph/packed_graph/costs.hpp"

#include <bitgraph/formats/advisor.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace bitgraph {

namespace {

/// Finding reverse Cuthill-McKee and renumbering, nanoseconds an entry on one thread (34 to 120 were measured) and at
/// all.
constexpr double order_cost = 60, any_order_cost = 1e5;

/// Products that an order has to pay for itself in.
constexpr double products = 100;

/// Entries of a tile of side 64 from which on a search, which looks up a row of a tile at once, gains by tiles.
constexpr double full_tile = 256;
constexpr NodeId small_graph = 1000;  ///< rows below which they are near enough as they are

/// Entries of a tile of side 64 from which on the product of two such tiles is cheaper than that of their entries, and
/// from which on it is so within a mask, where entries that the mask does not name cost nothing.
constexpr double worth_multiplying = 28, worth_comparing = 64;

/// Entries of a tile of side 4 from which on, unless those of side 64 are full, small tiles make a product of meshes
/// cheap, for few of them meet others; and the same within a mask.
constexpr double full_small_tile = 2.3, full_small_tile_masked = 3.1, full_wide_tile = 70;

/// What the sample says of one format.
struct Sides {
  double units = 0;  ///< entries of pattern CSR, or tiles
  double rows = 0;   ///< rows, or tile rows
  double bytes = 0;
};

Sides sides_of(const CsrPattern& a, const Profile& sampled, std::size_t format) {
  if (format == 0) {
    return {static_cast<double>(a.nvals()), static_cast<double>(a.nrows()), static_cast<double>(a.bytes())};
  }
  const TileProfile& side = sampled.tiles[format - 1];
  return {side.predicted_num_tiles, static_cast<double>(a.nrows()) / side.tile_dim, side.predicted_bytes};
}

double nanoseconds_of(const Sides& sides, const Cost& cost, double scatter, double vector_bytes) {
  const double far = vector_bytes > first_level_bytes ? scatter : 0;
  return cost.call + sides.units * (cost.unit + cost.far * far) + sides.rows * cost.row +
         std::max(0.0, sides.bytes - second_level_bytes) * cost.byte;
}

std::string name_of(int tile_dim) { return tile_dim == csr_tile ? "pattern CSR" : fmt::format("B2SR-{}", tile_dim); }

/// The predicted times of all formats: pattern CSR, then the tile sides.
std::array<double, num_formats> predict(const CsrPattern& a, Workload workload) {
  const Profile sampled = profile(a);
  const Costs& costs = costs_of(workload);
  // Tiles of side 16 are as wide as a cache line of floats: the share of entries that have one to themselves.
  const double scatter = a.nvals() == 0 ? 0 : sampled.tiles[2].predicted_num_tiles / static_cast<double>(a.nvals());
  const bool bits = workload == Workload::bits || workload == Workload::counts;
  const double vector_bytes = static_cast<double>(a.ncols()) * (bits ? 0.125 : 4);
  std::array<double, num_formats> times{};
  for (std::size_t format = 0; format < num_formats; ++format) {
    times[format] = nanoseconds_of(sides_of(a, sampled, format), costs[format], scatter, vector_bytes);
  }
  return times;
}

/// Kinds of work that are not products: rows are visited a few at a time, or made into other lists first.
bool walks_rows(Workload workload) {
  return workload == Workload::traversal || workload == Workload::search || workload == Workload::counting;
}

double entries_a_tile(const CsrPattern& a, const TileProfile& side) {
  return side.predicted_num_tiles == 0 ? 0 : static_cast<double>(a.nvals()) / side.predicted_num_tiles;
}
double entries_a_wide_tile(const CsrPattern& a) { return entries_a_tile(a, profile(a).tiles.back()); }

bool multiplies_matrices(Workload workload) {
  return workload == Workload::products || workload == Workload::masked_products;
}

FormatChoice choose_for_matrices(const CsrPattern& a, Workload workload) {
  const Profile sampled = profile(a);
  const double small = entries_a_tile(a, sampled.tiles.front());
  const double wide = entries_a_tile(a, sampled.tiles.back());
  int side = csr_tile;
  if (workload == Workload::masked_products) {
    side = wide >= worth_comparing ? 64 : small >= full_small_tile_masked ? 4 : csr_tile;
  } else if (small >= full_small_tile && wide < full_wide_tile) {
    side = 4;
  } else if (wide >= worth_multiplying) {
    side = 64;
  }
  return {.tile_dim = side,
          .reason = fmt::format("products of matrices: a tile of side 4 has {:.1f} entries, one of side 64 {:.0f}",
                                small, wide)};
}

int format_at(std::size_t index) { return index == 0 ? csr_tile : tile_dims[index - 1]; }

}  // namespace

FormatChoice choose_format(const CsrPattern& a, Workload workload, const Device& device) {
  // Measured on an H200, meshes and de Bruijn graphs among others: tiles are rarely as fast.
  if (!device.is_host())
    return {.tile_dim = csr_tile, .reason = "pattern CSR is the fastest on the device, or as fast"};
  if (multiplies_matrices(workload)) return choose_for_matrices(a, workload);
  if (workload == Workload::search && a.nrows() >= small_graph && entries_a_wide_tile(a) >= full_tile) {
    return {.tile_dim = 32, .reason = "a search meets many neighbours in one word: B2SR-32"};
  }
  if (walks_rows(workload)) return {.tile_dim = csr_tile, .reason = "single rows are visited: pattern CSR"};
  const auto times = predict(a, workload);
  const auto best = static_cast<std::size_t>(std::min_element(times.begin(), times.end()) - times.begin());
  std::size_t next = best == 0 ? 1 : 0;
  for (std::size_t format = 0; format < num_formats; ++format) {
    if (format != best && times[format] < times[next]) next = format;
  }
  return {.tile_dim = format_at(best),
          .reason = fmt::format("{} is predicted at {:.1f} us a product, {} at {:.1f}", name_of(format_at(best)),
                                times[best] / 1000, name_of(format_at(next)), times[next] / 1000),
          .nanoseconds = times[best]};
}

OrderedPattern in_order(const CsrPattern& a, Order order, const CsrPattern& nearest) {
  OrderedPattern result{.order = order, .tried = order != Order::original};
  if (result.tried) {
    result.new_id = reorder(order == Order::degree ? a : nearest, order);
    result.pattern = permuted(a, result.new_id.span());
  }
  return result;
}

OrderedPattern choose_order(const CsrPattern& a, Workload workload, int tile_dim, const Device& device) {
  OrderedPattern as_it_is;
  if (walks_rows(workload) || multiplies_matrices(workload)) {
    as_it_is.reason = "no repeated product with a vector: the order is left alone";
    return as_it_is;
  }
  if (!device.is_host()) {
    // 100 products of the largest graphs take the device less than a nanosecond an entry.
    as_it_is.reason = "products on the device are too fast for an order found on the host to pay: it is left alone";
    return as_it_is;
  }
  const auto best_time = [&](const CsrPattern& pattern) {
    const auto times = predict(pattern, workload);
    if (tile_dim == auto_tile) return *std::min_element(times.begin(), times.end());
    for (std::size_t format = 0; format < num_formats; ++format) {
      if (format_at(format) == tile_dim) return times[format];
    }
    return times[0];
  };
  const double before = best_time(a);
  const double cost = any_order_cost + order_cost * static_cast<double>(a.nvals());
  // At best an order makes three quarters of the time go away.
  if (products * 0.75 * before <= cost) {
    as_it_is.reason =
        fmt::format("an order costs about {:.1f} ms, {:.0f} products take {:.1f}: the order is left alone", cost / 1e6,
                    products, products * before / 1e6);
    return as_it_is;
  }
  OrderedPattern found = in_order(a, Order::reverse_cuthill_mckee, a);
  const double after = best_time(found.pattern);
  const bool pays = products * (before - after) > cost;
  std::string reason = fmt::format(
      "predicted {:.1f} us a product as the nodes are and {:.1f} in the order rcm, which costs about {:.1f} ms",
      before / 1000, after / 1000, cost / 1e6);
  if (!pays) found = {.tried = true};
  found.reason = std::move(reason);
  return found;
}

}  // namespace bitgraph
