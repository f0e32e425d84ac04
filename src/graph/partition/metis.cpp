// SPDX-License-Identifier: Apache-2.0
#include "graph/partition/metis.hpp"

#include <bitgraph/core/error.hpp>
#include <bitgraph/core/random.hpp>

#include <fmt/format.h>
#include <metis.h>

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <span>

namespace bitgraph {

namespace {

constexpr std::uint32_t seed_stream = 0x3E715;

/// METIS keeps its random numbers and its handlers of signals for the whole process.
std::mutex& turn() {
  static std::mutex mutex;
  return mutex;
}

/// A seed for METIS that every bit of ours has a say in. -1 would mean METIS's own.
idx_t seed_for_metis(std::uint64_t seed) {
  return static_cast<idx_t>(random_bits({seed, seed_stream}, 0) & std::uint64_t{0x7FFFFFFF});
}

template <class T>
std::vector<idx_t> counted(std::span<const T> values) {
  std::vector<idx_t> to(std::max<std::size_t>(values.size(), 1));  // METIS refuses arrays that are null
  std::transform(values.begin(), values.end(), to.begin(), [](T value) { return static_cast<idx_t>(value); });
  return to;
}

}  // namespace

std::uint64_t most_of_metis() noexcept { return static_cast<std::uint64_t>(std::numeric_limits<idx_t>::max()); }

void require_countable(std::uint64_t nodes, std::uint64_t entries, std::uint64_t most) {
  if (nodes < most && entries <= most) return;
  fail(ErrorCode::not_possible,
       fmt::format("partition: the undirected graph has {} nodes and {} entries, and this METIS counts up to {}", nodes,
                   entries, most));
}

std::vector<NodeId> metis_parts(const CsrPattern& graph, NodeId parts, std::uint64_t seed, bool recursive) {
  require_countable(graph.nrows(), graph.nvals());
  std::vector<idx_t> row_ptr = counted(graph.row_ptr());
  std::vector<idx_t> col_ind = counted(graph.col_ind());
  std::vector<idx_t> part(graph.nrows());
  auto nodes = static_cast<idx_t>(graph.nrows());
  auto num_parts = static_cast<idx_t>(parts);
  idx_t constraints = 1;
  idx_t cut = 0;
  std::array<idx_t, METIS_NOPTIONS> options{};
  METIS_SetDefaultOptions(options.data());
  options[METIS_OPTION_SEED] = seed_for_metis(seed);
  auto* const partition = recursive ? METIS_PartGraphRecursive : METIS_PartGraphKway;
  int status = METIS_ERROR;
  {
    const std::lock_guard lock(turn());
    status = partition(&nodes, &constraints, row_ptr.data(), col_ind.data(), nullptr, nullptr, nullptr, &num_parts,
                       nullptr, nullptr, options.data(), &cut, part.data());
  }
  if (status == METIS_ERROR_MEMORY) fail(ErrorCode::not_possible, "partition: METIS found too little memory");
  if (status != METIS_OK) fail(ErrorCode::internal, fmt::format("partition: METIS failed with status {}", status));
  std::vector<NodeId> part_of(part.size());
  std::transform(part.begin(), part.end(), part_of.begin(), [](idx_t p) { return static_cast<NodeId>(p); });
  return part_of;
}

}  // namespace bitgraph
