// SPDX-License-Identifier: Apache-2.0
// Walks bits, not vectors: compiled for each instruction set because those of today count bits in one instruction.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nn/training/run/cpu_kept_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstdint>

#include "nn/training/run/cpu_kept_rows.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::nn::HWY_NAMESPACE {
namespace {

HWY_INLINE std::uint64_t kept_word(const KeptRowArgs& args, std::size_t i, std::size_t word) {
  const std::uint64_t present = args.present.row(args.nodes[i])[word];
  return args.keep.words == nullptr ? present : present & args.keep.row(i)[word];
}

std::size_t count_row(const KeptRowArgs& args, std::size_t i) {
  std::size_t count = 0;
  for (std::size_t word = 0; word < args.present.words_per_row; ++word)
    count += static_cast<std::size_t>(hwy::PopCount(kept_word(args, i, word)));
  return count;
}

void fill_row(const KeptRowArgs& args, std::size_t i, NodeId* columns, float* values) {
  const float* from = args.values + args.row_ptr[args.nodes[i]];
  for (std::size_t word = 0; word < args.present.words_per_row; ++word) {
    const std::uint64_t present = args.present.row(args.nodes[i])[word];
    for (std::uint64_t left = kept_word(args, i, word); left != 0; left &= left - 1) {
      const auto bit = static_cast<unsigned>(hwy::Num0BitsBelowLS1Bit_Nonzero64(left));
      *columns++ = static_cast<NodeId>(word * 64 + bit);
      *values++ = args.scale * from[hwy::PopCount(present & ((std::uint64_t{1} << bit) - 1))];
    }
    from += hwy::PopCount(present);
  }
}

}  // namespace
}  // namespace bitgraph::nn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bitgraph::nn {

namespace {
HWY_EXPORT(count_row);
HWY_EXPORT(fill_row);
}  // namespace

std::size_t count_kept(const KeptRowArgs& args, std::size_t i) { return HWY_DYNAMIC_DISPATCH(count_row)(args, i); }

void fill_kept(const KeptRowArgs& args, std::size_t i, NodeId* columns, float* values) {
  HWY_DYNAMIC_DISPATCH(fill_row)(args, i, columns, values);
}

}  // namespace bitgraph::nn
#endif  // HWY_ONCE
