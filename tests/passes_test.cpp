// SPDX-License-Identifier: Apache-2.0
// A program computes the same whichever pass is left out.
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/nn/quantize.hpp>

#include "nn/inference/runtime/runtime.hpp"
#include "nn/model/architectures.hpp"
#include "nn/model/random_model.hpp"
#include "nn/program/layers.hpp"
#include "nn/program/passes/passes.hpp"
#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/near_logits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

/// Odd widths: rows of signs end in the middle of a word, whose rest must be zero wherever a value lies.
constexpr std::size_t hidden = 90;

Dataset some_graph() {
  const NodeId nodes = test::sanitized ? 200 : 700;
  return generate_planted_partition(
      {.num_nodes = nodes, .num_classes = 5, .num_features = 130, .mean_degree = 9, .seed = 3});
}

std::vector<Device> devices() {
  std::vector<Device> all{Device::host(3)};
  if (!test::sanitized) all.push_back(Device::host(1));
  if (test::cuda_device()) all.push_back(*test::cuda_device());
  return all;
}

CallerOrder same_order_of(NodeId n, const Device& device) {
  std::vector<NodeId> nodes(n);
  std::iota(nodes.begin(), nodes.end(), NodeId{0});
  return {nodes, device};
}

/// The logits of a run over memory that a run before has used. `rewrite` sees the program behind all passes.
DenseMatrix<float> logits_without(std::string_view pass, const Model& model, const Dataset& data, const Device& device,
                                  std::size_t parts, const std::function<void(Program&)>& rewrite = {}) {
  InferenceOptions options;
  options.forms = model.layer_forms(model.precision);
  options.launching = Launching::steps;  // else a small graph is not fused
  GraphOperands graph(data.graph, device);
  const InputFeatures features(model, data, form_of_features(model, options.forms), options.features, device);
  const PassContext context{.options = options,
                            .graph = GraphFacts::of(data.graph),
                            .on_host = device.is_host(),
                            .whole = parts == 1,
                            .sparse_features = features.packed && features.packed->sparse.has_value(),
                            .without = pass};
  Compiled compiled = compile(program_of(model), context, parts, false);
  if (rewrite) rewrite(compiled.program);
  const Weights weights(model, compiled.program, features, device);
  Runtime runtime(graph, features, weights, options, device);
  CallerOrder same_order = same_order_of(data.graph.nrows(), device);
  runtime.find(compiled, same_order, parts > 1);
  runtime.bind(0);
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (std::size_t n = 0; n < compiled.program.operators.size(); ++n) runtime.run(n);
  }
  return runtime.result().to(Device());
}

Model some_model(Architecture architecture, const Precision& precision, const Dataset& data, std::size_t width = hidden,
                 bool jumping_knowledge = false) {
  const Precision trained = precision.has_levels() ? Precision::real : precision;
  Model model = random_model(architecture, trained, data.num_features(), width, 5, 2, 7, jumping_knowledge);
  return precision.has_levels() ? quantize(model, data, {.precision = precision}) : std::move(model);
}

/// Between each operator that makes floats and its readers: what several devices will exchange there. Here it is an
/// operator that brings rows into the order that they have.
void put_exchanges(Program& program) {
  std::vector<Operator> before;
  before.swap(program.operators);
  std::map<ValueId, ValueId> exchanged;
  for (Operator& op : before) {
    for (ValueId& v : op.inputs) {
      if (exchanged.count(v) != 0) v = exchanged[v];
    }
    const ValueId made = op.output();
    const std::size_t layer = op.layer;
    program.operators.push_back(std::move(op));
    if (program.value(made).is_signs() || program.value(made).is_levels()) continue;
    exchanged[made] = program.add_value(program.value(made));
    program.operators.push_back(
        {.kind = OperatorKind::reorder, .inputs = {made}, .outputs = {exchanged[made]}, .layer = layer});
  }
  program.result = exchanged[program.result];
  program.validate();
}

TEST(Passes, AnExchangeBetweenAProducerAndItsReadersKeepsTheLogits) {
  const Dataset data = some_graph();
  for (const Architecture architecture : all_architectures()) {
    for (const Precision precision : {Precision::real, Precision::full, Precision::of_levels(8, 8, 8)}) {
      SCOPED_TRACE(std::string(to_string(architecture)) + " " + std::string(to_string(precision)));
      const Model model = some_model(architecture, precision, data);
      for (const Device& device : devices()) {
        const auto direct = logits_without("", model, data, device, 1);
        const auto exchanged = logits_without("", model, data, device, 1, put_exchanges);
        EXPECT_TRUE(std::equal(direct.values().begin(), direct.values().end(), exchanged.values().begin()));
      }
    }
  }
}

