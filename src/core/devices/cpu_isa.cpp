// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/devices/cpu_isa.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/devices/isa.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

long long compiled_target() { return HWY_TARGET; }

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <bitgraph/core/error.hpp>

#include "core/names.hpp"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <atomic>
#include <cstdlib>
#include <string>

namespace bitgraph {

namespace {

HWY_EXPORT(compiled_target);

constexpr Names<Isa, 6> names{{{Isa::baseline, "baseline"},
                               {Isa::neon, "neon"},
                               {Isa::avx2, "avx2"},
                               {Isa::avx512, "avx512"},
                               {Isa::avx512_popcnt, "avx512_popcnt"},
                               {Isa::amx, "amx"}}};

Isa isa_of_target(long long target) {
  switch (target) {
    case HWY_AVX3_DL: return Isa::avx512_popcnt;
    case HWY_AVX3: return Isa::avx512;
    case HWY_AVX2: return Isa::avx2;
    case HWY_NEON: return Isa::neon;
    default: return Isa::baseline;
  }
}

/// Whether the processor has tiles of bytes, and the system gives us their registers, for which it wants to be asked.
bool has_amx() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr unsigned tiles_and_bytes = 3U << 24;  // leaf 7, edx
  constexpr long request_permission = 0x1023;     // ARCH_REQ_XCOMP_PERM
  constexpr long tile_data = 18;                  // XFEATURE_XTILEDATA
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & tiles_and_bytes) != tiles_and_bytes) return false;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
  return false;
#endif
}

/// Kernels of AMX go with those of avx512_popcnt.
bool amx_is_there() {
  static const bool there = has_amx();
  return there;
}

std::atomic<bool> amx_allowed{true};

void apply_environment() {
  const char* name = std::getenv("BITGRAPH_ISA");
  if (name != nullptr && *name != '\0') force_isa(isa_from_string(name));
}

/// Before main, so that the first kernel already obeys. A wrong value is reported by check_isa_environment().
const bool environment_applied = [] {
  try {
    apply_environment();
    return true;
  } catch (const Error&) {
    return false;
  }
}();

}  // namespace

std::string_view to_string(Isa isa) noexcept { return name_of(names, isa); }

Isa isa_from_string(std::string_view name) { return value_of(names, "instruction set", name); }

void check_isa_environment() {
  if (!environment_applied) apply_environment();
}

std::vector<Isa> available_isas() {
  const Isa now = active_isa();
  hwy::SetSupportedTargetsForTest(0);
  std::vector<Isa> isas;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    isas.insert(isas.begin(), isa_of_target(target));
  }
  if (isas.back() == Isa::avx512_popcnt && amx_is_there()) isas.push_back(Isa::amx);
  force_isa(now);
  return isas;
}

Isa active_isa() {
  const Isa isa = isa_of_target(HWY_DYNAMIC_DISPATCH(compiled_target)());
  return isa == Isa::avx512_popcnt && amx_allowed && amx_is_there() ? Isa::amx : isa;
}

void force_isa(Isa isa) {
  hwy::SetSupportedTargetsForTest(0);
  if (isa == Isa::amx && amx_is_there()) {
    force_isa(Isa::avx512_popcnt);
    amx_allowed = true;
    return;
  }
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (isa_of_target(target) == isa) {
      amx_allowed = false;
      // And those below it: a better target has a lower bit, and not every kernel is made for each.
      hwy::SetSupportedTargetsForTest(hwy::SupportedTargets() & ~(target - 1));
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      return;
    }
  }
  fail(ErrorCode::not_possible,
       "this machine or build lacks the instruction set '" + std::string(to_string(isa)) + "'");
}

}  // namespace bitgraph
#endif  // HWY_ONCE
