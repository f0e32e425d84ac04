// SPDX-License-Identifier: Apache-2.0
// The kernels of dropout: the mask, and its application. include/bitgraph/ops/dropout.hpp defines the stream: the eight
// draws of word w of row i stand at positions (i * words_per_row + w) * 8 .. + 8, and draw d gives columns 8 d .. 8 d
// + 8.
#pragma once

#include <bitgraph/core/random.hpp>
#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include "core/devices/backend.hpp"

namespace bitgraph {

struct DropoutArgs {
  BitMatrixView<ZeroOne, std::uint64_t> keep;
  std::uint32_t threshold = 65536;  ///< a column is kept where its number is below this
  RandomKey key;
};

struct ApplyDropoutArgs {
  DenseView<float> x;
  BitMatrixView<ZeroOne> keep;
  float scale = 1;  ///< of what is kept; the rest becomes +0, whatever it was
};

struct DropSetBitsArgs {
  BitMatrixView<PlusMinusOne, std::uint64_t> x;
  BitMatrixView<ZeroOne> keep;
};

struct DropEntriesArgs {
  float* out = nullptr;
  const float* values = nullptr;
  std::size_t size = 0;
  std::uint32_t threshold = 0;  ///< an entry is dropped where the first 24 bits of its word are below this
  float scale = 1;              ///< of what is kept
  RandomKey key;
};

void drop_entries(const Reference& backend, const DropEntriesArgs& args);
void drop_entries(const Cpu& backend, const DropEntriesArgs& args);
void dropout_mask(const Reference& backend, const DropoutArgs& args);
void dropout_mask(const Cpu& backend, const DropoutArgs& args);
void dropout_mask(const Cuda& backend, const DropoutArgs& args);
void apply_dropout(const Reference& backend, const ApplyDropoutArgs& args);
void apply_dropout(const Cpu& backend, const ApplyDropoutArgs& args);
void apply_dropout(const Cuda& backend, const ApplyDropoutArgs& args);
void drop_set_bits(const Reference& backend, const DropSetBitsArgs& args);
void drop_set_bits(const Cpu& backend, const DropSetBitsArgs& args);
void drop_set_bits(const Cuda& backend, const DropSetBitsArgs& args);

}  // namespace bitgraph
