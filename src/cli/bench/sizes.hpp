// SPDX-License-Identifier: Apache-2.0
// Widths and shapes as options of benchmarks name them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace bitgraph::cli {

/// "64,128": whole numbers above 0 with `between` between them. Throws usage.
[[nodiscard]] std::vector<std::size_t> sizes_of(const std::string& text, char between = ',');

/// "89250x512x256": three of them. Throws usage.
[[nodiscard]] std::vector<std::size_t> product_shape_of(const std::string& text);

}  // namespace bitgraph::cli
