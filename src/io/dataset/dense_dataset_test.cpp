// SPDX-License-Identifier: Apache-2.0
// Data sets with dense features, and inductive splits.
#include "io/dataset/dataset.hpp"

#include <bitgraph/io/array.hpp>

#include "support/everywhere.hpp"
#include "support/expect_error.hpp"
#include "support/fixtures.hpp"
#include "support/random_matrices.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace bitgraph {
namespace {

using test::TemporaryFolder;
using Nodes = std::vector<NodeId>;

/// Values other than 0, classes in turn.
Dataset dense_dataset(NodeId num_nodes, std::size_t num_features, std::uint64_t seed) {
  Dataset dataset;
  dataset.graph = without_self_loops(symmetrized(test::random_pattern(num_nodes, num_nodes, 0.05, seed)));
  const auto values = test::random_floats(num_nodes * num_features, seed, 0.5F, 2);
  dataset.dense_features = DenseMatrix<float>(num_nodes, num_features, Buffer<float>::copy_of(values));
  dataset.num_classes = 3;
  for (NodeId i = 0; i < num_nodes; ++i) dataset.labels.push_back(static_cast<std::int32_t>(i % 3));
  return dataset;
}

bool same_values(const DenseMatrix<float>& a, const DenseMatrix<float>& b) {
  return a.nrows() == b.nrows() && a.ncols() == b.ncols() && std::ranges::equal(a.values(), b.values());
}

TEST(DenseDataset, RoundTrips) {
  const TemporaryFolder folder;
  EXPECT_TRUE(rc::check([&] {
    Dataset dataset = dense_dataset(*rc::gen::inRange<NodeId>(3, 60), *rc::gen::inRange<std::size_t>(1, 40),
                                    *rc::gen::arbitrary<std::uint64_t>());
    if (*rc::gen::arbitrary<bool>()) draw_split(dataset, {.train_per_class = 1, .validation_per_class = 1});
    const auto path = folder / "name.npz";
    save_dataset(dataset, path);
    const Dataset again = load_dataset(path);
    RC_ASSERT(again.graph == dataset.graph);
    RC_ASSERT(again.has_dense_features());
    RC_ASSERT(again.num_features() == dataset.num_features());
    RC_ASSERT(again.features.pattern.nrows() == dataset.graph.nrows());
    RC_ASSERT(again.features.pattern.ncols() == 0U);
    RC_ASSERT(same_values(again.dense_features, dataset.dense_features));
    RC_ASSERT(again.labels == dataset.labels);
    RC_ASSERT(again.train == dataset.train);
    RC_ASSERT(again.validation == dataset.validation);
    RC_ASSERT(again.test == dataset.test);
    // The same from bytes that nobody keeps.
    const auto bytes = test::contents(path);
    RC_ASSERT(same_values(read_dataset(test::as_bytes(bytes), "x.npz", {}).dense_features, dataset.dense_features));
  }));
}

TEST(DenseDataset, FeaturesStayInTheMappedFile) {
  const TemporaryFolder folder;
  const auto path = folder / "large.npz";
  constexpr NodeId num_nodes = 400;
  constexpr std::size_t num_features = 1000;
  save_dataset(dense_dataset(num_nodes, num_features, 1), path);
  const Device device = Device::host(2);
  const Dataset dataset = load_dataset(path, device);
  EXPECT_EQ(dataset.num_features(), num_features);
  EXPECT_LT(device.memory().peak, dataset.dense_features.bytes());
  std::filesystem::remove(path);
  EXPECT_TRUE(same_values(dataset.dense_features, dense_dataset(num_nodes, num_features, 1).dense_features));
}

TEST(DenseDataset, FewValuesBecomeSparse) {
  const TemporaryFolder folder;
  const auto path = folder / "x.npz";
  Dataset dataset = dense_dataset(30, 10, 2);
  for (std::size_t i = 0; i < 30; ++i) {
    for (std::size_t j = 0; j < 5; ++j) dataset.dense_features(i, (i + j) % 10) = 0;
  }
  save_dataset(dataset, path);
  const Dataset half = load_dataset(path);
  EXPECT_FALSE(half.has_dense_features());
  EXPECT_EQ(half.num_features(), 10U);
  EXPECT_EQ(half.features.pattern.nvals(), 150U);
  half.features.pattern.validate();
  for (NodeId i = 0; i < 30; ++i) {
    for (std::size_t e = half.features.pattern.row_ptr()[i]; e < half.features.pattern.row_ptr()[i + 1]; ++e)
      EXPECT_EQ(half.features.values[e], dataset.dense_features(i, half.features.pattern.col_ind()[e]));
  }
  dataset.dense_features(7, 7) = 1;
  save_dataset(dataset, path);
  EXPECT_TRUE(load_dataset(path).has_dense_features());
}

TEST(DenseDataset, NamesTheFirstFeatureThatIsNoNumber) {
  const TemporaryFolder folder;
  const auto path = folder / "x.npz";
  Dataset dataset = dense_dataset(2000, 4, 3);
  save_dataset(dataset, path);
  // No data set with such features can be saved: they are put into the file's array.
  auto members = load_npz(path);
  auto* features = reinterpret_cast<float*>(members.at("attr_matrix").data.data());
  features[1500 * 4 + 1] = INFINITY;
  features[321 * 4 + 2] = std::nanf("");
  save_npz(path, members);
  test::with_thread_counts([&](const Device& device) {
    test::expect_bad_input([&] { (void)load_dataset(path, device); },
                           path.string() + ": attr_matrix: feature 2 of node 321 is nan, expected a finite number");
  });
}

TEST(InductiveSplit, TakesSharesOfTheLabelledNodes) {
  EXPECT_TRUE(rc::check([] {
    Dataset dataset = dense_dataset(*rc::gen::inRange<NodeId>(20, 200), 1, 1);
    for (auto& label : dataset.labels) label = *rc::gen::inRange<std::int32_t>(0, 6) == 0 ? -1 : label;
    const auto labelled = static_cast<double>(std::ranges::count_if(dataset.labels, [](auto l) { return l >= 0; }));
    RC_PRE(labelled >= 10);
    const SplitShares shares{.train = 0.01 * *rc::gen::inRange(10, 60), .validation = 0.25, .test = 0.15};
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    inductive_split(dataset, shares, seed);
    const Nodes train = dataset.train;
    RC_ASSERT(std::abs(static_cast<double>(train.size()) - shares.train * labelled) <= 1);
    RC_ASSERT(std::abs(static_cast<double>(dataset.validation.size()) - shares.validation * labelled) <= 1);
    RC_ASSERT(std::abs(static_cast<double>(dataset.test.size()) - shares.test * labelled) <= 1);
    std::set<NodeId> seen;
    for (const auto* part : {&dataset.train, &dataset.validation, &dataset.test}) {
      RC_ASSERT(std::ranges::is_sorted(*part));
      for (const NodeId i : *part) RC_ASSERT(dataset.labels[i] >= 0 && seen.insert(i).second);
    }
    inductive_split(dataset, shares, seed);
    RC_ASSERT(dataset.train == train);
  }));
}

TEST(InductiveSplit, SharesOfOneTakeEveryNode) {
  Dataset dataset = dense_dataset(101, 1, 1);
  inductive_split(dataset, {.train = 0.7, .validation = 0.2, .test = 0.1}, 5);
  EXPECT_EQ(dataset.train.size() + dataset.validation.size() + dataset.test.size(), 101U);
  const Nodes train = dataset.train;
  inductive_split(dataset, {.train = 0.7, .validation = 0.2, .test = 0.1}, 6);
  EXPECT_NE(dataset.train, train);
}

TEST(InductiveSplit, SaysWhatIsWrong) {
  Dataset dataset = dense_dataset(10, 1, 1);
  dataset.name = "ten";
  Dataset wrong = dense_dataset(10, 1, 1);
  wrong.labels.pop_back();
  EXPECT_THROW(inductive_split(wrong, {}, 0), Error);
  EXPECT_THROW(draw_split(wrong, {}), Error);
  test::expect_usage_error([&] { inductive_split(dataset, {.train = -0.1}, 0); }, "between 0 and 1");
  test::expect_usage_error([&] { inductive_split(dataset, {.train = std::nan("")}, 0); }, "between 0 and 1");
  test::expect_usage_error([&] { inductive_split(dataset, {.train = 0.8}, 0); }, "more than 1");
  test::expect_bad_input([&] { inductive_split(dataset, {.train = 0.01}, 0); },
                         "split: 0.01 of the 10 nodes with a label in ten is none for training");
}

}  // namespace
}  // namespace bitgraph