void expect_near(const DenseMatrix<float>& a, const DenseMatrix<float>& b, float relative) {
  ASSERT_EQ(a.values().size(), b.values().size());
  for (std::size_t n = 0; n < a.values().size(); ++n)
    ASSERT_NEAR(a.values()[n], b.values()[n], relative * (1 + std::abs(b.values()[n]))) << n;
}

TEST(Passes, KeepTheLogits) {
  const Dataset data = some_graph();
  for (const Architecture architecture : all_architectures()) {
    for (const Precision precision : {Precision::real, Precision::full, Precision::bin}) {
      const Model model = random_model(architecture, precision, data.num_features(), hidden, 5, 2, 7);
      for (const Device& device : devices()) {
        for (const std::size_t parts : {1, 3}) {
          const auto all = logits_without("", model, data, device, parts);
          for (const std::string_view pass : passes_to_leave_out()) {
            SCOPED_TRACE(std::string(to_string(architecture)) + " " + std::string(to_string(precision)) + ", " +
                         std::to_string(parts) + " parts, without " + std::string(pass));
            // Other kernels and another order of operators round otherwise.
            expect_near(logits_without(pass, model, data, device, parts), all, 1e-5F);
          }
          const auto apart = logits_without("place", model, data, device, parts);
          EXPECT_TRUE(std::equal(apart.values().begin(), apart.values().end(), all.values().begin()))
              << "values that share memory spoil one another";
        }
      }
    }
  }
}

/// Widths that fill words. The number of joined levels says whether the pass did anything. A product that makes levels
/// rounds otherwise than `quantize`, so a level of 16 bits may turn.
TEST(Passes, LayersThatBecomeLevelsBeforeTheyStandSideBySideKeepTheLogits) {
  const Dataset data = some_graph();
  constexpr std::string_view pass = "quantize before joining";
  for (const Architecture architecture : all_architectures()) {
    for (const char* const name : {"w2a2", "w4a4", "w8a8", "w16a16"}) {
      SCOPED_TRACE(std::string(to_string(architecture)) + " " + name);
      const Model model = some_model(architecture, precision_from_string(name), data, 96, true);
      for (const Device& device : devices()) {
        for (const std::size_t parts : {1, 3}) {
          std::size_t joined = 0;
          const auto count = [&](Program& program) {
            joined = static_cast<std::size_t>(std::ranges::count_if(program.operators, [&](const Operator& op) {
              return op.kind == OperatorKind::concat && program.value(op.output()).is_levels();
            }));
          };
          const auto all = logits_without("", model, data, device, parts, count);
          EXPECT_EQ(joined, 1U);
          const auto without = logits_without(pass, model, data, device, parts, count);
          EXPECT_EQ(joined, 0U);
          EXPECT_LT(test::distance(without, all), 1e-3F);
        }
      }
    }
  }
}

/// Sums of whole numbers have the same bits without any pass but one: a factor is multiplied by a step, not by a sum.
/// Where sums are rounded otherwise a level may turn, which changes some logits a little.
TEST(Passes, KeepTheBitsOfModelsOfLevels) {
  const Dataset data = some_graph();
  for (const Architecture architecture : all_architectures()) {
    for (const char* const name : {"w4a4", "w8a4m2", "w8a8m32", "w32a32m8"}) {
      const Precision precision = precision_from_string(name);
      const bool whole_numbers = precision.multiplies_levels() && precision.sums_levels();
      const Model model = some_model(architecture, precision, data);
      for (const Device& device : devices()) {
        for (const std::size_t parts : {1, 3}) {
          const auto all = logits_without("", model, data, device, parts);
          for (const std::string_view pass : passes_to_leave_out()) {
            SCOPED_TRACE(std::string(to_string(architecture)) + " " + name + ", " + std::to_string(parts) +
                         " parts, without " + std::string(pass));
            const auto without = logits_without(pass, model, data, device, parts);
            if (whole_numbers && pass != "epilogues of levels") {
              test::expect_identical(without.values(), all.values());
            } else {
              EXPECT_LT(test::distance(without, all), 0.05F);
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace bitgraph::nn
