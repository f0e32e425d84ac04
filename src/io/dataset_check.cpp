// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>
#include <bitgraph/io/dataset.hpp>

#include "core/fingerprint.hpp"
#include "core/finite.hpp"
#include "io/dataset.hpp"

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
    const std::size_t nodes = d_.graph.nrows();
    require(d_.num_classes >= 0, "{} classes", d_.num_classes);
    if (d_.labels.empty() && d_.num_classes == 0) return;
    require(d_.labels.size() == nodes, "labels of {} nodes for a graph of {}", d_.labels.size(), nodes);
    const auto wrong = std::find_if(d_.labels.begin(), d_.labels.end(),
                                    [&](std::int32_t label) { return label < unlabelled || label >= d_.num_classes; });
    require(wrong == d_.labels.end(), "node {} has the label {}, and there are {} classes", wrong - d_.labels.begin(),
            wrong == d_.labels.end() ? 0 : *wrong, d_.num_classes);
  }

  void part(const char* name, const std::vector<NodeId>& nodes) const {
    const std::size_t n = d_.graph.nrows();
    const auto wrong = std::find_if(nodes.begin(), nodes.end(), [&](NodeId node) { return node >= n; });
    require(wrong == nodes.end(), "{} of its {} nodes is no node of a graph of {}", wrong == nodes.end() ? 0 : *wrong,
            name, n);
  }

  const Dataset& d_;
};

}  // namespace

void Dataset::validate() const { DatasetCheck(*this).run(); }

std::string Dataset::fingerprint() const {
  Fingerprint print;
  for (const CsrPattern* pattern : {&graph, &features.pattern}) {
    print.add(pattern->row_ptr());
    print.add(pattern->col_ind());
  }
  print.add(features.values.span());
  print.add(dense_features.values());
  print.add(std::span<const std::int32_t>(labels));
  return print.text();
}

}  // namespace bitgraph
