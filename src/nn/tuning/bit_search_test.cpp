// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/bit_search.hpp>
#include <bitgraph/nn/infer.hpp>

#include "nn/inference/predict.hpp"
#include "support/everywhere.hpp"
#include "support/expect_error.hpp"
#include "support/level_models.hpp"
#include "support/near_logits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

using test::LevelModel;

const Dataset& data() {
  static const Dataset made = test::level_data({.nodes = 120, .edges = 300, .below_zero = false});
  return made;
}

std::vector<Precision> forms_of(const Model& model) { return model.layer_forms(model.precision); }

std::string text_of(const Model& model) { return InferenceOptions{.forms = forms_of(model)}.describe(); }

/// The share of the nodes that have the float model's class.
double agreement(const ModelQuantizer& quantizer, const Model& made) {
  InferencePlan plan(made, data(), {}, Device::host(1));
  const Buffer<std::int32_t> a = predict(quantizer.logits());
  const Buffer<std::int32_t> b = predict(plan.run());
  double same = 0;
  for (std::size_t i = 0; i < a.size(); ++i) same += a[i] == b[i] ? 1 : 0;
  return same / static_cast<double>(a.size());
}

/// All forms that have one number with the next fewer bits, and move fewer bytes.
std::vector<std::vector<Precision>> one_step_lower(const Model& floats, const std::vector<Precision>& forms) {
  std::vector<std::vector<Precision>> all;
  const double traffic = predict_traffic(floats, data(), forms, Device::host(1));
  for (std::size_t l = 0; l < forms.size(); ++l) {
    for (const auto number : {&Precision::weight, &Precision::input, &Precision::messages}) {
      std::vector<Precision> lower = forms;
      int& bits = (lower[l].*number).bits;
      if (bits <= 2 || (l + 1 == forms.size() && number == &Precision::messages && bits <= 8)) continue;
      bits /= 2;
      if (predict_traffic(floats, data(), lower, Device::host(1)) < traffic) all.push_back(lower);
    }
  }
  return all;
}

TEST(BitSearch, EndsWhereNoNumberCanHaveFewerBits) {
  std::set<std::string> found;
  for (const LevelModel& how :
       {LevelModel{.hidden = 80}, LevelModel{.architecture = Architecture::sage, .hidden = 40},
        LevelModel{.architecture = Architecture::gin, .hidden = 40}, LevelModel{.hidden = 80, .depth = 3}}) {
    const Model floats = how.in_floats(data());
    ModelQuantizer quantizer(floats, data(), Device::host(1));
    for (const double least : {0.97, 0.9, 0.7}) {
      SCOPED_TRACE(how.name() + " " + std::to_string(least));
      std::size_t judged = 0;
      const auto quality = [&](const Model& made) {
        ++judged;
        return std::optional(agreement(quantizer, made));
      };
      const auto good_enough = [&](double same) { return same >= least; };
      const BitSearchResult result =
          search_bits(quantizer, {.quality = quality, .good_enough = good_enough}, Device::host(1));
      ASSERT_TRUE(result.good && result.complete);
      EXPECT_EQ(result.tries, judged);
      result.model.validate();
      EXPECT_GE(result.quality, least);
      EXPECT_EQ(result.quality, agreement(quantizer, result.model));
      for (const auto& forms : one_step_lower(floats, forms_of(result.model)))
        EXPECT_LT(agreement(quantizer, quantizer.quantize({.forms = forms})), least);
      EXPECT_GE(forms_of(result.model).back().messages.bits, Precision::least_last_message_bits);
      found.insert(text_of(result.model));
    }
  }
  EXPECT_GT(found.size(), 3U) << "the limit makes no difference";
}

/// Quality is said of the forms: so it is known what has to come out.
class BitSearchOfForms : public testing::Test {
 protected:
  using Loss = std::function<double(const std::vector<Precision>&)>;

