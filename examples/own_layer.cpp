// SPDX-License-Identifier: Apache-2.0
// A layer of your own, made of operators. It takes the vote of the neighbours, and the vote of their votes, puts the
// bits of both side by side, and multiplies them with binary weights. The types of the operands choose the variant of
// an operator. The layer allocates everything once: a second run allocates nothing.
#include <bitgraph/bitgraph.hpp>

#include <cstdio>

namespace {

using namespace bitgraph;
using Bits = BitMatrix<PlusMinusOne>;

/// y = sign-weights times [vote(x) | vote(vote(x))], x n x inputs signs, y n x outputs floats.
class TwoStepLayer {
 public:
  TwoStepLayer(const CsrPattern& graph, std::size_t inputs, std::size_t outputs, const Device& device)
      : graph_(graph),
        device_(device),
        one_step_(graph.nrows(), inputs, device),
        two_steps_(graph.nrows(), inputs, device),
        both_(graph.nrows(), 2 * inputs, device),
        y_(graph.nrows(), outputs, device) {
    // Weights that no training made; a trained layer has its own here.
    DenseMatrix<float> latent(outputs, 2 * inputs);
    for (std::size_t n = 0; n < latent.values().size(); ++n) latent.values()[n] = random_uniform({7, 0, 0}, n) - 0.5F;
    weight_ = binarize(latent);
  }

  const DenseMatrix<float>& run(const Bits& x) {
    spmm_into(one_step_, graph_, x);           // BSpMM.BBB: a vote of the neighbours
    spmm_into(two_steps_, graph_, one_step_);  // of their votes
    concat_into(both_, one_step_, two_steps_);
    gemm_into(y_, both_, weight_.bits, {.col_scale = weight_.alpha.span()});  // BMM.BBF
    return y_;
  }

 private:
  const CsrPattern& graph_;
  Device device_;
  Bits one_step_, two_steps_, both_;
  Binarized weight_;
  DenseMatrix<float> y_;
};

}  // namespace

int main() {
  try {
    const Device device = Device::host();
    const CsrPattern graph = with_self_loops(generate_rmat(10, 8, 1));
    DenseMatrix<float> features(graph.nrows(), 100);
    for (std::size_t n = 0; n < features.values().size(); ++n)
      features.values()[n] = random_uniform({1, 0, 0}, n) - 0.5F;
    const Binarized x = binarize(features);

    TwoStepLayer layer(graph, 100, 16, device);
    layer.run(x.bits);
    const std::size_t before = device.memory().allocations;
    const DenseMatrix<float>& y = layer.run(x.bits);
    const bool allocates = device.memory().allocations != before;
    double sum = 0;
    for (const float v : y.values()) sum += static_cast<double>(v);
    std::printf("%zu nodes, %zu outputs each, mean %.4f; a second run allocates %s\n", y.nrows(), y.ncols(),
                sum / static_cast<double>(y.values().size()), allocates ? "something" : "nothing");
    return allocates ? 1 : 0;
  } catch (const bitgraph::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
