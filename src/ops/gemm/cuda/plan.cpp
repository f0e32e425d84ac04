// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/cuda/plan.hpp"

#include <bitgraph/core/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace bitgraph::gemm_cuda {

namespace {

bool suits_blas(const Problem& p, const CudaGemmTuning& t) {
  const bool pays = p.columns >= t.columns_for_blas || p.rows * p.outputs * p.columns >= t.multiplications_for_blas;
  return p.factors == Factors::floats && p.has_blas && pays;
}
bool suits_float_tiles(const Problem& p, const CudaGemmTuning&) { return p.factors == Factors::floats; }
bool suits_float_rows(const Problem& p, const CudaGemmTuning&) { return p.factors == Factors::floats_and_bits; }
bool suits_binarized_rows(const Problem& p, const CudaGemmTuning&) {
  return p.factors == Factors::signs_of_floats && !p.masked && p.words <= most_short_words &&
         p.outputs <= block_outputs;
}
bool suits_masked_bits(const Problem& p, const CudaGemmTuning&) { return p.masked; }
bool suits_short_rows(const Problem& p, const CudaGemmTuning&) { return p.words <= most_short_words; }
bool suits_few_rows(const Problem& p, const CudaGemmTuning& t) {
  return p.rows * ((p.outputs + 63) / 64) <= t.few_rows_a_multiprocessor * p.multiprocessors;
}
bool suits_many_rows(const Problem&, const CudaGemmTuning&) { return true; }

template <Kernel kernel>
Plan plain(const Problem&, const CudaGemmTuning&) {
  return {.kernel = kernel};
}

/// As many tiles side by side as there are outputs, of those that the kernel is made for.
Plan shape_float_rows(const Problem& p, const CudaGemmTuning&) {
  constexpr unsigned tile_outputs = 8;
  unsigned tiles = cuda_gemm_tuning().float_tiles;
  for (const unsigned fewer : {6U, 3U, 1U}) {
    if (p.outputs <= fewer * tile_outputs) tiles = fewer;
  }
  return {.kernel = Kernel::float_rows, .tiles = tiles};
}

unsigned steps_of(const Problem& p) {
  constexpr std::size_t most_steps = most_short_words / step_words;
  return static_cast<unsigned>(std::clamp<std::size_t>((p.words + step_words - 1) / step_words, 1, most_steps));
}

/// Of bits without scales of outputs and bias: a positive scale of a row, as floats have one, leaves signs as they are.
Plan shape_binarized_rows(const Problem& p, const CudaGemmTuning&) {
  const bool signs = p.bits_out && !p.col_scaled && !p.has_bias;
  return {.kernel = Kernel::binarized_rows, .steps = steps_of(p), .finish = signs ? Finish::signs : Finish::scaled};
}

Finish finish_of(const Problem& p, const CudaGemmTuning& t) {
  if (!p.bits_out) {
    // A row that begins at a multiple of 16 bytes needs no image, and more than a word of outputs has none.
    const bool pays = p.outputs >= t.outputs_for_image && p.outputs <= 64 && p.outputs % 4 != 0;
    return pays && p.rows_in_sequence ? Finish::by_way_of_an_image : Finish::scaled;
  }
  if (p.row_scaled) return p.outputs > block_outputs ? Finish::scaled_of_many : Finish::scaled;
  return p.outputs >= t.outputs_for_large_blocks ? Finish::signs_of_many : Finish::signs;
}

Plan shape_short_rows(const Problem& p, const CudaGemmTuning& t) {
  return {.kernel = Kernel::short_rows, .steps = steps_of(p), .finish = finish_of(p, t)};
}

// --- What a run costs: its operands and its output pass by once, and a multiplication and an addition count as two.

double number(std::size_t n) { return static_cast<double>(n); }
double bit_row(const Problem& p) { return number(p.words) * sizeof(std::uint64_t); }
double float_row(const Problem& p) { return number(p.columns) * sizeof(float); }
double output_bytes(const Problem& p) {
  const std::size_t row = p.bits_out ? (p.outputs + 63) / 64 * sizeof(std::uint64_t) : p.outputs * sizeof(float);
  return number(p.rows) * number(row);
}
double operations(const Problem& p) { return 2 * number(p.rows) * number(p.columns) * number(p.outputs); }
/// Those of whole words, which is what is multiplied of bits.
double bit_operations(const Problem& p) { return 2 * number(p.rows) * number(64 * p.words) * number(p.outputs); }

/// Adds the passes of binarize: floats are read, bits written.
Cost with_binarized(Cost cost, const Problem& p, bool binarizes_x) {
  const double rows = (binarizes_x ? number(p.rows) : 0) + (p.float_weights ? number(p.outputs) : 0);
  cost.streamed += rows * (float_row(p) + bit_row(p));
  cost.launches += (binarizes_x ? 1 : 0) + (p.float_weights ? 1 : 0);
  return cost;
}

Cost cost_of_floats(const Problem& p) {
  return {.streamed = number(p.rows + p.outputs) * float_row(p) + output_bytes(p),
          .work = operations(p),
          .peak = cuda_rates().float_products};
}
/// A float is three bfloat16.
Cost cost_of_float_rows(const Problem& p) {
  constexpr double parts = 3;
  return {.streamed = number(p.rows) * float_row(p) + number(p.outputs) * bit_row(p) + output_bytes(p),
          .work = parts * operations(p),
          .peak = cuda_rates().bfloat_products};
}
Cost cost_of_binarized_rows(const Problem& p) {
  return with_binarized({.streamed = number(p.rows) * float_row(p) + number(p.outputs) * bit_row(p) + output_bytes(p),
                         .work = bit_operations(p),
                         .peak = cuda_rates().bit_products},
                        p, false);
}
Cost cost_of_bits(const Problem& p) {
  return with_binarized({.streamed = number(p.rows + p.outputs) * bit_row(p) + output_bytes(p),
                         .work = bit_operations(p),
                         .peak = cuda_rates().bit_products},
                        p, p.factors == Factors::signs_of_floats);
}
/// The mask is read beside X, and its ones are counted as products are.
Cost cost_of_masked_bits(const Problem& p) {
  Cost cost = cost_of_bits(p);
  cost.streamed += number(p.rows) * bit_row(p);
  cost.work *= 2;
  return cost;
}

constexpr std::array<KernelEntry, 8> all_kernels{{
    {Kernel::blas, "gemm_cublas", suits_blas, plain<Kernel::blas>, cost_of_floats},
    {Kernel::float_tiles, "gemm_float_tiles", suits_float_tiles, plain<Kernel::float_tiles>, cost_of_floats},
    {Kernel::float_rows, "gemm_float_rows", suits_float_rows, shape_float_rows, cost_of_float_rows},
    {Kernel::binarized_rows, "gemm_binarized_rows", suits_binarized_rows, shape_binarized_rows, cost_of_binarized_rows},
    {Kernel::masked_bits, "gemm_masked_bits", suits_masked_bits, plain<Kernel::masked_bits>, cost_of_masked_bits},
    {Kernel::short_rows, "gemm_short_rows", suits_short_rows, shape_short_rows, cost_of_bits},
    {Kernel::few_rows, "gemm_few_rows", suits_few_rows, plain<Kernel::few_rows>, cost_of_bits},
    {Kernel::many_rows, "gemm_bits", suits_many_rows, plain<Kernel::many_rows>, cost_of_bits},
}};

const KernelEntry& entry_of(const Plan& plan) {
  return *std::find_if(all_kernels.begin(), all_kernels.end(),
                       [&](const KernelEntry& e) { return e.kernel == plan.kernel; });
}

const char* text_of(Finish finish) {
  switch (finish) {
    case Finish::scaled: return "scaled";
    case Finish::scaled_of_many: return "scaled, many outputs";
    case Finish::signs: return "signs";
    case Finish::signs_of_many: return "signs, many outputs";
    case Finish::by_way_of_an_image: break;
  }
  return "rows side by side";
}

}  // namespace

