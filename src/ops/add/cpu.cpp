// SPDX-License-Identifier: Apache-2.0
// Sums a vector of columns at a time, signs by comparison to a mask; bits whose columns are treated alike a word at a
// time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/add/cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/add/add.hpp"
#include "ops/cpu_partial-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
constexpr std::size_t lanes = HWY_LANES(float);

/// Columns f .. f + lanes of row i, of which `count` exist.
HWY_INLINE VF load(const DenseView<const float>& x, std::size_t i, std::size_t f, std::size_t count) {
  return load_first(DF(), x.row(i) + f, count);
}
HWY_INLINE VF load(const BitMatrixView<PlusMinusOne>& x, std::size_t i, std::size_t f, std::size_t) {
  const DF d;
  const std::uint64_t bits = x.row(i)[f / 64] >> (f % 64);
  const auto mask = hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(&bits));
  return hn::IfThenElse(mask, hn::Set(d, 1.0F), hn::Set(d, -1.0F));
}

HWY_INLINE VF scaled(VF x, const float* row, const float* col, std::size_t i, std::size_t f, std::size_t count) {
  if (col != nullptr) x = hn::Mul(x, load_first(DF(), col + f, count));
  if (row != nullptr) x = hn::Mul(x, hn::Set(DF(), row[i]));
  return x;
}

template <class Args>
HWY_INLINE VF sum(const Args& args, std::size_t i, std::size_t f, std::size_t count) {
  const DF d;
  VF y = hn::Add(scaled(load(args.a, i, f, count), args.a_row, args.a_col, i, f, count),
                 scaled(load(args.b, i, f, count), args.b_row, args.b_col, i, f, count));
  if (args.bias != nullptr) y = hn::Add(y, load_first(d, args.bias + f, count));
  if (args.activation == Activation::relu) y = hn::IfThenZeroElse(hn::Lt(y, hn::Zero(d)), y);
  if (args.activation == Activation::tanh) y = for_each_lane(y, tanh_of);
  return y;
}

template <class Args>
HWY_INLINE void to_floats(const Args& args, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    for (std::size_t f = 0; f < args.out.ncols; f += lanes) {
      const std::size_t count = args.out.ncols - f;
      store_first(DF(), sum(args, i, f, count), args.out.row(i) + f, count);
    }
  }
}

template <class Args>
HWY_INLINE void to_signs(const Args& args, std::size_t begin, std::size_t end) {
  const DF d;
  for (std::size_t i = begin; i < end; ++i) {
    for (std::size_t word = 0; word < args.out.words_per_row; ++word) {
      std::uint64_t signs = 0;
      for (std::size_t bit = 0; bit < 64 && word * 64 + bit < args.out.ncols; bit += lanes) {
        const std::size_t f = word * 64 + bit;
        std::uint8_t mask[8] = {};
        hn::StoreMaskBits(d, hn::Ge(sum(args, i, f, args.out.ncols - f), hn::Zero(d)), mask);
        signs |= (std::uint64_t{mask[0]} | (std::uint64_t{mask[1]} << 8)) << bit;
      }
      args.out.row(i)[word] = signs & columns_of_word(args.out.ncols, word);
    }
  }
}

HWY_INLINE void combine(const AddBitsToBits& args, std::size_t begin, std::size_t end) {
  const std::size_t words = args.out.words_per_row;
  if (args.a_row == nullptr && args.b_row == nullptr) {
    // Of two paddings of zeros one of zeros comes: all rows as one.
    const std::uint64_t* a = args.a.words;
    const std::uint64_t* b = args.b.words;
    std::uint64_t* out = args.out.words;
    for (std::size_t n = begin * words; n < end * words; ++n) out[n] = a[n] | b[n];
    return;
  }
  for (std::size_t i = begin; i < end; ++i) {
    const SignTable signs(args, i);
    for (std::size_t word = 0; word < words; ++word) {
      args.out.row(i)[word] = signs(args.a.row(i)[word], args.b.row(i)[word]) & columns_of_word(args.out.ncols, word);
    }
  }
}

void bits_to_bits(const AddBitsToBits& args, std::size_t begin, std::size_t end) {
  if (args.same_in_all_columns()) return combine(args, begin, end);
  to_signs(args, begin, end);
}
void bits_to_floats(const AddBitsToFloats& args, std::size_t begin, std::size_t end) { to_floats(args, begin, end); }
void floats_to_bits(const AddFloatsToBits& args, std::size_t begin, std::size_t end) { to_signs(args, begin, end); }
void floats_to_floats(const AddFloatsToFloats& args, std::size_t begin, std::size_t end) {
  to_floats(args, begin, end);
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/threads/parallel.hpp"

namespace bitgraph {

namespace {

HWY_EXPORT(bits_to_bits);
HWY_EXPORT(bits_to_floats);
HWY_EXPORT(floats_to_bits);
HWY_EXPORT(floats_to_floats);

void add_rows(const AddBitsToBits& args, Range rows) { HWY_DYNAMIC_DISPATCH(bits_to_bits)(args, rows.begin, rows.end); }
void add_rows(const AddBitsToFloats& args, Range rows) {
  HWY_DYNAMIC_DISPATCH(bits_to_floats)(args, rows.begin, rows.end);
}
void add_rows(const AddFloatsToBits& args, Range rows) {
  HWY_DYNAMIC_DISPATCH(floats_to_bits)(args, rows.begin, rows.end);
}
void add_rows(const AddFloatsToFloats& args, Range rows) {
  HWY_DYNAMIC_DISPATCH(floats_to_floats)(args, rows.begin, rows.end);
}

}  // namespace

template <class In, class Out>
void add(const Cpu& backend, const AddArgs<In, Out>& args) {
  parallel_ranges(backend.device, args.out.nrows, 128, [&](Range rows) { add_rows(args, rows); });
}

template void add(const Cpu&, const AddBitsToBits&);
template void add(const Cpu&, const AddBitsToFloats&);
template void add(const Cpu&, const AddFloatsToBits&);
template void add(const Cpu&, const AddFloatsToFloats&);

}  // namespace bitgraph
#endif  // HWY_ONCE
