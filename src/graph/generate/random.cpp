// SPDX-License-Identifier: Apache-2.0
// Synthetic graphs. Every generator here draws its edges at random, from counter-based random numbers: draw number e
// depends on the seed, the purpose and e only. So threads draw in any order, and a seed gives the same graph for every
// number of threads.
//
// Encoding. GeneratedEdges (edges.hpp) is a list of edges. A generator fills it in parallel, and a loop stands for no
// edge. symmetric() then makes a symmetric pattern CSR without loops and without duplicate edges.
//
// Generators.
//   generate_rmat                R-MAT (Chakrabarti, Zhan, Faloutsos 2004): each level of the recursion draws a
//                                quadrant of the matrix, which gives skewed degrees.
//   generate_uniform             Both ends of an edge are uniform, so the degrees are alike.
//   generate_planted_partition   A graph with classes. An edge stays in the class of its first end with the
//                                probability homophily. A feature is of the node's class with the probability
//                                feature_signal.
// Other files: families.cpp (Mycielskian and de Bruijn graphs), meshes.cpp (grids and triangulated meshes), and
// planted_graph.cpp (large graphs with power-law degrees, after Chung and Lu 2002).
//
// All generators run on the host (require_host).
#include <bitgraph/graph/generate.hpp>

#include <bitgraph/core/random.hpp>

#include "core/preconditions.hpp"
#include "core/threads/parallel.hpp"
#include "graph/generate/edges.hpp"

#include <cmath>
#include <limits>

namespace bitgraph {

namespace {

/// A draw in [0, 1) for entry e of purpose `purpose`.
double draw(std::uint64_t seed, std::uint32_t purpose, std::uint64_t e) {
  return random_uniform_double({seed, purpose, 0x6E}, e);
}

}  // namespace

CsrPattern generate_rmat(int scale, std::size_t edge_factor, std::uint64_t seed, const Device& device) {
  require_host(device, "generate_rmat");
  require(scale >= 1 && scale <= 31, "R-MAT: the scale must be between 1 and 31");
  const std::size_t n = std::size_t{1} << scale;
  require(edge_factor <= std::numeric_limits<std::size_t>::max() / n, "R-MAT: too many edges to be counted");
  GeneratedEdges edges(edge_factor * n);
  parallel_for(device, edges.rows.size(), generator_grain, [&](std::size_t e) {
    NodeId i = 0;
    NodeId j = 0;
    for (int level = 0; level < scale; ++level) {
      const double u = draw(seed, static_cast<std::uint32_t>(level), e);
      i = i * 2 + (u >= 0.76 ? 1U : 0U);
      j = j * 2 + ((u >= 0.57 && u < 0.76) || u >= 0.95 ? 1U : 0U);
    }
    edges.rows[e] = i;
    edges.cols[e] = j;
  });
  return edges.symmetric(static_cast<NodeId>(n), device);
}

CsrPattern generate_uniform(NodeId num_nodes, std::size_t num_edges, std::uint64_t seed, const Device& device) {
  require_host(device, "generate_uniform");
  require(num_nodes > 0 || num_edges == 0, "uniform: edges need nodes");
  GeneratedEdges edges(num_edges);
  parallel_for(device, num_edges, generator_grain, [&](std::size_t e) {
    edges.rows[e] = static_cast<NodeId>(random_below({seed, 1, 0}, e, num_nodes));
    edges.cols[e] = static_cast<NodeId>(random_below({seed, 2, 0}, e, num_nodes));
  });
  return edges.symmetric(num_nodes, device);
}

Dataset generate_planted_partition(const PlantedPartitionOptions& o, const Device& device) {
  require_host(device, "generate_planted_partition");
  const auto classes = static_cast<std::uint64_t>(o.num_classes);
  require(o.num_classes >= 1 && o.num_nodes >= classes, "planted partition: at least one class and one node a class");
  require(o.num_features >= classes && o.num_features < std::numeric_limits<NodeId>::max(),
          "planted partition: at least one feature a class");
  require(o.homophily >= 0 && o.homophily <= 1 && o.feature_signal >= 0 && o.feature_signal <= 1,
          "planted partition: probabilities lie between 0 and 1");
  require(o.mean_degree >= 0 && o.features_a_node >= 0, "planted partition: means must not be negative");
  Dataset dataset;
  dataset.name = "planted_partition";
  dataset.num_classes = o.num_classes;
  const NodeId n = o.num_nodes;
  // Node i is of class i % classes; the nodes of a class are then c, c + classes, ...
  dataset.labels.resize(n);
  for (NodeId i = 0; i < n; ++i) dataset.labels[i] = static_cast<std::int32_t>(i % classes);
  const auto in_class = [&](std::uint64_t c) { return (n - c + classes - 1) / classes; };

  GeneratedEdges edges(static_cast<std::size_t>(o.mean_degree * n / 2));
  parallel_for(device, edges.rows.size(), generator_grain, [&](std::size_t e) {
    const auto i = static_cast<NodeId>(random_below({o.seed, 10, 0}, e, n));
    const std::uint64_t c = i % classes;
    const bool same = draw(o.seed, 11, e) < o.homophily;
    edges.rows[e] = i;
    edges.cols[e] = same ? static_cast<NodeId>(c + classes * random_below({o.seed, 12, 0}, e, in_class(c)))
                         : static_cast<NodeId>(random_below({o.seed, 12, 0}, e, n));
  });
  dataset.graph = edges.symmetric(n, device);

  const std::size_t drawn = static_cast<std::size_t>(o.features_a_node * n);
  GeneratedEdges marks(drawn);
  const std::uint64_t own = o.num_features / classes;
  parallel_for(device, drawn, generator_grain, [&](std::size_t e) {
    const auto i = static_cast<NodeId>(random_below({o.seed, 20, 0}, e, n));
    const bool telling = draw(o.seed, 21, e) < o.feature_signal;
    marks.rows[e] = i;
    marks.cols[e] = static_cast<NodeId>(telling ? (i % classes) * own + random_below({o.seed, 22, 0}, e, own)
                                                : random_below({o.seed, 22, 0}, e, o.num_features));
  });
  dataset.features.pattern = csr_from_edges(n, static_cast<NodeId>(o.num_features), marks.rows, marks.cols, {}, device);
  dataset.features.values = Buffer<float>(dataset.features.pattern.nvals(), 1.0F, device);
  draw_split(dataset, {.seed = o.seed});
  return dataset;
}

}  // namespace bitgraph
