// SPDX-License-Identifier: Apache-2.0
// The part of an algorithm's class that depends on the backend. A public class such as PageRank holds an engine by a
// pointer. The engine owns the scratch memory, and `make_..._engine(backend, graph, ...)` makes it: the overload for
// the host's backends stands in a .cpp file, the one for Cuda in a .cu file. with_backend picks the overload.
#pragma once

#include <bitgraph/core/buffer.hpp>

#include <cstddef>

namespace bitgraph {

class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;
};

/// Allocates `values` where it has another size: in the first run, and in the run after take().
template <class T>
void allocate_result(Buffer<T>& values, std::size_t size, const Device& device) {
  if (values.size() != size) values = Buffer<T>(size, device);
}

}  // namespace bitgraph
