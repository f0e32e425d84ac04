// SPDX-License-Identifier: Apache-2.0
#include "ops/optimizer/optimizer.hpp"

#include "core/devices/recording.hpp"
#include "support/every_device.hpp"
#include "support/everywhere.hpp"
#include "support/random_matrices.hpp"
#include "support/shapes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace bitgraph {
namespace {

using Floats = DenseMatrix<float>;

constexpr std::array kinds{OptimizerKind::adam, OptimizerKind::adamw, OptimizerKind::sgd};

/// A parameter with all that an optimizer keeps, an average too.
struct Kept {
  Floats value, gradient, first, second, average;
  float decay = 0;

  Kept(const test::Shape& shape, std::uint64_t seed, float the_decay, const Device& device)
      : value(test::random_dense(shape.nrows, shape.ncols, seed).to(device)),
        gradient(test::random_dense(shape.nrows, shape.ncols, seed + 1).to(device)),
        first(shape.nrows, shape.ncols, device),
        second(shape.nrows, shape.ncols, device),
        average(value.clone()),
        decay(the_decay) {}

  OptimizedValues values() {
    return {value.values().data(),
            gradient.values().data(),
            first.values().data(),
            second.values().data(),
            average.values().data(),
            value.values().size(),
            decay};
  }
  OptimizedParameter operands() { return {&value, &gradient, &first, &second, &average, decay}; }
  [[nodiscard]] std::vector<Floats> here() const {
    std::vector<Floats> all;
    for (const Floats* part : {&value, &first, &second, &average}) all.push_back(part->to(Device{}));
    return all;
  }
};

void reference_step(OptimizerKind kind, std::vector<Kept>& parameters, const TrainingStep& step) {
  OptimizeArgs args;
  for (Kept& one : parameters) args.parameters[args.count++] = one.values();
  args.step = step.there();
  optimize(Reference{}, kind, args);
}

/// What is left of some parameters after a few steps, which `work` does with their operands and the step.
template <class Work>
std::vector<Floats> after_steps(const Device& device, Work&& work) {
  std::vector<Kept> kept;
  std::uint64_t seed = 1;
  for (const test::Shape& shape : test::odd_shapes()) kept.emplace_back(shape, seed += 2, 5e-4F, device);
  TrainingStep step(device);
  for (std::size_t n = 1; n <= 20; ++n) {
    step.set(n, 0.01F);
    work(kept, step);
  }
  std::vector<Floats> all;
  for (const Kept& one : kept) {
    for (Floats& part : one.here()) all.push_back(std::move(part));
  }
  return all;
}

void optimize_all(OptimizerKind kind, std::vector<Kept>& kept, const TrainingStep& step) {
  std::vector<OptimizedParameter> operands;
  for (Kept& one : kept) operands.push_back(one.operands());
  optimize(operands, kind, step);
}

std::vector<Floats> by_reference(OptimizerKind kind) {
  return after_steps(Device{}, [&](auto& kept, const auto& step) { reference_step(kind, kept, step); });
}

void expect_same(const std::vector<Floats>& got, const std::vector<Floats>& wanted) {
  for (std::size_t n = 0; n < wanted.size(); ++n) test::expect_identical(got[n].values(), wanted[n].values());
}

TEST(Optimizer, TheReferenceFollowsTheRulesInDouble) {
  for (const OptimizerKind kind : kinds) {
    double w = 0.5;
    double m = 0;
    double v = 0;
    double average = 0.5;
    std::vector<Kept> parameters;
    Kept& kept = parameters.emplace_back(test::Shape{1, 1}, 1, 0.1F, Device{});
    kept.value(0, 0) = kept.average(0, 0) = 0.5F;
    TrainingStep step;
    for (std::size_t n = 1; n <= 50; ++n) {
      const double g = std::sin(static_cast<double>(n));
      kept.gradient(0, 0) = static_cast<float>(g);
      step.set(n, 0.05F);
      reference_step(kind, parameters, step);
      const double slope = kind == OptimizerKind::adamw ? g : g + 0.1 * w;
      if (kind == OptimizerKind::adamw) w -= 0.05 * 0.1 * w;
      if (kind == OptimizerKind::sgd) {
        m = 0.9 * m + slope;
        w -= 0.05 * m;
      } else {
        m = 0.9 * m + 0.1 * slope;
        v = 0.999 * v + 0.001 * slope * slope;
        const auto count = static_cast<double>(n);
        w -= 0.05 * (m / (1 - std::pow(0.9, count))) / (std::sqrt(v / (1 - std::pow(0.999, count))) + 1e-8);
      }
      const double share = std::min(0.99, static_cast<double>(n) / static_cast<double>(n + 10));
      average = share * average + (1 - share) * w;
      ASSERT_NEAR(kept.value(0, 0), w, 1e-4) << to_string(kind) << " step " << n;
      ASSERT_NEAR(kept.average(0, 0), average, 1e-4) << to_string(kind) << " step " << n;
    }
  }
}

TEST(Optimizer, EveryInstructionSetGivesTheReferencesBits) {
  for (const OptimizerKind kind : kinds) {
    const std::vector<Floats> wanted = by_reference(kind);
    test::everywhere([&](const Device& device) {
      expect_same(after_steps(device, [&](auto& kept, const auto& step) { optimize_all(kind, kept, step); }), wanted);
    });
  }
}

TEST(Optimizer, OnCudaARecordedStepGivesTheReferencesBits) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for (const OptimizerKind kind : kinds) {
    Recording recording;
    expect_same(after_steps(device,
                            [&](auto& kept, const auto& step) {
                              recording.repeat(device, [&] { optimize_all(kind, kept, step); });
                            }),
                by_reference(kind));
  }
}

TEST(Optimizer, MoreParametersThanAKernelTakesAtATime) {
  test::everywhere([&](const Device& device) {
    std::vector<Kept> kept;
    for (std::size_t n = 0; n < OptimizeArgs::most + 3; ++n) kept.emplace_back(test::Shape{1, 2}, 1, 0.0F, device);
    TrainingStep step(device);
    step.set(1, 0.1F);
    optimize_all(OptimizerKind::adam, kept, step);
    for (const Kept& one : kept) test::expect_identical(one.value.values(), kept[0].value.values());
    EXPECT_NEAR(std::abs(kept.back().value(0, 0) - test::random_dense(1, 2, 1)(0, 0)), 0.1F, 1e-5);
  });
}

TEST(Optimizer, NamesAndWhatDoesNotFit) {
  for (const OptimizerKind kind : kinds) EXPECT_EQ(optimizer_from_string(to_string(kind)), kind);
  test::expect_usage_error([] { static_cast<void>(optimizer_from_string("lion")); }, "adam, adamw or sgd");
  Floats a(3, 4);
  Floats b(3, 5);
  TrainingStep step;
  test::expect_usage_error([&] { step.set(0, 0.1F); }, "count from 1");
  step.set(1, 0.1F);
  const auto with = [&](const OptimizedParameter& one, OptimizerKind kind) { optimize({&one, 1}, kind, step); };
  test::expect_usage_error([&] { with({&a, &a, &a, &b}, OptimizerKind::adam); }, "3 x 4 and 3 x 5");
  test::expect_usage_error([&] { with({&a, &a, &a, nullptr}, OptimizerKind::adamw); }, "a matrix is missing");
  test::expect_usage_error([&] { with({&a, &a, &a, &a, &b}, OptimizerKind::sgd); }, "3 x 4 and 3 x 5");
  EXPECT_NO_THROW(with({&a, &a, &a, nullptr}, OptimizerKind::sgd));
}

}  // namespace
}  // namespace bitgraph
