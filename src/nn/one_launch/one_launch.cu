// SPDX-License-Identifier: Apache-2.0
// All steps of a small model in one kernel, without a barrier: a warp has the same rows in every step, and what others
// read of a row goes through memory in words that say themselves which run they are of (row_program.hpp). Who needs a
// row reads until it is there. All blocks must be on the device at a time, hence the cooperative launch.
#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/kernel.cuh>
#include "core/cuda/cooperative.cuh"
#include "nn/one_launch/level_row_cuda.cuh"
#include "nn/one_launch/one_launch.hpp"
#include "nn/one_launch/row_cuda.cuh"

#include <algorithm>
#include <span>
#include <vector>

namespace bitgraph::nn {

namespace {

using row_cuda::Row;
using row_cuda::Shared;

// Warps of a block, for which there are kernels. Fewer warps leave more registers to each. Measured on an H200, on
// which 22 warps a multiprocessor give each of Cora's 2,708 rows its own warp, and 26 each of CiteSeer's 3,327.
constexpr unsigned few_warps = 22;
constexpr unsigned usual_warps = 26;

struct Args {
  const RowStep* steps;
  const Place* places;
  const RowRange* ranges;  ///< as places, pattern after pattern
  const FourColumns* columns;
  std::uint64_t* exchange;
  unsigned* runs;
  unsigned num_steps;
  unsigned num_patterns;
  unsigned num_slots;
  unsigned row_words;
  unsigned num_columns;  ///< FourColumns, which a block has on chip
};

/// A block a step.
__global__ void find_all_columns(const RowStep* steps, FourColumns* to) {
  const RowStep& s = steps[blockIdx.x];
  if (!is_of_levels(s.kind)) return;
  for (unsigned n = threadIdx.x; n < published_level_words(s.out_width); n += blockDim.x)
    row_cuda::find_columns(s, 4 * n, to[s.columns + n]);
}

/// `several`: warps have more than one row each. Fewer warps may have more registers each. `levels`: there are steps of
/// levels.
template <bool several, unsigned most_warps, bool levels>
__global__ void __launch_bounds__(32 * most_warps) run_all(const __grid_constant__ Args args) {
  __shared__ Shared shared;
  extern __shared__ __align__(16) std::uint64_t dynamic_words[];
  constexpr unsigned column_words = sizeof(FourColumns) / sizeof(std::uint64_t);
  std::uint64_t* const dynamic = dynamic_words + (levels ? args.num_columns * column_words : 0);
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const unsigned warps = blockDim.x / 32;
  const unsigned rows = warps * args.num_slots;
  auto* const ranges = reinterpret_cast<RowRange*>(dynamic) + warp * args.num_slots * args.num_patterns;
  std::uint64_t* const kept =
      dynamic + std::size_t{rows} * args.num_patterns + std::size_t{warp} * args.num_slots * args.row_words;
  const auto place_of = [&](unsigned slot) { return (slot * warps + warp) * gridDim.x + blockIdx.x; };

  // What the first loads bring is asked for before any of it is looked at; more than that there seldom is.
  static_assert(sizeof(RowStep) % sizeof(std::uint64_t) == 0 && sizeof(Place) == 8);
  const auto* const steps = reinterpret_cast<const std::uint64_t*>(args.steps);
  const unsigned step_words = args.num_steps * row_cuda::step_words;
  const unsigned num_ranges = args.num_slots * args.num_patterns;
  const auto range_at = [&](unsigned k) {
    const std::size_t at = std::size_t{k % args.num_patterns} * rows * gridDim.x + place_of(k / args.num_patterns);
    return __ldg(reinterpret_cast<const uint2*>(args.ranges) + at);
  };
  const unsigned runs = __ldcg(args.runs + blockIdx.x);
  const auto packed = __ldg(reinterpret_cast<const unsigned long long*>(args.places) + place_of(0));
  const std::uint64_t word = __ldg(steps + min(threadIdx.x, step_words - 1));
  const uint2 range = range_at(min(lane, num_ranges - 1));
  if (threadIdx.x < step_words) shared.steps[threadIdx.x] = word;
#pragma unroll 1
  for (unsigned n = threadIdx.x + blockDim.x; n < step_words; n += blockDim.x) shared.steps[n] = __ldg(steps + n);
  if (lane < num_ranges) ranges[lane] = {range.x, range.y};
#pragma unroll 1
  for (unsigned k = lane + 32; k < num_ranges; k += 32) {
    const uint2 more = range_at(k);
    ranges[k] = {more.x, more.y};
  }
  if constexpr (levels) {
    const auto* const columns = reinterpret_cast<const std::uint64_t*>(args.columns);
    for (unsigned n = threadIdx.x; n < args.num_columns * column_words; n += blockDim.x)
      dynamic_words[n] = __ldg(columns + n);
  }
  if (threadIdx.x == 0) shared.run = runs + 1;
  __syncthreads();
  if (threadIdx.x == 0) args.runs[blockIdx.x] = shared.run;

  const auto unpacked = [](unsigned long long at) {
    return Place{static_cast<NodeId>(at), static_cast<std::uint8_t>(at >> 32), static_cast<std::uint8_t>(at >> 40),
                 static_cast<std::uint8_t>(at >> 48), 0};
  };
  const auto* const columns = reinterpret_cast<const FourColumns*>(dynamic_words);
  Row row{shared, args.exchange, kept, ranges, columns, unpacked(packed), lane, warp, shared.run, 0, 1};
  for (unsigned n = 0; n < args.num_steps; ++n) {
    for (unsigned slot = 0; slot < (several ? args.num_slots : 1); ++slot) {
      if (several) {
        row.place = unpacked(__ldg(reinterpret_cast<const unsigned long long*>(args.places) + place_of(slot)));
        row.ranges = ranges + slot * args.num_patterns;
        row.kept = kept + std::size_t{slot} * args.row_words;
      }
      if constexpr (levels) {
        if (row_cuda::run_level_step(shared.step(n), row)) continue;
      }
      row_cuda::run_step(shared.step(n), row);
    }
  }
}

template <bool levels>
auto kernel_for(unsigned slots, unsigned warps) {
  if (slots > 1) return run_all<true, most_block_warps, levels>;
  if (warps <= few_warps) return run_all<false, few_warps, levels>;
  return warps > usual_warps ? run_all<false, most_block_warps, levels> : run_all<false, usual_warps, levels>;
}

using LaunchKernel = decltype(kernel_for<false>(1, 1));

LaunchKernel kernel_for(const RowProgram& program, const Placement& placement) {
  const bool levels =
      std::any_of(program.steps.begin(), program.steps.end(), [](const RowStep& s) { return is_of_levels(s.kind); });
  return levels ? kernel_for<true>(placement.slots, placement.warps)
                : kernel_for<false>(placement.slots, placement.warps);
}

/// Row pointers of a device, as ranges of the rows that places have; places without a row have empty ones.
void append_ranges(std::vector<RowRange>& ranges, const Placement& placement, std::span<const EdgeOffset> row_ptr) {
  for (const Place& p : placement.places) {
    if (p.row == no_row) {
      ranges.emplace_back();
    } else {
      ranges.push_back({static_cast<std::uint32_t>(row_ptr[p.row]), static_cast<std::uint32_t>(row_ptr[p.row + 1])});
    }
  }
}

/// What a launch reads, on the device.
class RowLaunch final : public OneLaunch {
 public:
  RowLaunch(const RowProgram& program, const Placement& placement, const std::vector<RowRange>& ranges,
            LaunchKernel kernel, std::size_t shared_bytes, const Device& device)
      : kernel_(kernel),
        steps_(Buffer<RowStep>::copy_of(program.steps, device)),
        places_(Buffer<Place>::copy_of(placement.places, device)),
        ranges_(Buffer<RowRange>::copy_of(ranges, device)),
        columns_(program.columns, device),
        exchange_(program.exchange_words, std::uint64_t{0}, device),
        runs_(placement.blocks, std::uint32_t{0}, device),
        patterns_(static_cast<unsigned>(program.row_ptrs.size())),
        row_words_(static_cast<unsigned>(program.row_words)),
        blocks_(placement.blocks),
        warps_(placement.warps),
        slots_(placement.slots),
        shared_bytes_(shared_bytes) {
    if (columns_.empty()) return;
    const ScopedCudaDevice scope(device.index());
    find_all_columns<<<static_cast<unsigned>(steps_.size()), 64, 0, stream_of(device)>>>(steps_.data(),
                                                                                         columns_.data());
    cuda_check_launch("one launch");
  }

