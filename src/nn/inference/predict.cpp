// SPDX-License-Identifier: Apache-2.0
// What a plan will hold, from shapes and counts alone: the program that Forward runs, placed without memory.
#include "nn/inference/predict.hpp"
#include "nn/model/architectures.hpp"

#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/reorder.hpp>
#include <bitgraph/ops/level_gemm.hpp>
#include <bitgraph/ops/spmm.hpp>

#include "formats/pattern/csr_chunks.hpp"
#include "nn/inference/graph_operands.hpp"
#include "nn/inference/row_blocks.hpp"
#include "nn/inference/runtime/kernels.hpp"
#include "nn/inference/runtime/weights.hpp"
#include "nn/one_launch/one_launch.hpp"
#include "nn/program/layers.hpp"
#include "nn/program/passes/passes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

namespace bitgraph::nn {

namespace {

std::size_t bits_bytes(std::size_t nrows, std::size_t ncols) {
  return nrows * words_for_bits(ncols) * sizeof(std::uint64_t);
}

std::size_t pattern_bytes(std::size_t nrows, std::size_t entries) {
  return (nrows + 1) * sizeof(EdgeOffset) + entries * sizeof(NodeId);
}

/// With chunks of rows that have equally many entries.
std::size_t sell_bytes(std::size_t n, std::size_t entries) {
  constexpr std::size_t row = 2 * sizeof(NodeId) + sizeof(EdgeOffset) / SellView::lanes;
  const SellStrips strips = SellStrips::of(static_cast<NodeId>(n), static_cast<NodeId>(n), entries);
  const std::size_t degrees = strips.count > 1 ? n * sizeof(NodeId) : 0;
  return strips.count * n * row + entries * (strips.short_indices ? sizeof(std::uint16_t) : sizeof(NodeId)) + degrees;
}

/// Tiles on the diagonal without an entry: loops make them.
EdgeOffset empty_diagonal_tiles(const CsrPattern& a, int tile_dim) {
  const auto side = static_cast<std::uint64_t>(tile_dim);
  EdgeOffset empty = 0;
  for (std::uint64_t first = 0; first < a.nrows(); first += side) {
    const std::uint64_t last = std::min<std::uint64_t>(first + side, a.nrows());
    bool found = false;
    for (std::uint64_t i = first; i < last && !found; ++i) {
      const auto row = a.row(static_cast<NodeId>(i));
      const auto at = std::lower_bound(row.begin(), row.end(), static_cast<NodeId>(first));
      found = at != row.end() && *at < last;
    }
    empty += found ? 0 : 1;
  }
  return empty;
}

/// How many features have another sign than that of an absent one.
std::size_t flips(const Model& model, const Dataset& dataset) {
  const SparseFeatures& x = dataset.features;
  std::size_t count = 0;
  for (NodeId i = 0; i < x.pattern.nrows(); ++i) {
    for (EdgeOffset e = x.pattern.row_ptr()[i]; e < x.pattern.row_ptr()[i + 1]; ++e) {
      const NodeId j = x.pattern.col_ind()[e];
      const float mean = model.input_mean.empty() ? 0.0F : model.input_mean[j];
      count += (x.values[e] - mean >= 0) != (-mean >= 0) ? 1 : 0;
    }
  }
  return count;
}

/// What a plan holds in one number of parts: the bytes of its program, its graph, its weights and its features. Nothing
/// is allocated: place() says where values would lie.
class Prediction {
 public:
  Prediction(const CsrPattern& graph, const Model& model, const Dataset& dataset, const InferenceOptions& options,
             const Device& device, std::optional<GraphFacts> facts = {}, bool reorders = false, bool packs = true)
      : graph_(graph),
        model_(model),
        dataset_(dataset),
        options_(options),
        device_(device),
        plain_(program_of(model, dataset.num_graphs())),
        facts_(facts ? *facts : GraphFacts::of(graph)),
        n_(std::max<std::size_t>(graph.nrows(), options.capacity.nodes)),
        m_(std::max<std::size_t>(graph.nvals(), options.capacity.entries)),
        reorders_(reorders || (options.order != Order::original && dataset.num_graphs() == 0)),
        packs_(packs) {
    features_ = feature_bytes();
    // The first new node moves the features to a place that has room: both are there for a while.
    if (n_ > graph.nrows()) features_ += features_ / n_ * graph.nrows();
  }

