// SPDX-License-Identifier: Apache-2.0
// A vote with a fused product: the bits of the vote are multiplied by the weights before they leave the kernel.
#include "ops/fused_vote/ordered.cuh"
#include "ops/fused_vote/row_outputs.cuh"

namespace bitgraph {

namespace spmm_cuda::ordered {

namespace {

constexpr unsigned most_weights = 16;

/// All weights, their words side by side, with zeros behind the last of eight; and what products are scaled by.
template <unsigned RowWords>
struct SharedWeights {
  alignas(16) std::uint32_t scored[most_weights * RowWords];
  alignas(16) std::uint32_t multiplied[most_weights * RowWords];
  alignas(16) std::uint32_t before[most_weights * RowWords];
  float scale[most_weights];
  float bias[most_weights];

  __device__ void load(const FusedVote& args, unsigned threads) {
    load_rows(scored, args.scored, threads);
    load_rows(multiplied, args.multiplied, threads);
    load_rows(before, args.multiplied_before, threads);
    if (threadIdx.x < args.multiplied.count) {
      scale[threadIdx.x] = args.scale == nullptr ? 1.0F : __ldg(args.scale + threadIdx.x);
      bias[threadIdx.x] = args.bias == nullptr ? 0.0F : __ldg(args.bias + threadIdx.x);
    }
  }

 private:
  __device__ static void load_rows(std::uint32_t* to, const FusedWeights& weights, unsigned threads) {
    const unsigned rows = (weights.count + outputs - 1) / outputs * outputs;
    for (unsigned i = threadIdx.x; i < rows * RowWords; i += threads) {
      const unsigned row = i / RowWords;
      to[i] = row < weights.count ? __ldg(weights.words + row * weights.stride + i % RowWords) : 0;
    }
  }
};

/// Votes of `Span` lanes that have a row, N words each from `first` on.
template <unsigned N, unsigned Span>
struct Votes {
  NodeId row;
  unsigned first;
  std::uint32_t word[N];
  std::uint32_t mask[N];
  std::uint32_t before[N];
};

/// Bits that are the same as those of eight weights, two counts a word; of a lane's words.
template <unsigned RowWords, unsigned N>
__device__ void add_agreeing(std::uint32_t (&pair)[outputs / 2], const std::uint32_t (&bits)[N],
                             const std::uint32_t (&mask)[N], const std::uint32_t* weights) {
#pragma unroll
  for (unsigned k = 0; k < outputs; ++k) {
    std::uint32_t w[N];
    if constexpr (N == 4) {
      const uint4 four = *reinterpret_cast<const uint4*>(weights + k * RowWords);
      w[0] = four.x, w[1] = four.y, w[2] = four.z, w[3] = four.w;
    } else {
#pragma unroll
      for (unsigned n = 0; n < N; ++n) w[n] = weights[k * RowWords + n];
    }
    int same = 0;
#pragma unroll
    for (unsigned n = 0; n < N; ++n) same += __popc(~(bits[n] ^ w[n]) & mask[n]);
    pair[k / 2] += static_cast<std::uint32_t>(same) << (16 * (k % 2));
  }
}

/// Eight scores of 10 bits, three a word, and their scale.
__device__ inline uint4 scaled_scores(const std::uint32_t (&pair)[outputs / 2], float scale) {
  const auto score = [&](unsigned k) { return pair[k / 2] >> (16 * (k % 2)) & 0xFFFFU; };
  return {score(0) | score(1) << 10 | score(2) << 20, score(3) | score(4) << 10 | score(5) << 20,
          score(6) | score(7) << 10, __float_as_uint(scale)};
}

template <class S>
struct VoteSink {
  static constexpr bool short_rows = true;

  const FusedVote& args;
  const SharedWeights<S::row_words>& weights;
  float* scratch;  ///< of the warp
  template <class Count>
  __device__ void short_row(const Row& row, const Count& counts) {
    Votes<S::words, S::lanes> votes{row.row, threadIdx.x % S::lanes * S::words};
#pragma unroll
    for (unsigned w = 0; w < S::words; ++w) votes.word[w] = counts.of[w].at_least(row.n / 2 + row.n % 2);
    emit(votes);
  }
  template <class Count>
  __device__ void group(const Row& row, const Count& count) {
    Votes<1, S::row_words> votes{row.row, count.word};
    votes.word[0] = count.counter.at_least(row.n / 2 + row.n % 2);
    emit(votes);
  }
  template <class Count>
  __device__ void long_row(const Row& row, const Count& count) {
    Votes<1, S::row_words> votes{threadIdx.x % 32 < S::row_words ? row.row : no_row, count.word};
    votes.word[0] = count.counter.at_least(row.n / 2 + row.n % 2);
    emit(votes);
  }

