// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/cpu_isa.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/isa.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

long long compiled_target() { return HWY_TARGET; }

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <bitgraph/core/error.hpp>

#include <array>
#include <cstdlib>
#include <string>
#include <utility>

namespace bitgraph {

namespace {

HWY_EXPORT(compiled_target);

constexpr std::array<std::pair<Isa, std::string_view>, 5> names{{{Isa::baseline, "baseline"},
                                                                 {Isa::neon, "neon"},
                                                                 {Isa::avx2, "avx2"},
                                                                 {Isa::avx512, "avx512"},
                                                                 {Isa::avx512_popcnt, "avx512_popcnt"}}};

Isa isa_of_target(long long target) {
  switch (target) {
    case HWY_AVX3_DL: return Isa::avx512_popcnt;
    case HWY_AVX3: return Isa::avx512;
    case HWY_AVX2: return Isa::avx2;
    case HWY_NEON: return Isa::neon;
    default: return Isa::baseline;
  }
}

void force(Isa isa) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (isa_of_target(target) == isa) {
      hwy::SetSupportedTargetsForTest(target);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      return;
    }
  }
  fail(ErrorCode::not_possible,
       "this machine or build lacks the instruction set '" + std::string(to_string(isa)) + "'");
}

void apply_environment() {
  const char* name = std::getenv("BITGRAPH_ISA");
  if (name != nullptr && *name != '\0') force(isa_from_string(name));
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

std::string_view to_string(Isa isa) noexcept {
  for (const auto& [value, name] : names) {
    if (value == isa) return name;
  }
  return "unknown";
}

Isa isa_from_string(std::string_view name) {
  for (const auto& [value, text] : names) {
    if (text == name) return value;
  }
  fail(ErrorCode::usage,
       "unknown instruction set '" + std::string(name) + "': use baseline, neon, avx2, avx512 or avx512_popcnt");
}

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
  force(now);
  return isas;
}

Isa active_isa() { return isa_of_target(HWY_DYNAMIC_DISPATCH(compiled_target)()); }

void force_isa(Isa isa) {
  hwy::SetSupportedTargetsForTest(0);
  force(isa);
}

}  // namespace bitgraph
#endif  // HWY_ONCE
