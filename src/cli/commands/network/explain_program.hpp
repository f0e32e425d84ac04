// SPDX-License-Identifier: Apache-2.0
// The program of an inference plan, for people and for other programs.
#pragma once

#include <bitgraph/nn/infer.hpp>

#include "cli/command.hpp"

namespace bitgraph::cli {

/// {"executor": ..., "program": [{"layer", "operator", "columns", "format", "bytes", "kernel", "predicted_us",
/// "measured_us"}]}: a list entry an operator, in the order in which they run. What is not known is null.
[[nodiscard]] Json explain_program(nn::InferencePlan& plan);

/// The list alone.
[[nodiscard]] Json list_of(const std::vector<nn::ExplainedOperator>& operators);

/// The same as a table on stdout; `form` is its heading.
void print_program(const std::string& form, const Json& explained);

/// Writes a program as Graphviz reads it: the whole file, or none.
void write_drawing(const std::string& path, const std::string& drawing);

}  // namespace bitgraph::cli
