// SPDX-License-Identifier: Apache-2.0
// The order of the passes.
#include "nn/program/passes/passes.hpp"

#include <array>

namespace bitgraph::nn {

namespace {

constexpr std::array simple_passes{
    Pass{"share", [](Program& program, const PassContext&) { share(program); }},
    Pass{"fold activations", [](Program& program, const PassContext&) { fold_activations(program); }},
    Pass{"quantize before joining", [](Program& program, const PassContext&) { quantize_before_joining(program); }},
    Pass{"epilogues of levels", [](Program& program, const PassContext&) { make_levels_early(program); }},
    Pass{"sequence", sequence},
    Pass{"join rows", join_rows},
    Pass{"graph forms", choose_graph_forms},
    Pass{"strategy of levels", name_level_strategy},
    Pass{"levels in planes", pack_levels_in_planes}};

}  // namespace

std::vector<std::string_view> passes_to_leave_out() {
  std::vector<std::string_view> names;
  names.reserve(std::size(simple_passes) + 2);
  for (const Pass& pass : simple_passes) names.push_back(pass.name);
  names.insert(names.end(), {"fuse", "place"});
  return names;
}

Compiled compile(Program program, const PassContext& context, std::size_t parts, bool reorders) {
  apply_precision(program, context.options.forms);
  make_signs_early(program);
  for (const Pass& pass : simple_passes) {
    if (pass.name != context.without) pass.rewrite(program, context);
  }
  Compiled made{.program = program, .shares_memory = context.without != "place"};
  if (context.without != "fuse") fuse(made.program, context);
  made.parts = parts_of_rows(made.program, context, parts);
  if (made.parts > 1) {  // kernels of several operators go over a whole graph
    made.program = std::move(program);
    made.parts = parts_of_rows(made.program, context, parts);
  }
  split_rows(made.program, made.parts);
  if (reorders) reorder_result(made.program);
  made.program.validate();
  return made;
}

}  // namespace bitgraph::nn