  BitSearchResult search(const Loss& loss, const std::function<bool()>& stop = {}) {
    kept_.clear();
    traffic_.clear();
    uniform_.clear();
    return search_bits(quantizer_,
                       {.quality = [&](const Model& made) { return std::optional(1 - loss(forms_of(made))); },
                        .good_enough = [](double quality) { return quality >= 0.9; },
                        .look =
                            [&](const BitTry& tried) {
                              if (tried.kept) kept_.push_back(text_of(tried.model));
                              if (tried.kept)
                                traffic_.push_back(predict_traffic(floats_, data(), forms_of(tried.model), Device()));
                              if (tried.uniform) uniform_.push_back(text_of(tried.model));
                            },
                        .stop = stop},
                       Device::host(1));
  }

  Model floats_ = LevelModel{.hidden = 80}.in_floats(data());
  ModelQuantizer quantizer_{floats_, data(), Device::host(1)};
  std::vector<std::string> kept_, uniform_;
  std::vector<double> traffic_;  ///< of what was kept
};

TEST_F(BitSearchOfForms, LowersAllTogetherFirst) {
  const BitSearchResult result = search([](const auto&) { return 0.0; });
  EXPECT_TRUE(result.good);
  ASSERT_GE(kept_.size(), 2U);
  EXPECT_EQ(kept_[0], "w8a8+w8a8d");
  EXPECT_EQ(kept_[1], "w4a4+w4a4m8d");
  EXPECT_TRUE(one_step_lower(floats_, forms_of(result.model)).empty());
  for (std::size_t n = 1; n < traffic_.size(); ++n)
    EXPECT_LT(traffic_[n], traffic_[n - 1]) << kept_[n] << " saves nothing";
}

/// Of many classes, so that fewer bits would save bytes.
TEST(BitSearch, MessagesOfTheLastLayerKeepEightBits) {
  Dataset unlabelled = test::level_data({.nodes = 120, .edges = 300, .below_zero = false});
  unlabelled.num_classes = 0;
  unlabelled.labels.clear();
  const Model floats = random_model(Architecture::gcn, Precision::real, 64, 80, 80, 2, 7);
  ModelQuantizer quantizer(floats, unlabelled, Device::host(1));
  const BitSearchResult result = search_bits(quantizer, {.bits = {16, 8, 4},
                                                         .quality = [](const Model&) { return std::optional(1.0); },
                                                         .good_enough = [](double) { return true; }});
  EXPECT_EQ(text_of(result.model), "w4a4+w4a4m8d");
}

TEST_F(BitSearchOfForms, LeavesBitsWhereTheyAreNeeded) {
  const BitSearchResult result = search([](const std::vector<Precision>& forms) {
    return forms[0].messages.bits < 8 || forms[1].weight.bits < 8 ? 0.2 : 0.0;
  });
  EXPECT_TRUE(result.good && result.complete);
  EXPECT_EQ(uniform_, (std::vector<std::string>{"w8a8+w8a8d", "w4a4+w4a4m8d"}));
  EXPECT_EQ(kept_.front(), "w8a8+w8a8d");
  const std::vector<Precision> forms = forms_of(result.model);
  EXPECT_EQ(forms[0].messages.bits, 8);
  EXPECT_EQ(forms[1].weight.bits, 8);
  EXPECT_LE(forms[0].weight.bits, 4);
  EXPECT_LE(forms[1].input.bits, 4);
}

/// Either of two numbers may have fewer bits, not both: the one that loses less goes first.
TEST_F(BitSearchOfForms, TakesWhatLosesLess) {
  for (const std::size_t cheap : {0U, 1U}) {
    const BitSearchResult result = search([&](const std::vector<Precision>& forms) {
      if (forms[0].input.bits < 8 || forms[1].input.bits < 8 || forms[0].messages.bits < 8) return 1.0;
      return (forms[cheap].weight.bits < 8 ? 1e-6 : 0.0) + (forms[1 - cheap].weight.bits < 8 ? 0.1 : 0.0);
    });
    EXPECT_LE(forms_of(result.model)[cheap].weight.bits, 4) << cheap;
    EXPECT_EQ(forms_of(result.model)[1 - cheap].weight.bits, 8) << cheap;
  }
}

