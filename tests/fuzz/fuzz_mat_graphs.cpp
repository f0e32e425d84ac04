// SPDX-License-Identifier: Apache-2.0
#include "fuzz_graph_set.hpp"
#include "io/dataset/published/mat_graphs.hpp"

#include <span>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace bitgraph;
  return fuzz::check_graph_set(
      [&] { return read_mat_graphs(std::as_bytes(std::span(data, size)), fuzz::file_name, Device::host(1)); });
}