  [[nodiscard]] std::size_t bytes(std::size_t parts) const { return stages(parts).peak(); }

  /// Of features that are levels.
  [[nodiscard]] LevelPacking feature_packing() const noexcept { return packing_; }

  [[nodiscard]] PlanStages stages(std::size_t parts) const {
    const Compiled compiled = compiled_in(parts);
    const Program& program = compiled.program;
    PlanStages s{
        .weights = Weights::predicted_bytes(model_, program, {sparse_bits_, sparse_floats_, sparse_levels_}, device_),
        .features = while_made_ + readout_bytes()};
    s.kept = features_ + s.weights + graph_bytes(compiled, parts > 1) + readout_bytes() + order_bytes(program, parts) +
             scaled_bytes(program, is_one_launch(program, parts));
    s.values = is_one_launch(program, parts) ? program.value(program.result).bytes(n_) + mailbox_bytes(program)
                                             : place(program, n_).bytes + copy_bytes(compiled);
    if (needs_of(program).sell_blocks) s.rows = pattern_bytes(n_ / compiled.parts + 1, largest_part(compiled.parts));
    return s;
  }

  /// Bytes that the operators of a run read and write. Features count as they are held.
  [[nodiscard]] double traffic() const {
    const Program program = compiled_in(1).program;
    const double dense_features = static_cast<double>(program.value(program.features).bytes(n_));
    double bytes = 0;
    for (const Operator& op : program.operators) {
      bytes += operator_traits(op.kind).traffic(program, op, facts_).bytes;
      if (op.kind != OperatorKind::aggregate && op.inputs[0] == program.features)
        bytes += static_cast<double>(features_) - dense_features;
    }
    return bytes;
  }

 private:
  [[nodiscard]] Compiled compiled_in(std::size_t parts) const {
    InferenceOptions options = options_;
    if (parts > 1) options.launching = Launching::steps;
    const PassContext context{.options = options,
                              .graph = facts_,
                              .on_host = device_.is_host(),
                              .whole = parts == 1,
                              .sparse_features = sparse_bits_,
                              .features_in_planes = packing_ == LevelPacking::planes};
    return compile(plain_, context, parts, reorders_);
  }

  [[nodiscard]] std::size_t feature_bytes() {
    const std::size_t d = dataset_.num_features();
    const NumberFormat format = format_of_features(plain_, options_.forms);
    if (format.kind == NumberKind::levels) {
      const std::size_t scales = n_ * 2 * sizeof(float);
      const std::size_t entries = dataset_.has_dense_features() ? 0 : dataset_.features.pattern.nvals();
      sparse_levels_ = !dataset_.has_dense_features() &&
                       keeps_level_entries(entries, graph_.nrows(), d, storage_of_features(options_, format), device_);
      if (!sparse_levels_) {
        packing_ = packing_of(format, d);
        return scales + n_ * level_row_bytes(d, format.bits, packing_);
      }
      const std::size_t all = for_all_nodes(entries);
      const std::size_t chunks = device_.is_host() ? 0 : csr_chunk_bounds(n_, all) * sizeof(NodeId);
      return scales + pattern_bytes(n_, all) + chunks + all * sizeof(std::uint16_t);
    }
    if (!options_.forms.front().multiplies_signs()) {
      const bool dense =
          dataset_.has_dense_features() || !device_.is_host() || options_.features == FeatureStorage::dense;
      if (dense) return n_ * d * sizeof(float);
      sparse_floats_ = true;
      const std::size_t entries = for_all_nodes(dataset_.features.pattern.nvals());
      return pattern_bytes(n_, entries) + entries * sizeof(float);
    }
    const std::size_t signs = d * model_.thresholds;
    const std::size_t dense = bits_bytes(n_, signs);
    const std::size_t alpha = n_ * sizeof(float);
    if (dataset_.has_dense_features() || model_.thresholds > 1) {
      const std::size_t floats = model_.thresholds > 1 ? d + signs : d;
      if (device_.is_host()) while_made_ = dense + alpha + binarized_rows_bytes(floats, device_.threads());
      return dense + alpha;
    }
    const std::size_t sparse = bits_bytes(1, d) + pattern_bytes(n_, for_all_nodes(flips(model_, dataset_)));
    sparse_bits_ = sparse <= dense && options_.features == FeatureStorage::sparse;
    if (sparse_bits_) return alpha + sparse;
    if (device_.is_host()) while_made_ = alpha + sparse + dense;  // one is made of the other, before all else
    return alpha + dense;
  }

