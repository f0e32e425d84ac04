// SPDX-License-Identifier: Apache-2.0
// Runs a check on every instruction set and several numbers of threads.
#pragma once

#include "core/devices/isa.hpp"
#include "support/sanitized.hpp"

#include <bitgraph/core/device.hpp>
#include <bitgraph/core/error.hpp>

#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>
#include <vector>

namespace bitgraph::test {

/// One, two, and a number that divides nothing. A single thread has no races; memory is not used otherwise by two.
inline constexpr auto thread_counts = [] {
  if constexpr (thread_sanitized) {
    return std::array{5};
  } else if constexpr (address_sanitized) {
    return std::array{1, 5};
  } else {
    return std::array{1, 2, 5};
  }
}();

/// body(device) with each of them.
template <class Body>
void with_thread_counts(Body&& body) {
  for (const int threads : thread_counts) {
    SCOPED_TRACE(std::to_string(threads) + " threads");
    body(Device::host(threads));
  }
}

/// The same on every instruction set that this machine has. AMX has kernels of products alone, and they have tests of
/// their own: gemm_test, plan_test and amx_levels_test. With sanitizers, which are slow, only the quickest one has all
/// numbers of threads: rows are shared out alike whatever a kernel's instructions are.
template <class Body>
void everywhere(Body&& body) {
  std::vector<Isa> isas = available_isas();
  std::erase(isas, Isa::amx);
  for (const Isa isa : isas) {
    const ScopedIsa scope(isa);
    ASSERT_EQ(active_isa(), isa);
    SCOPED_TRACE(std::string(to_string(isa)));
    if (isa == isas.back() || !address_sanitized) {
      with_thread_counts(body);
    } else {
      body(Device::host(thread_counts.back()));
    }
  }
}

/// Equal to the last bit; two NaN are equal.
inline void expect_identical(std::span<const float> actual, std::span<const float> expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t n = 0; n < expected.size(); ++n) {
    if (actual[n] != actual[n] && expected[n] != expected[n]) continue;
    ASSERT_EQ(actual[n], expected[n]) << "element " << n;
  }
}

/// The call throws a usage error whose message contains `text`.
template <class Call>
void expect_usage_error(Call&& call, const std::string& text) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown, expected: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::usage);
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

}  // namespace bitgraph::test
