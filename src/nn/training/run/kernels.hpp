// SPDX-License-Identifier: Apache-2.0
// Operators in training: columns of the table in nn/program/operators.cpp. train_X computes and keeps what gradient_X
// needs; gradient_X goes from the gradient of the output to those of inputs and parameters.
#pragma once

#include <bitgraph/nn/program.hpp>

namespace bitgraph::nn {

class TrainingRun;

void train_quantize(TrainingRun& run, const Operator& op);
void gradient_quantize(TrainingRun& run, const Operator& op);
void train_dropout(TrainingRun& run, const Operator& op);
void gradient_dropout(TrainingRun& run, const Operator& op);
void train_product(TrainingRun& run, const Operator& op);
void gradient_product(TrainingRun& run, const Operator& op);
void train_aggregate(TrainingRun& run, const Operator& op);
void gradient_aggregate(TrainingRun& run, const Operator& op);
void train_add(TrainingRun& run, const Operator& op);
void gradient_add(TrainingRun& run, const Operator& op);
void train_relu(TrainingRun& run, const Operator& op);
void gradient_relu(TrainingRun& run, const Operator& op);
void train_tanh(TrainingRun& run, const Operator& op);
void gradient_tanh(TrainingRun& run, const Operator& op);
void train_batch_norm(TrainingRun& run, const Operator& op);
void gradient_batch_norm(TrainingRun& run, const Operator& op);
void train_concat(TrainingRun& run, const Operator& op);
void gradient_concat(TrainingRun& run, const Operator& op);
void train_readout(TrainingRun& run, const Operator& op);
void gradient_readout(TrainingRun& run, const Operator& op);

}  // namespace bitgraph::nn
