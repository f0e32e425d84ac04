// SPDX-License-Identifier: Apache-2.0
// Analyses a graph of names: reads an edge list, packs it once, runs four algorithms, and writes a line for each node.
//   analyse EDGES.csv SOURCE_COLUMN TARGET_COLUMN START RESULT.csv
// The search begins at the node with the name START. Without arguments the example writes a small edge list itself.
#include <bitgraph/bitgraph.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

using namespace bitgraph;

/// One value for each node, in the order of the nodes.
struct Analysis {
  BfsResult search;
  PageRankResult ranks;
  Components components;
  Buffer<std::uint64_t> triangles;
};

/// The algorithms share one packed graph. bfs and pagerank follow the edges, the other two ignore directions.
Analysis analyse(const Graph& graph, NodeId start, const Device& device) {
  const PackedGraph packed = pack_graph(graph.pattern, {.order_where_it_pays = true}, device);
  std::printf("%u nodes, %zu bytes packed: %s\n", packed.num_nodes(), packed.bytes(), packed.reason().c_str());
  Analysis result;
  result.search = bfs(packed, {.source = start});
  result.ranks = pagerank(packed);
  result.components = connected_components(packed);
  result.triangles = triangles_of_nodes(packed);
  return result;
}

/// A field of CSV, quoted where it must be.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + "\"";
}

/// Results are in the order of the nodes. `ids` has the name of each.
void write(const std::string& path, const NodeIds& ids, const Analysis& result) {
  std::ofstream out(path);
  out << "name,level,rank,component,triangles\n";
  for (NodeId node = 0; node < result.search.level.size(); ++node) {
    out << quoted(ids.text(node)) << ',' << result.search.level[node] << ',' << result.ranks.rank[node] << ','
        << quoted(ids.text(result.components.label[node])) << ',' << result.triangles[node] << '\n';
  }
  if (!out.flush()) fail(ErrorCode::internal, path + ": cannot write");
}

void write_edges(const std::filesystem::path& path) {
  std::ofstream(path) << "year,citing,cited\n"
                         "1937,\"Church, Alonzo\",\"Turing, Alan\"\n"
                         "1950,\"Turing, Alan\",\"Gödel, Kurt\"\n"
                         "1956,\"Kleene, Stephen\",\"Turing, Alan\"\n"
                         "1956,\"Kleene, Stephen\",\"Gödel, Kurt\"\n";
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const bool given = argc > 5;
    const auto folder = std::filesystem::temp_directory_path();
    const std::string edges = given ? argv[1] : (folder / "bitgraph-example-citations.csv").string();
    const std::string results = given ? argv[5] : (folder / "bitgraph-example-analysis.csv").string();
    if (!given) write_edges(edges);

    LoadOptions options;
    options.list.columns =
        given ? std::vector<std::string>{argv[2], argv[3]} : std::vector<std::string>{"citing", "cited"};
    const Graph graph = load_graph(edges, options);
    const std::string name = given ? argv[4] : "Kleene, Stephen";
    const std::optional<NodeId> start = graph.ids.find(name, graph.pattern.nrows());
    if (!start) fail(ErrorCode::usage, edges + " has no node '" + name + "'");

    const Analysis result = analyse(graph, *start, Device::host());
    write(results, graph.ids, result);
    std::printf("%u nodes reached from %s, %u components\n", result.search.reached, name.c_str(),
                result.components.count);
    if (given) return 0;
    std::filesystem::remove(edges);
    std::filesystem::remove(results);
    return result.search.reached == 3 && result.components.count == 1 && result.triangles[*start] == 1 ? 0 : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
