// SPDX-License-Identifier: Apache-2.0
#include "nn/sampling/drawn_ahead.hpp"
#include "nn/sampling/training_source.hpp"

#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/nn/train.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

using Numbers = DrawnAhead<std::vector<std::size_t>>;

/// Takes longer for some numbers than for others.
void draw_slowly(std::size_t number, std::vector<std::size_t>& value) {
  std::this_thread::sleep_for(std::chrono::microseconds(number % 3 * 100));
  value.assign({number, number * number});
}

TEST(DrawnAhead, ValuesComeInOrderWhoeverDrawsThem) {
  for (const std::size_t workers : {0U, 1U, 3U}) {
    std::atomic<bool> known{true};
    Numbers numbers(workers, 50, [&](std::size_t worker, std::size_t number, auto& value) {
      if (worker >= std::max<std::size_t>(workers, 1)) known = false;
      draw_slowly(number, value);
    });
    for (std::size_t number = 0; number < 60; ++number)  // and beyond the end
      ASSERT_EQ(numbers.get(number), (std::vector{number, number * number}));
    EXPECT_TRUE(known);
  }
}

TEST(DrawnAhead, AValueStaysUntilTheNextCallButOne) {
  Numbers numbers(3, 100, [](std::size_t, std::size_t number, auto& value) { draw_slowly(number, value); });
  const auto* before = &numbers.get(0);
  for (std::size_t number = 1; number < 50; ++number) {
    const auto* const value = &numbers.get(number);
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    ASSERT_EQ(before->front(), number - 1);
    before = value;
  }
}

TEST(DrawnAhead, BeginsAnewWhereAnotherValueIsAskedFor) {
  Numbers numbers(3, 100, [](std::size_t, std::size_t number, auto& value) { draw_slowly(number, value); });
  for (const std::size_t number : {70U, 71U, 72U, 3U, 3U, 4U, 99U, 98U, 0U, 1U, 150U})
    ASSERT_EQ(numbers.get(number).front(), number);
}

TEST(DrawnAhead, DrawsFewValuesAheadAndNoneBehindTheEnd) {
  std::atomic<std::size_t> largest{0}, drawn{0};
  Numbers numbers(2, 9, [&](std::size_t, std::size_t number, auto& value) {
    ++drawn;
    std::size_t most = largest;
    while (most < number && !largest.compare_exchange_weak(most, number)) {
    }
    value.assign({number});
  });
  EXPECT_EQ(drawn, 0U);  // they begin with the first call
  (void)numbers.get(0);
  while (drawn < 6) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(largest, 5U);
  for (std::size_t number = 1; number < 9; ++number) (void)numbers.get(number);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(drawn, 9U);
}

TEST(DrawnAhead, EndsWheneverItGoes) {
  for (std::size_t taken = 0; taken < 20; ++taken) {
    Numbers numbers(3, 1000, [](std::size_t, std::size_t number, auto& value) { draw_slowly(number, value); });
    for (std::size_t number = 0; number < taken; ++number) (void)numbers.get(number);
  }
}

TEST(DrawnAhead, WhatAWorkerThrowsComesInItsTurn) {
  for (const std::size_t workers : {0U, 1U, 3U}) {
    Numbers numbers(workers, 100, [](std::size_t, std::size_t number, auto& value) {
      draw_slowly(number, value);
      if (number == 4) throw std::runtime_error("four");
    });
    for (int time = 0; time < 2; ++time) {
      for (std::size_t number = 0; number < 4; ++number) ASSERT_EQ(numbers.get(number).front(), number);
      for (int again = 0; again < 2; ++again) EXPECT_THROW((void)numbers.get(4), std::runtime_error);
    }
    ASSERT_EQ(numbers.get(5).front(), 5U);
  }
}

