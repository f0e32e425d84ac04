// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>
#include <bitgraph/io/dataset.hpp>

#include "core/fingerprint.hpp"
#include "core/finite.hpp"
#include "io/dataset/dataset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>

namespace bitgraph {

namespace {

class DatasetCheck {
 public:
  explicit DatasetCheck(const Dataset& dataset) : d_(dataset) {}

  void run() const {
    graph();
    graphs();
    features();
    labels();
    part("training", d_.train);
    part("validation", d_.validation);
    part("test", d_.test);
  }

 private:
  template <class... Args>
  void require(bool holds, fmt::format_string<Args...> what, Args&&... args) const {
    if (holds) return;
    const std::string name = d_.name.empty() ? "" : " " + d_.name;
    fail(ErrorCode::bad_input, fmt::format("the data set{}: {}", name, fmt::format(what, std::forward<Args>(args)...)));
  }

  void graph() const {
    const CsrPattern& a = d_.graph;
    require(a.device().is_host(), "its graph is on {}, expected the host", a.device().name());
    require(a.nrows() == a.ncols(), "its graph is {} x {}, expected a square matrix", a.nrows(), a.ncols());
    const EdgeOffset loops = num_self_loops(a);
    require(loops == 0, "its graph has {} loops, expected none", loops);
  }

  /// Rows are sorted: their ends say whether an edge leaves the graph.
  void graphs() const {
    const std::vector<NodeId>& first = d_.first_node;
    if (first.empty()) return;
    const std::size_t nodes = d_.graph.nrows();
    require(first.size() > 1, "it has no graphs");
    require(first.front() == 0 && first.back() == nodes, "its graphs have the nodes {} to {} of {}", first.front(),
            first.back(), nodes);
    for (std::size_t g = 0; g + 1 < first.size(); ++g)
      require(first[g] < first[g + 1], "graph {} begins with node {} and ends before {}", g, first[g], first[g + 1]);
    for (std::size_t g = 0; g + 1 < first.size(); ++g) {
      for (NodeId i = first[g]; i < first[g + 1]; ++i) {
        const auto row = d_.graph.row(i);
        require(row.empty() || (row.front() >= first[g] && row.back() < first[g + 1]),
                "node {} of graph {} has an edge to another graph", i, g);
      }
    }
  }

  void features() const {
    const std::size_t nodes = d_.graph.nrows();
    const bool dense = d_.has_dense_features();
    const Device& device = dense ? d_.dense_features.device() : d_.features.pattern.device();
    require(device.is_host(), "its features are on {}, expected the host", device.name());
    const std::size_t rows = dense ? d_.dense_features.nrows() : d_.features.pattern.nrows();
    require(rows == nodes, "features of {} nodes for a graph of {}", rows, nodes);
    if (!dense) {
      const Buffer<float>& values = d_.features.values;
      require(values.device().is_host(), "its features are on {}, expected the host", values.device().name());
      require(values.size() == d_.features.pattern.nvals(), "{} values for {} entries of the features", values.size(),
              d_.features.pattern.nvals());
    }
    require(all_finite(dense ? d_.dense_features.values() : d_.features.values.span()),
            "a feature is infinite or not a number");
  }

  void labels() const {
    const std::size_t samples = d_.num_samples();
    require(d_.num_classes >= 0, "{} classes", d_.num_classes);
    if (d_.labels.empty() && d_.num_classes == 0) return;
    if (!of_graphs())
      require(d_.labels.size() == samples, "labels of {} nodes for a graph of {}", d_.labels.size(), samples);
    require(d_.labels.size() == samples, "{} labels for {} graphs", d_.labels.size(), samples);
    const auto wrong = std::find_if(d_.labels.begin(), d_.labels.end(),
                                    [&](std::int32_t label) { return label < unlabelled || label >= d_.num_classes; });
    require(wrong == d_.labels.end(), "{} {} has the label {}, and there are {} classes",
            of_graphs() ? "graph" : "node", wrong - d_.labels.begin(), wrong == d_.labels.end() ? 0 : *wrong,
            d_.num_classes);
  }

  void part(const char* name, const std::vector<NodeId>& samples) const {
    const std::size_t n = d_.num_samples();
    const auto wrong = std::find_if(samples.begin(), samples.end(), [&](NodeId sample) { return sample >= n; });
    if (wrong == samples.end()) return;
    require(of_graphs(), "{} of its {} nodes is no node of a graph of {}", *wrong, name, n);
    require(false, "{} of its {} graphs is none of {} graphs", *wrong, name, n);
  }

  [[nodiscard]] bool of_graphs() const noexcept { return d_.num_graphs() != 0; }

  const Dataset& d_;
};

}  // namespace

void Dataset::validate() const { DatasetCheck(*this).run(); }

std::vector<NodeId> Dataset::nodes_of(const std::vector<NodeId>& samples) const {
  if (first_node.empty()) return samples;
  std::vector<NodeId> nodes;
  for (const NodeId g : samples) {
    for (NodeId node = first_node[g]; node < first_node[g + std::size_t{1}]; ++node) nodes.push_back(node);
  }
  return nodes;
}

std::string Dataset::fingerprint() const {
  Fingerprint print;
  for (const CsrPattern* pattern : {&graph, &features.pattern}) {
    print.add(pattern->row_ptr());
    print.add(pattern->col_ind());
  }
  print.add(features.values.span());
  print.add(dense_features.values());
  print.add(std::span<const std::int32_t>(labels));
  if (!first_node.empty()) print.add(std::span<const NodeId>(first_node));
  return print.text();
}

}  // namespace bitgraph
