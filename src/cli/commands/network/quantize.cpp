// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>
#include <bitgraph/nn/bit_search.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/quantize.hpp>

#include "cli/command.hpp"
#include "cli/commands/network/measure.hpp"
#include "cli/estimate/estimate_network.hpp"
#include "cli/graph_command/graph_command.hpp"
#include "cli/ranges.hpp"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace bitgraph::cli {

namespace {

struct QuantizeCommand {
  Common common;
  std::string model, dataset, out, bits = "8";
  double max_loss = 1;
  std::size_t repeats = 20;
  bool normalize_rows = false;
  SplitChoice split;
};

/// "8" is w8a8.
nn::Precision precision_of(const std::string& bits) {
  const bool number = !bits.empty() && bits.find_first_not_of("0123456789") == std::string::npos && bits.size() <= 2;
  nn::Precision precision = number ? nn::Precision::of_levels(std::stoi(bits), std::stoi(bits), std::stoi(bits))
                                   : nn::precision_from_string(bits);
  if (!precision.has_levels())
    fail(ErrorCode::usage, fmt::format("--bits {}: expected a number from 1 to 16, bits such as w8a4, or auto", bits));
  return precision;
}

/// The share of nodes or graphs that get the same class.
double agreement(const DenseMatrix<float>& a, const DenseMatrix<float>& b) {
  const Buffer<std::int32_t> x = nn::predict(a);
  const Buffer<std::int32_t> y = nn::predict(b);
  std::size_t same = 0;
  for (std::size_t i = 0; i < x.size(); ++i) same += x[i] == y[i] ? 1U : 0U;
  return x.empty() ? 1 : static_cast<double>(same) / static_cast<double>(x.size());
}

/// "w8a4+w4a4m8": the forms of its layers.
std::string forms_text(const nn::Model& model) {
  return nn::InferenceOptions{.forms = model.layer_forms(model.precision)}.describe();
}

/// The fewest bits, layer by layer, with which at most the given share of the nodes has another class than with the
/// float model.
nn::Model with_fewest_bits(const QuantizeCommand& o, const nn::Model& model, const Dataset& dataset,
                           const Device& device, Json& result) {
  nn::ModelQuantizer quantizer(model, dataset, device);
  const auto quality = [&](const nn::Model& made) {
    nn::InferencePlan plan(made, dataset, {}, device);
    return std::optional(agreement(quantizer.logits(), plan.run().to(Device())));
  };
  const auto look = [&](const nn::BitTry& tried) { result["tried"][forms_text(tried.model)] = tried.quality.value(); };
  nn::BitSearchResult found =
      nn::search_bits(quantizer,
                      {.bits = {16, 8, 4, 2},
                       .quality = quality,
                       .good_enough = [&](double same) { return 100 * (1 - same) <= o.max_loss; },
                       .look = look},
                      device);
  if (!found.good) {
    warn(fmt::format("{:.2f} % of the nodes change their class even with 16 bits, more than --max-loss",
                     100 * (1 - found.quality)));
  }
  return std::move(found.model);
}

nn::Model quantized(const QuantizeCommand& o, const nn::Model& model, const Dataset& dataset, const Device& device,
                    Json& result) {
  if (o.bits == "auto") return with_fewest_bits(o, model, dataset, device, result);
  return nn::quantize(model, dataset, {.precision = precision_of(o.bits)}, device);
}

void run_quantize(const QuantizeCommand& o) {
  if (o.bits != "auto") static_cast<void>(precision_of(o.bits));  // before anything is read
  const Device device = o.common.make_device();
  const nn::Model model = load_model(o.model, o.normalize_rows);
  Json result{{"model", o.model}, {"out", o.out}};
  const nn::Model* const models[] = {&model};
  const Dataset dataset = load_for_training(o.dataset, o.split, device, models, result);
  put_sizes(result, dataset);
  warn_of_training_data(result, dataset);
  const auto start = std::chrono::steady_clock::now();
  const nn::Model made = quantized(o, model, dataset, device, result);
  result["seconds"] = seconds_since(start);
  made.save(o.out);
  const MeasureOptions measured{.repeats = o.repeats, .plan = {}};
  const DenseMatrix<float> before = measure_forms(result, model, dataset, {model.precision}, measured, device);
  const DenseMatrix<float> after = measure_forms(result, made, dataset, {made.precision}, measured, device);
  result["precision"] = to_string(made.precision);
  for (const nn::Layer& layer : made.layers) result["layers"].push_back(to_string(layer.precision));
  result["agreement"] = agreement(before, after);
  if (o.common.json) return fmt::print("{}\n", result.dump(2));
  fmt::print("{} on {}: {} is in {}\n", o.model, dataset.name, o.out,
             o.bits == "auto" ? forms_text(made) : to_string(made.precision));
  fmt::print("  {}\n", split_line(result));
  if (result.contains("tried")) {
    for (const auto& [name, same] : result["tried"].items())
      fmt::print("  tried {:<16} the same class at {:.2f} % of the {}\n", name, 100 * same.get<double>(),
                 samples_of(dataset));
  }
  print_forms(result);
  fmt::print("  the float model's class at {:.2f} % of the {}\n", 100 * result["agreement"].get<double>(),
             samples_of(dataset));
}

}  // namespace

void add_quantize(CLI::App& app) {
  auto options = std::make_shared<QuantizeCommand>();
  CLI::App* command = app.add_subcommand(
      "quantize", "Turn a float model into one of few bits, without labels and without training; save it");
  add_input(*command, options->common, "model", options->model,
            "a model file of bitgraph, or a PyTorch state dictionary as safetensors")
      ->required();
  add_dataset(*command, options->common, "dataset", options->dataset,
              "the data set whose values give the scales: a name, a .npz file or a folder")
      ->required();
  command
      ->add_option(
          "--bits", options->bits,
          "bits of weights, inputs and messages: a number for all, or such as w8a4 or w8a4m2; auto: the fewest "
          "within --max-loss, layer by layer")
      ->capture_default_str();
  command
      ->add_option("--max-loss", options->max_loss,
                   "of --bits auto: the most percent of nodes whose class may differ from the float model's")
      ->check(number_between(0, 100))
      ->capture_default_str();
  command->add_option("--repeats", options->repeats, "number of timed runs")
      ->check(whole_number(1, 1000000))
      ->capture_default_str();
  add_split(*command, options->split, "the one that the model was trained with");
  add_normalize_rows(*command, options->normalize_rows);
  add_output(*command, options->common, "--out", options->out, "write the model to this file")->required();
  add_common(*command, options->common);
  add_examples(*command,
               "  bitgraph quantize cora.safetensors cora --bits 8 --out cora-w8a8.safetensors\n"
               "  bitgraph quantize cora.safetensors cora --bits w8a4 --out cora-w8a4.safetensors\n"
               "  bitgraph quantize cora.safetensors cora --bits auto --max-loss 0.5 --out small.safetensors\n");
  add_actions(
      *command, options->common, [options] { run_quantize(*options); },
      [options] {
        const nn::Model model = nn::Model::load(options->model);
        return estimate_runs(model, options->dataset, {model.precision}, 2 * options->repeats + 50, options->common);
      });
}

}  // namespace bitgraph::cli