TEST_F(BitSearchOfForms, KeepsTheMostBitsWhereNothingIsGood) {
  const BitSearchResult result = search([](const auto&) { return 0.5; });
  EXPECT_FALSE(result.good);
  EXPECT_EQ(result.tries, 1U);
  EXPECT_EQ(text_of(result.model), "w8a8+w8a8d");
  EXPECT_EQ(result.quality, 0.5);
}

/// Too little memory for 8 bits, say.
TEST_F(BitSearchOfForms, WhatCannotRunMayRunInFewerBits) {
  for (const double quality : {1.0, 0.5}) {
    const BitSearchResult result =
        search_bits(quantizer_,
                    {.quality =
                         [&](const Model& made) {
                           return forms_of(made)[0].weight.bits > 4 ? std::nullopt : std::optional(quality);
                         },
                     .good_enough = [](double each) { return each >= 0.9; }},
                    Device::host(1));
    EXPECT_EQ(result.good, quality == 1.0);
    EXPECT_EQ(result.quality, quality);
    EXPECT_EQ(text_of(result.model), "w4a4+w4a4m8d");
  }
  const BitSearchResult none = search_bits(
      quantizer_,
      {.quality = [](const Model&) { return std::optional<double>(); }, .good_enough = [](double) { return true; }},
      Device::host(1));
  EXPECT_FALSE(none.good);
  EXPECT_EQ(text_of(none.model), "w8a8+w8a8d");
}

TEST_F(BitSearchOfForms, AModelThatCannotRunIsNotKept) {
  std::size_t tries = 0;
  const BitSearchResult result =
      search_bits(quantizer_,
                  {.quality = [&](const Model&) { return ++tries == 1 ? std::optional(1.0) : std::nullopt; },
                   .good_enough = [](double) { return true; }},
                  Device::host(1));
  EXPECT_EQ(text_of(result.model), "w8a8+w8a8d");
  EXPECT_GT(tries, 2U);
}

TEST_F(BitSearchOfForms, StopsWhenAsked) {
  int asked = 0;
  const BitSearchResult result = search([](const auto&) { return 0.0; }, [&] { return ++asked > 1; });
  EXPECT_FALSE(result.complete);
  EXPECT_TRUE(result.good);
  EXPECT_EQ(result.tries, 2U);
  EXPECT_EQ(text_of(result.model), "w4a4+w4a4m8d");
}

TEST_F(BitSearchOfForms, WhatCannotBeIsRefused) {
  const auto refuse = [&](const std::vector<int>& bits, const std::string& message) {
    test::expect_usage_error(
        [&] {
          static_cast<void>(search_bits(quantizer_, {.bits = bits,
                                                     .quality = [](const Model&) { return std::optional(1.0); },
                                                     .good_enough = [](double) { return true; }}));
        },
        message);
  };
  refuse({}, "no bits are given");
  refuse({4, 8}, "the most bits come first");
  refuse({8, 4, 4}, "each of them once");
  refuse({32, 8}, "32 bits, expected 1 to 16");
  refuse({8, 0}, "0 bits, expected 1 to 16");
  test::expect_usage_error([&] { static_cast<void>(search_bits(quantizer_, {})); }, "nothing says how good a model is");
}

/// What one model has computed is what the next one would have computed.
TEST(ModelQuantizer, MakesTheModelsThatQuantizeMakes) {
  for (const Architecture architecture : all_architectures()) {
    SCOPED_TRACE(to_string(architecture));
    const Model floats = LevelModel{.architecture = architecture}.in_floats(data());
    ModelQuantizer quantizer(floats, data(), Device::host(1));
    for (const char* const name : {"w8a8", "w4a4", "w8a4m2", "w4a8", "w32a32m8", "w8a8"}) {
      for (const BoundsOf bounds : {BoundsOf::least_error, BoundsOf::range}) {
        const QuantizeModelOptions options{.precision = precision_from_string(name), .bounds = bounds};
        const Model made = quantizer.quantize(options);
        EXPECT_EQ(made.fingerprint(), quantize(floats, data(), options).fingerprint()) << name;
      }
    }
    InferencePlan plan(floats, data(), {}, Device::host(1));
    EXPECT_LT(test::distance(quantizer.logits(), plan.run()), 1e-5F);
  }
}

}  // namespace
}  // namespace bitgraph::nn
