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

}  // namespace bitgraph
