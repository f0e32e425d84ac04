// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/gemm.hpp"

namespace bitgraph {

namespace {

template <class Args>
float product(const Args& args, std::size_t i, std::size_t f) {
  float sum = 0;
  for (std::size_t j = 0; j < args.x.ncols; ++j) {
    if (args.keep.words != nullptr && !args.keep.bit(i, j)) continue;
    sum += PlusMinusOne::value(args.x.bit(i, j)) * PlusMinusOne::value(args.w.bit(f, j));
  }
  return args.apply(i, f, sum);
}

float product(const GemmOfFloats& args, std::size_t i, std::size_t f) {
  float sum = 0;
  for (std::size_t j = 0; j < args.x.ncols; ++j) sum += args.x(i, j) * PlusMinusOne::value(args.w.bit(f, j));
  return args.apply(i, f, sum);
}

template <class Args>
void gemm_to_floats(const Args& args) {
  for (std::size_t i = 0; i < args.x.nrows; ++i) {
    for (std::size_t f = 0; f < args.w.nrows; ++f) args.out(i, f) = product(args, i, f);
  }
}

}  // namespace

void gemm(const Reference&, const GemmToBits& args) {
  for (std::size_t i = 0; i < args.x.nrows; ++i) {
    for (std::size_t word = 0; word < args.out.words_per_row; ++word) args.out.row(i)[word] = 0;
    for (std::size_t f = 0; f < args.w.nrows; ++f) {
      args.out.row(i)[f / 64] |= static_cast<std::uint64_t>(product(args, i, f) >= 0) << (f % 64);
    }
  }
}

void gemm(const Reference&, const GemmToFloats& args) { gemm_to_floats(args); }
void gemm(const Reference&, const GemmOfFloats& args) { gemm_to_floats(args); }

void sign_gradient(const Reference&, const SignGradientArgs& args) {
  const bool masked = args.keep.words != nullptr;
  for (std::size_t f = 0; f < args.out.nrows; ++f) {
    for (std::size_t j = 0; j < args.out.ncols; ++j) {
      float sum = 0;
      for (std::size_t first = 0; first < args.g.nrows; first += 4) {
        float plus = 0;   // of all rows, or those that are kept and positive
        float minus = 0;  // of those that are kept and negative
        for (std::size_t i = first; i < first + 4 && i < args.g.nrows; ++i) {
          const float value = args.row_scale == nullptr ? args.g(i, f) : args.row_scale[i] * args.g(i, f);
          if (!masked) {
            plus += args.x.bit(i, j) ? value : -value;
          } else if (args.keep.bit(i, j)) {
            (args.x.bit(i, j) ? plus : minus) += value;
          }
        }
        sum += plus;
        if (masked) sum -= minus;
      }
      args.out(f, j) = sum;
    }
  }
}

}  // namespace bitgraph