 private:
  template <unsigned N, unsigned Span>
  __device__ void emit(Votes<N, Span>& votes) {
    const bool exists = votes.row != no_row;
    const std::size_t place = std::size_t{votes.row} * S::row_words + votes.first;
    std::uint32_t own_bits[N] = {};
    if (exists && args.own != nullptr) load_words(own_bits, args.own + votes.row * args.own_stride + votes.first);
#pragma unroll
    for (unsigned n = 0; n < N; ++n) {
      votes.mask[n] = word_mask(args.ncols, votes.first + n);
      votes.word[n] = (votes.word[n] & votes.mask[n]) | own_bits[n];
      votes.before[n] = 0;
    }
    if (exists && args.votes != nullptr) store_words(args.votes + place, votes.word);
    if (exists && args.before != nullptr) load_words(votes.before, args.before + place);
#pragma unroll 1
    for (unsigned first = 0; first < args.scored.count; first += outputs) {
      std::uint32_t pair[outputs / 2] = {};
      add_agreeing<S::row_words>(pair, votes.word, votes.mask, weights.scored + first * S::row_words + votes.first);
      join_lanes<Span>(pair);
      if (!exists || threadIdx.x % Span != 0) continue;
      const unsigned row_size = args.scored.count > outputs ? 2 * outputs : outputs;
      auto* const to = reinterpret_cast<uint4*>(args.scores + std::size_t{votes.row} * row_size + first);
      *to = args.score_scale == nullptr ? uint4{pair[0], pair[1], pair[2], pair[3]}
                                        : scaled_scores(pair, __ldg(args.score_scale + votes.row));
    }
#pragma unroll 1
    for (unsigned first = 0; first < args.multiplied.count; first += outputs) {
      std::uint32_t pair[outputs / 2] = {};
      add_agreeing<S::row_words>(pair, votes.word, votes.mask, weights.multiplied + first * S::row_words + votes.first);
      int bits = static_cast<int>(args.ncols);
      if (args.before != nullptr) {
        add_agreeing<S::row_words>(pair, votes.before, votes.mask, weights.before + first * S::row_words + votes.first);
        bits *= 2;
      }
      join_lanes<Span>(pair);
      float y[outputs];
#pragma unroll
      for (unsigned k = 0; k < outputs; ++k) {
        const int same = static_cast<int>(pair[k / 2] >> (16 * (k % 2)) & 0xFFFFU);
        y[k] = static_cast<float>(2 * same - bits) * weights.scale[first + k] + weights.bias[first + k];
      }
      const RowOutputs<Span> at{args.products, args.multiplied.count, first, scratch};
      at.write(votes.row, y, [](float, float value) { return value; });
    }
  }
};

template <class S>
__global__ void __launch_bounds__(S::threads, S::threads <= 256 ? 512 / S::threads : 1)
    vote_ordered(const __grid_constant__ FusedVote args, const __grid_constant__ Blocks blocks) {
  trigger_dependent_launch();
  __shared__ SharedWeights<S::row_words> weights;
  __shared__ HubScratch<S> hub_scratch;
  extern __shared__ float scratch[];  // where there are products
  weights.load(args, S::threads);
  __syncthreads();
  VoteSink<S> sink{args, weights, scratch + threadIdx.x / 32 * scratch_words};
  count_rows<S>(args.a, args.order, blocks, args.x, args.stride, hub_scratch, sink);
}

}  // namespace

}  // namespace spmm_cuda::ordered

void fused(const Cuda& backend, const FusedVote& args, const fused_cuda::Plan& chosen) {
  using namespace spmm_cuda::ordered;
  if (args.a.nrows == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  const auto launch = [&](auto shape) {
    using S = decltype(shape);
    static ProgrammaticKernel kernel(vote_ordered<S>, "vote_ordered");
    const Blocks blocks(args.order, args.a.nrows, S::threads, S::lanes);
    const std::size_t scratch = args.multiplied.count == 0 ? 0 : S::threads / 32 * scratch_words * sizeof(float);
    kernel.launch(backend.device, blocks.all, S::threads, scratch, args, blocks);
  };
  if (args.multiplied.count != 0) return with_shape<cuda_fused_vote_tuning().product_block>(chosen, launch);
  with_shape<cuda_fused_vote_tuning().vote_block>(chosen, launch);
}

}  // namespace bitgraph
