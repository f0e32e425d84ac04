// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace bitgraph {

struct ProfileOptions {
  std::size_t sampled_rows = 1000;  ///< all rows where there are fewer
  std::uint64_t seed = 0;
};

/// What a sample of rows says of one tile side.
struct TileProfile {
  int tile_dim = 0;
  double row_compression = 0;      ///< entries per non-empty bit row: Bit-GraphBLAS, Algorithm 1
  double predicted_num_tiles = 0;  ///< unbiased estimate from the same sample
  double predicted_bytes = 0;
};

/// Bit-GraphBLAS's sampling profile (section III-C, Algorithm 1) for every tile side, with pattern CSR beside them.
struct Profile {
  std::array<TileProfile, tile_dims.size()> tiles;
  std::size_t csr_pattern_bytes = 0;  ///< exact: it needs no sample
  std::size_t csr_float32_bytes = 0;  ///< exact
  std::size_t sampled_rows = 0;
};

/// O(sampled_rows * degree * k) whatever the size of the graph, after O(1) set-up. Deterministic for a seed.
[[nodiscard]] Profile profile(const CsrPattern& a, const ProfileOptions& options = {});

/// The format with the fewest predicted bytes.
struct Advice {
  bool use_tiles = false;  ///< false: pattern CSR
  int tile_dim = 0;        ///< 0 for pattern CSR
  double predicted_bytes = 0;
  std::string reason;  ///< one sentence with the figures
};

[[nodiscard]] Advice advise(const Profile& profile);

}  // namespace bitgraph
