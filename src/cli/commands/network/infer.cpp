// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>
#include <bitgraph/io/partition.hpp>
#include <bitgraph/nn/infer.hpp>

#include "cli/command.hpp"
#include "cli/commands/network/explain_program.hpp"
#include "cli/commands/network/measure.hpp"
#include "cli/estimate/estimate_network.hpp"
#include "cli/graph_command/result_file.hpp"
#include "cli/ranges.hpp"
#include "io/file/file.hpp"
#include "nn/inference/predict.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::cli {

namespace {

struct InferOptions {
  Common common;
  std::string model, dataset, out, logits, probabilities, plan, memory, dot, partition,
      form = "own", features = "sparse", batches_at = "auto";
  std::size_t batch_parts = 0;
  std::size_t repeats = 200;
  bool normalize_rows = false;
  bool explain = false;
  SplitChoice split;
};

nn::BatchesAt batches_at_of(const std::string& name) {
  if (name == to_string(nn::BatchesAt::device)) return nn::BatchesAt::device;
  return name == to_string(nn::BatchesAt::host) ? nn::BatchesAt::host : nn::BatchesAt::automatic;
}

/// What the file of --plan says, for this model. Throws bad_input where it is no plan, or one for another model.
nn::InferenceOptions plan_of(const InferOptions& o, const nn::Model& model) {
  nn::InferenceOptions plan = nn::InferenceOptions::load(o.plan);
  if (!plan.model_fingerprint.empty() && plan.model_fingerprint != model.fingerprint()) {
    fail(ErrorCode::bad_input,
         fmt::format("{}: a plan for another model: it was measured with {}, and {} has other weights", o.plan,
                     printable(plan.model_file, 160), o.model));
  }
  try {
    static_cast<void>(nn::checked_forms(model, plan.forms));
  } catch (const Error& error) {
    fail(ErrorCode::bad_input, fmt::format("{}: a plan for another model: {}", o.plan, error.what()));
  }
  return plan;
}

/// The part file that a plan names. Of a plan that cannot be read none: whoever runs it says why.
std::vector<std::string> part_file_of_plan(const std::string& plan) {
  try {
    if (!plan.empty()) return {nn::InferenceOptions::load(plan).partition_file};
  } catch (const Error&) {
    return {};
  }
  return {};
}

/// Threads of OpenMP that spin while they wait take the processor from one another, and from other programs.
void warn_of_late_runs(const Json& result, std::size_t repeats, const Device& device) {
  constexpr double far = 3;
  constexpr std::size_t least_runs = 20;
  if (!device.is_host() || repeats < least_runs) return;
  for (const auto& [form, latency] : result["latency_us"].items()) {
    const double median = latency["median"];
    const double p95 = latency["p95"];
    if (p95 <= far * median) continue;
    warn(
        fmt::format("{}: one run in 20 takes over {:.0f} us, {:.1f} times the median: other programs use this "
                    "processor. OMP_WAIT_POLICY=passive or fewer --threads may help",
                    form, p95, p95 / median));
    return;
  }
}

void run_infer(const InferOptions& o) {
  const Device device = o.common.make_device();
  const nn::Model model = load_model(o.model, o.normalize_rows);
  Json result{{"model", o.model}, {"dataset", o.dataset}, {"precision", to_string(model.precision)}};
  const nn::Model* const models[] = {&model};
  const Dataset dataset = load_for_training(o.dataset, o.split, device, models, result);
  model.require_fit(dataset);
  put_sizes(result, dataset);
  nn::InferenceOptions plan;
  if (o.features == "dense") plan.features = nn::FeatureStorage::dense;
  if (!o.memory.empty()) plan.memory = bytes_from(o.memory);
  if (!o.plan.empty()) {
    const std::size_t memory = plan.memory;
    plan = plan_of(o, model);
    if (memory != 0) plan.memory = memory;
    result["plan"] = plan.describe();
  }
  std::optional<Partition> partition;
  if (!o.partition.empty()) {
    plan.partition_file = o.partition;
    plan.batch_parts = o.batch_parts;
    plan.batches_at = batches_at_of(o.batches_at);
  }
  if (!plan.partition_file.empty()) {
    partition = load_partition(plan.partition_file, dataset.graph);
    plan.partition = &*partition;
    require_batch_parts(o.batch_parts, partition->num_parts());
    result["partition"] = plan.partition_file;
  }
  const auto forms = o.plan.empty() ? forms_of(model, o.form) : std::vector{model.precision};
  warn_of_training_data(result, dataset);
  std::string drawing;
  const auto look = [&](nn::InferencePlan& made, Json& of_form) {
    if (o.explain) of_form.update(explain_program(made));
    if (!o.dot.empty()) drawing = made.program_dot();
  };
  const MeasureOptions measured{.repeats = o.repeats, .plan = plan, .look = look};
  const auto logits = measure_forms(result, model, dataset, forms, measured, device);
  warn_of_late_runs(result, o.repeats, device);
  const std::string row = dataset.num_graphs() != 0 ? "graph" : "node";
  if (!o.out.empty()) {
    const Buffer<std::int32_t> classes = nn::predict(logits);
    save_result(o.out, NodeNames(), {{"class"}, std::as_const(classes).span(), false, row});
  }
  if (!o.logits.empty() || !o.probabilities.empty()) {
    std::vector<std::string> columns;
    for (std::size_t c = 0; c < logits.ncols(); ++c) columns.push_back(fmt::format("class_{}", c));
    if (!o.logits.empty()) save_result(o.logits, NodeNames(), {columns, logits.values(), true, row});
    if (!o.probabilities.empty()) {
      const DenseMatrix<float> probabilities = nn::softmax(logits, device.is_host() ? device : Device());
      save_result(o.probabilities, NodeNames(), {std::move(columns), probabilities.values(), true, row});
    }
  }
  if (!o.dot.empty()) write_drawing(o.dot, drawing);
  if (!o.common.data_on_stdout.empty()) return;
  if (o.common.json) {
    fmt::print("{}\n", result.dump(2));
  } else {
    fmt::print("{} on {}, {}\n", o.model, dataset.name,
               device.is_host() ? counted(static_cast<std::size_t>(device.threads()), "thread") : device.name());
    fmt::print("  {}\n", split_line(result));
    print_forms(result);
    if (!o.explain) return;
    for (const auto& [form, of_form] : result["forms"].items()) print_program(form, of_form);
  }
}

}  // namespace

