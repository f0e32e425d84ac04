// SPDX-License-Identifier: Apache-2.0
#include "nn/inference/forward.hpp"

#include "nn/inference/operator_times.hpp"
#include "nn/program/layers.hpp"

#include <utility>

namespace bitgraph::nn {

Forward::Forward(const Model& model, InferenceOptions options, GraphOperands& graph, const InputFeatures& features,
                 const Device& device, CallerOrder back, std::size_t parts, std::optional<GraphFacts> facts)
    : graph_(graph),
      features_(features),
      device_(device),
      options_(std::move(options)),
      back_(std::move(back)),
      asked_parts_(parts),
      plain_(program_of(model, graph.num_graphs())),
      facts_(facts ? *facts : GraphFacts::of(graph.graph())) {
  if (asked_parts_ > 1) options_.launching = Launching::steps;
  compile_program();
  weights_.emplace(model, compiled_.program, features_, device_);
  runtime_.emplace(graph_, features_, *weights_, options_, device_);
  bind();
}

void Forward::compile_program() {
  const PassContext context{.options = options_,
                            .graph = facts_,
                            .on_host = device_.is_host(),
                            .whole = asked_parts_ == 1,
                            .sparse_features = features_.packed && features_.packed->sparse.has_value(),
                            .features_in_planes = features_.levels && features_.levels->in_planes()};
  compiled_ = compile(plain_, context, asked_parts_, back_.changes_rows());
}

void Forward::bind() {
  runtime_->find(compiled_, back_, asked_parts_ > 1);
  if (asks_for_one_launch()) make_one_launch();
  if (!one_launch_) runtime_->bind(options_.capacity.nodes);
}

void Forward::remake(CallerOrder back, bool other_graph) {
  recording_.clear();
  one_launch_.reset();
  back_ = std::move(back);
  if (other_graph) facts_ = GraphFacts::of(graph_.graph());
  compile_program();
  weights_->prepare(compiled_.program);
  bind();
}

bool Forward::asks_for_one_launch() const {
  return !device_.is_host() && may_be_one_launch(options_, facts_.nodes, facts_.entries);
}

void Forward::make_one_launch() {
  const Program& program = compiled_.program;
  runtime_->find_scales();
  LaunchSteps all{.steps = {}, .num_rows = graph_.num_nodes(), .result = runtime_->name(program.result)};
  for (std::size_t n = 0; n < program.operators.size(); ++n) {
    const auto steps = runtime_->can_launch(n) ? runtime_->launch_steps(n) : std::vector<LaunchStep>();
    if (steps.empty()) return;
    all.steps.insert(all.steps.end(), steps.begin(), steps.end());
  }
  runtime_->bind_result();
  all.result_data = runtime_->floats(program.result).view().data;
  one_launch_ = with_cuda<std::unique_ptr<OneLaunch>>(device_, "one launch",
                                                      [&](const auto& cuda) { return nn::make_one_launch(cuda, all); });
}

void Forward::run_operators() {
  for (std::size_t n = 0; n < compiled_.program.operators.size(); ++n) runtime_->run(n);
}

const DenseMatrix<float>& Forward::run() {
  if (one_launch_) {
    one_launch_->run();
  } else if (device_.is_host() || options_.launching == Launching::steps || Recording::under_way(device_)) {
    run_operators();
  } else {
    recording_.repeat(device_, [this] { run_operators(); });
  }
  return runtime_->result();
}

std::string Forward::executor() const {
  if (compiled_.parts > 1) return "parts of the rows";
  if (device_.is_host()) return "host";
  if (one_launch_) return "one launch";
  return options_.launching == Launching::steps ? "stream" : "CUDA graph";
}

std::vector<ExplainedOperator> Forward::explain(std::size_t repeats) {
  const std::size_t count = compiled_.program.operators.size();
  // One launch has no memory for what stands between its operators.
  if (one_launch_) runtime_->bind(options_.capacity.nodes);
  OperatorTimes times(count, device_);
  for (std::size_t repeat = 0; repeat <= repeats; ++repeat) {
    for (std::size_t n = 0; n < count; ++n) times.run(n, [&] { runtime_->run(n); });
  }
  if (one_launch_) bind();
  return times.explain(compiled_.program,
                       {.nodes = graph_.num_nodes(), .entries = graph_.entries(), .tiles = graph_.num_tiles()});
}

}  // namespace bitgraph::nn
