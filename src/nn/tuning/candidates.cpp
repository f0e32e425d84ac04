// SPDX-License-Identifier: Apache-2.0
#include "nn/tuning/candidates.hpp"

#include "core/median.hpp"
#include "nn/tuning/within_loss.hpp"

#include <bitgraph/core/error.hpp>
#include <bitgraph/ops/log_softmax.hpp>

#include <algorithm>
#include <utility>

namespace bitgraph::nn {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Microseconds.
double time_of(InferencePlan& plan, const Device& device) {
  const auto begin = Clock::now();
  plan.run();
  device.synchronize();
  return seconds_since(begin) * 1e6;
}

}  // namespace

std::vector<std::size_t> batch_sizes(const Partition& partition, std::vector<std::size_t> given) {
  if (given.empty()) {
    for (std::size_t parts = partition.num_parts() / 2; parts > 0; parts /= 2) given.push_back(parts);
    if (given.empty()) given.push_back(1);
  }
  std::sort(given.begin(), given.end(), std::greater<>());
  given.erase(std::unique(given.begin(), given.end()), given.end());
  return given;
}

double Candidates::seconds() const { return seconds_since(start_); }

void Candidates::pass_over(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::usage && e.code() != ErrorCode::not_possible) throw;
  }
  if (!passed_over_) passed_over_ = error;
}

void Candidates::require_some() const {
  if (!report.candidates.empty()) return;
  if (passed_over_) std::rethrow_exception(passed_over_);
  fail(ErrorCode::internal, "tune: there is no candidate");
}

bool Candidates::fits(const Model& model, const InferenceOptions& options) {
  if (options.memory == 0) return true;
  try {
    static_cast<void>(predict_memory(model, dataset_, options, device_));
    return true;
  } catch (const Error&) {
    pass_over(std::current_exception());
    return false;
  }
}

InferenceOptions Candidates::in_batches(std::vector<Precision> forms, std::size_t batch_parts) const {
  return {.forms = std::move(forms),
          .memory = options_.memory,
          .partition = options_.partition,
          .batch_parts = batch_parts};
}

std::optional<InferenceOptions> Candidates::fitting(const Model& model, std::vector<Precision> forms) {
  InferenceOptions whole{.forms = std::move(forms), .memory = options_.memory};
  if (fits(model, whole)) return whole;
  if (options_.partition == nullptr) return std::nullopt;
  for (const std::size_t parts : batch_sizes(*options_.partition, options_.batch_parts)) {
    InferenceOptions batches = in_batches(whole.forms, parts);
    if (fits(model, batches)) return batches;
  }
  return std::nullopt;
}

double Candidates::accuracy_of(const DenseMatrix<float>& logits) const {
  return score(logits, dataset_.labels, dataset_.validation).accuracy();
}

std::optional<double> Candidates::accuracy_of(const Model& model, const InferenceOptions& options) {
  device_.throw_if_stopped();
  try {
    InferencePlan plan(model, dataset_, options, fresh_device());
    return accuracy_of(plan.run().to(Device()));
  } catch (const Error&) {
    pass_over(std::current_exception());
    return std::nullopt;
  }
}

std::optional<double> Candidates::accuracy_of(const Model& model) {
  if (const auto accuracy = accuracy_of(model, InferenceOptions())) return accuracy;
  const auto options = fitting(model, model.layer_forms(model.precision));
  return options ? accuracy_of(model, *options) : std::nullopt;
}

std::optional<std::size_t> Candidates::measure(const Way& way, double hopeless) {
  if (!report.candidates.empty() && time_is_up()) {
    report.complete = false;
    return std::nullopt;
  }
  device_.throw_if_stopped();
  TuneCandidate candidate{.model = way.model, .quantized = way.quantized, .options = way.options};
  try {
    const Device own = fresh_device();
    InferencePlan plan(model_of(way), dataset_, way.options, own);
    candidate.validation_accuracy = accuracy_of(plan.run().to(Device()));
    candidate.microseconds = median_time(plan, own, hopeless);
    candidate.peak_bytes = own.memory().peak;
    candidate.predicted_bytes = plan.predicted().bytes;
    candidate.row_parts = plan.predicted().parts;
    candidate.batches = plan.num_batches();
  } catch (const Error&) {
    pass_over(std::current_exception());
    return std::nullopt;
  }
  if (progress_) progress_(candidate);
  report.candidates.push_back(std::move(candidate));
  return report.candidates.size() - 1;
}

double Candidates::median_time(InferencePlan& plan, const Device& device, double hopeless) const {
  constexpr double enough = 0.5;  // seconds for one candidate
  std::vector<double> times;
  const auto start = Clock::now();
  while (times.size() < options_.repeats && (times.size() < 3 || seconds_since(start) < enough)) {
    times.push_back(time_of(plan, device));
    if (times.front() > hopeless) break;
  }
  return median(times);
}

double Candidates::best_accuracy() const {
  double best = 0;
  for (const TuneCandidate& c : report.candidates) best = std::max(best, holds(c) ? c.validation_accuracy : 0);
  return best;
}

bool Candidates::good(const TuneCandidate& candidate) const {
  return holds(candidate) && within_loss(candidate.validation_accuracy, best_accuracy(), options_.max_loss);
}

bool Candidates::quicker_than_first(std::size_t n) const {
  constexpr double enough = 3;  // seconds
  constexpr double by_chance = 0.97;
  const Device device = fresh_device();
  const auto plan_of = [&](const TuneCandidate& c) {
    return InferencePlan(report.model_of(c, models_), dataset_, c.options, device);
  };
  InferencePlan first = plan_of(report.candidates[0]);
  InferencePlan second = plan_of(report.candidates[n]);
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

}  // namespace bitgraph::nn
