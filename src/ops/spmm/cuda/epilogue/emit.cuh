// SPDX-License-Identifier: Apache-2.0
// The epilogue of a vote, from counters to the output: the comparison with half of the neighbours in bit-sliced form,
// or counts as numbers.
#pragma once

#include <bitgraph/core/kernel.cuh>
#include <bitgraph/formats/views.hpp>

#include "ops/cuda_vote_counters.cuh"
#include "ops/spmm/cuda/block.hpp"
#include "ops/spmm/epilogue.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace bitgraph::spmm_cuda {

constexpr unsigned own_features = 4;  ///< of a lane, as numbers

/// An output to which sums or votes go as they are, four features at a time. It has kernels of its own: what stands
/// around a sum takes more instructions than the sum.
template <class Out>
struct Plain : Out {
  explicit Plain(const Out& out) : Out(out) {}
};

template <class Out>
inline constexpr bool is_plain = false;
template <class Out>
inline constexpr bool is_plain<Plain<Out>> = true;

/// An output that is written four features at a time as well, with something around the sums: see Frame.
template <class Out>
struct Framed : Out {
  explicit Framed(const Out& out) : Out(out) {}
};

/// The same of rows that need not begin, or end, with four features.
template <class Out>
struct Ragged : Out {
  explicit Ragged(const Out& out) : Out(out) {}
};

template <class Out>
inline constexpr bool is_ragged = false;
template <class Out>
inline constexpr bool is_ragged<Ragged<Out>> = true;

template <class Out>
inline constexpr bool is_framed = is_ragged<Out>;
template <class Out>
inline constexpr bool is_framed<Framed<Out>> = true;

template <class Out>
inline constexpr bool is_bits = std::is_base_of_v<BitMatrixView<PlusMinusOne, std::uint64_t>, Out>;

/// Stores of an output's elements, which nothing reads again soon. Another element type has functions of these names in
/// its own namespace.
__device__ inline void store_four(float* at, const float4& y) { __stcs(reinterpret_cast<float4*>(at), y); }
__device__ inline void store_one(float* at, float y) { __stcs(at, y); }

/// SpmmEpilogue::apply.
__device__ inline float through(const SpmmEpilogue& epilogue, std::size_t i, std::size_t f, float v) {
  if (epilogue.feature_scale != nullptr) v *= __ldg(epilogue.feature_scale + f);
  if (epilogue.feature_offset != nullptr) v += __ldg(epilogue.feature_offset + f);
  if (epilogue.row_scale != nullptr) v *= __ldg(epilogue.row_scale + i);
  if (epilogue.bias != nullptr) v += __ldg(epilogue.bias + f);
  return v;
}

/// What a lane has counted: 32 features from 32 word on, over the n neighbours of a row; no_row for nothing.
struct Counted {
  NodeId row;
  unsigned word;
  std::uint32_t n;
};

__device__ inline unsigned bits_of(std::uint32_t n) { return 32U - static_cast<unsigned>(__clz(static_cast<int>(n))); }

/// Words of 32 features in a row of a bit matrix: a multiple of two.
template <class View>
__device__ unsigned half_words(const View& x) {
  return 2 * static_cast<unsigned>(x.words_per_row);
}

/// The features of a word that exist.
__device__ inline std::uint32_t feature_mask(std::size_t ncols, unsigned word) {
  const std::size_t first = std::size_t{word} * 32;
  if (first >= ncols) return 0;
  return ncols - first >= 32 ? ~0U : (1U << (ncols - first)) - 1;
}

__device__ inline std::uint32_t* half_word(const BitMatrixView<PlusMinusOne, std::uint64_t>& out, NodeId row,
                                           unsigned word) {
  return reinterpret_cast<std::uint32_t*>(out.words + std::size_t{row} * out.words_per_row) + word;
}

/// The lanes of this lane's group.
template <unsigned Group>
__device__ std::uint32_t group_lanes() {
  if constexpr (Group == 32) {
    return full_warp;
  } else {
    return ((1U << Group) - 1) << (threadIdx.x % 32 / Group * Group);
  }
}

constexpr unsigned chunk_features = 32;  ///< of several chunks of a lane

/// A lane's first feature: the groups of a warp have the same ones. With several chunks eight lanes have all features
/// of theirs.
template <unsigned Group, unsigned Chunks = 1>
__device__ std::size_t first_feature() {
  const std::size_t slice = std::size_t{blockIdx.y} * Group * own_features * Chunks;
  const unsigned lane = threadIdx.x % Group;
  if constexpr (Chunks == 1) return slice + lane * own_features;
  return slice + lane / 8 * (Chunks * chunk_features) + lane % 8 * own_features;
}

