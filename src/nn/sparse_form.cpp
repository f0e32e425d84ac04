// SPDX-License-Identifier: Apache-2.0
#include "nn/sparse_form.hpp"

#include <memory>

namespace bitgraph::nn {

namespace {

/// A buffer over values that somebody else keeps.
template <class T>
Buffer<T> lent(std::span<const T> values, const Device& device) {
  static const auto nobody = std::make_shared<int>(0);
  return Buffer<T>::borrow(const_cast<T*>(values.data()), values.size(), nobody, device);
}

}  // namespace

SparseForm::SparseForm(const Dataset& dataset) : given_(dataset) {
  if (!dataset.has_dense_features()) return;
  const CsrPattern& graph = dataset.graph;
  made_.emplace();
  made_->name = dataset.name;
  made_->graph = CsrPattern(graph.nrows(), graph.ncols(), lent(graph.row_ptr(), graph.device()),
                            lent(graph.col_ind(), graph.device()));
  made_->features = sparse_features(dataset.dense_features);
  made_->labels = dataset.labels;
  made_->num_classes = dataset.num_classes;
  made_->train = dataset.train;
  made_->validation = dataset.validation;
  made_->test = dataset.test;
}

}  // namespace bitgraph::nn
