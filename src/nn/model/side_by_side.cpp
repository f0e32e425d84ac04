// SPDX-License-Identifier: Apache-2.0
#include "nn/model/side_by_side.hpp"

#include <span>

namespace bitgraph::nn {

namespace {

/// The values of the first, then those of the second, on the device of both.
template <class T>
Buffer<T> joined(std::span<const T> first, std::span<const T> second, const Device& device) {
  Buffer<T> all(first.size() + second.size(), device);
  Device::copy(all.data(), device, first.data(), device, first.size_bytes());
  Device::copy(all.data() + first.size(), device, second.data(), device, second.size_bytes());
  return all;
}

}  // namespace

Linear side_by_side(const Layer& layer) {
  const Linear& n = layer.neighbor;
  const Linear& r = layer.root;
  const Device& device = n.bias.device();
  Linear both;
  both.weight = Binarized{BitMatrix<PlusMinusOne>(n.outputs() + r.outputs(), n.inputs(),
                                                  joined(n.signs().bits.words(), r.signs().bits.words(), device)),
                          joined(n.signs().alpha.span(), r.signs().alpha.span(), device)};
  both.bias = joined(n.bias.span(), r.bias.span(), device);
  return both;
}

}  // namespace bitgraph::nn