void add_infer(CLI::App& app) {
  auto options = std::make_shared<InferOptions>();
  CLI::App* command =
      app.add_subcommand("infer", "Run a trained model on a data set; print accuracy, latency and memory");
  add_input(*command, options->common, "model", options->model, "a model file")->required();
  add_dataset(*command, options->common, "dataset", options->dataset, "the name of a data set, a .npz file or a folder")
      ->required();
  command
      ->add_option(
          "--form", options->form,
          "how to run the model; own: as it was trained. full and bin are two ways to run the same binary weights")
      ->check(CLI::IsMember({"own", "float", "full", "bin", "all"}))
      ->capture_default_str();
  add_input(*command, options->common, "--plan", options->plan,
            "use the plan in this file, which bitgraph tune --out wrote")
      ->excludes("--form");
  options->common.files.reads("part file of --plan", [options = options.get()] {
    return options->partition.empty() ? part_file_of_plan(options->plan) : std::vector<std::string>();
  });
  command->add_option("--features", options->features, "float models: how to store the features")
      ->check(CLI::IsMember({"sparse", "dense"}))
      ->capture_default_str();
  CLI::Option* partition =
      add_input(*command, options->common, "--partition", options->partition,
                "a part file of bitgraph partition: run on some parts at a time, without the edges to other batches");
  command->add_option("--batch-parts", options->batch_parts, "parts in a batch; default: a twentieth of them")
      ->check(whole_number(1, most_nodes))
      ->needs(partition);
  command
      ->add_option("--batches-at", options->batches_at,
                   "where all batches are kept for a CUDA device; auto: on the device where they fit")
      ->check(CLI::IsMember({"auto", "device", "host"}))
      ->capture_default_str()
      ->needs(partition);
  command->add_option("--repeats", options->repeats, "number of timed runs")
      ->check(whole_number(1, 1000000))
      ->capture_default_str();
  add_split(*command, options->split, "the one that the model was trained with");
  add_normalize_rows(*command, options->normalize_rows);
  add_result(*command, options->common, "--out", options->out,
             "the predicted class of every node, of many graphs of every graph, int32");
  add_result(*command, options->common, "--logits", options->logits,
             "the logits, float32, nodes x classes, or graphs x classes");
  add_result(*command, options->common, "--probabilities", options->probabilities,
             "softmax of the logits, float32, as large as these");
  command->add_flag("--explain", options->explain,
                    "print the operators that the model became: bytes, kernel, predicted and measured time of each");
  add_output(*command, options->common, "--dot", options->dot,
             "write the operators as a graph for Graphviz to this file; of several forms, the last");
  command->add_option("--memory", options->memory,
                      "most bytes that the plan may use, such as 2G or 500M; splits the graph into parts if it has to");
  add_common(*command, options->common);
  add_examples(*command,
               "  bitgraph infer cora.safetensors cora --form all --threads 1\n  bitgraph infer cora.safetensors cora "
               "--json --out classes.npy\n  bitgraph infer cora.safetensors cora --plan cora.plan.json\n  bitgraph "
               "infer cora.safetensors cora --explain --dot program.dot\n");
  add_actions(
      *command, options->common, [options] { run_infer(*options); },
      [options] {
        const nn::Model model = nn::Model::load(options->model);
        const auto forms = options->plan.empty() ? forms_of(model, options->form) : std::vector{model.precision};
        return estimate_runs(model, options->dataset, forms, options->repeats + 3, options->common);
      });
}

}  // namespace bitgraph::cli
