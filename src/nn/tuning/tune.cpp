// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/tune.hpp>

#include <bitgraph/core/error.hpp>
#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/nn/bit_search.hpp>
#include <bitgraph/ops/level_gemm.hpp>
#include <bitgraph/ops/level_spmm.hpp>

#include "nn/tuning/candidates.hpp"
#include "nn/tuning/within_loss.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace bitgraph::nn {

namespace {

class Tuner {
 public:
  Tuner(std::span<const Model> models, const Dataset& dataset, const TuneOptions& options, const Device& device,
        const std::function<void(const TuneCandidate&)>& progress)
      : models_(models),
        dataset_(dataset),
        options_(options),
        device_(device),
        candidates_(models, dataset, options_, device, progress) {}

  TuneReport run() {
    report_.complete = true;
    for (std::size_t m = 0; m < models_.size(); ++m) measure_form(m, {}, own_forms(models_[m]));
    note_default();
    for (std::size_t m = 0; m < models_.size(); ++m) {
      for (const auto& forms : all_forms(models_[m])) {
        if (forms != own_forms(models_[m])) measure_form(m, {}, forms);
      }
    }
    for (std::size_t m = 0; m < models_.size(); ++m) mix_bits(m);
    candidates_.require_some();
    if (options_.partition != nullptr) {
      for (const std::size_t n : quick_and_accurate()) take_batches(n);
    }
    for (const std::size_t n : quick_and_accurate()) improve(n);
    choose();
    mark_front();
    report_.seconds = candidates_.seconds();
    return std::move(report_);
  }

 private:
  static std::vector<Precision> own_forms(const Model& model) { return model.layer_forms(model.precision); }

  /// Of a model in bits: every layer but the last full or bin; of deep ones only the first few layers in bin.
  static std::vector<std::vector<Precision>> all_forms(const Model& model) {
    if (!model.precision.multiplies_signs()) return {};
    const std::size_t hidden = model.layers.size() - 1;
    std::vector<std::vector<Precision>> all;
    constexpr std::size_t most = 5;  // 2^5 forms
    for (std::size_t mask = 0; mask < (std::size_t{1} << std::min(hidden, most)); ++mask) {
      std::vector<Precision> forms(hidden + 1, Precision::full);
      for (std::size_t l = 0; l < std::min(hidden, most); ++l) {
        if (((mask >> l) & 1U) != 0) forms[l] = Precision::bin;
      }
      all.push_back(std::move(forms));
    }
    return all;
  }

  /// All else automatic, as far as the memory allows it.
  std::optional<std::size_t> measure_form(std::size_t model, std::optional<std::size_t> quantized,
                                          const std::vector<Precision>& forms) {
    const Model& runs = quantized ? report_.quantized[*quantized] : models_[model];
    const auto options = candidates_.fitting(runs, forms);
    return options ? candidates_.measure({model, quantized, *options}) : std::nullopt;
  }

  void note_default() {
    if (report_.candidates.empty()) return;
    const TuneCandidate& first = report_.candidates.front();
    report_.has_default = first.model == 0 && first.options.partition == nullptr;
  }

  /// The bits of each layer of a float model: what the search keeps becomes candidates, and so does each model that has
  /// the same bits everywhere.
  void mix_bits(std::size_t m) {
    if (options_.bits.empty() || models_[m].precision != Precision::real) return;
    if (candidates_.time_is_up()) {
      report_.complete = false;
      return;
    }
    const double until = (candidates_.seconds() + options_.seconds) / 2;
    try {
      ModelQuantizer quantizer(models_[m], dataset_, device_);
      const double of_floats = candidates_.accuracy_of(quantizer.logits());
      const auto good_enough = [&](double accuracy) {
        return within_loss(accuracy, std::max(of_floats, candidates_.best_accuracy()), options_.max_loss);
      };
      const auto look = [&](const BitTry& tried) {
        if (tried.quality) measure_quantized(m, quantizer.quantize({.forms = own_forms(tried.model)}));
      };
      const auto stop = [&] {
        device_.throw_if_stopped();
        return candidates_.seconds() > until;
      };
      const BitSearchResult found =
          search_bits(quantizer,
                      {.bits = options_.bits,
                       .quality = [&](const Model& made) { return candidates_.accuracy_of(made); },
                       .good_enough = good_enough,
                       .look = look,
                       .stop = stop},
                      device_);
      if (!found.complete) report_.complete = false;
    } catch (const Error&) {
      candidates_.pass_over(std::current_exception());
    }
  }

