// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>

#include <cstddef>
#include <span>

namespace bitgraph {

// What training needs beside products: activations and the rules of binary layers. All of them run where
// the matrices live, allocate nothing and throw usage naming the shapes or devices that do not go together.
// O(elements).

/// x = max(x, 0).
void relu(DenseMatrix<float>& x);

/// The gradient of relu: g = 0 where its output y is not positive.
void relu_backward(DenseMatrix<float>& g, const DenseMatrix<float>& y);

/// x = tanh(x), at most 1.3 units in the last place from it and the same bits on every device. NaN stays NaN.
void tanh(DenseMatrix<float>& x);

/// The gradient of tanh: g = g (1 - y^2), y its output.
void tanh_backward(DenseMatrix<float>& g, const DenseMatrix<float>& y);

/// The gradient let straight through a sign (Hubara et al. 2016): g = 0 where |x| > limit.
void sign_backward(DenseMatrix<float>& g, const DenseMatrix<float>& x, float limit = 1);

/// The gradient of binarized weights, W about m sign(W) with m the mean magnitude of each row (Bi-GCN, Wang et al.
/// 2021): from G, the gradient with respect to m sign(W), to that of W, in place: m G where |W| <= 1, plus sign(W)
/// times the row mean of sign(W) G. The mean is taken in double, by 32 sums of every 32nd column: the same bits on
/// every device.
void binary_weight_backward(DenseMatrix<float>& gradient, const DenseMatrix<float>& weight, std::span<const float> m);

/// g += weight (exp(log_p) - q): the gradient of the divergence of softmax's p from the probabilities q of a teacher
/// (Hinton et al. 2015, temperature 1), log_p from log_softmax.
void add_divergence_gradient(DenseMatrix<float>& g, const DenseMatrix<float>& log_p, const DenseMatrix<float>& q,
                             float weight);

}  // namespace bitgraph
