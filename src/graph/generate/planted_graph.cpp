// SPDX-License-Identifier: Apache-2.0
// Large graphs with planted classes, power-law degrees and dense features.
#include <bitgraph/core/error.hpp>
#include <bitgraph/core/random.hpp>
#include <bitgraph/graph/generate.hpp>

#include "core/preconditions.hpp"
#include "core/threads/parallel.hpp"
#include "graph/generate/edges.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph {

namespace {

struct Preset {
  std::string_view name;
  PlantedGraphOptions options;
};

// Largest degrees come near those published, 5,425, 21,657 and 13,161: hubs lose what is drawn twice.
constexpr PlantedGraphOptions flickr{.num_nodes = 89'250,
                                     .num_entries = 899'756,
                                     .num_classes = 7,
                                     .num_features = 500,
                                     .exponent = 2.6,
                                     .hub_share = 7'500.0 / 89'250,
                                     .homophily = 0.7,
                                     .feature_signal = 0.06,
                                     .label_noise = 0.1,
                                     .split = {0.5, 0.25, 0.25}};
constexpr PlantedGraphOptions reddit{.num_nodes = 232'965,
                                     .num_entries = 114'615'892,
                                     .num_classes = 41,
                                     .num_features = 602,
                                     .exponent = 2.4,
                                     .hub_share = 42'000.0 / 232'965,
                                     .homophily = 0.6,
                                     .feature_signal = 0.09,
                                     .label_noise = 0.06,
                                     .split = {0.66, 0.10, 0.24}};
constexpr PlantedGraphOptions arxiv{.num_nodes = 169'343,
                                    .num_entries = 2'500'000,
                                    .num_classes = 40,
                                    .num_features = 128,
                                    .exponent = 2.6,
                                    .hub_share = 27'000.0 / 169'343,
                                    .homophily = 0.65,
                                    .feature_signal = 0.12,
                                    .label_noise = 0.2,
                                    .split = {0.54, 0.17, 0.29}};

/// A data set of QGTC's Table 1, whose edges are taken as undirected. What the table does not say (degrees, homophily,
/// signal, noise) is as of those above.
constexpr PlantedGraphOptions of_table(NodeId nodes, EdgeOffset edges, NodeId features, std::int32_t classes,
                                       double hub_share, double homophily, double signal) {
  PlantedGraphOptions options = flickr;
  options.num_nodes = nodes;
  options.num_entries = 2 * edges;
  options.num_features = features;
  options.num_classes = classes;
  options.hub_share = hub_share;
  options.homophily = homophily;
  options.feature_signal = signal;
  options.split = {0.6, 0.2, 0.2};
  return options;
}

/// The shares of these two are OGB's.
constexpr PlantedGraphOptions ogbn_arxiv() {
  PlantedGraphOptions options = arxiv;
  options.num_entries = EdgeOffset{2} * 1'166'243;
  return options;
}
constexpr PlantedGraphOptions ogbn_products() {
  PlantedGraphOptions options = of_table(2'449'029, 61'859'140, 100, 47, 0.01, 0.7, 0.13);
  options.split = {0.08, 0.02, 0.90};
  return options;
}

constexpr std::array<Preset, 9> presets{{{"flickr", flickr},
                                         {"reddit", reddit},
                                         {"arxiv", arxiv},
                                         {"proteins", of_table(43'471, 162'088, 29, 2, 0.05, 0.7, 0.25)},
                                         {"artist", of_table(50'515, 1'638'396, 100, 12, 0.05, 0.65, 0.13)},
                                         {"blogcatalog", of_table(88'784, 2'093'195, 128, 39, 0.1, 0.65, 0.12)},
                                         {"ppi", of_table(56'944, 818'716, 50, 121, 0.05, 0.65, 0.25)},
                                         {"ogbn-arxiv", ogbn_arxiv()},
                                         {"ogbn-products", ogbn_products()}}};

/// What random numbers are for.
enum Purpose : std::uint32_t { naming = 40, edge_draw, class_means, feature_noise, noisy_node, noisy_label };

constexpr double unit53 = 0x1.0p-53;

/// Shares of weight by rank: ranks [0, x) have the share ((x + shift)^p - shift^p) / norm, a power law with exponent
/// 1 + 1 / (1 - p) whose first ranks are held back by the shift.
class RankWeights {
 public:
  RankWeights(double num_ranks, double exponent, double largest) : ranks_(num_ranks), power_(1 - 1 / (exponent - 1)) {
    // The share of rank 0 falls as the shift grows: bisection over its logarithm.
    double low = -40;
    double high = 60;
    constexpr int steps = 80;
    for (int step = 0; step < steps; ++step) {
      const double middle = (low + high) / 2;
      set_shift(std::exp(middle));
      (of(0, 1) > largest ? low : high) = middle;
    }
  }

  [[nodiscard]] double of(double begin, double end) const { return below(std::min(end, ranks_)) - below(begin); }

  /// The rank at which the shares add up to `share`.
  [[nodiscard]] NodeId at(double share) const {
    const double rank = std::pow(share * norm_ + base_, 1 / power_) - shift_;
    return static_cast<NodeId>(std::clamp(rank, 0.0, ranks_ - 1));
  }

 private:
  void set_shift(double shift) {
    shift_ = shift;
    base_ = std::pow(shift, power_);
    norm_ = std::pow(ranks_ + shift, power_) - base_;
  }
  [[nodiscard]] double below(double rank) const { return (std::pow(rank + shift_, power_) - base_) / norm_; }

  double ranks_, power_;
  double shift_ = 0, base_ = 0, norm_ = 1;
};

void check(const PlantedGraphOptions& o) {
  const auto classes = static_cast<std::uint64_t>(o.num_classes);
  const auto share = [](double value) { return value >= 0 && value <= 1; };
  require(o.num_classes >= 1 && o.num_nodes >= classes && o.num_nodes >= 2,
          "planted graph: at least one class, two nodes, and one node a class");
  require(o.num_classes <= 65536, "planted graph: at most 65,536 classes");
  require(o.num_features >= 1 && o.num_features < std::numeric_limits<NodeId>::max(),
          "planted graph: at least one feature");
  require(o.exponent > 2 && o.exponent <= 100, "planted graph: the exponent of the degrees lies above 2");
  require(share(o.homophily) && share(o.label_noise) && o.hub_share > 0 && o.hub_share <= 1,
          "planted graph: shares lie between 0 and 1");
  require(std::isfinite(o.feature_signal), "planted graph: the signal of the features is a finite number");
}

/// Draws edges between ranks. The class of rank r is r modulo the number of classes, so that every class has its share
/// of the hubs.
class EdgeDraw {
 public:
  explicit EdgeDraw(const PlantedGraphOptions& o)
      : options_(o),
        classes_(static_cast<NodeId>(o.num_classes)),
        // An end is drawn in proportion to its share of the weight, and an edge has two ends.
        weights_(o.num_nodes, o.exponent,
                 std::max(1.0, o.hub_share * o.num_nodes) / std::max<double>(1, static_cast<double>(o.num_entries))) {}

  /// Edge e, both ends ranks; equal ends stand for no edge.
  [[nodiscard]] std::pair<NodeId, NodeId> operator()(std::uint64_t e) const {
    const auto words = random_words({options_.seed, edge_draw, 0}, e);
    const std::uint64_t first = std::uint64_t{words[1]} << 32 | words[0];
    const std::uint64_t second = std::uint64_t{words[3]} << 32 | words[2];
    // 53 bits of each make a rank; the 11 left over of both decide whether the classes are the same.
    const double toss = static_cast<double>((first & 0x7FF) << 11 | (second & 0x7FF)) * 0x1.0p-22;
    const NodeId i = weights_.at(static_cast<double>(first >> 11) * unit53);
    NodeId j = weights_.at(static_cast<double>(second >> 11) * unit53);
    if (toss < options_.homophily) j = j - j % classes_ + i % classes_;
    return {i, j < options_.num_nodes ? j : i};  // the last of the ranks may lack some classes
  }

  /// How many of `draws` draws are different edges, as expected. `sample` draws stand for all pairs: a pair that a draw
  /// gives with probability p is there with 1 - (1 - p)^draws, and counts with 1 / p.
  [[nodiscard]] double expected_edges(double draws) const {
    double sum = 0;
    for (const double p : sampled_) sum += -std::expm1(draws * std::log1p(-p)) / p;
    return sum / sample;
  }

  void take_sample(const Device& device) {
    std::vector<double> probability(sample);
    parallel_for(device, sample, 1024, [&](std::size_t e) {
      const auto [i, j] = (*this)(e);
      probability[e] = i == j ? 0 : pair_probability(i, j);
    });
    for (const double p : probability) {
      if (p > 0) sampled_.push_back(std::min(p, 1 - unit53));
    }
  }

 private:
  static constexpr std::size_t sample = std::size_t{1} << 17;

  [[nodiscard]] double pair_probability(NodeId i, NodeId j) const {
    const auto one_way = [&](NodeId from, NodeId to) {
      const double own = weights_.of(to, to + 1.0);
      const double block = to - to % classes_;
      const double of_class = from % classes_ == to % classes_ ? weights_.of(block, block + classes_) : 0;
      return weights_.of(from, from + 1.0) * (options_.homophily * of_class + (1 - options_.homophily) * own);
    };
    return one_way(i, j) + one_way(j, i);
  }

  const PlantedGraphOptions& options_;
  NodeId classes_;
  RankWeights weights_;
  std::vector<double> sampled_;
};

/// How many edges to draw for `num_entries` to be left.
std::size_t draws_needed(const EdgeDraw& draw, EdgeOffset num_entries) {
  const double wanted = static_cast<double>(num_entries) / 2;
  constexpr double most_work = 32;
  double low = wanted;
  double high = wanted;
  while (draw.expected_edges(high) < wanted) {
    low = high;
    high *= 2;
    if (high > most_work * wanted) {
      fail(ErrorCode::usage, fmt::format("planted graph: {} entries are more than nodes, classes, hubs and homophily "
                                         "leave room for",
                                         num_entries));
    }
  }
  constexpr int steps = 30;
  for (int step = 0; step < steps; ++step) {
    const double middle = (low + high) / 2;
    (draw.expected_edges(middle) < wanted ? low : high) = middle;
  }
  return static_cast<std::size_t>(std::llround(high));
}

/// The node of each rank: Fisher and Yates.
std::vector<NodeId> names_of_ranks(const PlantedGraphOptions& o) {
  std::vector<NodeId> name(o.num_nodes);
  for (NodeId i = 0; i < o.num_nodes; ++i) name[i] = i;
  for (NodeId i = o.num_nodes; i > 1; --i) std::swap(name[i - 1], name[random_below({o.seed, naming, 0}, i, i)]);
  return name;
}

/// Noise of mean 0 and deviation 1, nearly normal: four numbers of 16 bits from two words (Irwin and Hall). Whole
/// numbers, so that every machine draws the same.
float bell(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t sum = (a & 0xFFFF) + (a >> 16) + (b & 0xFFFF) + (b >> 16);
  constexpr double mean = 2 * 65535;
  constexpr double deviation = 37836.5;  // sqrt(4 (65536^2 - 1) / 12)
  return static_cast<float>((sum - mean) / deviation);
}

/// out[f] = bell noise of the stream, for every f; `row` is where in the stream it begins.
void fill_bell(std::span<float> out, RandomKey key, std::uint64_t row) {
  const std::uint64_t calls = (out.size() + 1) / 2;
  for (std::size_t f = 0; f < out.size(); f += 2) {
    const auto words = random_words(key, row * calls + f / 2);
    out[f] = bell(words[0], words[1]);
    if (f + 1 < out.size()) out[f + 1] = bell(words[2], words[3]);
  }
}

CsrPattern draw_pattern(const PlantedGraphOptions& o, std::span<const NodeId> name, const Device& device) {
  EdgeDraw draw(o);
  draw.take_sample(device);
  GeneratedEdges edges(draws_needed(draw, o.num_entries));
  parallel_for(device, edges.rows.size(), generator_grain, [&](std::size_t e) {
    const auto [i, j] = draw(e);
    edges.rows[e] = name[i];
    edges.cols[e] = name[j];
  });
  return edges.symmetric(o.num_nodes, device);
}

DenseMatrix<float> draw_features(const PlantedGraphOptions& o, std::span<const std::int32_t> classes,
                                 const Device& device) {
  DenseMatrix<float> means(static_cast<std::size_t>(o.num_classes), o.num_features);
  for (std::size_t c = 0; c < means.nrows(); ++c) {
    fill_bell(means.row(c), {o.seed, class_means, 0}, c);
    for (float& mean : means.row(c)) mean *= static_cast<float>(o.feature_signal);
  }
  DenseMatrix<float> features(o.num_nodes, o.num_features, Buffer<float>(o.num_nodes * o.num_features, device));
  constexpr std::size_t grain = 64;
  parallel_for(device, o.num_nodes, grain, [&](std::size_t i) {
    const auto row = features.row(i);
    fill_bell(row, {o.seed, feature_noise, 0}, i);
    const auto mean = std::as_const(means).row(static_cast<std::size_t>(classes[i]));
    for (std::size_t f = 0; f < row.size(); ++f) row[f] += mean[f];
  });
  return features;
}

}  // namespace

std::vector<std::string> planted_graph_preset_names() {
  std::vector<std::string> names;
  names.reserve(presets.size());
  for (const Preset& preset : presets) names.emplace_back(preset.name);
  return names;
}

PlantedGraphOptions planted_graph_preset(std::string_view name, double scale_down) {
  require(scale_down >= 1 && std::isfinite(scale_down), "planted graph: a scale is at least 1");
  const auto found = std::find_if(presets.begin(), presets.end(), [&](const Preset& p) { return p.name == name; });
  if (found == presets.end()) {
    fail(ErrorCode::usage,
         fmt::format("planted graph: no preset '{}': use {}", name, fmt::join(planted_graph_preset_names(), ", ")));
  }
  PlantedGraphOptions options = found->options;
  options.num_nodes = static_cast<NodeId>(std::llround(options.num_nodes / scale_down));
  options.num_entries = static_cast<EdgeOffset>(std::llround(static_cast<double>(options.num_entries) / scale_down));
  return options;
}

CsrPattern generate_planted_pattern(const PlantedGraphOptions& o, const Device& device) {
  require_host(device, "generate_planted_pattern");
  check(o);
  if (!device.is_host()) return generate_planted_pattern(o).to(device);
  return draw_pattern(o, names_of_ranks(o), device);
}

Dataset generate_planted_graph(const PlantedGraphOptions& o, const Device& device) {
  require_host(device, "generate_planted_graph");
  check(o);
  require(device.is_host(), "planted graph: a data set is made on the host");
  Dataset dataset;
  dataset.name = "planted_graph";
  dataset.num_classes = o.num_classes;
  const std::vector<NodeId> name = names_of_ranks(o);
  dataset.graph = draw_pattern(o, name, device);
  std::vector<std::int32_t>& labels = dataset.labels;
  labels.resize(o.num_nodes);
  for (NodeId rank = 0; rank < o.num_nodes; ++rank)
    labels[name[rank]] = static_cast<std::int32_t>(rank % static_cast<NodeId>(o.num_classes));
  dataset.dense_features = draw_features(o, labels, device);
  dataset.features.pattern =
      CsrPattern(o.num_nodes, 0, Buffer<EdgeOffset>(std::size_t{o.num_nodes} + 1, 0, device), {});
  for (NodeId i = 0; i < o.num_nodes; ++i) {
    if (random_uniform_double({o.seed, noisy_node, 0}, i) >= o.label_noise) continue;
    labels[i] =
        static_cast<std::int32_t>(random_below({o.seed, noisy_label, 0}, i, static_cast<std::uint64_t>(o.num_classes)));
  }
  inductive_split(dataset, o.split, o.seed);
  return dataset;
}

}  // namespace bitgraph
