// SPDX-License-Identifier: Apache-2.0
#include "nn/training/checkpoint.hpp"
#include "nn/model/architectures.hpp"

#include <gtest/gtest.h>

namespace bitgraph::nn {
namespace {

TEST(TrainState, LossSaysWhichEpochIsBestAndAccuracyForFloatOverPartsAndBinaryFormsButBinOfAGcn) {
  TrainState best;
  best.best_loss = 1;
  best.best_accuracy = 0.5;
  struct Case {
    Score validation;
    bool by_loss, by_accuracy;
  };
  const Case cases[]{{{.loss = 0.9, .correct = 4, .total = 10}, true, false},
                     {{.loss = 1.1, .correct = 6, .total = 10}, false, true},
                     {{.loss = 0.9, .correct = 5, .total = 10}, true, true},
                     {{.loss = 1.0, .correct = 5, .total = 10}, false, false},
                     {{.loss = 1.1, .correct = 5, .total = 10}, false, false}};
  const Partition partition({0, 1}, 2);
  for (const auto& [validation, by_loss, by_accuracy] : cases) {
    EXPECT_EQ(best.improves(validation, {.precision = Precision::real, .partition = &partition}), by_accuracy);
    EXPECT_EQ(best.improves(validation, {.precision = Precision::bin, .partition = &partition}), by_loss);
    for (const Precision precision : {Precision::real, Precision::full, Precision::bin}) {
      for (const Architecture architecture : all_architectures()) {
        const bool accuracy =
            precision == Precision::full || (precision == Precision::bin && traits_of(architecture).sampled());
        EXPECT_EQ(best.improves(validation, {.precision = precision, .architecture = architecture}),
                  accuracy ? by_accuracy : by_loss)
            << to_string(precision) << " " << to_string(architecture) << ", loss " << validation.loss;
      }
    }
  }
}

}  // namespace
}  // namespace bitgraph::nn
