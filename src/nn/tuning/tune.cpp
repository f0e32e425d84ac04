// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/tune.hpp>

#include "core/median.hpp"
#include "nn/tuning/within_loss.hpp"

#include <bitgraph/nn/infer.hpp>
#include <bitgraph/ops/log_softmax.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace bitgraph::nn {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class Tuner {
 public:
  Tuner(std::span<const Model> models, const Dataset& dataset, const TuneOptions& options, const Device& device,
        const std::function<void(const TuneCandidate&)>& progress)
      : models_(models), dataset_(dataset), options_(options), device_(device), progress_(progress) {}

  TuneReport run() {
    report_.complete = true;
    for (std::size_t m = 0; m < models_.size(); ++m) measure(m, {.forms = own_forms(models_[m])});
    for (std::size_t m = 0; m < models_.size(); ++m) {
      for (const auto& forms : all_forms(models_[m])) {
        if (forms != own_forms(models_[m])) measure(m, {.forms = forms});
      }
    }
    for (const std::size_t n : quick_and_accurate()) improve(n);
    choose();
    mark_front();
    report_.seconds = seconds_since(start_);
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

  /// A handle with its own record of memory.
  [[nodiscard]] Device fresh_device() const {
    return device_.is_host() ? Device::host(device_.threads()) : Device::cuda(device_.index());
  }

  /// The place of the candidate in the report; none where it is not possible or the time is up. One whose first run
  /// takes more than `hopeless` microseconds is run no more.
  std::optional<std::size_t> measure(std::size_t model, const InferenceOptions& options,
                                     double hopeless = std::numeric_limits<double>::infinity()) {
    if (!report_.candidates.empty() && seconds_since(start_) > options_.seconds) {
      report_.complete = false;
      return std::nullopt;
    }
    device_.throw_if_stopped();
    TuneCandidate candidate{.model = model, .options = options};
    try {
      const Device own = fresh_device();
      InferencePlan plan(models_[model], dataset_, options, own);
      const DenseMatrix<float> logits = plan.run().to(Device());
      candidate.validation_accuracy = score(logits, dataset_.labels, dataset_.validation).accuracy();
      candidate.microseconds = median_time(plan, own, hopeless);
      candidate.peak_bytes = own.memory().peak;
    } catch (const Error& error) {
      if (report_.candidates.empty()) throw;  // the default has to work
      if (error.code() != ErrorCode::usage && error.code() != ErrorCode::not_possible) throw;
      return std::nullopt;
    }
    if (progress_) progress_(candidate);
    report_.candidates.push_back(std::move(candidate));
    return report_.candidates.size() - 1;
  }

  /// Microseconds.
  static double time_of(InferencePlan& plan, const Device& device) {
    const auto begin = Clock::now();
    plan.run();
    device.synchronize();
    return seconds_since(begin) * 1e6;
  }

  double median_time(InferencePlan& plan, const Device& device, double hopeless) const {
    constexpr double enough = 0.5;  // seconds for one candidate
    std::vector<double> times;
    const auto start = Clock::now();
    while (times.size() < options_.repeats && (times.size() < 3 || seconds_since(start) < enough)) {
      times.push_back(time_of(plan, device));
      if (times.front() > hopeless) break;
    }
    return median(times);
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
    const auto rank = [&](std::size_t n) { return std::pair(!good(all[n]), all[n].microseconds); };
    std::sort(front.begin(), front.end(), [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
    if (front.size() > 3) front.resize(3);
    return front;
  }

  /// One option after the other; what is quicker stays. What takes longest to try comes last.
  void improve(std::size_t from) {
    const std::size_t model = report_.candidates[from].model;
    std::size_t best = from;
    const auto attempt = [&](auto&& change) {
      InferenceOptions options = report_.candidates[best].options;
      change(options);
      const auto n = measure(model, options, far_behind * report_.candidates[best].microseconds);
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
    for (const Order order : {Order::degree, Order::reverse_cuthill_mckee})
      attempt([&](InferenceOptions& o) { o.order = order; });
    const auto& forms = report_.candidates[from].options.forms;
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

  /// Whether a candidate is accurate enough to be chosen.
  [[nodiscard]] bool good(const TuneCandidate& candidate) const {
    double best = 0;
    for (const TuneCandidate& c : report_.candidates) best = std::max(best, c.validation_accuracy);
    return within_loss(candidate.validation_accuracy, best, options_.max_loss);
  }

  void choose() {
    const auto& all = report_.candidates;
    std::optional<std::size_t> quickest;
    for (std::size_t n = 0; n < all.size(); ++n) {
      if (good(all[n]) && (!quickest || all[n].microseconds < all[*quickest].microseconds)) quickest = n;
    }
    if (quickest && (*quickest == 0 || !good(all[0]) || quicker_again(*quickest))) report_.chosen = *quickest;
  }

  /// Whether a candidate is quicker than the default in a second trial too, run by run in turns, by more than chance.
  bool quicker_again(std::size_t n) {
    constexpr double enough = 3;  // seconds
    constexpr double by_chance = 0.97;
    const Device device = fresh_device();
    const auto plan_of = [&](const TuneCandidate& c) {
      return InferencePlan(models_[c.model], dataset_, c.options, device);
    };
    InferencePlan first = plan_of(report_.candidates[0]);
    InferencePlan second = plan_of(report_.candidates[n]);
    first.run();
    second.run();
    device.synchronize();
    std::vector<double> first_times, second_times;
    const auto start = Clock::now();
    while (first_times.size() < options_.repeats && (first_times.size() < 5 || seconds_since(start) < enough)) {
      first_times.push_back(time_of(first, device));
      second_times.push_back(time_of(second, device));
    }
    return median(second_times) < by_chance * median(first_times);
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
  const std::function<void(const TuneCandidate&)>& progress_;
  Clock::time_point start_ = Clock::now();
  TuneReport report_;
};

}  // namespace

TuneReport tune(const Model& model, const Dataset& dataset, const TuneOptions& options, const Device& device,
                const std::function<void(const TuneCandidate&)>& progress) {
  return tune(std::span(&model, 1), dataset, options, device, progress);
}

TuneReport tune(std::span<const Model> models, const Dataset& dataset, const TuneOptions& options, const Device& device,
                const std::function<void(const TuneCandidate&)>& progress) {
  require(!models.empty(), "tune: there is no model");
  for (const Model& model : models) model.require_fit(dataset);
  if (dataset.validation.empty())
    fail(ErrorCode::bad_input, "tune: the data set " + dataset.name + " has no validation nodes");
  require(options.repeats > 0 && options.seconds > 0, "tune: the time and the number of runs must be positive");
  return Tuner(models, dataset, options, device, progress).run();
}

}  // namespace bitgraph::nn
