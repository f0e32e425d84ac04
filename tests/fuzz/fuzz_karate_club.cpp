// SPDX-License-Identifier: Apache-2.0
// Two texts with a separator between them: graphs, targets.
#include "fuzz_graph_set.hpp"
#include "io/dataset/published/karate_club.hpp"

#include <algorithm>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace bitgraph;
  constexpr char separator = '\x1E';
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view graphs = text.substr(0, text.find(separator));
  const std::string_view target = text.substr(std::min(size, graphs.size() + 1));
  return fuzz::check_graph_set([&] {
    return read_karate_club({graphs, fuzz::file_name}, {target, fuzz::file_name}, Device::host(1));
  });
}
