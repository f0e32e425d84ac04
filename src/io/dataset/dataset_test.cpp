// SPDX-License-Identifier: Apache-2.0
#include "io/dataset/dataset.hpp"

#include <bitgraph/io/graph.hpp>

#include "support/datasets.hpp"
#include "support/expect_error.hpp"
#include "support/fixtures.hpp"
#include "support/npz_members.hpp"
#include "support/random_matrices.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

namespace bitgraph {
namespace {

using test::array_member;
using test::expect_bad_input;
using test::fixture;
using test::TemporaryFolder;
using test::vector_member;
using test::zip_of;
using test::ZipMember;
using Nodes = std::vector<NodeId>;
using Labels = std::vector<std::int32_t>;

Dataset read(const std::string& bytes) { return read_dataset(test::as_bytes(bytes), "x.npz", {}); }

void expect_fixture(const Dataset& dataset) {
  // The path 0-1-2-3 without its loop, node 4 alone.
  const Nodes from{0, 1, 2};
  const Nodes to{1, 2, 3};
  EXPECT_EQ(dataset.graph, csr_from_edges(5, 5, from, to, {.symmetrize = true}));
  const Nodes rows{0, 1, 3, 3, 4};
  const Nodes cols{1, 0, 1, 2, 2};
  EXPECT_EQ(dataset.features.pattern, csr_from_edges(5, 3, rows, cols));
  EXPECT_TRUE(std::ranges::equal(dataset.features.values.span(), std::vector<float>{1.5F, 2, -1, 0.25F, 3}));
  EXPECT_EQ(dataset.labels, (Labels{0, 2, 0, 1, -1}));
  EXPECT_EQ(dataset.num_classes, 3);
}

TEST(Dataset, ReadsWhatNumPyWrites) {
  const Dataset dataset = load_dataset(fixture("dataset.npz"));
  EXPECT_EQ(dataset.name, "dataset");
  expect_fixture(dataset);
  EXPECT_EQ(dataset.train, (Nodes{1, 3}));
  EXPECT_EQ(dataset.validation, (Nodes{0}));
  EXPECT_EQ(dataset.test, (Nodes{2}));
}

TEST(Dataset, ReadsDenseFeatures) {
  const Dataset dataset = load_dataset(fixture("dataset_dense.npz"));
  expect_fixture(dataset);
  EXPECT_TRUE(dataset.train.empty());
  EXPECT_TRUE(dataset.validation.empty());
  EXPECT_TRUE(dataset.test.empty());
}

/// Three nodes in a ring with two features and labels 0, 1, 1: a base for files that are wrong in one place.
std::vector<ZipMember> members() {
  return {vector_member<std::int32_t>("adj_indptr", {0, 1, 2, 3}),
          vector_member<std::int32_t>("adj_indices", {1, 2, 0}),
          vector_member<std::int64_t>("adj_shape", {3, 3}),
          vector_member<std::int32_t>("attr_indptr", {0, 1, 1, 2}),
          vector_member<std::int32_t>("attr_indices", {1, 0}),
          vector_member<float>("attr_data", {1, 1}),
          vector_member<std::int64_t>("attr_shape", {3, 2}),
          vector_member<std::int64_t>("labels", {0, 1, 1}),
          vector_member<std::int64_t>("train_idx", {0}),
          vector_member<std::int64_t>("val_idx", {1}),
          vector_member<std::int64_t>("test_idx", {2})};
}

/// Those members with `changed` in the place of the one of its name, or behind them.
std::string with(ZipMember changed) {
  auto all = members();
  const auto same = std::ranges::find_if(all, [&](const ZipMember& m) { return m.name == changed.name; });
  if (same == all.end()) {
    all.push_back(std::move(changed));
  } else {
    *same = std::move(changed);
  }
  return zip_of(all);
}

std::string without(const std::vector<std::string>& keys) {
  auto all = members();
  std::erase_if(all, [&](const ZipMember& m) {
    return std::ranges::any_of(keys, [&](const std::string& key) { return m.name == key + ".npy"; });
  });
  return zip_of(all);
}

TEST(Dataset, SaysWhatIsWrong) {
  struct Case {
    std::string bytes;
    const char* message;
  };
  using I32 = std::vector<std::int32_t>;
  using I64 = std::vector<std::int64_t>;
  const float nan = std::nanf("");
  const std::vector<Case> cases{
      {without({"adj_indptr"}), "holds no graph: adj_data, adj_indices, adj_indptr, adj_shape"},
      {without({"adj_indices"}), "lacks the member 'adj_indices'"},
      {without({"adj_shape"}), "lacks the member 'adj_shape'"},
      {with(vector_member("adj_shape", I64{3, 4})), "adj_shape: 3 x 4, expected a square matrix"},
      {with(vector_member("adj_shape", I64{1000000000000, 3})),
       "adj_shape: a side of 1000000000000, expected less than 2^32 - 1"},
      {with(vector_member("adj_shape", I64{4000000000, 4000000000})),
       "adj_indptr: 4 pointers, expected 4000000001 for the shape"},
      {with(vector_member("adj_indptr", I32{0, 1, 2, 4})),
       "adj_indptr: element 3: found 4, expected 3, the number of indices"},
      {with(vector_member("adj_indices", I32{1, 2, 3})), "adj_indices: element 2: found 3, expected less than 3"},
      {without({"attr_indptr"}),
       "holds no features: neither attr_data, attr_indices, attr_indptr, attr_shape nor attr_matrix"},
      {without({"attr_shape"}), "lacks the member 'attr_shape'"},
      {with(vector_member("attr_shape", I64{2, 2})), "attr_indptr: 4 pointers, expected 3 for the shape"},
      {with(vector_member("attr_indices", I32{1, 2})), "attr_indices: element 1: found 2, expected less than 2"},
      {with(vector_member("attr_data", std::vector<float>{1})), "attr_data: 1 values for 2 entries"},
      {with(vector_member("attr_data", std::vector<float>{1, nan})),
       "attr_data: feature 0 of node 2 is nan, expected a finite number"},
      {with(vector_member("attr_data", std::vector<double>{1e300, 1})),
       "attr_data: element 0: found 1e+300, expected a number that a float32 can hold"},
      {with(vector_member("labels", I64{0, 1})), "labels: 2 of them for 3 nodes"},
      {with(vector_member("labels", I64{0, 1, -2})), "labels: node 2: found -2, expected -1 .. 65535"},
      {with(vector_member("labels", I64{0, 65536, 1})), "labels: node 1: found 65536, expected -1 .. 65535"},
      {with(vector_member("labels", std::vector<float>{0, 0.5F, 1})),
       "labels: element 1: found 0.5, expected a whole number from -9223372036854775808 to 9223372036854775807"},
      {with(array_member("labels", {3, 1}, I64{0, 1, 1})), "labels: expected one dimension"},
      {with(ZipMember{"labels.npy", test::contents(fixture("object.npy"))}), "labels: the elements are not numbers"},
      {with(vector_member("train_idx", I64{3})), "train_idx: element 0: node 3 is outside 0 .. 2"},
      {with(vector_member("train_idx", I64{-1})), "train_idx: element 0: node -1 is outside 0 .. 2"},
      {with(vector_member("test_idx", I64{})), "test_idx: no nodes; a data set without a split leaves the member out"},
      {with(vector_member("val_idx", I64{1, 1})), "val_idx: element 1: node 1 stands in the split before"},
      {with(vector_member("test_idx", I64{2, 0})), "test_idx: element 1: node 0 stands in the split before"},
      {with(vector_member("labels", I64{0, 1, -1})), "test_idx: element 0: node 2 has no label"},
  };
  for (const Case& c : cases) expect_bad_input([&] { (void)read(c.bytes); }, std::string("x.npz: ") + c.message);
  EXPECT_EQ(read(zip_of(members())).num_classes, 2);
}

TEST(Dataset, WithoutLabelsHasNoClassesAndNoSplit) {
  for (const std::string& bytes : {without({"labels"}), with(vector_member("labels", std::vector<int>{-1, -1, -1}))}) {
    const Dataset dataset = read(bytes);
    EXPECT_EQ(dataset.num_classes, 0);
    EXPECT_TRUE(dataset.labels.empty());
    EXPECT_TRUE(dataset.train.empty() && dataset.validation.empty() && dataset.test.empty());
    EXPECT_EQ(dataset.graph.nrows(), 3U);
    dataset.validate();
  }
}

TEST(Dataset, SaysWhatIsWrongWithDenseFeatures) {
  const auto dense = [](const std::vector<std::uint64_t>& shape, const std::vector<float>& values) {
    auto all = members();
    std::erase_if(all, [](const ZipMember& m) { return m.name.starts_with("attr_"); });
    all.push_back(array_member("attr_matrix", shape, values));
    return zip_of(all);
  };
  expect_bad_input(
      [&] {
        (void)read(dense({2, 1}, {1, 2}));
      },
      "x.npz: attr_matrix: a shape of (2, 1), expected 3 rows of less than 2^32 - 1 features");
  expect_bad_input(
      [&] {
        (void)read(dense({3}, {1, 2, 3}));
      },
      "x.npz: attr_matrix: a shape of (3), expected 3 rows of less than 2^32 - 1 features");
  expect_bad_input(
      [&] {
        (void)read(dense({3, 2}, {0, 0, 0, 0, INFINITY, 0}));
      },
      "x.npz: attr_matrix: feature 0 of node 2 is inf, expected a finite number");
}

TEST(Dataset, NamesTheFileThatIsMissing) {
  const auto path = fixture("none.npz");
  expect_bad_input([&] { (void)load_dataset(path); }, path.string() + ": cannot open: No such file or directory");
}

TEST(Dataset, MergesWhatAFileRepeats) {
  // The features' entry (0, 1) stands twice, and row 2 is out of order.
  auto all = members();
  std::erase_if(all, [](const ZipMember& m) { return m.name.starts_with("attr_") || m.name.starts_with("adj_ind"); });
  all.push_back(vector_member<std::int64_t>("attr_shape", {3, 2}));
  all.push_back(vector_member<std::int32_t>("attr_indptr", {0, 2, 2, 4}));
  all.push_back(vector_member<std::int32_t>("attr_indices", {1, 1, 1, 0}));
  all.push_back(vector_member<float>("attr_data", {0.5F, 0.25F, 3, 4}));
  // Both directions, twice, and a loop.
  all.push_back(vector_member<std::int32_t>("adj_indptr", {0, 3, 5, 5}));
  all.push_back(vector_member<std::int32_t>("adj_indices", {1, 1, 0, 0, 0}));
  const Dataset dataset = read(zip_of(all));
  EXPECT_TRUE(std::ranges::equal(dataset.features.values.span(), std::vector<float>{0.75F, 4, 3}));
  const Nodes one{0};
  const Nodes other{1};
  EXPECT_EQ(dataset.graph, csr_from_edges(3, 3, one, other, {.symmetrize = true}));
}

/// A data set with every class present, the lowest of them 0.
Dataset arbitrary_dataset() {
  const auto num_nodes = *rc::gen::inRange<NodeId>(1, 60);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Dataset dataset;
  dataset.graph = without_self_loops(symmetrized(test::random_pattern(num_nodes, num_nodes, 0.05, seed)));
  const auto width = *rc::gen::inRange<NodeId>(1, 40);
  dataset.features.pattern = test::random_pattern(num_nodes, width, 0.2, seed + 1);
  const auto values = test::random_floats(dataset.features.pattern.nvals(), seed, -2, 2);
  dataset.features.values = Buffer<float>::copy_of(values);
  dataset.num_classes = *rc::gen::inRange<std::int32_t>(1, static_cast<std::int32_t>(num_nodes) + 1);
  for (NodeId i = 0; i < num_nodes; ++i) {
    const auto label = static_cast<std::int32_t>(i);
    dataset.labels.push_back(label < dataset.num_classes ? label
                                                         : *rc::gen::inRange<std::int32_t>(-1, dataset.num_classes));
  }
  if (*rc::gen::arbitrary<bool>()) draw_split(dataset, {.train_per_class = 2, .validation_per_class = 3, .seed = seed});
  return dataset;
}

TEST(Dataset, RoundTrips) {
  const TemporaryFolder folder;
  EXPECT_TRUE(rc::check([&] {
    const Dataset dataset = arbitrary_dataset();
    const auto path = folder / "name.npz";
    save_dataset(dataset, path);
    const std::string bytes = test::contents(path);
    const Dataset again = load_dataset(path);
    RC_ASSERT(again.name == "name");
    RC_ASSERT(again.graph == dataset.graph);
    RC_ASSERT(again.features.pattern == dataset.features.pattern);
    RC_ASSERT(std::ranges::equal(again.features.values.span(), dataset.features.values.span()));
    RC_ASSERT(again.labels == dataset.labels);
    RC_ASSERT(again.num_classes == dataset.num_classes);
    RC_ASSERT(again.train == dataset.train);
    RC_ASSERT(again.validation == dataset.validation);
    RC_ASSERT(again.test == dataset.test);
    save_dataset(again, path);
    RC_ASSERT(test::contents(path) == bytes);
  }));
}

TEST(Dataset, SplitsTakeSoManyOfEachClass) {
  EXPECT_TRUE(rc::check([] {
    Dataset dataset = arbitrary_dataset();
    const SplitOptions options{.train_per_class = *rc::gen::inRange<std::size_t>(0, 5),
                               .validation_per_class = *rc::gen::inRange<std::size_t>(0, 5),
                               .seed = *rc::gen::arbitrary<std::uint64_t>()};
    draw_split(dataset, options);
    std::vector<int> parts(dataset.labels.size(), 0);
    const std::array<std::reference_wrapper<const Nodes>, 3> split{dataset.train, dataset.validation, dataset.test};
    std::vector<std::array<std::size_t, 3>> count(static_cast<std::size_t>(dataset.num_classes));
    for (std::size_t p = 0; p < split.size(); ++p) {
      RC_ASSERT(std::ranges::is_sorted(split[p].get()));
      for (const NodeId i : split[p].get()) {
        ++parts[i];
        ++count.at(static_cast<std::size_t>(dataset.labels[i]))[p];
      }
    }
    for (std::size_t i = 0; i < parts.size(); ++i) RC_ASSERT(parts[i] == (dataset.labels[i] == -1 ? 0 : 1));
    for (const auto& [train, validation, test] : count) {
      const std::size_t all = train + validation + test;
      RC_ASSERT(train == std::min(options.train_per_class, all / 2));
      RC_ASSERT(validation == std::min(options.validation_per_class, (all - train) / 2));
    }
    const Nodes train = dataset.train;
    draw_split(dataset, options);
    RC_ASSERT(dataset.train == train);
  }));
}

struct Known {
  const char* name;
  NodeId nodes;
  EdgeOffset entries;  ///< of adj_* as it lies in the file, repeated ones merged
  EdgeOffset loops;
  EdgeOffset edges;  ///< pairs of nodes
  NodeId features;
  EdgeOffset feature_entries;
  std::vector<std::size_t> class_sizes;
  std::array<std::size_t, 3> split;
};

/// As counted by the data sets' keeper with other programs.
const std::array<Known, 6> known{{
    {"amazon_photo", 7650, 143663, 1, 119081, 745, 1979909, {369, 1686, 703, 915, 882, 823, 1941, 331}, {}},
    {"coauthor_cs",
     18333,
     163788,
     0,
     81894,
     6805,
     1092079,
     {708, 462, 2050, 429, 1394, 2193, 371, 924, 775, 118, 1444, 2033, 420, 4136, 876},
     {}},
    {"blogcatalog", 5196, 343486, 0, 171743, 8189, 369435, {885, 777, 921, 858, 892, 863}, {}},
    {"cora_ml", 2995, 8416, 0, 8158, 2879, 151171, {354, 402, 452, 442, 857, 193, 295}, {}},
    {"cora", 2708, 10556, 0, 5278, 1433, 49216, {351, 217, 418, 818, 426, 298, 180}, {140, 500, 1000}},
    {"citeseer", 3327, 9104, 0, 4552, 3703, 105165, {249, 590, 668, 701, 596, 508}, {120, 500, 1000}},
}};

TEST(Dataset, RealOnesHaveTheirCounts) {
  BITGRAPH_DATASETS_OR_SKIP(folder);
  for (const Known& set : known) {
    SCOPED_TRACE(set.name);
    const auto path = folder / "npz" / (std::string(set.name) + ".npz");
    const Graph graph = load_graph(path);
    EXPECT_EQ(graph.pattern.nvals(), set.entries);
    EXPECT_EQ(num_self_loops(graph.pattern), set.loops);
    const Dataset dataset = load_dataset(path);
    dataset.graph.validate();
    dataset.features.pattern.validate();
    EXPECT_EQ(dataset.name, set.name);
    EXPECT_EQ(dataset.graph.nrows(), set.nodes);
    EXPECT_EQ(dataset.graph.nvals(), 2 * set.edges);
    EXPECT_TRUE(is_symmetric(dataset.graph));
    EXPECT_EQ(dataset.features.pattern.ncols(), set.features);
    EXPECT_EQ(dataset.features.pattern.nvals(), set.feature_entries);
    std::vector<std::size_t> sizes(static_cast<std::size_t>(dataset.num_classes));
    for (const std::int32_t label : dataset.labels) {
      if (label >= 0) ++sizes.at(static_cast<std::size_t>(label));
    }
    EXPECT_EQ(sizes, set.class_sizes);
    EXPECT_EQ((std::array{dataset.train.size(), dataset.validation.size(), dataset.test.size()}), set.split);
  }
}

TEST(Dataset, RealFeaturesHaveTheirValues) {
  BITGRAPH_DATASETS_OR_SKIP(folder);
  const auto extremes = [&](const char* file) {
    const Dataset dataset = load_dataset(folder / "npz" / file);
    const auto [least, largest] = std::ranges::minmax(dataset.features.values.span());
    return std::pair(least, largest);
  };
  EXPECT_EQ(extremes("cora.npz"), std::pair(1.0F, 1.0F));
  EXPECT_EQ(extremes("amazon_photo.npz"), std::pair(1.0F, 1.0F));
  EXPECT_EQ(extremes("coauthor_cs.npz"), std::pair(1.0F, 105.0F));
  EXPECT_EQ(extremes("blogcatalog.npz"), std::pair(1.0F, 703.0F));
  const auto [least, largest] = extremes("cora_ml.npz");
  EXPECT_NEAR(least, 0.01181, 5e-6);
  EXPECT_EQ(largest, 1.0F);
}

}  // namespace
}  // namespace bitgraph
