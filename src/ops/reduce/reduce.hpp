// SPDX-License-Identifier: Apache-2.0
// The kernels of reduce. See include/bitgraph/ops/reduce.hpp.
#pragma once

#include "core/backend.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph {

struct BitsArgs {
  const std::uint64_t* words = nullptr;
  std::size_t num_words = 0;
};

std::size_t count_bits(const Reference& backend, const BitsArgs& args);
std::size_t count_bits(const Cpu& backend, const BitsArgs& args);

namespace reduce_cpu {

std::size_t count_words(const std::uint64_t* words, std::size_t n);

}  // namespace reduce_cpu

}  // namespace bitgraph
