// SPDX-License-Identifier: Apache-2.0
#include "core/names.hpp"

#include <bitgraph/core/error.hpp>

#include <string>

namespace bitgraph {

void refuse_name(std::string_view what, std::string_view name, std::span<const std::string_view> known) {
  std::string text = "unknown " + std::string(what) + " '" + std::string(name) + "': use ";
  for (std::size_t k = 0; k < known.size(); ++k) {
    if (k != 0) text += k + 1 == known.size() ? " or " : ", ";
    text += known[k];
  }
  fail(ErrorCode::usage, text);
}

}  // namespace bitgraph
