// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/sizes.hpp"

#include <bitgraph/core/error.hpp>

#include <fmt/format.h>

#include <sstream>

namespace bitgraph::cli {

std::vector<std::size_t> sizes_of(const std::string& text, char between) {
  std::vector<std::size_t> sizes;
  std::stringstream words(text);
  for (std::string word; std::getline(words, word, between);) {
    const bool digits = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos && word.size() < 10;
    sizes.push_back(digits ? std::stoul(word) : 0);
    if (sizes.back() == 0) fail(ErrorCode::usage, fmt::format("'{}': '{}' is no width", text, word));
  }
  return sizes;
}

std::vector<std::size_t> product_shape_of(const std::string& text) {
  std::vector<std::size_t> shape = sizes_of(text, 'x');
  if (shape.size() != 3) fail(ErrorCode::usage, fmt::format("'{}' is no shape: ROWSxDEPTHxOUTPUTS", text));
  return shape;
}

}  // namespace bitgraph::cli
