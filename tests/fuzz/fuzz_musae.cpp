// SPDX-License-Identifier: Apache-2.0
// Three texts with a separator between them: edges, features, targets.
#include "fuzz_promise.hpp"
#include "io/dataset/published/musae.hpp"

#include <algorithm>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace bitgraph;
  constexpr char separator = '\x1E';
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const auto next = [&] {
    const std::string_view text = rest.substr(0, rest.find(separator));
    rest.remove_prefix(std::min(rest.size(), text.size() + 1));
    return NamedText{text, fuzz::file_name};
  };
  const NamedText edges = next();
  const NamedText features = next();
  const NamedText target = next();
  Dataset dataset;
  if (!fuzz::accepted([&] { dataset = read_musae(edges, features, target, Device::host(1)); })) return 0;
  dataset.graph.validate();
  dataset.features.pattern.validate();
  fuzz::expect(is_symmetric(dataset.graph) && num_self_loops(dataset.graph) == 0, "undirected, without loops");
  fuzz::expect(dataset.features.pattern.nrows() == dataset.graph.nrows(), "features of every node");
  fuzz::expect(dataset.labels.size() == dataset.graph.nrows(), "a label for every node");
  const auto known = [&](std::int32_t label) { return label >= -1 && label < dataset.num_classes; };
  fuzz::expect(std::ranges::all_of(dataset.labels, known), "labels of the classes");
  return 0;
}
