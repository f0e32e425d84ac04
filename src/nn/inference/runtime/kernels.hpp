// SPDX-License-Identifier: Apache-2.0
// How operators run: columns of the table in nn/program/operators.cpp. find_X and bind_X prepare a run, run_X calls the
// operator, and launch_X says the same as parts of one launch.
#pragma once

#include <bitgraph/nn/program.hpp>
#include "nn/one_launch/row_program.hpp"

#include <vector>

namespace bitgraph::nn {

class Runtime;
struct Prepared;

void find_quantize(Runtime& at, const Operator& op, Prepared& prepared);
void run_quantize(Runtime& at, const Operator& op, Prepared& prepared);
std::vector<LaunchStep> launch_quantize(const Runtime& at, const Operator& op, const Prepared& prepared);

void find_product(Runtime& at, const Operator& op, Prepared& prepared);
void bind_product(Runtime& at, const Operator& op, Prepared& prepared);
void run_product(Runtime& at, const Operator& op, Prepared& prepared);
std::vector<LaunchStep> launch_product(const Runtime& at, const Operator& op, const Prepared& prepared);

void find_aggregate(Runtime& at, const Operator& op, Prepared& prepared);
void bind_aggregate(Runtime& at, const Operator& op, Prepared& prepared);
void prepare_sum(Runtime& at, const Operator& op, const Prepared& prepared);
void run_aggregate(Runtime& at, const Operator& op, Prepared& prepared);
void run_multiply_sums(Runtime& at, const Operator& op, Prepared& prepared);
std::vector<LaunchStep> launch_aggregate(const Runtime& at, const Operator& op, const Prepared& prepared);

void run_add(Runtime& at, const Operator& op, Prepared& prepared);
std::vector<LaunchStep> launch_add(const Runtime& at, const Operator& op, const Prepared& prepared);

void run_relu(Runtime& at, const Operator& op, Prepared& prepared);
void run_tanh(Runtime& at, const Operator& op, Prepared& prepared);

void run_concat(Runtime& at, const Operator& op, Prepared& prepared);
std::vector<LaunchStep> launch_concat(const Runtime& at, const Operator& op, const Prepared& prepared);

void find_reorder(Runtime& at, const Operator& op, Prepared& prepared);
void run_reorder(Runtime& at, const Operator& op, Prepared& prepared);
/// Whether one launch has steps of levels for an operator; `sparse_features`: those in levels are entries.
[[nodiscard]] bool launches_levels(const Program& program, const Operator& op, bool sparse_features);
std::vector<LaunchStep> launch_reorder(const Runtime& at, const Operator& op, const Prepared& prepared);

void find_readout(Runtime& at, const Operator& op, Prepared& prepared);
void run_readout(Runtime& at, const Operator& op, Prepared& prepared);

/// The whole pattern and the order of its rows, for operators that go over it in one kernel.
void find_rows(Runtime& at, const Operator& op, Prepared& prepared);
void run_vote_post_op(Runtime& at, const Operator& op, Prepared& prepared);
void run_add_scores(Runtime& at, const Operator& op, Prepared& prepared);

void find_multiply_counts(Runtime& at, const Operator& op, Prepared& prepared);
void run_multiply_counts(Runtime& at, const Operator& op, Prepared& prepared);

void bind_multiply_joined(Runtime& at, const Operator& op, Prepared& prepared);
void run_multiply_joined(Runtime& at, const Operator& op, Prepared& prepared);

}  // namespace bitgraph::nn
