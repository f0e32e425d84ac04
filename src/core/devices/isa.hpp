// SPDX-License-Identifier: Apache-2.0
// Which instruction set the CPU kernels use. Highway picks the best one at run time; this names and forces it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bitgraph {

enum class Isa {
  baseline,       ///< what every processor of the architecture has
  neon,           ///< Arm
  avx2,           ///< AVX2, FMA, BMI2
  avx512,         ///< AVX-512 F, BW, DQ, VL
  avx512_popcnt,  ///< with VPOPCNTDQ, VBMI2, VNNI (Ice Lake, Zen 4 and later)
  amx,            ///< the same with a matrix unit for bytes (Sapphire Rapids and later), if the system lets us use it
};

[[nodiscard]] std::string_view to_string(Isa isa) noexcept;
[[nodiscard]] Isa isa_from_string(std::string_view name);  ///< throws usage

/// Those that this build and this processor both have, worst first.
[[nodiscard]] std::vector<Isa> available_isas();

/// The one that kernels use now: asked of a kernel, not of the setting. BITGRAPH_ISA chooses it when the program
/// starts.
[[nodiscard]] Isa active_isa();

/// Throws usage or not_possible where BITGRAPH_ISA names what does not exist or what this machine lacks.
void check_isa_environment();

/// Makes every kernel use `isa` from now on, or the best below it that the kernel is made for. Throws not_possible
/// where the machine lacks it. Not while kernels run.
void force_isa(Isa isa);

/// Forces for the length of a scope.
class ScopedIsa {
 public:
  explicit ScopedIsa(Isa isa) : before_(active_isa()) { force_isa(isa); }
  ~ScopedIsa() { force_isa(before_); }
  ScopedIsa(const ScopedIsa&) = delete;
  ScopedIsa& operator=(const ScopedIsa&) = delete;

 private:
  Isa before_;
};

}  // namespace bitgraph
