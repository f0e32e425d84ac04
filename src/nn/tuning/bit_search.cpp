// SPDX-License-Identifier: Apache-2.0
// Bits layer by layer. All numbers of a model go down together first: few tries, and most of the bytes. What a single
// number of a single layer can do without is found behind that, by rounds of a greedy search.
//
// What a step loses depends on the steps before, so every step is judged on the model as it is then. The measurements
// at the start of a round only give the order.
#include <bitgraph/nn/bit_search.hpp>

#include <bitgraph/core/error.hpp>

#include "nn/inference/predict.hpp"
#include "nn/model/layer_forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace bitgraph::nn {

namespace {

/// One number of one layer, with fewer bits.
struct Step {
  std::size_t layer = 0;
  NumberFormat Precision::*number = nullptr;
  int bits = 0;
  double saved_bytes = 0;
  double loss = 0;

  /// Bytes for each loss of quality.
  [[nodiscard]] double worth() const { return loss > 0 ? saved_bytes / loss : std::numeric_limits<double>::infinity(); }
};

constexpr std::array numbers{&Precision::weight, &Precision::input, &Precision::messages};

class BitSearch {
 public:
  BitSearch(ModelQuantizer& quantizer, const BitSearchOptions& options, const Device& device)
      : quantizer_(quantizer), options_(options), device_(device) {}

  BitSearchResult run() {
    lower_all();
    if (result_.good) {
      while (!stopped_ && round()) {
      }
    }
    result_.complete = !stopped_;
    return std::move(result_);
  }

 private:
  struct Judged {
    Model model;
    std::optional<double> quality;
    [[nodiscard]] double value() const { return quality.value_or(0); }
  };

  Judged judge(const std::vector<Precision>& forms) {
    ++result_.tries;
    Judged judged{quantizer_.quantize({.forms = forms}), {}};
    judged.quality = options_.quality(judged.model);
    return judged;
  }

  [[nodiscard]] bool good(const Judged& judged) const {
    return judged.quality && options_.good_enough(*judged.quality);
  }

  [[nodiscard]] double traffic_of(const std::vector<Precision>& forms) const {
    return predict_traffic(quantizer_.model(), quantizer_.dataset(), forms, device_);
  }

  [[nodiscard]] bool time_is_up() { return stopped_ = stopped_ || (options_.stop && options_.stop()); }

  /// The search goes on from here.
  void keep(std::vector<Precision> forms, Judged judged, bool uniform) {
    forms_ = std::move(forms);
    traffic_ = traffic_of(forms_);
    result_.quality = judged.value();
    result_.model = std::move(judged.model);
    if (options_.look) options_.look({result_.model, judged.quality, uniform, true});
  }

  /// The same bits everywhere, as few as are good enough. The most bits that run are kept whatever they are like. What
  /// does not run may run in fewer bits, which take less memory.
  void lower_all() {
    bool one_runs = false;
    for (const int bits : options_.bits) {
      std::vector<Precision> forms = forms_of(Precision::of_levels(bits, bits, bits), quantizer_.model().layers);
      const bool first = forms_.empty();
      if (!first && (time_is_up() || traffic_of(forms) >= traffic_)) return;
      Judged judged = judge(forms);
      const bool runs = judged.quality.has_value();
      const bool is_good = good(judged);
      if (first || is_good || (runs && !one_runs)) {
        result_.good = is_good;
        keep(std::move(forms), std::move(judged), true);
      } else if (options_.look) {
        options_.look({judged.model, judged.quality, true, false});
      }
      if (runs && !is_good) return;
      one_runs = one_runs || runs;
    }
  }

  /// The next fewer bits; 0: there are none.
  [[nodiscard]] int fewer_than(int bits) const {
    const auto next = std::find_if(options_.bits.begin(), options_.bits.end(), [&](int b) { return b < bits; });
    return next == options_.bits.end() ? 0 : *next;
  }

  [[nodiscard]] std::vector<Precision> with(const Step& step) const {
    std::vector<Precision> forms = forms_;
    (forms[step.layer].*step.number).bits = step.bits;
    return forms;
  }

  [[nodiscard]] std::vector<Step> steps_that_save() const {
    std::vector<Step> steps;
    for (std::size_t l = 0; l < forms_.size(); ++l) {
      for (const auto number : numbers) {
        Step step{.layer = l, .number = number, .bits = fewer_than((forms_[l].*number).bits)};
        const bool logits = l + 1 == forms_.size() && number == &Precision::messages;
        if (step.bits == 0 || (logits && step.bits < Precision::least_last_message_bits)) continue;
        step.saved_bytes = traffic_ - traffic_of(with(step));
        if (step.saved_bytes > 0) steps.push_back(step);
      }
    }
    return steps;
  }

  /// The steps that are good enough by themselves, the best first.
  [[nodiscard]] std::vector<Step> ranked_steps() {
    std::vector<Step> ranked;
    for (Step step : steps_that_save()) {
      if (time_is_up()) break;
      const Judged judged = judge(with(step));
      if (!good(judged)) continue;
      step.loss = result_.quality - judged.value();
      ranked.push_back(step);
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](const Step& a, const Step& b) {
      return std::pair(a.worth(), a.saved_bytes) > std::pair(b.worth(), b.saved_bytes);
    });
    return ranked;
  }

  /// Returns whether it kept a step.
  bool round() {
    bool kept = false;
    for (const Step& step : ranked_steps()) {
      if (time_is_up()) break;
      std::vector<Precision> forms = with(step);
      if (traffic_of(forms) >= traffic_) continue;
      Judged judged = judge(forms);
      if (!good(judged)) continue;
      keep(std::move(forms), std::move(judged), false);
      kept = true;
    }
    return kept;
  }

  ModelQuantizer& quantizer_;
  const BitSearchOptions& options_;
  const Device& device_;
  std::vector<Precision> forms_;  ///< of the model that was kept last
  double traffic_ = 0;            ///< bytes that it moves in a run
  bool stopped_ = false;
  BitSearchResult result_;
};

}  // namespace

void require_bits(const std::vector<int>& bits) {
  const auto rises = [](int before, int behind) { return before <= behind; };
  require(std::adjacent_find(bits.begin(), bits.end(), rises) == bits.end(),
          "a search of bits: the most bits come first, each of them once");
  for (const int each : bits) {
    if (each < 1 || each > 16) fail(ErrorCode::usage, fmt::format("a search of bits: {} bits, expected 1 to 16", each));
  }
}

BitSearchResult search_bits(ModelQuantizer& quantizer, const BitSearchOptions& options, const Device& device) {
  require(!options.bits.empty(), "a search of bits: no bits are given");
  require_bits(options.bits);
  require(options.quality && options.good_enough, "a search of bits: nothing says how good a model is");
  return BitSearch(quantizer, options, device).run();
}

}  // namespace bitgraph::nn