  [[nodiscard]] LevelPacking packing_of(const NumberFormat& format, std::size_t columns) const {
    const PassContext context{.options = options_, .graph = facts_, .on_host = device_.is_host()};
    const bool packs = packs_ && format.bits == 2 &&
                       level_gemm_takes_planes(device_, options_.forms.front().weight.bits, columns) &&
                       packs_features(plain_, context);
    return packs ? LevelPacking::planes : LevelPacking::places;
  }

  /// Of what the nodes have that are there, for as many as there is room for.
  [[nodiscard]] std::size_t for_all_nodes(std::size_t count) const {
    const std::size_t nodes = std::max<std::size_t>(1, graph_.nrows());
    return n_ <= nodes ? count : count / nodes * n_ + count % nodes * n_ / nodes;
  }

  [[nodiscard]] std::size_t entries_of(bool loops) const { return m_ + (loops ? n_ : 0); }

  /// What brings rows back into the caller's order: their numbers; in one launch a pattern, but of levels.
  [[nodiscard]] std::size_t order_bytes(const Program& program, std::size_t parts) const {
    if (!reorders_) return 0;
    const bool by_pattern = is_one_launch(program, parts) && !program.operators.back().reorders;
    return by_pattern ? pattern_bytes(n_, n_) : n_ * sizeof(NodeId);
  }

  /// Which nodes each graph has, there before the features.
  [[nodiscard]] std::size_t readout_bytes() const {
    return dataset_.num_graphs() == 0 ? 0 : pattern_bytes(dataset_.num_graphs(), n_);
  }

  [[nodiscard]] std::size_t graph_bytes(const Compiled& compiled, bool streamed) const {
    const GraphNeeds needs = needs_of(compiled.program);
    const bool reserved = options_.capacity.nodes != 0 || options_.capacity.entries != 0;
    const std::size_t parts = compiled.parts;
    std::size_t total = needs.scales.size() * n_ * sizeof(float) + (reserved ? pattern_bytes(n_, m_) : 0);
    for (const auto& [loops, form] : needs.orders) total += row_order_bytes(form);
    std::size_t largest = 0;
    for (const bool loops : needs.patterns) {
      const bool kept = reserved && !loops && parts == 1 && device_.is_host() && options_.order == Order::original;
      if (streamed) {
        largest = pattern_bytes(n_ / parts + 1, largest_part(parts));
      } else if (needs.sell_blocks) {
        total += sell_bytes(n_, entries_of(loops));
      } else if (!kept) {  // else it is the graph that the plan keeps
        total += pattern_bytes(n_ + parts - 1, entries_of(loops));
      }
      if (needs.other_formats.count(loops) != 0) total += other_format_bytes(loops, needs.tile_dim);
    }
    return total + largest;
  }

  /// What operators ask of the graph; patterns, other formats and orders with loops (true) and without.
  struct GraphNeeds {
    std::set<bool> patterns, other_formats;
    std::set<std::pair<bool, GraphForm>> orders;
    std::set<Aggregation> scales;
    bool sell_blocks = false;  ///< instead of the patterns
    int tile_dim = 0;          ///< of tiles, where they are the other format
  };

