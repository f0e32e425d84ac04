// SPDX-License-Identifier: Apache-2.0
// What training must not see. Two data sets differ in all that it must not see: the trained tensors have the same bits.
#include <bitgraph/nn/train.hpp>

#include "nn/model/architectures.hpp"
#include "nn/model/random_model.hpp"
#include "support/planted_data.hpp"
#include "support/temporary_folder.hpp"

#include <bitgraph/core/random.hpp>
#include <bitgraph/io/array.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

using test::FeatureKind;

/// Draws anew what a data set says of the nodes that are not trained on.
class Scrambler {
 public:
  explicit Scrambler(const Dataset& dataset) : dataset_(dataset), trained_(dataset.graph.nrows(), false) {
    for (const NodeId node : dataset.train) trained_[node] = true;
  }

  void labels(Dataset& out) {
    for (NodeId i = 0; i < num_nodes(); ++i) {
      if (!trained_[i]) out.labels[i] = static_cast<std::int32_t>(below(static_cast<NodeId>(out.num_classes)));
    }
  }

  /// Edges between two training nodes stay.
  void edges(Dataset& out) {
    std::vector<NodeId> from, to;
    for (NodeId i = 0; i < num_nodes(); ++i) {
      for (const NodeId j : dataset_.graph.row(i)) {
        if (trained_[i] && trained_[j]) from.push_back(i), to.push_back(j);
      }
      for (NodeId edge = 0; edge < 4; ++edge) {
        const NodeId j = below(num_nodes());
        if (!trained_[i]) from.push_back(i), to.push_back(j);
      }
    }
    out.graph = csr_from_edges(num_nodes(), num_nodes(), from, to, {.symmetrize = true, .drop_loops = true});
  }

  void features(Dataset& out) {
    if (dataset_.has_dense_features()) {
      for (NodeId i = 0; i < num_nodes(); ++i) {
        if (trained_[i]) continue;
        for (float& value : out.dense_features.row(i)) value = 3 * uniform() - 1;
      }
      return;
    }
    const bool negative = std::any_of(dataset_.features.values.begin(), dataset_.features.values.end(),
                                      [](float value) { return value < 0; });
    const CsrPattern& before = dataset_.features.pattern;
    Buffer<EdgeOffset> row_ptr(num_nodes() + std::size_t{1}, EdgeOffset{0});
    std::vector<NodeId> columns;
    std::vector<float> values;
    for (NodeId i = 0; i < num_nodes(); ++i) {
      for (NodeId j = 0; j < before.ncols(); ++j) {
        const auto row = before.row(i);
        const auto found = std::find(row.begin(), row.end(), j);
        if (trained_[i] ? found == row.end() : below(3) != 0) continue;
        columns.push_back(j);
        const auto entry = before.row_ptr()[i] + static_cast<EdgeOffset>(found - row.begin());
        values.push_back(trained_[i] ? dataset_.features.values[entry] : negative ? 4 * uniform() - 2 : 7 * uniform());
      }
      row_ptr[i + std::size_t{1}] = columns.size();
    }
    out.features.pattern = CsrPattern(num_nodes(), before.ncols(), std::move(row_ptr),
                                      Buffer<NodeId>::copy_of(std::span<const NodeId>(columns)));
    out.features.values = Buffer<float>::copy_of(std::span<const float>(values));
  }

 private:
  [[nodiscard]] NodeId num_nodes() const { return dataset_.graph.nrows(); }
  NodeId below(NodeId bound) { return static_cast<NodeId>(random_below({9, 1, 0}, drawn_++, bound)); }
  float uniform() { return random_uniform({9, 2, 0}, drawn_++); }

  const Dataset& dataset_;
  std::vector<bool> trained_;
  std::uint64_t drawn_ = 0;
};

using Tensors = std::map<std::string, std::vector<float>>;

/// All that training has changed at its end, without what it has chosen by the validation nodes.
Tensors trained_tensors(const Dataset& dataset, TrainOptions options) {
  const test::TemporaryFolder folder(test::folder_in_memory());
  options.checkpoint = folder / "state";
  options.checkpoint_every = *options.epochs;
  const Model model = train(dataset, options, Device::host(2)).model;
  Tensors tensors;
  for (const auto& [name, array] : load_safetensors(options.checkpoint).tensors) {
    const Buffer<float> values = array.as<float>();
    if (!name.ends_with(".best")) tensors[name].assign(values.begin(), values.end());
  }
  tensors["input mean"].assign(model.input_mean.begin(), model.input_mean.end());
  tensors["input deviation"].assign(model.input_inverse_deviation.begin(), model.input_inverse_deviation.end());
  tensors["rows normalized"] = {model.normalize_rows ? 1.0F : 0.0F};
  return tensors;
}

