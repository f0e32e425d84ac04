// SPDX-License-Identifier: Apache-2.0
#include "io/text/text_output.hpp"

#include "io/file/gzip.hpp"

#include <utility>

namespace bitgraph {

TextOutput::Block TextOutput::finished(std::string text) const {
  Block block{std::move(text), {}};
  if (packed_ && !block.text.empty()) {
    block.packed = gzip(block.bytes());
    block.text = {};
  }
  return block;
}

}  // namespace bitgraph