  [[nodiscard]] GraphNeeds needs_of(const Program& program) const {
    GraphNeeds needs;
    for (const Operator& op : program.operators) {
      if (op.aggregation == Aggregation::none) continue;
      const Value& out = program.value(op.output());
      const bool vote = op.kind == OperatorKind::vote_post_op || out.is_signs();
      if (!vote && !is_sum(op.aggregation)) needs.scales.insert(op.aggregation);
      if (op.kind == OperatorKind::product || op.kind == OperatorKind::quantize) continue;
      const bool loops = has_loops(op.aggregation);
      needs.patterns.insert(loops);
      if (op.graph == GraphForm::tiles)
        needs.tile_dim = multiplies_planes(program, op) ? int{side_of_planes} : options_.tile_dim;
      if (op.graph == GraphForm::sell || op.graph == GraphForm::tiles) needs.other_formats.insert(loops);
      if (is_by_length(op.graph)) needs.orders.emplace(loops, op.graph);
      if (op.graph == GraphForm::sell_blocks) needs.sell_blocks = true;
    }
    return needs;
  }

  [[nodiscard]] std::size_t row_order_bytes(GraphForm form) const {
    const bool has_places = form == GraphForm::csr_by_place && !device_.is_host();
    return n_ * (sizeof(NodeId) + (has_places ? sizeof(RowPlace) : 0));
  }

  /// Of the format that votes and products of planes have beside the pattern: tiles, or where the side is 0 SELL.
  [[nodiscard]] std::size_t other_format_bytes(bool loops, int tile_dim) const {
    if (tile_dim == 0) return sell_bytes(n_, entries_of(loops));
    const std::size_t tiles = count_tiles(graph_, tile_dim) + (loops ? empty_diagonal_tiles(graph_, tile_dim) : 0);
    return b2sr_bytes(graph_.nrows(), tiles, tile_dim);
  }

  /// The most entries, loops included, of one of the parts.
  [[nodiscard]] std::size_t largest_part(std::size_t parts) const {
    std::size_t most = 0;
    const auto row_ptr = graph_.row_ptr();
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t first = first_row(graph_.nrows(), part, parts);
      const std::size_t last = first_row(graph_.nrows(), part + 1, parts);
      most = std::max<std::size_t>(most, row_ptr[last] - row_ptr[first] + (last - first));
    }
    return most + (m_ - graph_.nvals() + n_ - graph_.nrows()) / parts;
  }

  /// Of the largest copy of features that a device's sums make.
  [[nodiscard]] std::size_t copy_bytes(const Compiled& compiled) const {
    if (device_.is_host()) return 0;
    std::size_t most = 0;
    for (const Operator& op : compiled.program.operators) {
      const Value& in = compiled.program.value(op.inputs[0]);
      const bool reads_out = op.kind == OperatorKind::readout;
      if ((op.kind != OperatorKind::aggregate && !reads_out) || in.is_signs() || in.is_levels()) continue;
      const std::size_t entries = reads_out     ? n_
                                  : op.by_parts ? largest_part(compiled.parts)
                                                : entries_of(has_loops(op.aggregation));
      const bool weighted = op.aggregation == Aggregation::symmetric;
      most = std::max(most, spmm_copy_bytes(n_, compiled.program.value(op.output()).columns, entries, weighted));
    }
    return most;
  }

  /// The scales of rows: of levels by degree, with the roots of the degrees, and of what products of levels read where
  /// they scale their rows: in one launch a product does so itself.
  [[nodiscard]] std::size_t scaled_bytes(const Program& program, bool one_launch) const {
    std::size_t total = 0;
    const auto add_scales_of = [&](const Value& x) {
      const bool features = x.levels_of == LevelsOf::features;
      const bool offsets = features || model_.layers[x.scale_layer].input_scale.has_offsets();
      total += n_ * sizeof(float) * (offsets ? 2 : 1);
    };
    const auto by_degree = [](const Value& value) { return value.by_degree(); };
    if (std::any_of(program.values.begin(), program.values.end(), by_degree)) total += n_ * sizeof(float);
    for (const Value& value : program.values) {
      if (value.by_degree()) add_scales_of(value);
    }
    for (const Operator& op : program.operators) {
      if (!one_launch && op.kind == OperatorKind::product && op.multiplies_levels() &&
          op.aggregation != Aggregation::none)
        add_scales_of(program.value(op.inputs[0]));
    }
    return total;
  }