/// What stands around the sums of a group's features, as a framed output has it, in shared memory. A lane has the four
/// features of a chunk, and so it has in `Chunks` chunks.
template <unsigned Group, unsigned Chunks>
struct Frame {
  float4 scale[Chunks][Group];
  float4 offset[Chunks][Group];
  float4 bias[Chunks][Group];

  /// For a whole block; a barrier must follow where there are features.
  __device__ void fill(const SpmmEpilogue& epilogue, std::size_t ncols) {
    if (threadIdx.x >= Group || !epilogue.has_features()) return;
#pragma unroll
    for (unsigned c = 0; c < Chunks; ++c) {
      const std::size_t f = first_feature<Group, Chunks>() + c * chunk_features;
      const auto four = [&](const float* values, float otherwise) {
        const auto one = [&](std::size_t at) {
          return values == nullptr || at >= ncols ? otherwise : __ldg(values + at);
        };
        return float4{one(f), one(f + 1), one(f + 2), one(f + 3)};
      };
      scale[c][threadIdx.x] = four(epilogue.feature_scale, 1);
      offset[c][threadIdx.x] = four(epilogue.feature_offset, 0);
      bias[c][threadIdx.x] = four(epilogue.bias, 0);
    }
  }

  /// SpmmEpilogue::apply to a lane's features of a row, of one chunk.
  __device__ float4 apply(const SpmmEpilogue& epilogue, const float4& sum, float row_scale, unsigned c) const {
    if (!epilogue.has_features()) return {row_scale * sum.x, row_scale * sum.y, row_scale * sum.z, row_scale * sum.w};
    const float4 s = scale[c][threadIdx.x % Group];
    const float4 o = offset[c][threadIdx.x % Group];
    const float4 b = bias[c][threadIdx.x % Group];
    return {row_scale * (s.x * sum.x + o.x) + b.x, row_scale * (s.y * sum.y + o.y) + b.y,
            row_scale * (s.z * sum.z + o.z) + b.z, row_scale * (s.w * sum.w + o.w) + b.w};
  }
};

/// Of outputs that need none.
struct NoFrame {
  __device__ void fill(const SpmmEpilogue&, std::size_t) {}
};

template <unsigned Group, unsigned Chunks, class Out>
using FrameOf = std::conditional_t<is_framed<Out>, Frame<Group, Chunks>, NoFrame>;

/// The scale of a row where there is a frame.
template <class Args>
__device__ float row_scale_of(const Args& args, std::size_t row) {
  return args.epilogue.row_scale == nullptr ? 1.0F : __ldg(args.epilogue.row_scale + row);
}

/// The sum of a row, four features a lane from `first` on, to the output; no_row for none. For a group of lanes. A
/// framed output takes what has gone through its frame.
template <unsigned Group, class Args>
__device__ void emit_sums(const Args& args, NodeId row, std::size_t first, const float4& sum) {
  using Out = std::remove_cvref_t<decltype(args.out)>;
  constexpr bool in_fours = is_plain<Out> || (is_framed<Out> && !is_ragged<Out>);
  const std::size_t ncols = args.out.ncols;
  if constexpr (in_fours && !is_bits<Out>) {
    if (row == no_row || first >= ncols) return;
    store_four(args.out.data + std::size_t{row} * args.out.stride + first, sum);
    return;
  }
  float y[own_features] = {sum.x, sum.y, sum.z, sum.w};
  if (!is_plain<Out> && !is_framed<Out> && row != no_row && !args.epilogue.is_identity()) {
#pragma unroll
    for (unsigned n = 0; n < own_features; ++n) {
      if (first + n < ncols) y[n] = through(args.epilogue, row, first + n, y[n]);
    }
  }
  if constexpr (is_bits<Out>) {
    // Two lanes make a byte, which goes out by itself: a word would take two more steps.
    std::uint32_t bits = 0;
#pragma unroll
    for (unsigned n = 0; n < own_features; ++n) {
      bits |= ((in_fours ? first : first + n) < ncols && y[n] >= 0 ? 1U : 0U) << n;
    }
    bits |= __shfl_xor_sync(group_lanes<Group>(), bits, 1) << own_features;
    const std::size_t byte = first / 8;
    if (first % 8 == 0 && row != no_row && byte < args.out.words_per_row * sizeof(std::uint64_t)) {
      reinterpret_cast<std::uint8_t*>(args.out.words + std::size_t{row} * args.out.words_per_row)[byte] =
          static_cast<std::uint8_t>(bits);
    }
  } else {
    if (row == no_row || first >= ncols) return;
    auto* const out = args.out.data + std::size_t{row} * args.out.stride + first;
    if (first + own_features <= ncols && reinterpret_cast<std::uintptr_t>(out) % (own_features * sizeof(*out)) == 0) {
      store_four(out, float4{y[0], y[1], y[2], y[3]});
      return;
    }
#pragma unroll
    for (unsigned n = 0; n < own_features; ++n) {
      if (first + n < ncols) store_one(out + n, y[n]);
    }
  }
}

