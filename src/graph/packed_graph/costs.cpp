// SPDX-License-Identifier: Apache-2.0
// Made by scripts/fit_choice.py from what bench/format_choice measured.
#include "graph/packed_graph/costs.hpp"

namespace bitgraph {

namespace {

// One thread of a Xeon (Sapphire Rapids) with AVX-512.
constexpr Costs host_ranks{{
    {65.9, 0.209, 2.29, 0.000693, 0.446},  // csr
    {53.6, 0.527, 5.31, 0.0134, 0.269},    // 4
    {56, 3.27, 19.2, 0.0142, 0.0145},      // 8
    {82.5, 8.41, 30.7, 0.0194, 0.0968},    // 16
    {131, 63.5, 0, 0, 8.86},               // 32
    {174, 179, 0, 0, 4.79},                // 64
}};

constexpr Costs host_values{{
    {75.6, 0.22, 1.35, 0.018, 0.359},     // csr
    {70.7, 0.757, 1.27, 0.027, 0.174},    // 4
    {74.6, 1.34, 2.89, 0.0174, 0.256},    // 8
    {87.2, 4.83, 12.6, 0.00775, 0.0633},  // 16
    {117, 33.4, 0, 0, 1.92},              // 32
    {112, 62.4, 51.2, 0, 0},              // 64
}};

constexpr Costs host_bits{{
    {55, 0.0805, 1.06, 0, 0.148},        // csr
    {53.3, 0.758, 1.73, 0.0131, 0.104},  // 4
    {56, 0.447, 1.87, 0.00966, 0},       // 8
    {55.9, 0.592, 1.99, 0.0174, 1.04},   // 16
    {58.1, 0.885, 3.03, 0.0266, 2.57},   // 32
    {53.9, 3.07, 4.82, 0.0261, 0},       // 64
}};

constexpr Costs host_counts{{
    {50.5, 0.238, 0.358, 0.0121, 0},     // csr
    {51.8, 1.1, 3.12, 0.0153, 0},        // 4
    {56.8, 1.19, 5.78, 0.00934, 0},      // 8
    {63.4, 0.773, 2.04, 0.0155, 0.663},  // 16
    {63.4, 1.08, 2.56, 0.027, 15.9},     // 32
    {60.4, 3.76, 3.08, 0.0276, 3.54},    // 64
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