  [[nodiscard]] bool is_one_launch(const Program& program, std::size_t parts) const {
    if (!may_be_one_launch(options_, n_, graph_.nvals()) || device_.is_host() || parts != 1) return false;
    return std::all_of(program.operators.begin(), program.operators.end(), [&](const Operator& op) {
      if (op.graph == GraphForm::sell || op.graph == GraphForm::tiles) return false;
      if (program.value(op.output()).is_levels() || program.value(op.inputs[0]).is_levels())
        return launches_levels(program, op, sparse_levels_);
      const bool counts = op.kind == OperatorKind::aggregate && program.value(op.inputs[0]).is_signs() &&
                          !program.value(op.output()).is_signs();
      const bool floats = op.kind == OperatorKind::product && !op.multiplies_signs();
      return operator_traits(op.kind).launch != nullptr && !counts && !floats;
    });
  }

  /// What rows tell others in one launch, its steps, and where rows are.
  [[nodiscard]] std::size_t mailbox_bytes(const Program& program) const {
    std::size_t told = 0, other_patterns = sparse_bits_ || sparse_levels_ ? 1 : 0;
    std::set<bool> patterns;  // of the graph: with loops and without
    std::vector<EdgeOffset> row_ptr;
    for (const Operator& op : program.operators) {
      const Value &in = program.value(op.inputs[0]), &out = program.value(op.output());
      if (in.is_levels()) told += published_level_words(out.columns) * sizeof(FourColumns);
      if (op.kind != OperatorKind::aggregate && op.kind != OperatorKind::reorder) continue;
      const std::size_t words =
          in.is_levels() ? published_level_words(in.columns) : published_words(in.columns, in.is_signs());
      told += n_ * words * sizeof(std::uint64_t);
      if (op.kind == OperatorKind::reorder) {
        ++other_patterns;
        continue;
      }
      patterns.insert(has_loops(op.aggregation));
      if (row_ptr.empty()) row_ptr = row_ends(has_loops(op.aggregation));
    }
    return told + with_cuda<std::size_t>(device_, "one launch", [&](const auto& cuda) {
             return one_launch_bytes(cuda, row_ptr, patterns.size() + other_patterns, program.operators.size());
           });
  }

  /// Row pointers of the graph, with the nodes that there is room for.
  [[nodiscard]] std::vector<EdgeOffset> row_ends(bool loops) const {
    std::vector<EdgeOffset> ends(n_ + 1);
    for (std::size_t i = 0; i < n_; ++i) {
      const bool exists = i < graph_.nrows();
      ends[i + 1] = ends[i] + (exists ? graph_.row(static_cast<NodeId>(i)).size() : 0) + (loops ? 1 : 0);
    }
    return ends;
  }

  const CsrPattern& graph_;
  const Model& model_;
  const Dataset& dataset_;
  const InferenceOptions& options_;
  const Device& device_;
  Program plain_;
  GraphFacts facts_;
  std::size_t n_;  ///< nodes, with those that there is room for
  std::size_t m_;  ///< entries, with those that there is room for
  bool reorders_;  ///< logits of nodes come back into the caller's order
  bool packs_;     ///< features may be in planes
  bool sparse_bits_ = false;
  bool sparse_floats_ = false;
  bool sparse_levels_ = false;
  LevelPacking packing_ = LevelPacking::places;
  std::size_t while_made_ = 0;
  std::size_t features_ = 0;
};

/// Layers that were trained with plain signs as inputs get them in any form.
std::vector<Precision> with_own_inputs(const Model& model, std::vector<Precision> forms) {
  for (std::size_t l = 0; l < forms.size(); ++l) {
    if (model.layers[l].precision.has_plain_input()) forms[l] = forms[l].with_plain_input();
  }
  return forms;
}

}  // namespace

