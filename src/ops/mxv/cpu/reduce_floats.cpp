// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/mxv/cpu/reduce_floats.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/mxv/cpu/kernels.hpp"
#include "ops/mxv/cpu/reduce-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

void reduce_floats(const mxv_cpu::ReduceArgs<float>& args, StripRange strips) { reduce(args, strips); }

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bitgraph::mxv_cpu {
namespace {
HWY_EXPORT(reduce_floats);
}  // namespace

void reduce_strips(const ReduceArgs<float>& args, StripRange strips) {
  HWY_DYNAMIC_DISPATCH(reduce_floats)(args, strips);
}

}  // namespace bitgraph::mxv_cpu
#endif  // HWY_ONCE
