// SPDX-License-Identifier: Apache-2.0
// Bits of x against the entries: is any set, how many are.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/mxv/cpu/bits.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/mxv/cpu/bit_rows-inl.hpp"
#include "ops/mxv/cpu/bit_tiles-inl.hpp"
#include "ops/mxv/cpu/kernels.hpp"
#include "ops/mxv/cpu/strip-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

template <int K>
HWY_INLINE void any_of(const mxv_cpu::AnyArgs& args, StripRange strips) {
  for (std::size_t s = strips.begin; s < strips.end; ++s) {
    const std::uint64_t selected = selected_rows(args.a, args.rule, s);
    std::uint64_t result = 0;
    if (selected != 0) {
      if constexpr (K == 0) {
        result = any_in_rows(args, s, selected);
      } else {
        result = any_in_tiles<K>(args.a, args.x, s, selected);
      }
    }
    const std::uint64_t before = args.out[s];
    if (args.rule.accumulate) result |= before;
    args.out[s] = (result & selected) | (args.rule.replace ? 0 : before & ~selected);
  }
}

void any(const mxv_cpu::AnyArgs& args, StripRange strips) {
  with_side(args.a.tile_dim, [&](auto k) HWY_ATTR { any_of<k()>(args, strips); });
}

template <bool kAll, int K, class T>
HWY_INLINE void count_of(const mxv_cpu::CountArgs<T>& args, StripRange strips) {
  HWY_ALIGN std::uint32_t counts[strip_rows];
  HWY_ALIGN T values[strip_rows];
  for (std::size_t s = strips.begin; s < strips.end; ++s) {
    const std::uint64_t selected = selected_rows(args.a, args.rule, s);
    if (selected != 0) {
      if constexpr (K == 0) {
        count_in_rows<kAll>(args.a, args.x, s, selected, counts);
      } else {
        count_in_tiles<kAll, K>(args.a, args.x, s, selected, counts);
      }
      for (std::size_t r = 0; r < strip_rows; ++r) {
        // Counts are below 2^31 but for absurd rows: signed numbers convert fastest.
        values[r] = static_cast<T>(static_cast<std::int32_t>(counts[r]));
      }
    } else if (!args.rule.replace) {
      continue;
    }
    store_strip<SumOf>(args.out + s * strip_rows, args.rule, selected, rows_of_strip(args.a, s), values);
  }
}

template <class T>
HWY_INLINE void count(const mxv_cpu::CountArgs<T>& args, StripRange strips) {
  with_side(args.a.tile_dim, [&](auto k) HWY_ATTR {
    if (args.x == nullptr) {
      count_of<true, k()>(args, strips);
    } else {
      count_of<false, k()>(args, strips);
    }
  });
}

void count_floats(const mxv_cpu::CountArgs<float>& args, StripRange strips) { count(args, strips); }
void count_doubles(const mxv_cpu::CountArgs<double>& args, StripRange strips) { count(args, strips); }
void count_integers(const mxv_cpu::CountArgs<std::int32_t>& args, StripRange strips) { count(args, strips); }

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bitgraph::mxv_cpu {
namespace {
HWY_EXPORT(any);
HWY_EXPORT(count_floats);
HWY_EXPORT(count_doubles);
HWY_EXPORT(count_integers);
}  // namespace

void any_strips(const AnyArgs& args, StripRange strips) { HWY_DYNAMIC_DISPATCH(any)(args, strips); }
void count_strips(const CountArgs<float>& args, StripRange strips) { HWY_DYNAMIC_DISPATCH(count_floats)(args, strips); }
void count_strips(const CountArgs<double>& args, StripRange strips) {
  HWY_DYNAMIC_DISPATCH(count_doubles)(args, strips);
}
void count_strips(const CountArgs<std::int32_t>& args, StripRange strips) {
  HWY_DYNAMIC_DISPATCH(count_integers)(args, strips);
}

}  // namespace bitgraph::mxv_cpu
#endif  // HWY_ONCE
