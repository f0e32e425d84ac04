// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/formats/edge_weights.hpp>

#include "core/preconditions.hpp"
#include "core/threads/parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace bitgraph {

namespace {

constexpr std::size_t grain = 256;  // blocks
constexpr std::uint64_t ones = 0x0101010101010101U;

/// The lowest bits of eight bytes, gathered into a byte: the products meet in the highest one, each in its place.
std::uint64_t bits_of_bytes(std::uint64_t bytes) noexcept { return ((bytes & ones) * 0x0102040810204080U) >> 56; }

/// Eight bits as the lowest bits of eight bytes.
std::uint64_t bytes_of_bits(std::uint64_t bits) noexcept {
  const std::uint64_t apart = (bits * ones) & 0x8040201008040201U;
  return ((apart + 0x7F * ones) >> 7) & ones;
}

std::uint64_t eight_bytes(const std::uint8_t* from, std::size_t count) noexcept {
  std::uint64_t bytes = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&bytes, from, count);
  } else {
    for (std::size_t b = 0; b < count; ++b) bytes |= std::uint64_t{from[b]} << (8 * b);
  }
  return bytes;
}

}  // namespace

EdgeWeights pack_weights(std::span<const std::uint8_t> weights, const Device& device) {
  require_host(device, "pack_weights");
  const auto zero = std::find(weights.begin(), weights.end(), std::uint8_t{0});
  if (zero != weights.end())
    fail(ErrorCode::usage, fmt::format("edge weights: entry {} is 0, expected 1 to 255", zero - weights.begin()));
  EdgeWeights packed;
  packed.size_ = weights.size();
  if (weights.empty()) return packed;
  packed.planes_ =
      static_cast<int>(std::bit_width(static_cast<unsigned>(*std::max_element(weights.begin(), weights.end()))));
  const auto planes = static_cast<std::size_t>(packed.planes_);
  const std::size_t blocks = (weights.size() + EdgeWeights::block - 1) / EdgeWeights::block;
  packed.words_ = Buffer<std::uint64_t>(blocks * planes, device);
  parallel_for(device, blocks, grain, [&](std::size_t b) {
    std::uint64_t* words = packed.words_.data() + b * planes;
    std::fill_n(words, planes, std::uint64_t{0});
    for (std::size_t part = 0; part < 8 && b * 64 + part * 8 < weights.size(); ++part) {
      const std::size_t first = b * 64 + part * 8;
      const std::uint64_t bytes = eight_bytes(&weights[first], std::min<std::size_t>(8, weights.size() - first));
      for (std::size_t p = 0; p < planes; ++p) words[p] |= bits_of_bytes(bytes >> p) << (8 * part);
    }
  });
  return packed;
}

Buffer<std::uint8_t> unpack_weights(const EdgeWeights& weights, const Device& device) {
  require_host(device, "unpack_weights");
  Buffer<std::uint8_t> bytes(weights.size(), device);
  const auto planes = static_cast<std::size_t>(weights.num_planes());
  const std::size_t blocks = (weights.size() + EdgeWeights::block - 1) / EdgeWeights::block;
  parallel_for(device, blocks, grain, [&](std::size_t b) {
    const std::uint64_t* words = weights.words().data() + b * planes;
    for (std::size_t first = b * 64; first < std::min<std::size_t>(b * 64 + 64, weights.size()); first += 8) {
      std::uint64_t eight = 0;
      for (std::size_t p = 0; p < planes; ++p) eight |= bytes_of_bits((words[p] >> (first % 64)) & 0xFFU) << p;
      const std::size_t count = std::min<std::size_t>(8, weights.size() - first);
      for (std::size_t k = 0; k < count; ++k) bytes[first + k] = static_cast<std::uint8_t>(eight >> (8 * k));
    }
  });
  return bytes;
}

}  // namespace bitgraph