std::span<const KernelEntry> kernels() noexcept { return all_kernels; }

Plan plan(const Problem& problem, const CudaGemmTuning& tuning) {
  for (const KernelEntry& entry : all_kernels) {
    if (entry.suits(problem, tuning)) return entry.shape(problem, tuning);
  }
  fail(ErrorCode::internal, "gemm: no kernel of the list suits");
}

Prediction predict(const Problem& problem, const Plan& plan) { return bitgraph::predict(entry_of(plan).cost(problem)); }

Prediction predict_bfloats(std::size_t rows, std::size_t columns, std::size_t outputs, std::size_t out_bytes) {
  const double work = 2 * number(rows) * number(columns) * number(outputs);
  const double in = number(rows + outputs) * number(columns) * 2;
  return bitgraph::predict({.streamed = in + number(rows) * number(outputs) * number(out_bytes),
                            .work = work,
                            .peak = cuda_rates().bfloat_products});
}

std::string describe(const Plan& plan) {
  std::string text = entry_of(plan).name;
  if (plan.steps != 0) text += fmt::format(", {} steps, {}", plan.steps, text_of(plan.finish));
  if (plan.tiles != 0) text += fmt::format(", {} tiles", plan.tiles);
  return text;
}

}  // namespace bitgraph::gemm_cuda