const std::vector<Architecture> sampled{Architecture::inductive_gcn, Architecture::sage, Architecture::saint,
                                        Architecture::inductive_gin};

TrainOptions quick(Architecture architecture, Precision precision) {
  return {.precision = precision,
          .architecture = architecture,
          .hidden = 10,
          .sample_from = traits_of(architecture).sampled() ? SampleFrom::training : SampleFrom::automatic,
          .epochs = 4,
          .learning_rate = 0.05F,
          .batch_size = 12,
          .fan_outs = {3, 2},
          .walk_roots = 5};
}

/// fn(architecture, precision, kind of features)
template <class Fn>
void for_each_form(const std::vector<Architecture>& architectures, const Fn& fn) {
  for (const Architecture architecture : architectures) {
    for (const Precision& precision : {Precision::real, Precision::full, Precision::bin}) {
      for (const FeatureKind kind : {FeatureKind::counts, FeatureKind::mixed, FeatureKind::dense}) {
        SCOPED_TRACE(std::string(to_string(architecture)) + " " + to_string(precision) + ", features " +
                     std::to_string(static_cast<int>(kind)));
        fn(architecture, precision, kind);
      }
    }
  }
}

Model teacher_for(const Dataset& dataset) {
  return random_model(Architecture::gcn, Precision::real, dataset.num_features(), 5,
                      static_cast<std::size_t>(dataset.num_classes), 2, 1);
}

TEST(Unseen, ASampledModelTrainsOnTrainingNodesAndTheEdgesBetweenThem) {
  for_each_form(sampled, [](Architecture architecture, const Precision& precision, FeatureKind kind) {
    const bool real = !precision.multiplies_signs();
    const Dataset dataset = test::planted_data({.kind = kind});
    Dataset other = test::planted_data({.kind = kind});
    Scrambler scrambler(dataset);
    scrambler.labels(other);
    scrambler.edges(other);
    scrambler.features(other);
    const Model teacher = teacher_for(dataset);
    TrainOptions options = quick(architecture, precision);
    if (!real) options.teacher = &teacher;
    EXPECT_EQ(trained_tensors(dataset, options), trained_tensors(other, options));
  });
}

TEST(Unseen, MeansAndDeviationsAreOfTrainingNodes) {
  for (const Architecture architecture : sampled) {
    for (const FeatureKind kind : {FeatureKind::units, FeatureKind::counts_in_units, FeatureKind::tails}) {
      const Dataset dataset = test::planted_data({.kind = kind});
      Dataset other = test::planted_data({.kind = kind});
      Scrambler(dataset).features(other);
      const Tensors expected = trained_tensors(dataset, quick(architecture, Precision::real));
      EXPECT_FALSE(expected.at("input mean").empty());
      EXPECT_EQ(trained_tensors(other, quick(architecture, Precision::real)), expected);
    }
  }
}

TEST(Unseen, NothingElseIsInThePartsThatASampledModelTrainsOn) {
  for_each_form(sampled, [](Architecture architecture, const Precision& precision, FeatureKind kind) {
    const Dataset dataset = test::planted_data({.kind = kind});
    Dataset other = test::planted_data({.kind = kind});
    Scrambler scrambler(dataset);
    scrambler.labels(other);
    scrambler.edges(other);
    scrambler.features(other);
    std::vector<NodeId> part_of(dataset.graph.nrows());
    for (NodeId i = 0; i < part_of.size(); ++i) part_of[i] = i * 7 % 5;
    const Partition partition(std::move(part_of), 5);
    const Model teacher = teacher_for(dataset);
    TrainOptions options = quick(architecture, precision);
    options.partition = &partition;
    options.batch_parts = 2;
    if (precision.multiplies_signs()) options.teacher = &teacher;
    EXPECT_EQ(trained_tensors(dataset, options), trained_tensors(other, options));
  });
}

