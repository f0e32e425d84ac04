// SPDX-License-Identifier: Apache-2.0
#include "nn/model/side_by_side.hpp"

#include <algorithm>
#include <span>

namespace bitgraph::nn {

namespace {

/// The values of the first, then those of the second.
template <class T>
Buffer<T> joined(std::span<const T> first, std::span<const T> second) {
  Buffer<T> all(first.size() + second.size());
  std::copy(second.begin(), second.end(), std::copy(first.begin(), first.end(), all.begin()));
  return all;
}

}  // namespace

Linear side_by_side(const Layer& layer) {
  const Linear& n = layer.neighbor;
  const Linear& r = layer.root;
  Linear both;
  both.weight = Binarized{BitMatrix<PlusMinusOne>(n.outputs() + r.outputs(), n.inputs(),
                                                  joined(n.signs().bits.words(), r.signs().bits.words())),
                          joined(n.signs().alpha.span(), r.signs().alpha.span())};
  both.bias = joined(n.bias.span(), r.bias.span());
  return both;
}

}  // namespace bitgraph::nn
