// SPDX-License-Identifier: Apache-2.0
// What every text reader must keep besides: it gives a valid pattern that survives being written and read again.
#pragma once

#include <bitgraph/io/graph.hpp>

#include "fuzz_promise.hpp"

#include <string_view>

namespace bitgraph::fuzz {

/// read(text) gives a Graph; check(graph) what else must hold for it.
template <class Read, class Check>
void read_text_graph(std::string_view text, Read&& read, Check&& check) {
  Graph graph;
  if (!accepted([&] { graph = read(text); })) return;
  graph.pattern.validate();
  check(graph);
}

}  // namespace bitgraph::fuzz
