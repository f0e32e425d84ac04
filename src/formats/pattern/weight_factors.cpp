// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/formats/weight_factors.hpp>

#include "core/threads/parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace bitgraph {

namespace {

constexpr NodeId nowhere = ~NodeId{0};

/// The entries of the rows of a matrix, or of its columns, and what is found out about those.
struct Side {
  std::span<const EdgeOffset> begin;  ///< one more than there are lines
  std::span<const NodeId> across;     ///< for each entry the line of the other side
  std::span<const float> weight;
  std::vector<double> factor;
  std::vector<NodeId> component;  ///< nowhere for a line without entries

  Side(std::span<const EdgeOffset> first, std::span<const NodeId> other, std::span<const float> values)
      : begin(first), across(other), weight(values), factor(size(), 1.0), component(size(), nowhere) {}
  [[nodiscard]] std::size_t size() const { return begin.size() - 1; }
};

/// The entries by columns, in the order of the rows.
struct ByColumn {
  explicit ByColumn(const CsrMatrix<float>& a) : begin(std::size_t{a.ncols()} + 1), row(a.nvals()), weight(a.nvals()) {
    for (const NodeId j : a.pattern().col_ind()) ++begin[std::size_t{j} + 1];
    for (std::size_t j = 0; j < a.ncols(); ++j) begin[j + 1] += begin[j];
    std::vector<EdgeOffset> next(begin.begin(), begin.end() - 1);
    for (NodeId i = 0; i < a.nrows(); ++i) {
      for (EdgeOffset e = a.pattern().row_ptr()[i]; e < a.pattern().row_ptr()[i + 1]; ++e) {
        const EdgeOffset place = next[a.pattern().col_ind()[e]]++;
        row[place] = i;
        weight[place] = a.values()[e];
      }
    }
  }

  std::vector<EdgeOffset> begin;
  std::vector<NodeId> row;
  std::vector<float> weight;
};

/// Calls fn(i, j, weight) for every entry.
template <class Fn>
void for_each_weight(const CsrMatrix<float>& a, const Fn& fn) {
  for (NodeId i = 0; i < a.nrows(); ++i) {
    for (EdgeOffset e = a.pattern().row_ptr()[i]; e < a.pattern().row_ptr()[i + 1]; ++e) {
      fn(i, a.pattern().col_ind()[e], a.values()[e]);
    }
  }
}

/// Gives every line that a chain of entries joins to row `root` the factor that the entries on the way ask for.
void spread_from(NodeId root, NodeId component, Side& rows, Side& cols) {
  std::vector<NodeId> lines{root};  // reached in this round, all of one side
  rows.component[root] = component;
  Side* here = &rows;
  Side* there = &cols;
  while (!lines.empty()) {
    std::vector<NodeId> reached;
    for (const NodeId line : lines) {
      for (EdgeOffset e = here->begin[line]; e < here->begin[line + std::size_t{1}]; ++e) {
        const NodeId other = here->across[e];
        if (there->component[other] != nowhere) continue;
        there->component[other] = component;
        there->factor[other] = here->weight[e] / here->factor[line];
        reached.push_back(other);
      }
    }
    lines.swap(reached);
    std::swap(here, there);
  }
}

/// The number of components.
NodeId spread(Side& rows, Side& cols) {
  NodeId components = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows.component[i] != nowhere || rows.begin[i] == rows.begin[i + 1]) continue;
    spread_from(static_cast<NodeId>(i), components++, rows, cols);
  }
  return components;
}

/// The factors of one side from those of the other: one(line, entry range) for every line that has entries.
template <class One>
void refit(const Device& device, Side& side, const One& one) {
  parallel_for(device, side.size(), 1024, [&](std::size_t line) {
    if (side.begin[line] != side.begin[line + 1]) side.factor[line] = one(side.begin[line], side.begin[line + 1]);
  });
}

/// Means of what the entries ask for: it takes away what rounding adds up along long chains.
void average(const Device& device, Side& side, const Side& other) {
  refit(device, side, [&](EdgeOffset begin, EdgeOffset end) {
    double sum = 0;
    for (EdgeOffset e = begin; e < end; ++e) sum += side.weight[e] / other.factor[side.across[e]];
    return sum / static_cast<double>(end - begin);
  });
}

