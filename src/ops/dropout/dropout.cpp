// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/ops/dropout.hpp>

#include "ops/dropout/dropout.hpp"
#include "ops/operands.hpp"

#include <fmt/format.h>

#include <cmath>

namespace bitgraph {

namespace {

void check_rate(float rate) {
  if (!(rate >= 0 && rate < 1))
    fail(ErrorCode::usage, fmt::format("dropout: a rate of {}, expected 0 <= rate < 1", rate));
}

template <class X>
void check_mask(const X& x, const BitMatrix<ZeroOne>& keep) {
  if (keep.nrows() != x.nrows() || keep.ncols() != x.ncols()) {
    fail(ErrorCode::usage,
         fmt::format("dropout: X is {} x {}, the mask is {} x {}", x.nrows(), x.ncols(), keep.nrows(), keep.ncols()));
  }
  check_device("dropout", x.device(), keep.device(), "the mask", "X");
}

}  // namespace

void dropout_mask_into(BitMatrix<ZeroOne>& keep, float rate, RandomKey key) {
  check_rate(rate);
  const auto threshold = static_cast<std::uint32_t>(std::lround((1.0 - static_cast<double>(rate)) * 65536.0));
  const DropoutArgs args{keep.view(), threshold, key};
  with_backend(keep.device(), "dropout_mask", [&](const auto& backend) { dropout_mask(backend, args); });
}

void apply_dropout(DenseMatrix<float>& x, const BitMatrix<ZeroOne>& keep, float rate) {
  check_rate(rate);
  check_mask(x, keep);
  const ApplyDropoutArgs args{x.view(), keep.view(), 1.0F / (1.0F - rate)};
  with_backend(x.device(), "apply_dropout", [&](const auto& backend) { apply_dropout(backend, args); });
}

void drop_set_bits(BitMatrix<PlusMinusOne>& x, const BitMatrix<ZeroOne>& keep) {
  check_mask(x, keep);
  const DropSetBitsArgs args{x.view(), keep.view()};
  with_backend(x.device(), "drop_set_bits", [&](const auto& backend) { drop_set_bits(backend, args); });
}

void drop_entries_into(std::span<float> out, std::span<const float> values, float rate, RandomKey key,
                       const Device& device) {
  check_rate(rate);
  if (out.size() != values.size())
    fail(ErrorCode::usage, fmt::format("dropout: {} entries, {} places", values.size(), out.size()));
  const auto threshold = static_cast<std::uint32_t>(std::ceil(static_cast<double>(rate) * 0x1.0p24));
  const DropEntriesArgs args{out.data(), values.data(), values.size(), threshold, 1 / (1 - rate), key};
  with_host_backend(device, "drop_entries", [&](const auto& backend) { drop_entries(backend, args); });
}

}  // namespace bitgraph
