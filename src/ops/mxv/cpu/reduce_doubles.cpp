// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/mxv/cpu/reduce_doubles.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/mxv/cpu/kernels.hpp"
#include "ops/mxv/cpu/reduce-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

void reduce_doubles(const mxv_cpu::ReduceArgs<double>& args, StripRange strips) { reduce(args, strips); }

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bitgraph::mxv_cpu {
namespace {
HWY_EXPORT(reduce_doubles);
}  // namespace

void reduce_strips(const ReduceArgs<double>& args, StripRange strips) {
  HWY_DYNAMIC_DISPATCH(reduce_doubles)(args, strips);
}

}  // namespace bitgraph::mxv_cpu
#endif  // HWY_ONCE
