// SPDX-License-Identifier: Apache-2.0
// A network in full precision as others run it: dense features, products by the BLAS library, aggregation by cuSPARSE;
// one CUDA graph a run.
#pragma once

#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/model.hpp>

#include "cli/peers/spmm_rival.hpp"
#include "core/devices/recording.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace bitgraph::cli {

class GnnRival {
 public:
  /// Of a real model on a CUDA device. Null where the rival is not there, `absent` says why.
  static std::unique_ptr<GnnRival> make(const nn::Model& model, const Dataset& dataset, const Device& device,
                                        std::string& absent);
  const DenseMatrix<float>& run();

 private:
  using Floats = DenseMatrix<float>;
  GnnRival(const nn::Model& model, const Dataset& dataset, const Device& device) : device_(device) {
    for (const nn::Layer& layer : model.layers)
      layers_.push_back({layer.aggregation, layer.precision, layer.neighbor.to(device), layer.root.to(device)});
    features_ = features_of(dataset, device);
  }
  static Floats features_of(const Dataset& dataset, const Device& device);
  bool open(const Dataset& dataset, std::string& absent);
  void build(bool concatenates);
  Floats& layer(std::size_t l, const Floats& x);
  Floats& floats(std::size_t width) { return floats_.emplace_back(features_.nrows(), width, device_); }

  Device device_;
  std::vector<nn::Layer> layers_;
  Floats features_;
  std::unique_ptr<SpmmRival> graph_;
  std::deque<Floats> floats_;
  std::deque<std::vector<const Floats*>> parts_;
  std::vector<std::function<void()>> steps_;
  const Floats* logits_ = nullptr;
  Recording recording_;
};

}  // namespace bitgraph::cli
