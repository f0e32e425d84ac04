// SPDX-License-Identifier: Apache-2.0
#include "nn/tuning/least_squares.hpp"

#include <bitgraph/core/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace bitgraph::nn {
namespace {

using Floats = DenseMatrix<float>;

Floats drawn(std::size_t nrows, std::size_t ncols, std::uint32_t seed) {
  Floats m(nrows, ncols);
  for (std::size_t n = 0; n < m.values().size(); ++n) m.values()[n] = random_uniform({seed, 1, 0}, n) - 0.3F;
  return m;
}

/// x w^T + 5, and a little of something else.
Floats product(const Floats& x, const Floats& w, float other) {
  Floats y(x.nrows(), w.nrows());
  const Floats noise = drawn(x.nrows(), w.nrows(), 99);
  for (std::size_t i = 0; i < x.nrows(); ++i) {
    for (std::size_t c = 0; c < w.nrows(); ++c) {
      y(i, c) = 5 + other * noise(i, c);
      for (std::size_t f = 0; f < x.ncols(); ++f) y(i, c) += x(i, f) * w(c, f);
    }
  }
  return y;
}

float furthest(const Floats& a, const Floats& b) {
  float most = 0;
  for (std::size_t n = 0; n < a.values().size(); ++n) most = std::max(most, std::fabs(a.values()[n] - b.values()[n]));
  return most;
}

/// What is minimized, the means of columns apart.
double cost(const Floats& x, const Floats& y, const Floats& w, const Floats& start, const LeastSquaresOptions& o) {
  const auto weight = [&](std::size_t i) {
    return o.row_weights.empty() ? 1.0 : static_cast<double>(o.row_weights[i]);
  };
  double all = 0, squares = 0, sum = 0;
  std::vector<double> x_mean(x.ncols(), 0), y_mean(y.ncols(), 0);
  for (std::size_t i = 0; i < x.nrows(); ++i) {
    all += weight(i);
    for (std::size_t f = 0; f < x.ncols(); ++f) x_mean[f] += weight(i) * x(i, f);
    for (std::size_t c = 0; c < y.ncols(); ++c) y_mean[c] += weight(i) * y(i, c);
  }
  for (std::size_t i = 0; i < x.nrows(); ++i) {
    for (std::size_t f = 0; f < x.ncols(); ++f) squares += weight(i) * std::pow(x(i, f) - x_mean[f] / all, 2);
    for (std::size_t c = 0; c < y.ncols(); ++c) {
      double left = y(i, c) - y_mean[c] / all;
      for (std::size_t f = 0; f < x.ncols(); ++f) left -= w(c, f) * (x(i, f) - x_mean[f] / all);
      sum += weight(i) * left * left;
    }
  }
  for (std::size_t n = 0; n < w.values().size(); ++n)
    sum += o.ridge * squares / static_cast<double>(x.ncols()) * std::pow(w.values()[n] - start.values()[n], 2);
  return sum;
}

TEST(LeastSquares, FindTheMatrixThatMadeTheProduct) {
  const Floats x = drawn(400, 9, 1), w = drawn(5, 9, 2);
  const Floats found = least_squares(x, product(x, w, 0), Floats(5, 9), {.ridge = 0}, Device::host(1));
  EXPECT_LT(furthest(found, w), 1e-4F);
}

TEST(LeastSquares, NoOtherMatrixCostsLess) {
  const Floats x = drawn(300, 6, 1), start = drawn(4, 6, 3), y = product(x, drawn(4, 6, 2), 1);
  const Floats weights = drawn(1, 300, 4);
  std::vector<float> row_weights;
  for (const float v : weights.values()) row_weights.push_back(v + 0.4F);
  const LeastSquaresOptions options{.row_weights = row_weights, .ridge = 0.2};
  const Floats found = least_squares(x, y, start, options, Device::host(1));
  const double least = cost(x, y, found, start, options);
  EXPECT_LT(least, cost(x, y, start, start, options));
  for (std::size_t n = 0; n < found.values().size(); ++n) {
    for (const float step : {0.01F, -0.01F}) {
      Floats other = found.clone();
      other.values()[n] += step;
      EXPECT_GT(cost(x, y, other, start, options), least);
    }
  }
}

TEST(LeastSquares, LeaveAloneWhatTooFewRowsSay) {
  const Floats start = drawn(3, 10, 3), x = drawn(79, 10, 1);
  EXPECT_EQ(furthest(least_squares(x, product(x, drawn(3, 10, 2), 0), start, {}, Device::host(1)), start), 0);
  const Floats zeros(100, 10);
  EXPECT_EQ(furthest(least_squares(zeros, product(zeros, start, 1), start, {}, Device::host(1)), start), 0);
}

TEST(LeastSquares, TakeRowsSpreadOverAll) {
  Floats x = drawn(4000, 3, 1);
  Floats y = product(x, drawn(2, 3, 2), 0);
  const Floats all = least_squares(x, y, Floats(2, 3), {.ridge = 0}, Device::host(1));
  const Floats some = least_squares(x, y, Floats(2, 3), {.ridge = 0, .most_rows = 500}, Device::host(1));
  EXPECT_LT(furthest(all, some), 1e-4F);
  for (std::size_t i = 3900; i < 4000; ++i) y(i, 0) += 50 * x(i, 0);  // the last ones count, too
  EXPECT_GT(furthest(least_squares(x, y, Floats(2, 3), {.most_rows = 500}, Device::host(1)), some), 0.5F);
}

TEST(LeastSquares, ThreadsDoNotMatter) {
  const Floats x = drawn(3000, 70, 1), y = product(x, drawn(20, 70, 2), 1);
  const Floats one = least_squares(x, y, Floats(20, 70), {}, Device::host(1));
  for (const int threads : {2, 7})
    EXPECT_EQ(furthest(least_squares(x, y, Floats(20, 70), {}, Device::host(threads)), one), 0);
}

}  // namespace
}  // namespace bitgraph::nn