/// Adds to `ones` four features' counts, from bit `nibble` of a word on: plane p is plane[p * stride]. Nibbles of the
/// planes are spread into bytes.
__device__ inline void add_numbers(std::uint32_t (&ones)[own_features], const std::uint32_t* plane, unsigned stride,
                                   unsigned nibble, int planes) {
#pragma unroll 1
  for (int low = 0; low < planes; low += 8) {
    std::uint32_t bytes = 0;
#pragma unroll 2
    for (int p = min(planes, low + 8); p-- > low;) {
      bytes = 2 * bytes + ((plane[p * stride] >> nibble & 0xFU) * 0x00204081U & 0x01010101U);
    }
#pragma unroll
    for (unsigned k = 0; k < own_features; ++k) ones[k] += (bytes >> 8 * k & 0xFFU) << low;
  }
}

/// Sums of signs: of n terms `ones` are +1. Rows of 2^31 entries and more take the slow way.
__device__ inline float4 sums_of(const std::uint32_t (&ones)[own_features], std::uint32_t n) {
  const auto number = [&](unsigned k) {
    return n >> 31 == 0 ? static_cast<float>(static_cast<int>(2 * ones[k] - n))
                        : static_cast<float>(2 * static_cast<std::int64_t>(ones[k]) - static_cast<std::int64_t>(n));
  };
  return {number(0), number(1), number(2), number(3)};
}

/// Counts as numbers, through the epilogue, of the lanes below `slots`: plane p of slot s is plane[p * slots + s].
/// Eight lanes have a slot, four features each.
template <class Args>
__device__ __noinline__ void emit_numbers(const Args& args, const std::uint32_t* plane, Counted counted, unsigned slots,
                                          int planes) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned nibble = lane % 8 * own_features;
#pragma unroll 1
  for (unsigned begin = 0; begin < slots; begin += 4) {
    const unsigned slot = begin + lane / 8;
    const NodeId row = __shfl_sync(full_warp, counted.row, slot);
    const unsigned word = __shfl_sync(full_warp, counted.word, slot);
    const std::uint32_t n = __shfl_sync(full_warp, counted.n, slot);
    std::uint32_t ones[own_features] = {};
    if (slot < slots) add_numbers(ones, plane + slot, slots, nibble, planes);
    emit_sums<8>(args, slot < slots ? row : no_row, std::size_t{word} * 32 + nibble, sums_of(ones, n));
  }
}

constexpr unsigned scratch_words = 272;  ///< of a warp, for its counts on their way to numbers

/// The same from counters in registers, of `Words` words that lie side by side, where nothing stands around the counts
/// and they are below 2^8. A lane makes bytes of its 32 counts of a word: those of features f, f + 8, f + 16, f + 24 in
/// word f; eight lanes share what a lane had, and all words of a lane go out at once. `scratch` has `Words` times
/// scratch_words words.
template <int Words, int Planes, class Args>
__device__ void emit_plain_bytes(const Args& args, const Counters<Words, Planes>& counters, const Counted& counted,
                                 unsigned slots, std::uint32_t* scratch) {
  static_assert(Planes <= 8);
  constexpr unsigned second_half = 36;  // of the words, where its banks are others
  constexpr unsigned lanes = 8 * Words;
  const unsigned lane = threadIdx.x % 32;
  auto* const words = reinterpret_cast<uint4*>(scratch);
  __syncwarp();
#pragma unroll
  for (unsigned w = 0; w < Words; ++w) {
    std::uint32_t bytes[8] = {};
#pragma unroll
    for (int f = 0; f < 8; ++f) {
#pragma unroll
      for (int p = 0; p < Planes; ++p) {
        const std::uint32_t plane = counters.of[w].plane[p];
        bytes[f] |= (p >= f ? plane << (p - f) : plane >> (f - p)) & (0x01010101U << p);
      }
    }
    words[w * scratch_words / 4 + lane] = {bytes[0], bytes[1], bytes[2], bytes[3]};
    words[w * scratch_words / 4 + second_half + lane] = {bytes[4], bytes[5], bytes[6], bytes[7]};
  }
  __syncwarp();
  const unsigned quarter = lane % 8;
  const unsigned word_of_slot = lane / 8 % Words;
  const uint4* const own = words + word_of_slot * scratch_words / 4 + quarter % 2 * second_half;
  // A byte of each word into the mantissa of 2^15, where it counts as it is.
  const unsigned selector = 0x7404U | quarter / 2 << 4;
  constexpr std::uint32_t two_to_15 = 0x47000000U;
  const float own_rest = -65536.0F - static_cast<float>(counted.n);
#pragma unroll 2
  for (unsigned begin = 0; begin < slots; begin += 32 / lanes) {
    const unsigned slot = begin + lane / lanes;
    const NodeId row = __shfl_sync(full_warp, counted.row, slot);
    const unsigned word = __shfl_sync(full_warp, counted.word, slot) + word_of_slot;
    const float rest = __shfl_sync(full_warp, own_rest, slot);
    const uint4 four = own[slot];
    const auto number = [&](std::uint32_t four_bytes) {
      return __fmaf_rn(2, __uint_as_float(__byte_perm(four_bytes, two_to_15, selector)), rest);
    };
    emit_sums<8>(args, slot < slots ? row : no_row, std::size_t{word} * 32 + quarter * own_features,
                 {number(four.x), number(four.y), number(four.z), number(four.w)});
  }
}