std::vector<Precision> checked_forms(const Model& model, const std::vector<Precision>& wanted) {
  require(model.depth() <= most_depth, "a model has at most 64 layers that aggregate");
  if (wanted.empty()) return with_own_inputs(model, model.layer_forms(model.precision));
  if (model.has_levels()) {
    if (wanted != model.layer_forms(model.precision))
      fail(ErrorCode::usage, "a model of levels runs in its own form alone: bitgraph quantize makes another model");
    return wanted;
  }
  if (wanted.size() != model.layers.size()) {
    fail(ErrorCode::usage,
         fmt::format("{} forms are given for a model of {} layers", wanted.size(), model.layers.size()));
  }
  const std::size_t convolution = layers_of_convolution(traits_of(model.architecture));
  for (std::size_t l = 0; l < wanted.size(); ++l) {
    require_supported(wanted[l]);
    if (wanted[l].has_levels() || wanted[l].multiplies_signs() != model.precision.multiplies_signs()) {
      fail(ErrorCode::usage, fmt::format("a model of precision {} has no layer of form {}", to_string(model.precision),
                                         to_string(wanted[l])));
    }
    const bool votes = wanted[l].votes();
    if (votes && l + 1 == wanted.size())
      fail(ErrorCode::usage, fmt::format("layer {} cannot be bin: its output is the logits", l));
    const bool part = model.concatenates() && l + 1 < wanted.size() && (l + 1) % convolution == 0;
    if (part && votes != wanted[convolution - 1].votes())
      fail(ErrorCode::usage, "layers whose outputs stand side by side must all be bin, or none of them");
  }
  return with_own_inputs(model, wanted);
}

PredictedMemory predict_memory_over(const CsrPattern& graph, const Model& model, const Dataset& dataset,
                                    const InferenceOptions& options, const Device& device) {
  const Prediction prediction(graph, model, dataset, options, device);
  PredictedMemory predicted;
  predicted.whole_bytes = predicted.bytes = prediction.bytes(1);
  predicted.features = prediction.feature_packing();
  const std::size_t most_parts = std::min<std::size_t>(4096, std::max<std::size_t>(1, graph.nrows()));
  while (options.memory != 0 && predicted.bytes > options.memory) {
    if (predicted.parts >= most_parts) {
      fail(ErrorCode::not_possible,
           fmt::format(
               "the limit of {} bytes is too small: the plan needs {} bytes, or at least {} with its graph in parts",
               options.memory, predicted.whole_bytes, predicted.bytes));
    }
    predicted.parts = std::min(2 * predicted.parts, most_parts);
    predicted.bytes = prediction.bytes(predicted.parts);
  }
  return predicted;
}

PlanStages predict_stages(const CsrPattern& graph, const Model& model, const Dataset& dataset,
                          const InferenceOptions& options, const Device& device, std::optional<GraphFacts> facts,
                          bool reorders) {
  return Prediction(graph, model, dataset, options, device, facts, reorders, false).stages(1);
}

double predict_traffic(const Model& model, const Dataset& dataset, const std::vector<Precision>& forms,
                       const Device& device) {
  const InferenceOptions options{.forms = with_own_inputs(model, forms)};
  return Prediction(dataset.graph, model, dataset, options, device).traffic();
}

PredictedMemory predict_memory(const Model& model, const Dataset& dataset, const InferenceOptions& options,
                               const Device& device) {
  model.require_fit(dataset);
  InferenceOptions checked = options;
  checked.forms = checked_forms(model, options.forms);
  if (options.partition != nullptr) return predict_memory_over_parts(model, dataset, checked, device);
  if (options.order == Order::original) return predict_memory_over(dataset.graph, model, dataset, checked, device);
  const CsrPattern graph = permuted(dataset.graph, reorder(dataset.graph, options.order).span());
  return predict_memory_over(graph, model, dataset, checked, device);
}

}  // namespace bitgraph::nn
