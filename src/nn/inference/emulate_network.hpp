// SPDX-License-Identifier: Apache-2.0
// How layers become a network, in plain arithmetic of any kind.
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/nn/model.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace bitgraph::nn {

/// All matrices side by side.
template <class T>
DenseMatrix<T> all_side_by_side(const std::vector<DenseMatrix<T>>& parts) {
  std::size_t width = 0;
  for (const DenseMatrix<T>& part : parts) width += part.ncols();
  DenseMatrix<T> out(parts.front().nrows(), width);
  for (std::size_t i = 0; i < out.nrows(); ++i) {
    T* to = out.row(i).data();
    for (const DenseMatrix<T>& part : parts) to = std::copy(part.row(i).begin(), part.row(i).end(), to);
  }
  return out;
}

/// The rows of a graph's nodes added up, and a bias, once.
template <class T>
DenseMatrix<T> read_out(const DenseMatrix<T>& x, const std::vector<NodeId>& first_node, const Layer& last) {
  DenseMatrix<T> out(first_node.size() - 1, x.ncols());
  for (std::size_t g = 0; g < out.nrows(); ++g) {
    for (NodeId i = first_node[g]; i < first_node[g + 1]; ++i) {
      for (std::size_t f = 0; f < out.ncols(); ++f) out(g, f) += x(i, f);
    }
    for (std::size_t f = 0; f < out.ncols(); ++f) {
      out(g, f) += static_cast<T>(last.neighbor.bias[f]);
      if (!last.root.empty()) out(g, f) += static_cast<T>(last.root.bias[f]);
    }
  }
  return out;
}

/// The logits of a model whose features are x, where `layer(l, x)` is the output of layer l.
template <class T, class Layer>
DenseMatrix<T> emulate_network(const Model& model, DenseMatrix<T> x, const Layer& layer) {
  std::vector<DenseMatrix<T>> outputs;
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    if (l + 1 == model.layers.size() && model.concatenates()) x = all_side_by_side(outputs);
    x = layer(l, std::move(x));
    // A convolution ends where the next one begins, or the layer that all of them go through.
    const std::size_t next = l + 1;
    if (next + 1 >= model.layers.size() || model.layers[next].aggregation != Aggregation::none)
      outputs.push_back(x.clone());
  }
  return x;
}

}  // namespace bitgraph::nn
