// SPDX-License-Identifier: Apache-2.0
// Made by scripts/fit_choice.py from what bench/format_choice measured.
#include "graph/packed_graph/costs.hpp"

namespace bitgraph {

namespace {

// One thread of a Xeon (Sapphire Rapids) with AVX-512.
constexpr Costs host_ranks{{
    {27.4, 0.252, 3.71, 0.011, 0.858},  // csr
    {44.4, 0.697, 6.77, 0.0661, 0.36},  // 4
    {66, 4.04, 22.2, 0.0528, 0.143},    // 8
    {88, 10.3, 35.1, 0.208, 0.746},     // 16
    {135, 79.7, 0, 0.373, 38.1},        // 32
    {189, 209, 0, 0.316, 49.2},         // 64
}};

constexpr Costs host_values{{
    {77.3, 0.285, 1.58, 0.00498, 0.84},  // csr
    {70.4, 0.941, 1.61, 0.0362, 0.407},  // 4
    {77.8, 1.72, 3.45, 0.0185, 0.38},    // 8
    {96, 5.93, 14.9, 0.0262, 0},         // 16
    {137, 38.4, 2.04, 0.0345, 1.97},     // 32
    {129, 79.1, 43.7, 0, 52.6},          // 64
}};

constexpr Costs host_bits{{
    {49.1, 0.117, 1.34, 0, 0.319},      // csr
    {50, 0.926, 2.36, 0.0274, 5.13},    // 4
    {56.6, 0.549, 2.12, 0.0184, 5.89},  // 8
    {55.1, 0.705, 2.37, 0.0277, 17.4},  // 16
    {57.7, 1.25, 3.2, 0.0327, 34.6},    // 32
    {54.2, 4.04, 5.3, 0.0319, 58.4},    // 64
}};

constexpr Costs host_counts{{
    {47.1, 0.292, 0.494, 0.0256, 0.148},  // csr
    {44, 1.37, 4.08, 0.0113, 5.94},       // 4
    {47.5, 1.48, 7.71, 0.013, 8.47},      // 8
    {60.5, 0.975, 2.69, 0.0258, 18},      // 16
    {61.2, 1.43, 3.01, 0.0347, 39.8},     // 32
    {59.8, 4.82, 4.29, 0.0322, 462},      // 64
}};

}  // namespace

const Costs& costs_of(Workload workload) {
  switch (workload) {
    case Workload::values: return host_values;
    case Workload::bits: return host_bits;
    case Workload::counts: return host_counts;
    default: return host_ranks;
  }
}

}  // namespace bitgraph