  void run() const override {
    const Device& device = steps_.device();
    const ScopedCudaDevice scope(device.index());
    Args args{steps_.data(),
              places_.data(),
              ranges_.data(),
              columns_.data(),
              const_cast<std::uint64_t*>(exchange_.data()),
              const_cast<std::uint32_t*>(runs_.data()),
              static_cast<unsigned>(steps_.size()),
              patterns_,
              slots_,
              row_words_,
              static_cast<unsigned>(columns_.size())};
    void* parameters[] = {&args};
    cuda_check(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(kernel_), dim3(blocks_), dim3(32 * warps_),
                                           parameters, shared_bytes_, stream_of(device)),
               "one launch");
  }

 private:
  LaunchKernel kernel_;
  Buffer<RowStep> steps_;
  Buffer<Place> places_;
  Buffer<RowRange> ranges_;
  Buffer<FourColumns> columns_;
  Buffer<std::uint64_t> exchange_;
  Buffer<std::uint32_t> runs_;  ///< how many there were, as each block counts them
  unsigned patterns_ = 0;
  unsigned row_words_ = 0;
  unsigned blocks_ = 0;
  unsigned warps_ = 0;  ///< a block
  unsigned slots_ = 0;  ///< a warp
  std::size_t shared_bytes_ = 0;
};

}  // namespace