  void measure_quantized(std::size_t m, Model made) {
    const std::vector<Precision> forms = own_forms(made);
    report_.quantized.push_back(std::move(made));
    if (!measure_form(m, report_.quantized.size() - 1, forms)) report_.quantized.pop_back();
  }

  /// The same in batches of parts, as many as the memory holds first.
  void take_batches(std::size_t from) {
    constexpr std::size_t most = 4;
    const TuneCandidate base = report_.candidates[from];
    std::size_t tried = 0;
    for (const std::size_t parts : batch_sizes(*options_.partition, options_.batch_parts)) {
      const InferenceOptions options = candidates_.in_batches(base.options.forms, parts);
      if (base.options.partition != nullptr && base.options.batch_parts == parts) continue;
      if (!candidates_.fits(report_.model_of(base, models_), options)) continue;
      candidates_.measure({base.model, base.quantized, options});
      if (++tried == most && options_.batch_parts.empty()) return;
    }
  }

  /// Candidates so far that no other beats in accuracy and time, those that may be chosen before the others, the
  /// quickest first; three at most.
  [[nodiscard]] std::vector<std::size_t> quick_and_accurate() const {
    const auto& all = report_.candidates;
    std::vector<std::size_t> front;
    for (std::size_t n = 0; n < all.size(); ++n) {
      const bool beaten = std::any_of(all.begin(), all.end(), [&](const TuneCandidate& c) {
        return c.validation_accuracy >= all[n].validation_accuracy && c.microseconds < all[n].microseconds;
      });
      if (!beaten || n == 0) front.push_back(n);
    }
    const auto rank = [&](std::size_t n) { return std::pair(!candidates_.good(all[n]), all[n].microseconds); };
    std::sort(front.begin(), front.end(), [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
    if (front.size() > 3) front.resize(3);
    return front;
  }

  /// One option after the other; what is quicker stays. What takes longest to try comes last.
  void improve(std::size_t from) {
    const std::size_t model = report_.candidates[from].model;
    const std::optional<std::size_t> quantized = report_.candidates[from].quantized;
    std::size_t best = from;
    const auto attempt = [&](auto&& change) {
      InferenceOptions options = report_.candidates[best].options;
      change(options);
      const auto n =
          candidates_.measure({model, quantized, options}, far_behind * report_.candidates[best].microseconds);
      if (n && report_.candidates[*n].microseconds < report_.candidates[best].microseconds) best = *n;
      return n;
    };
    attempt([](InferenceOptions& o) { o.features = FeatureStorage::dense; });
    for (const Sequence sequence : {Sequence::update_first, Sequence::aggregate_first})
      attempt([&](InferenceOptions& o) { o.sequence = sequence; });
    if (!device_.is_host()) {
      attempt([](InferenceOptions& o) { o.fusion = Fusion::none; });
      for (const Launching launching : {Launching::graph, Launching::one, Launching::steps})
        attempt([&](InferenceOptions& o) { o.launching = launching; });
    }
    if (report_.candidates[from].options.partition == nullptr) {
      for (const Order order : {Order::degree, Order::reverse_cuthill_mckee})
        attempt([&](InferenceOptions& o) { o.order = order; });
    }
    const auto& forms = report_.candidates[from].options.forms;
    if (has_full_tiles_ && std::ranges::any_of(forms, &Precision::sums_levels)) {
      attempt([](InferenceOptions& o) {
        o.graph = GraphFormat::tiles;
        o.tile_dim = 64;
      });
      // A device takes such tiles by itself, where they seem full enough.
      if (!device_.is_host()) attempt([](InferenceOptions& o) { o.graph = GraphFormat::csr; });
    }
    if (!device_.is_host() && std::ranges::any_of(forms, may_take_planes)) {
      for (const LevelStrategy levels : {LevelStrategy::planes, LevelStrategy::bytes})
        attempt([&](InferenceOptions& o) { o.levels = levels; });
    }
    if (std::find(forms.begin(), forms.end(), Precision::bin) == forms.end()) return;  // nothing votes
    if (device_.is_host()) {
      for (const GraphFormat format : {GraphFormat::csr, GraphFormat::sell})
        attempt([&](InferenceOptions& o) { o.graph = format; });
    }
    for (const int side : {4, 8, 16, 32, 64}) {
      double quickest = std::numeric_limits<double>::infinity();
      for (const SpmmStrategy strategy :
           {SpmmStrategy::carry_save, SpmmStrategy::each_bit, SpmmStrategy::difference, SpmmStrategy::twice_ones}) {
        const auto n = attempt([&](InferenceOptions& o) {
          o.graph = GraphFormat::tiles;
          o.tile_dim = side;
          o.strategy = strategy;
        });
        if (n) quickest = std::min(quickest, report_.candidates[*n].microseconds);
      }
      // Where tiles of one side hold too little, larger ones hold less.
      if (quickest > far_behind * report_.candidates[best].microseconds) break;
    }
  }

  /// Whether a layer of this form multiplies levels, or adds them up, for which a device has kernels on planes.
  static bool may_take_planes(const Precision& form) {
    constexpr std::size_t columns = 64;
    if (form.multiplies_levels() && level_gemm_has_planes(form.input.bits, form.weight.bits, columns)) return true;
    const int bits = form.messages.bits;
    return form.sums_levels() && level_spmm_has_planes(bits, bits, columns, Activation::relu);
  }

  /// Whether tiles of side 64 hold so many entries that their products with planes are worth a try: they have no more
  /// than twice the bytes of the entries, which is some 64 entries each.
  static bool has_full_tiles(const CsrPattern& graph) {
    constexpr std::size_t most_times = 2;
    return b2sr_bytes(graph.nrows(), count_tiles(graph, 64), 64) <= most_times * graph.nvals() * sizeof(NodeId);
  }

  void choose() {
    const auto& all = report_.candidates;
    std::optional<std::size_t> quickest;
    for (std::size_t n = 0; n < all.size(); ++n) {
      if (candidates_.good(all[n]) && (!quickest || all[n].microseconds < all[*quickest].microseconds)) quickest = n;
    }
    if (!quickest) fail(ErrorCode::not_possible, "tune: every candidate holds more bytes than the limit");
    if (*quickest == 0 || !candidates_.good(all[0]) || candidates_.quicker_than_first(*quickest))
      report_.chosen = *quickest;
  }

  void mark_front() {
    auto& all = report_.candidates;
    for (TuneCandidate& c : all) {
      c.on_front = std::none_of(all.begin(), all.end(), [&](const TuneCandidate& other) {
        const bool no_worse = other.validation_accuracy >= c.validation_accuracy &&
                              other.microseconds <= c.microseconds && other.peak_bytes <= c.peak_bytes;
        const bool better = other.validation_accuracy > c.validation_accuracy || other.microseconds < c.microseconds ||
                            other.peak_bytes < c.peak_bytes;
        return no_worse && better;
      });
    }
  }

  /// A candidate that takes so many times as long as another is not looked at further.
  static constexpr double far_behind = 2;

  std::span<const Model> models_;
  const Dataset& dataset_;
  TuneOptions options_;
  Device device_;
  Candidates candidates_;
  TuneReport& report_ = candidates_.report;
  bool has_full_tiles_ = has_full_tiles(dataset_.graph);
};

void require_sound(const TuneOptions& options, const Dataset& dataset) {
  if (dataset.validation.empty())
    fail(ErrorCode::bad_input, "tune: the data set " + dataset.name + " has no validation nodes");
  require(options.repeats > 0 && options.seconds > 0, "tune: the time and the number of runs must be positive");
  require_bits(options.bits);
  require(options.partition != nullptr || options.batch_parts.empty(),
          "tune: batches of parts are given, and no partition");
  require(std::find(options.batch_parts.begin(), options.batch_parts.end(), 0U) == options.batch_parts.end(),
          "tune: a batch has at least one part");
  if (options.partition != nullptr) options.partition->require_graph(dataset.graph);
}

}  // namespace

TuneReport tune(const Model& model, const Dataset& dataset, const TuneOptions& options, const Device& device,
                const std::function<void(const TuneCandidate&)>& progress) {
  return tune(std::span(&model, 1), dataset, options, device, progress);
}

TuneReport tune(std::span<const Model> models, const Dataset& dataset, const TuneOptions& options, const Device& device,
                const std::function<void(const TuneCandidate&)>& progress) {
  require(!models.empty(), "tune: there is no model");
  for (const Model& model : models) model.require_fit(dataset);
  require_sound(options, dataset);
  return Tuner(models, dataset, options, device, progress).run();
}

}  // namespace bitgraph::nn