TEST(DrawnAhead, AForkedChildIsToldThatItHasNoWorkers) {
  if (test::thread_sanitized) GTEST_SKIP() << "the sanitizer has threads of its own";
  auto numbers = std::make_unique<Numbers>(
      2, 100, [](std::size_t, std::size_t number, auto& value) { draw_slowly(number, value); });
  for (std::size_t number = 0; number < 10; ++number) (void)numbers->get(number);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    bool told = false;
    try {
      (void)numbers->get(10);
    } catch (const Error& error) {
      told = error.code() == ErrorCode::not_possible;
    }
    numbers.reset();
    ::_exit(told ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(numbers->get(10).front(), 10U);
}

struct Case {
  Architecture architecture;
  Precision precision = Precision::real;
  bool dense = false;
  bool taught = false;
  bool parts = false;
  bool some = false;  ///< nodes are for training, not all
};

/// Every node has a label and a few features, and all or a third are for training.
Dataset random_dataset(const Case& c) {
  Dataset dataset;
  dataset.name = "random";
  dataset.graph = without_self_loops(symmetrized(test::rmat_pattern(9, 3000, 5)));
  const NodeId nodes = dataset.graph.nrows();
  dataset.num_classes = 5;
  if (c.dense) {
    dataset.dense_features = test::random_dense(nodes, 40, 7);
  } else {
    dataset.features.pattern = test::random_pattern(nodes, 40, 0.1, 6);
    dataset.features.values = Buffer<float>(dataset.features.pattern.nvals(), 2.0F);
  }
  for (NodeId i = 0; i < nodes; ++i) dataset.labels.push_back(static_cast<std::int32_t>(i * 7 % 5));
  dataset.train.resize(nodes);
  std::iota(dataset.train.begin(), dataset.train.end(), NodeId{0});
  if (c.some) std::erase_if(dataset.train, [](NodeId node) { return node % 3 != 0; });
  return dataset;
}

std::unique_ptr<TrainingSource> source_of(const Case& c, const Dataset& dataset, const Device& device,
                                          std::optional<std::size_t> threads) {
  std::vector<NodeId> part_of(dataset.graph.nrows());
  for (NodeId i = 0; i < dataset.graph.nrows(); ++i) part_of[i] = static_cast<NodeId>(random_below({8, 0, 0}, i, 16));
  const Partition partition(std::move(part_of), 16);
  const TrainOptions options = preset({.precision = c.precision,
                                       .architecture = c.architecture,
                                       .epochs = 2,
                                       .batch_size = 100,
                                       .partition = c.parts ? &partition : nullptr,
                                       .batch_parts = c.parts ? std::optional<std::size_t>(3) : std::nullopt,
                                       .seed = 3},
                                      {.training_nodes = dataset.train.size(), .dense_features = c.dense});
  Model metadata;
  metadata.architecture = c.architecture;
  metadata.precision = c.precision;
  if (c.precision != Precision::real) {
    metadata.input_mean = Buffer<float>(dataset.num_features(), 0.1F);
    metadata.input_inverse_deviation = Buffer<float>(dataset.num_features(), 1.0F);
  }
  DenseMatrix<float> teacher;
  if (c.taught) teacher = test::random_dense(dataset.graph.nrows(), 5, 9);
  return make_training_source(dataset, options, metadata, 1, std::move(teacher), device, threads);
}

template <class T>
void expect_same(const Buffer<T>& a, const Buffer<T>& b) {
  const Buffer<T> here = a.to(Device{}), other = b.to(Device{});
  EXPECT_TRUE(std::ranges::equal(here.span(), other.span()));
}

void expect_same(const DenseMatrix<float>& a, const DenseMatrix<float>& b) {
  const DenseMatrix<float> here = a.to(Device{}), other = b.to(Device{});
  ASSERT_EQ(here.nrows(), other.nrows());
  EXPECT_TRUE(std::ranges::equal(here.values(), other.values()));
}

void expect_same(const LayerGraph& a, const LayerGraph& b) {
  EXPECT_TRUE(a.pattern.to(Device{}) == b.pattern.to(Device{}));
  EXPECT_TRUE(a.transposed.to(Device{}) == b.transposed.to(Device{}));
  EXPECT_EQ(a.pattern.ncols(), b.pattern.ncols());
  expect_same(a.row_scale, b.row_scale);
  expect_same(a.col_scale, b.col_scale);
  expect_same(a.vote_scale, b.vote_scale);
}

void expect_same(const TrainingBatch& a, const TrainingBatch& b) {
  ASSERT_EQ(a.graphs.size(), b.graphs.size());
  for (std::size_t l = 0; l < a.graphs.size(); ++l) {
    ASSERT_EQ(a.graphs[l] == nullptr, b.graphs[l] == nullptr);  // a layer that aggregates nothing has none
    if (a.graphs[l] != nullptr) expect_same(*a.graphs[l], *b.graphs[l]);
  }
  expect_same(a.features, b.features);
  EXPECT_TRUE(std::ranges::equal(a.rows.nodes, b.rows.nodes));
  EXPECT_TRUE(a.signs.bits.to(Device{}) == b.signs.bits.to(Device{}));
  expect_same(a.signs.alpha, b.signs.alpha);
  expect_same(a.labels, b.labels);
  expect_same(a.counted, b.counted);
  expect_same(a.loss_weight, b.loss_weight);
  expect_same(a.taught, b.taught);
}

std::vector<Case> all_cases() {
  return {{Architecture::sage},
          {Architecture::sage, Precision::real, true, true},
          {Architecture::inductive_gcn, Precision::full, false, true},
          {Architecture::inductive_gcn},
          {Architecture::inductive_gin},
          {Architecture::saint},
          {Architecture::saint, Precision::bin, true, true},
          {.architecture = Architecture::sage, .dense = true, .some = true},
          {.architecture = Architecture::saint, .dense = true, .some = true},
          {Architecture::saint, Precision::full, false, true, false, true},
          {Architecture::gcn, Precision::real, true, true, true},
          {Architecture::gin, Precision::full, false, true, true},
          {Architecture::sage, Precision::bin, true, false, true}};
}

/// `b` gives in two epochs, and out of order, what `a` gives.
void expect_same_batches(TrainingSource& a, TrainingSource& b) {
  ASSERT_EQ(a.batches(), b.batches());
  for (std::size_t epoch = 1; epoch <= 2; ++epoch) {
    for (std::size_t n = 0; n < a.batches(); ++n) expect_same(a.batch(epoch, n), b.batch(epoch, n));
  }
  expect_same(a.batch(2, 0), b.batch(2, 0));
  expect_same(a.batch(1, a.batches() - 1), b.batch(1, b.batches() - 1));
}

TEST(TrainingSource, BatchesDrawnAheadAreTheSame) {
  for (const Case& c : all_cases()) {
    const Dataset dataset = random_dataset(c);
    for (const std::size_t threads : {1U, 3U}) {
      SCOPED_TRACE(std::string(to_string(c.architecture)) + ", " + std::to_string(threads) + " threads");
      const auto plain = source_of(c, dataset, Device::host(2), 0);
      EXPECT_GT(plain->batches(), 1U);
      expect_same_batches(*plain, *source_of(c, dataset, Device::host(2), threads));
    }
  }
}

TEST(TrainingSource, BatchesOfADeviceAreThoseOfTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for (const Case& c : all_cases()) {
    if (c.precision == Precision::real && !c.dense) continue;  // on the host they are entries
    const Dataset dataset = random_dataset(c);
    const std::vector<std::optional<std::size_t>> drawers{0, 3, std::nullopt};
    for (const std::optional<std::size_t> threads : drawers)
      expect_same_batches(*source_of(c, dataset, Device::host(2), 0), *source_of(c, dataset, device, threads));
  }
}

TEST(TrainingSource, GoesWhileBatchesAreDrawn) {
  const Dataset dataset = random_dataset({.architecture = Architecture::sage});
  for (std::size_t taken = 0; taken < 8; ++taken) {
    const auto source = source_of({.architecture = Architecture::sage}, dataset, Device::host(1), 3);
    for (std::size_t n = 0; n < taken; ++n) (void)source->batch(1, n % source->batches());
  }
}

/// The arrays in one piece of memory are those that LayerGraph makes one by one.
TEST(LayerGraph, IsTheSameFromAPack) {
  const CsrPattern wide = test::random_pattern(300, 700, 0.01, 1);
  const CsrPattern square = without_self_loops(symmetrized(test::random_pattern(300, 300, 0.01, 2)));
  const std::vector<float> degrees(300, 9);
  for (const Aggregation aggregation :
       {Aggregation::symmetric, Aggregation::mean_with_self, Aggregation::mean, Aggregation::sum}) {
    for (const bool known : {false, true}) {
      const CsrPattern& block = aggregation == Aggregation::symmetric ? square : wide;
      WholeGraphFacts facts{.factor = 0.25F};
      if (known) facts.degrees = facts.input_degrees = degrees;
      ArrayPack arrays;
      Buffer<std::byte> there;
      const LayerPlaces places = pack_layer(arrays, block, aggregation, facts);
      arrays.upload(there, Device{});
      expect_same(LayerGraph(places, arrays), LayerGraph(block, aggregation, facts, Device{}));
    }
  }
}

}  // namespace
}  // namespace bitgraph::nn