TEST(Unseen, AWholeGraphModelTrainsOnTheLabelsOfTrainingNodes) {
  for_each_form({Architecture::gcn, Architecture::gin},
                [](Architecture architecture, const Precision& precision, FeatureKind kind) {
                  const Dataset dataset = test::planted_data({.kind = kind});
                  Dataset other = test::planted_data({.kind = kind});
                  Scrambler(dataset).labels(other);
                  const Model teacher = teacher_for(dataset);
                  TrainOptions options = quick(architecture, precision);
                  if (precision.multiplies_signs()) options.teacher = &teacher;
                  EXPECT_EQ(trained_tensors(dataset, options), trained_tensors(other, options));
                });
}

/// Samples of all nodes; binary forms learn from `teacher`.
TrainOptions of_all_nodes(Architecture architecture, const Precision& precision, const Model& teacher) {
  TrainOptions options = quick(architecture, precision);
  options.sample_from = SampleFrom::all;
  if (precision.multiplies_signs()) options.teacher = &teacher;
  return options;
}

TEST(Unseen, SamplesOfAllNodesHaveTheLabelsOfTrainingNodesAlone) {
  for_each_form(sampled, [](Architecture architecture, const Precision& precision, FeatureKind kind) {
    const Dataset dataset = test::planted_data({.kind = kind});
    Dataset other = test::planted_data({.kind = kind});
    Scrambler(dataset).labels(other);
    const Model teacher = teacher_for(dataset);
    const TrainOptions options = of_all_nodes(architecture, precision, teacher);
    const Tensors trained = trained_tensors(dataset, options);
    EXPECT_EQ(trained, trained_tensors(other, options));
    std::int32_t& label = other.labels[dataset.train[1]];
    label = (label + 1) % dataset.num_classes;
    EXPECT_NE(trained, trained_tensors(other, options));
  });
}

TEST(Unseen, SamplesOfAllNodesHaveTheEdgesAndFeaturesOfOthers) {
  for_each_form(sampled, [](Architecture architecture, const Precision& precision, FeatureKind kind) {
    const Dataset dataset = test::planted_data({.kind = kind});
    Dataset other_edges = test::planted_data({.kind = kind}), other_features = test::planted_data({.kind = kind});
    Scrambler(dataset).edges(other_edges);
    Scrambler(dataset).features(other_features);
    const Model teacher = teacher_for(dataset);
    const TrainOptions options = of_all_nodes(architecture, precision, teacher);
    const Tensors trained = trained_tensors(dataset, options);
    EXPECT_NE(trained, trained_tensors(other_edges, options));
    EXPECT_NE(trained, trained_tensors(other_features, options));
  });
}

TEST(Unseen, PartsOfAllNodesHaveTheLabelsOfTrainingNodesAlone) {
  const Dataset dataset = test::planted_data({});
  Dataset other = test::planted_data({}), other_edges = test::planted_data({});
  Scrambler(dataset).labels(other);
  Scrambler(dataset).edges(other_edges);
  std::vector<NodeId> part_of(dataset.graph.nrows());
  for (NodeId i = 0; i < part_of.size(); ++i) part_of[i] = i * 7 % 5;
  const Partition partition(std::move(part_of), 5);
  for (const Architecture architecture : sampled) {
    TrainOptions options = quick(architecture, Precision::real);
    options.sample_from = SampleFrom::all;
    options.partition = &partition;
    options.batch_parts = 2;
    const Tensors trained = trained_tensors(dataset, options);
    EXPECT_EQ(trained, trained_tensors(other, options));
    EXPECT_NE(trained, trained_tensors(other_edges, options));
  }
}

/// So the comparison does see a change.
TEST(Unseen, TheLabelOfATrainingNodeChangesTheTensors) {
  for_each_form({Architecture::inductive_gcn, Architecture::sage, Architecture::saint, Architecture::inductive_gin,
                 Architecture::gcn, Architecture::gin},
                [](Architecture architecture, const Precision& precision, FeatureKind kind) {
                  const Dataset dataset = test::planted_data({.kind = kind});
                  const Model teacher = teacher_for(dataset);
                  TrainOptions options = quick(architecture, precision);
                  if (precision.multiplies_signs()) options.teacher = &teacher;
                  const Tensors before = trained_tensors(dataset, options);
                  Dataset other = test::planted_data({.kind = kind});
                  std::int32_t& label = other.labels[dataset.train[1]];
                  label = (label + 1) % dataset.num_classes;
                  EXPECT_NE(before, trained_tensors(other, options));
                });
}

}  // namespace
}  // namespace bitgraph::nn
