// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/openblas.hpp"

#include <bitgraph/ops/gemm.hpp>

#include "core/devices/isa.hpp"
#include "ops/gemm/gemm.hpp"
#include "ops/operands.hpp"

#include <cblas.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

// What OpenBLAS calls itself when it is loaded, in builds that hold kernels of many processors.
extern "C" {
void gotoblas_dynamic_init() __attribute__((weak));
void gotoblas_dynamic_quit() __attribute__((weak));
}

namespace bitgraph {

namespace {

constexpr const char* variable = "OPENBLAS_CORETYPE";

/// Kernels with vectors of 32 bytes or more.
bool uses_wide_vectors(std::string_view kernels) {
  constexpr std::array<std::string_view, 7> wide{"Haswell",        "Zen",        "Excavator", "SkylakeX", "Cooperlake",
                                                 "SapphireRapids", "Sandybridge"};
  return std::find(wide.begin(), wide.end(), kernels) != wide.end();
}

std::string choose() {
  const bool can_choose = gotoblas_dynamic_init != nullptr && gotoblas_dynamic_quit != nullptr;
  const Isa best = available_isas().back();  // a build may lack lesser ones
  if (can_choose && best >= Isa::avx2 && std::getenv(variable) == nullptr &&
      !uses_wide_vectors(openblas_get_corename())) {
    setenv(variable, best >= Isa::avx512 ? "SkylakeX" : "Haswell", 1);
    gotoblas_dynamic_quit();
    gotoblas_dynamic_init();
    unsetenv(variable);
  }
  return openblas_get_corename();
}

}  // namespace

const std::string& openblas_kernels() {
  static const std::string kernels = choose();
  return kernels;
}

std::string float_gemm_kernels(const Device& device) {
  std::string kernels;
  if (on_cuda("float gemm", device, [&](const auto& cuda) { kernels = float_gemm_kernels(cuda); })) return kernels;
  return "OpenBLAS " + openblas_kernels();
}

}  // namespace bitgraph