/// The same of logarithms: the nearest factors in the sense of least squares of logarithms, one step on the way.
void average_logarithms(const Device& device, Side& side, const Side& other) {
  refit(device, side, [&](EdgeOffset begin, EdgeOffset end) {
    double sum = 0;
    for (EdgeOffset e = begin; e < end; ++e) sum += std::log(side.weight[e] / other.factor[side.across[e]]);
    return std::exp(sum / static_cast<double>(end - begin));
  });
}

/// The best factors of one side for those of the other.
void least_squares(const Device& device, Side& side, const Side& other) {
  refit(device, side, [&](EdgeOffset begin, EdgeOffset end) {
    double product = 0;
    double square = 0;
    for (EdgeOffset e = begin; e < end; ++e) {
      const double c = other.factor[side.across[e]];
      product += side.weight[e] * c;
      square += c * c;
    }
    return product / square;
  });
}

double squared_error(const Device& device, const Side& rows, const Side& cols) {
  std::vector<double> of_row(rows.size());
  parallel_for(device, rows.size(), 1024, [&](std::size_t i) {
    for (EdgeOffset e = rows.begin[i]; e < rows.begin[i + 1]; ++e) {
      const double difference = rows.weight[e] - rows.factor[i] * cols.factor[rows.across[e]];
      of_row[i] += difference * difference;
    }
  });
  double sum = 0;
  for (const double error : of_row) sum += error;
  return sum;
}

/// Alternating least squares: each half of a round is the best for the other side's factors. The logarithms' factors,
/// which an entry of tiny weight bends as much as one of large weight, are a place to begin.
void approximate(const Device& device, Side& rows, Side& cols) {
  constexpr int first_rounds = 20;
  constexpr int most_rounds = 180;
  std::fill(rows.factor.begin(), rows.factor.end(), 1.0);
  std::fill(cols.factor.begin(), cols.factor.end(), 1.0);
  for (int round = 0; round < first_rounds; ++round) {
    average_logarithms(device, rows, cols);
    average_logarithms(device, cols, rows);
  }
  double before = std::numeric_limits<double>::infinity();
  for (int round = 0; round < most_rounds; ++round) {
    least_squares(device, rows, cols);
    least_squares(device, cols, rows);
    const double error = squared_error(device, rows, cols);
    if (error >= before * (1 - 1e-9)) break;
    before = error;
  }
}

/// What is known of a component's factors of one side.
struct Spread {
  double logarithms = 0;
  double lowest = std::numeric_limits<double>::infinity();
  double highest = -std::numeric_limits<double>::infinity();
  std::size_t count = 0;

  [[nodiscard]] bool one_value() const { return highest - lowest <= 1e-6 * std::fabs(highest); }
  [[nodiscard]] double mean_logarithm() const { return logarithms / static_cast<double>(count); }
};

std::vector<Spread> spreads(const Side& side, NodeId components) {
  std::vector<Spread> all(components);
  for (std::size_t line = 0; line < side.size(); ++line) {
    if (side.component[line] == nowhere) continue;
    Spread& spread = all[side.component[line]];
    spread.logarithms += std::log(std::fabs(side.factor[line]));
    spread.lowest = std::min(spread.lowest, side.factor[line]);
    spread.highest = std::max(spread.highest, side.factor[line]);
    ++spread.count;
  }
  return all;
}

/// Uses the constant that is free in each component: ones where all factors are equal, else balance.
void normalize(Side& rows, Side& cols, NodeId components) {
  const auto of_rows = spreads(rows, components);
  const auto of_cols = spreads(cols, components);
  std::vector<double> times(components);  // rows are multiplied by it, columns divided
  for (NodeId c = 0; c < components; ++c) {
    if (of_cols[c].one_value()) {
      times[c] = of_cols[c].highest;
    } else if (of_rows[c].one_value()) {
      times[c] = 1 / of_rows[c].highest;
    } else {
      times[c] = std::exp((of_cols[c].mean_logarithm() - of_rows[c].mean_logarithm()) / 2);
    }
  }
  const auto scale = [&](Side& side, bool divide) {
    for (std::size_t line = 0; line < side.size(); ++line) {
      if (side.component[line] == nowhere) continue;
      const double factor = times[side.component[line]];
      double& value = side.factor[line];
      value = divide ? value / factor : value * factor;
      if (std::fabs(value - 1) <= 1e-6) value = 1;
    }
  };
  scale(rows, false);
  scale(cols, true);
}

