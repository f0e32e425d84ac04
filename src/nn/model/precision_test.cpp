// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/precision.hpp>

#include "nn/model/layer_forms.hpp"
#include "support/everywhere.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bitgraph::nn {
namespace {

TEST(Precision, BitsOfWeightsInputsAndMessagesAreAName) {
  const Precision w4a4 = Precision::of_levels(4, 4, 4);
  EXPECT_EQ(precision_from_string("w4a4"), w4a4);
  EXPECT_EQ(precision_from_string("w4a4m4"), w4a4);
  EXPECT_EQ(to_string(w4a4), "w4a4");
  EXPECT_EQ(formats_of(w4a4), "levels4*tensor+offset/levels4*row+offset/levels4*column+offset/float32");
  EXPECT_TRUE(w4a4.multiplies_levels() && w4a4.sums_levels() && w4a4.has_levels());
  EXPECT_FALSE(w4a4.multiplies_signs() || w4a4.votes());

  const Precision mixed = precision_from_string("w8a4m2");
  EXPECT_EQ(mixed.weight.bits, 8);
  EXPECT_EQ(mixed.input.bits, 4);
  EXPECT_EQ(mixed.messages.bits, 2);
  EXPECT_EQ(to_string(mixed), "w8a4m2");

  const Precision sums = precision_from_string("w32a32m8");
  EXPECT_FALSE(sums.multiplies_levels());
  EXPECT_TRUE(sums.sums_levels());
  EXPECT_EQ(sums.weight, NumberFormat());
  EXPECT_EQ(to_string(sums), "w32a32m8");

  const Precision products = precision_from_string("w8a8m32");
  EXPECT_TRUE(products.multiplies_levels());
  EXPECT_FALSE(products.sums_levels());
  EXPECT_EQ(to_string(products), "w8a8m32");
  EXPECT_EQ(precision_from_string("w32a32"), Precision::real);
}

TEST(Precision, EveryNameAndItsFormatsComeBack) {
  for (const int weight : {1, 2, 7, 8, 16}) {
    for (const int input : {1, 5, 16}) {
      for (const int messages : {1, 8, 16, 32}) {
        const Precision precision = Precision::of_levels(weight, input, messages);
        EXPECT_EQ(precision_from_string(to_string(precision)), precision);
        EXPECT_EQ(precision_from_string(formats_of(precision)), precision);
      }
    }
  }
  for (const Precision& preset : {Precision::real, Precision::full, Precision::bin}) {
    EXPECT_EQ(precision_from_string(to_string(preset)), preset);
    EXPECT_EQ(precision_from_string(formats_of(preset)), preset);
  }
}

TEST(Precision, StepsOfInputRowsMayGoByDegree) {
  const Precision w4a4 = Precision::of_levels(4, 4, 4), by_degree = w4a4.with_input_by_degree();
  EXPECT_FALSE(w4a4.input_by_degree());
  EXPECT_TRUE(by_degree.input_by_degree());
  EXPECT_EQ(formats_of(by_degree), "levels4*row+offset/levels4*row+offset/levels4*column+offset/float32");
  EXPECT_EQ(to_string(by_degree), "w4a4d");
  EXPECT_EQ(precision_from_string(formats_of(by_degree)), by_degree);
  EXPECT_EQ(to_string(precision_from_string("w8a4m2d")), "w8a4m2d");
  for (const char* other : {"w4d", "w4a4m", "w4a4dm2", "w4a4dd", "w4a4 d"})
    EXPECT_THROW((void)precision_from_string(other), Error) << other;
  EXPECT_EQ(precision_from_string(to_string(by_degree)), by_degree);
  EXPECT_TRUE(by_degree.of_last_layer().input_by_degree());
  for (const Precision& other : {Precision::real, Precision::full, Precision::of_levels(32, 32, 8)}) {
    EXPECT_EQ(other.with_input_by_degree(), other);
    EXPECT_FALSE(other.input_by_degree());
  }
  EXPECT_EQ(degree_root(0, DegreeRoot::square), 1);
  EXPECT_EQ(degree_root(15, DegreeRoot::square), 4);
  EXPECT_EQ(degree_root(0, DegreeRoot::fourth), 1);
  EXPECT_EQ(degree_root(15, DegreeRoot::fourth), 2);
}

TEST(Precision, SignsBehindSumsAndMeansHaveNoScales) {
  const Precision plain = Precision::full.with_plain_input();
  EXPECT_EQ(formats_of(plain), "sign/sign*row/float32/float32");
  EXPECT_EQ(precision_from_string(formats_of(plain)), plain);
  EXPECT_EQ(precision_from_string(formats_of(Precision::bin.with_plain_input())), Precision::bin.with_plain_input());
  EXPECT_TRUE(plain.has_plain_input());
  EXPECT_FALSE(Precision::full.has_plain_input());
  for (const Precision& other : {Precision::real, Precision::of_levels(4, 4, 4)}) {
    EXPECT_EQ(other.with_plain_input(), other);
    EXPECT_FALSE(other.has_plain_input());
  }
  const auto plain_inputs = [](const Precision& form, std::vector<Aggregation> layers) {
    std::string text;
    for (const Precision& of_layer : forms_of_layers(form, layers)) text += of_layer.has_plain_input() ? 'p' : '-';
    return text;
  };
  using enum Aggregation;
  for (const Precision& form : {Precision::full, Precision::bin}) {
    EXPECT_EQ(plain_inputs(form, {sum, none, none}), "-pp");
    EXPECT_EQ(plain_inputs(form, {sum_with_self, none, sum_with_self, none}), "--p-") << "gin";
    EXPECT_EQ(plain_inputs(form, {symmetric, sum, symmetric}), "--p");
    EXPECT_EQ(plain_inputs(form, {symmetric, symmetric}), "--") << "Bi-GCN";
  }
  for (const Aggregation kind : {mean, mean_with_self}) {
    EXPECT_EQ(plain_inputs(Precision::full, {kind, kind, none}), "-pp");
    EXPECT_EQ(plain_inputs(Precision::bin, {kind, kind, none}), "---") << "votes";
  }
}

TEST(Precision, OfTheLastLayerAddsUpAtLeastEightBits) {
  EXPECT_EQ(to_string(precision_from_string("w2a2").of_last_layer()), "w2a2m8");
  EXPECT_EQ(to_string(precision_from_string("w2a2m9").of_last_layer()), "w2a2m9");
  EXPECT_EQ(to_string(precision_from_string("w2a2m32").of_last_layer()), "w2a2m32");
  EXPECT_EQ(to_string(precision_from_string("w32a32m3").of_last_layer()), "w32a32m8");
  EXPECT_EQ(Precision::bin.of_last_layer(), Precision::full);
}

TEST(Precision, OtherTextsAreRefused) {
  const auto refused = [](const char* text, const std::string& message) {
    SCOPED_TRACE(text);
    test::expect_usage_error([&] { static_cast<void>(precision_from_string(text)); }, message);
  };
  for (const char* const text : {"", "w", "w4", "w4a", "a4w4", "w4a4m", "w4a4x", "w4a4m4m4", "w-4a4", "w4a-4", " w4a4",
                                 "w4 a4", "W4A4", "w4a99999999999", "foo", "int8", "w4a4\nm2"})
    refused(text, "unknown precision '");
  refused("w4a4\nm2", "'w4a4?m2'");
  refused("w0a4", "levels of 0 bits: expected 1 to 16, or 32 for floats");
  refused("w17a8", "levels of 17 bits");
  refused("w4a0", "levels of 0 bits");
  refused("w4a4m0", "levels of 0 bits");
  refused("w4a4m31", "levels of 31 bits");
  refused("w8a32", "weights of 8 bits and inputs of 32");
  refused("w32a8", "weights of 32 bits and inputs of 8");
}

TEST(Precision, FormatsThatNoLayerComputesInAreRefused) {
  const auto refused = [](const char* text, const std::string& message) {
    SCOPED_TRACE(text);
    test::expect_usage_error([&] { static_cast<void>(precision_from_string(text)); }, message);
  };
  // A scale of other extent, no offset, products of levels with floats or signs, levels as the output.
  for (const char* const text :
       {"levels4*column+offset/levels4*row+offset/float32/float32", "levels4*tensor/levels4*row+offset/float32/float32",
        "levels4*tensor+offset/levels4*tensor+offset/float32/float32", "levels4*tensor+offset/float32/float32/float32",
        "float32/levels4*row+offset/float32/float32", "levels4*tensor+offset/sign*row/float32/float32",
        "levels4*tensor+offset/levels4*row+offset/levels4*row+offset/float32",
        "levels4*tensor+offset/levels4*row+offset/sign/float32",
        "levels4*tensor+offset/levels4*row+offset/float32/levels4*tensor+offset", "int8/int8/int8/int8"})
    refused(text, "no layer computes in the formats ");
  refused("float32/float32/float32", "unknown precision");
  refused("float32/float32/float32/float32/float32", "");
  refused("levels0*tensor+offset/levels4*row+offset/float32/float32", "");
}

}  // namespace
}  // namespace bitgraph::nn
