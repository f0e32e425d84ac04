// SPDX-License-Identifier: Apache-2.0
// What a run on a CUDA device is predicted to cost. Bytes over the rate at which they come, or operations over the peak
// of the instruction, whichever takes longer; and the launches. A lower bound for orientation: it knows neither how
// well a kernel balances its rows nor how full the device is.
#pragma once

#include <algorithm>

namespace bitgraph {

struct Prediction {
  double bytes = 0;    ///< read and written, gathers counted each
  double seconds = 0;  ///< launches included
};

/// What a device does in a second. docs/notebook/rates.md has the programs that measured it.
struct CudaRates {
  double memory = 4.0e12;  ///< bytes of streams from and to memory
  /// Bytes of gathered rows of up to 32 bytes, of up to 64, and of more: of tables of 8 MB, of 60 MB, and of 4 GB.
  double gathered[3][3] = {{4.7e12, 8.6e12, 9.2e12}, {2.6e12, 5.1e12, 7.6e12}, {1.3e12, 2.5e12, 4.2e12}};
  double near = 200e3;            ///< bytes of a table that the first-level cache keeps
  double cached = 30e6;           ///< bytes of a table that the second-level cache keeps whole,
  double partly_cached = 120e6;   ///< and of one that it keeps in part
  double sector = 32;             ///< bytes that the smallest read moves
  double bit_products = 10.3e15;  ///< operations of 1-bit tensor-core products, a multiplication and an addition each
  double warp_group_bit_products = 15.4e15;  ///< the same by wgmma
  double byte_products = 1.9e15;             ///< the same of bytes
  double bfloat_products = 0.88e15;          ///< the same of bfloat16
  double float_products = 44e12;             ///< the same of float32, without tensor cores
  double word_counts = 3.9e12;               ///< words of 32 bits that meet by AND, popcount and addition
  double launch = 2.8e-6;                    ///< seconds of a launch, one behind the other in a stream
};

/// One for all compute capabilities: only 9.0 has been measured, on an H200.
inline constexpr CudaRates cuda_rates_of_h200{};
[[nodiscard]] constexpr const CudaRates& cuda_rates() noexcept { return cuda_rates_of_h200; }

/// Reads of rows of a table, in any order.
struct Gathers {
  double count = 0;
  double row_bytes = 0;
  double table_bytes = 0;

  /// Whole sectors, where the first-level cache does not keep the table.
  [[nodiscard]] constexpr double bytes(const CudaRates& rates = cuda_rates()) const {
    return count * (table_bytes <= rates.near ? row_bytes : std::max(row_bytes, rates.sector));
  }
  [[nodiscard]] constexpr double seconds(const CudaRates& rates = cuda_rates()) const {
    const auto& of_table = rates.gathered[table_bytes <= rates.cached ? 0 : table_bytes <= rates.partly_cached ? 1 : 2];
    return bytes(rates) / of_table[row_bytes <= 32 ? 0 : row_bytes <= 64 ? 1 : 2];
  }
};

/// What a run moves and computes.
struct Cost {
  double streamed = 0;  ///< bytes
  Gathers gathers;
  double work = 0;  ///< operations,
  double peak = 1;  ///< and how many the device does in a second
  int launches = 1;
};

[[nodiscard]] constexpr Prediction predict(const Cost& cost, const CudaRates& rates = cuda_rates()) {
  const double moved = cost.streamed / rates.memory + cost.gathers.seconds(rates);
  return {cost.streamed + cost.gathers.bytes(rates),
          std::max(moved, cost.work / cost.peak) + cost.launches * rates.launch};
}

/// Sums of levels over the neighbours of each row. Outputs are taken to have rows like those of X.
[[nodiscard]] constexpr Prediction predict_level_sums(double rows, double entries, double row_bytes,
                                                      double table_bytes) {
  constexpr double index = 4, row_start = 8;
  return predict({.streamed = entries * index + rows * (row_start + row_bytes),
                  .gathers = {.count = entries, .row_bytes = row_bytes, .table_bytes = table_bytes}});
}

/// Products of levels as bytes. Outputs are taken to have as many bits as X, which has `x_bytes`.
[[nodiscard]] constexpr Prediction predict_level_product(double rows, double columns, double outputs, double x_bytes,
                                                         double w_bytes) {
  return predict({.streamed = x_bytes + w_bytes + x_bytes * outputs / columns,
                  .gathers = {},
                  .work = 2 * rows * columns * outputs,
                  .peak = cuda_rates().byte_products});
}

/// Products of bit planes, to 32-bit sums in so many rows and columns: each bit of A, of all planes or tiles, meets a
/// bit of each plane of each column of X.
[[nodiscard]] constexpr Prediction predict_plane_product(double rows, double columns, double x_bits, double a_bytes,
                                                         double x_bytes, bool by_wgmma) {
  constexpr double sum_bytes = 4, bits_of_byte = 8;
  return predict({.streamed = a_bytes + x_bytes + rows * columns * sum_bytes,
                  .gathers = {},
                  .work = 2 * a_bytes * bits_of_byte * columns * x_bits,
                  .peak = by_wgmma ? cuda_rates().warp_group_bit_products : cuda_rates().bit_products});
}

}  // namespace bitgraph
