// SPDX-License-Identifier: Apache-2.0
// The candidates of tune(): whether they fit into the memory, how accurate and how quick they are.
#pragma once

#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/tune.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace bitgraph::nn {

/// Models, data set, options and progress must outlive it.
class Candidates {
 public:
  Candidates(std::span<const Model> models, const Dataset& dataset, const TuneOptions& options, const Device& device,
             const std::function<void(const TuneCandidate&)>& progress)
      : models_(models), dataset_(dataset), options_(options), device_(device), progress_(progress) {}

  /// A model and how it is run.
  struct Way {
    std::size_t model = 0;
    std::optional<std::size_t> quantized;
    InferenceOptions options;
  };

  /// Runs and times one, and puts it into the report: its place there. None where it is not possible, where the memory
  /// does not hold it, or where the time is up. One whose first run takes more than `hopeless` microseconds is run no
  /// more.
  std::optional<std::size_t> measure(const Way& way, double hopeless = std::numeric_limits<double>::infinity());

  /// Over the whole graph; where the memory does not hold that, in the largest batches of parts that it holds. None:
  /// nothing fits.
  [[nodiscard]] std::optional<InferenceOptions> fitting(const Model& model, std::vector<Precision> forms);

  /// Whether the memory holds it, by prediction. A limit that the memory of a device sets is not known here.
  [[nodiscard]] bool fits(const Model& model, const InferenceOptions& options);

  /// The options of a run in batches of so many parts.
  [[nodiscard]] InferenceOptions in_batches(std::vector<Precision> forms, std::size_t batch_parts) const;

  /// Of the validation nodes, over the whole graph whatever TuneOptions::memory says, so that models are judged alike;
  /// where the device does not hold that, as fitting() says. None: it cannot run.
  [[nodiscard]] std::optional<double> accuracy_of(const Model& model);
  [[nodiscard]] double accuracy_of(const DenseMatrix<float>& logits) const;

  /// Whether a candidate is accurate and small enough to be chosen.
  [[nodiscard]] bool good(const TuneCandidate& candidate) const;

  /// Whether it is quicker than the first one in a second trial too, run by run in turns, by more than chance.
  [[nodiscard]] bool quicker_than_first(std::size_t n) const;

  [[nodiscard]] double best_accuracy() const;
  [[nodiscard]] double seconds() const;
  [[nodiscard]] bool time_is_up() const { return seconds() > options_.seconds; }

  /// Keeps why something did not run, for the case that nothing does. Throws what is no reason to go on.
  void pass_over(const std::exception_ptr& error);

  /// Throws the first error that was passed over unless there is a candidate.
  void require_some() const;

  TuneReport report;

 private:
  [[nodiscard]] std::optional<double> accuracy_of(const Model& model, const InferenceOptions& options);

  using Clock = std::chrono::steady_clock;

  /// A handle with its own record of memory.
  [[nodiscard]] Device fresh_device() const {
    return device_.is_host() ? Device::host(device_.threads()) : Device::cuda(device_.index());
  }
  [[nodiscard]] const Model& model_of(const Way& way) const {
    return way.quantized ? report.quantized[*way.quantized] : models_[way.model];
  }
  [[nodiscard]] double median_time(InferencePlan& plan, const Device& device, double hopeless) const;
  [[nodiscard]] bool holds(const TuneCandidate& c) const {
    return options_.memory == 0 || c.peak_bytes <= options_.memory;
  }

  std::span<const Model> models_;
  const Dataset& dataset_;
  const TuneOptions& options_;
  Device device_;
  const std::function<void(const TuneCandidate&)>& progress_;
  Clock::time_point start_ = Clock::now();
  std::exception_ptr passed_over_;  ///< the first one
};

/// Parts in a batch, the largest batches first: those that are given, each once; where none are, half of the parts, a
/// quarter of them and so on, down to one.
[[nodiscard]] std::vector<std::size_t> batch_sizes(const Partition& partition, std::vector<std::size_t> given);

}  // namespace bitgraph::nn
