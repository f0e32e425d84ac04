// SPDX-License-Identifier: Apache-2.0
#include "fuzz_promise.hpp"
#include "io/dataset/partition.hpp"

#include <algorithm>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace bitgraph;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  Partition partition;
  if (!fuzz::accepted([&] { partition = read_partition(bytes, fuzz::file_name); })) return 0;
  fuzz::expect(partition.num_parts() <= std::max<NodeId>(partition.num_nodes(), 1), "no more parts than nodes");
  std::size_t nodes = 0;
  for (NodeId p = 0; p < partition.num_parts(); ++p) {
    for (const NodeId i : partition.nodes(p)) fuzz::expect(partition.part_of()[i] == p, "a node is where it is listed");
    nodes += partition.nodes(p).size();
  }
  fuzz::expect(nodes == partition.num_nodes(), "each node is in one part");
  const CsrPattern graph = csr_from_edges(partition.num_nodes(), partition.num_nodes(), {}, {});
  (void)fuzz::accepted([&] { partition.require_graph(graph, fuzz::file_name); });
  return 0;
}