std::size_t one_launch_bytes(const Cuda& backend, std::span<const EdgeOffset> row_ptr, std::size_t patterns,
                             std::size_t steps) {
  const Placement placement = place_rows(row_ptr, cuda_limits(backend.device).multiprocessors);
  return placement.places.size() * (sizeof(Place) + patterns * sizeof(RowRange)) + steps * sizeof(RowStep) +
         placement.blocks * sizeof(std::uint32_t);
}

std::unique_ptr<OneLaunch> make_one_launch(const Cuda& backend, const LaunchSteps& steps) {
  const Device& device = backend.device;
  const auto program = row_program(steps);
  if (!program || program->row_ptrs.empty() || steps.num_rows == 0) return nullptr;
  const ScopedCudaDevice scope(device.index());
  const CudaLimits& limits = cuda_limits(device);
  std::vector<std::vector<EdgeOffset>> row_ptrs;
  for (const EdgeOffset* const row_ptr : program->row_ptrs) {
    auto& copy = row_ptrs.emplace_back(steps.num_rows + 1);
    Device::copy(copy.data(), Device{}, row_ptr, device, copy.size() * sizeof(EdgeOffset));
    if (copy.back() >= not_kept) return nullptr;
  }
  const Placement placement = place_rows(row_ptrs[program->aggregation], limits.multiprocessors);
  std::vector<RowRange> ranges;
  for (const auto& row_ptr : row_ptrs) append_ranges(ranges, placement, row_ptr);

  const std::size_t rows = std::size_t{placement.warps} * placement.slots;
  const std::size_t shared_bytes =
      rows * (row_ptrs.size() + program->row_words) * sizeof(std::uint64_t) + program->columns * sizeof(FourColumns);
  const LaunchKernel run = kernel_for(*program, placement);
  cudaFuncAttributes kernel{};
  cuda_check(cudaFuncGetAttributes(&kernel, run), "one launch");
  const std::size_t most_dynamic = limits.shared_bytes_a_block - kernel.sharedSizeBytes;
  if (shared_bytes > most_dynamic) return nullptr;
  allow_shared_bytes(run, most_dynamic, "one launch");
  return std::make_unique<RowLaunch>(*program, placement, ranges, run, shared_bytes, device);
}

}  // namespace bitgraph::nn