/// Empty where all are one.
Buffer<float> to_floats(const std::vector<double>& factor, const Device& device) {
  const bool ones = std::all_of(factor.begin(), factor.end(), [](double value) { return value == 1; });
  Buffer<float> floats(ones ? 0 : factor.size(), device);
  for (std::size_t n = 0; n < floats.size(); ++n) floats[n] = static_cast<float>(factor[n]);
  return floats;
}

struct Worst {
  NodeId row = 0;
  NodeId col = 0;
  float weight = 0;
  double product = 0;
};

/// Fills in the errors; returns the worst entry.
Worst measure(WeightFactors& factors, const CsrMatrix<float>& a) {
  Worst worst;
  double differences = 0;
  double weights = 0;
  factors.largest_error = 0;
  for_each_weight(a, [&](NodeId i, NodeId j, float w) {
    const double row = factors.row.empty() ? 1 : factors.row[i];
    const double product = row * (factors.col.empty() ? 1 : factors.col[j]);
    const double difference = std::isfinite(product) ? std::fabs(w - product) : std::numeric_limits<double>::infinity();
    differences += difference * difference;
    weights += double{w} * w;
    if (difference > factors.largest_error * std::fabs(w)) {
      factors.largest_error = difference / std::fabs(w);
      worst = {i, j, w, product};
    }
  });
  factors.relative_error = weights == 0 ? 0 : std::sqrt(differences / weights);
  return worst;
}

Worst collect(WeightFactors& factors, Side& rows, Side& cols, NodeId components, const CsrMatrix<float>& a,
              const Device& device) {
  normalize(rows, cols, components);
  factors.row = to_floats(rows.factor, device);
  factors.col = to_floats(cols.factor, device);
  return measure(factors, a);
}

}  // namespace

WeightFactors factor_weights(const CsrMatrix<float>& a, const FactorOptions& options, const Device& device) {
  if (!device.is_host() || !a.device().is_host()) fail(ErrorCode::not_possible, "factor weights: on the host only");
  for_each_weight(a, [](NodeId i, NodeId j, float w) {
    if (std::isfinite(w) && w != 0) return;
    fail(ErrorCode::bad_input, fmt::format("factor weights: entry ({}, {}) is {}, and no product of factors", i, j, w));
  });
  const ByColumn by_column(a);
  Side rows(a.pattern().row_ptr(), a.pattern().col_ind(), a.values());
  Side cols(by_column.begin, by_column.row, by_column.weight);
  const NodeId components = spread(rows, cols);
  for (int round = 0; round < 2; ++round) {
    average(device, rows, cols);
    average(device, cols, rows);
  }
  WeightFactors factors;
  const Worst worst = collect(factors, rows, cols, components, a, device);
  if (factors.largest_error <= options.tolerance) return factors;
  if (!options.approximate) {
    fail(
        ErrorCode::bad_input,
        fmt::format("factor weights: the weights are no products of a factor a row and one a column: entry ({}, {}) is "
                    "{}, its product {:.6g}, which is off by {:.2g}; the tolerance is {:.2g}",
                    worst.row, worst.col, worst.weight, worst.product, factors.largest_error, options.tolerance));
  }
  for_each_weight(a, [](NodeId i, NodeId j, float w) {
    if (w > 0) return;
    fail(ErrorCode::bad_input,
         fmt::format("factor weights: entry ({}, {}) is {}; an approximation is of positive weights", i, j, w));
  });
  approximate(device, rows, cols);
  static_cast<void>(collect(factors, rows, cols, components, a, device));
  return factors;
}

}  // namespace bitgraph
