// SPDX-License-Identifier: Apache-2.0
// Tests of levels in planes: which devices multiply them.
#pragma once

#include <bitgraph/ops/level_gemm.hpp>

#include <gtest/gtest.h>

/// Skips a test, loudly, on a CUDA device that has no products of levels in planes.
#define BITGRAPH_REQUIRE_LEVELS_IN_PLANES(device)        \
  if (!bitgraph::level_gemm_takes_planes(device, 2, 64)) \
  GTEST_SKIP() << "NOT TESTED: products of levels in planes, as this CUDA device has none"