/// The same from counters in registers, where nothing stands around the counts.
template <int Planes, class Args>
__device__ void emit_plain_numbers(const Args& args, const BitCounter<Planes>& counter, const Counted& counted,
                                   unsigned slots, int planes) {
  static_assert(Planes <= 16);
  const unsigned lane = threadIdx.x % 32;
  const unsigned nibble = lane % 8 * own_features;
#pragma unroll 1
  for (unsigned begin = 0; begin < slots; begin += 4) {
    const unsigned slot = begin + lane / 8;
    const NodeId row = __shfl_sync(full_warp, counted.row, slot);
    const unsigned word = __shfl_sync(full_warp, counted.word, slot);
    const std::uint32_t n = __shfl_sync(full_warp, counted.n, slot);
    std::uint32_t low = 0;
    std::uint32_t high = 0;
#pragma unroll
    for (int p = Planes; p-- > 0;) {
      if (p >= planes) continue;
      const std::uint32_t bits = __shfl_sync(full_warp, counter.plane[p], slot) >> nibble & 0xFU;
      std::uint32_t& bytes = p < 8 ? low : high;
      bytes = 2 * bytes + (bits * 0x00204081U & 0x01010101U);
    }
    // A byte below 2^23 in the mantissa of 2^23 is that much more.
    const auto number = [&](unsigned k) {
      const float minus_n = -static_cast<float>(n);
      const float ones = __uint_as_float(0x4B000000U | (low >> 8 * k & 0xFFU)) - 8388608.0F;
      const float sum = __fmaf_rn(2, ones, minus_n);
      if constexpr (Planes <= 8) return sum;
      return __fmaf_rn(512, static_cast<float>(high >> 8 * k & 0xFFU), sum);
    };
    emit_sums<8>(args, slot < slots ? row : no_row, std::size_t{word} * 32 + nibble,
                 {number(0), number(1), number(2), number(3)});
  }
}

/// The votes of the lanes below `slots`.
template <int Planes, class Args>
__device__ void emit_votes(const Args& args, const BitCounter<Planes>& counter, const Counted& counted,
                           unsigned slots) {
  if (threadIdx.x % 32 >= slots || counted.row == no_row) return;
  *half_word(args.out, counted.row, counted.word) =
      counter.at_least(counted.n / 2 + counted.n % 2) & feature_mask(args.x.ncols, counted.word);
}

/// The lanes below `slots` have a counter each, of which `planes` planes matter; `scratch` has scratch_words words, or
/// as many as that takes.
template <int Planes, class Args>
__device__ void emit(const Args& args, const BitCounter<Planes>& counter, const Counted& counted, unsigned slots,
                     int planes, std::uint32_t* scratch) {
  using Out = std::remove_cvref_t<decltype(args.out)>;
  if constexpr (is_plain<Out> && is_bits<Out>) {
    emit_votes(args, counter, counted, slots);
  } else if constexpr (is_plain<Out>) {
    constexpr unsigned few_slots = 8;  // bytes are made of all lanes' counts
    if constexpr (Planes <= 8) {
      if (slots > few_slots) return emit_plain_bytes(args, Counters<1, Planes>{{counter}}, counted, slots, scratch);
    }
    emit_plain_numbers(args, counter, counted, slots, planes);
  } else {
    if constexpr (is_bits<Out>) {
      if (args.epilogue.is_identity()) return emit_votes(args, counter, counted, slots);
    }
    const unsigned lane = threadIdx.x % 32;
    __syncwarp();
#pragma unroll
    for (int p = 0; p < Planes; ++p) {
      if (p >= planes) break;
      if (lane < slots) scratch[p * slots + lane] = counter.plane[p];
    }
    __syncwarp();
    emit_numbers(args, scratch, counted, slots, planes);
  }
}

}  // namespace bitgraph::spmm_cuda
