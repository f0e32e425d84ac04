// SPDX-License-Identifier: Apache-2.0
// Which kernel a product of two matrices takes: a list of kernels, the first of which that suits is taken.
#pragma once

#include "core/devices/backend.hpp"
#include "ops/mxm/tuning.hpp"
#include "ops/prediction.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace bitgraph {

enum class MaskUse { none, inside, outside };

namespace mxm_plan {

enum class Operation : std::uint8_t { sum, masked_sum, product, counts };

/// What the choice depends on.
struct Problem {
  Operation operation = Operation::product;
  bool tiles = false;  ///< the operands are B2SR, else pattern CSR
  bool loose = false;  ///< they have many tiles with few bits, all of them
  MaskUse mask_use = MaskUse::none;
  BackendKind backend = BackendKind::cpu;
};

/// What the prediction depends on. Items are tiles where the kernel takes tiles, else entries.
struct Sizes {
  std::size_t bytes = 0;  ///< of all operands
  std::size_t rows = 0;   ///< of A and the mask, or tile rows
  std::size_t a_items = 0;
  std::size_t b_rows = 0;
  std::size_t b_items = 0;
  std::size_t mask_items = 0;
  std::size_t item_bytes = sizeof(NodeId);
};

enum class Kernel : std::uint8_t { whole_sum, masked_sum_of_tiles, masked_sum, tile_product, within, gather };

/// A kernel, and whether its operands are tiles that are unpacked first.
struct Plan {
  Kernel kernel = Kernel::gather;
  bool unpacks = false;
};

/// A row of the list.
struct KernelEntry {
  Kernel kernel;
  const char* name;
  bool (*suits)(const Problem&);
  Cost (*cost)(const Sizes&);  ///< on a CUDA device
};

/// In the order in which they are asked.
[[nodiscard]] std::span<const KernelEntry> kernels() noexcept;

/// The first kernel of the list that suits. There is one for every problem.
[[nodiscard]] Plan plan(const Problem& problem);

/// What a run on a CUDA device costs, as far as sizes tell: every row is taken as long as the mean. Skewed graphs have
/// more products, and bytes of a result are not known before it is there.
[[nodiscard]] Prediction predict(const Sizes& sizes, const Plan& plan);

/// "mxm_within, of unpacked tiles".
[[nodiscard]] std::string describe(const Plan& plan);

/// Whether a matrix has many tiles with few bits.
[[nodiscard]] bool is_loose(EdgeOffset tiles, EdgeOffset entries, int tile_dim,
                            const MxmTuning& tuning = mxm_tuning()) noexcept;

/// Whether blocks of a CUDA device that compare rows for each of so many entries take fewer each. `longest_row` is 0
/// where it is not known.
[[nodiscard]] bool compares_in_small_blocks(EdgeOffset entries, NodeId rows, EdgeOffset longest_row,
                                            const CudaMxmTuning& tuning = cuda_mxm_tuning()) noexcept;

}  // namespace mxm_plan

}  // namespace bitgraph
