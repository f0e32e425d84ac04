// SPDX-License-Identifier: Apache-2.0
// What every text reader must keep, whatever the bytes: it throws bad_input with one line that names the file, or it
// gives a valid pattern that survives being written and read again.
#pragma once

#include <bitgraph/core/error.hpp>
#include <bitgraph/io/graph.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace bitgraph::fuzz {

inline void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

inline const std::string file_name = "fuzzed";

/// read(text) gives a Graph; check(graph) what else must hold for it.
template <class Read, class Check>
void read_text_graph(std::string_view text, Read&& read, Check&& check) {
  Graph graph;
  try {
    graph = read(text);
  } catch (const Error& error) {
    const std::string_view message = error.what();
    expect(error.code() == ErrorCode::bad_input, error.what());
    expect(message.starts_with(file_name + ":"), "the message starts with the file's name");
    expect(message.find('\n') == std::string_view::npos, "the message is one line");
    return;
  }
  graph.pattern.validate();
  check(graph);
}

}  // namespace bitgraph::fuzz
