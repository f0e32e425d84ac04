// SPDX-License-Identifier: Apache-2.0
// out = A x for pattern CSR without long rows, on a CUDA device: a few lanes a row, one short chain of loads. A warp
// has rows enough for whole units of a binary output.
#pragma once

#include "core/cuda/launch.cuh"
#include "ops/mxv/cuda/lanes.cuh"
#include "ops/mxv/cuda/rules.cuh"
#include "ops/mxv/tuning.hpp"

namespace bitgraph::mxv_cuda {

constexpr unsigned short_rows_threads = cuda_mxv_tuning().block_threads;

/// Columns that a lane has under way.
template <unsigned Lanes>
constexpr unsigned short_rows_ahead = Lanes == 1 ? cuda_mxv_tuning().ahead_alone : cuda_mxv_tuning().ahead;

template <class S, class T>
__device__ T element_product(const ValuesView<const T>& x, NodeId j) {
  return S::multiply(__ldg(x.data + j));
}
template <class S, class T>
__device__ T element_product(const BitsIn& x, NodeId j) {
  return static_cast<T>(bit_of(x.words, j) ? 1 : 0);
}

/// What a lane asks for of its row: every Lanes-th column, `ahead` of them at a time.
template <unsigned Lanes>
class RowColumns {
 public:
  static constexpr unsigned ahead = short_rows_ahead<Lanes>;

  __device__ RowColumns(const CsrPatternView& a, NodeId row) : none_(a.ncols) {
    if (row >= a.nrows) return;
    const EdgeOffset begin = __ldg(a.row_ptr + row);
    size_ = static_cast<unsigned>(__ldg(a.row_ptr + row + 1) - begin);
    first_ = a.col_ind + begin;
  }

  __device__ void load() {
    for (unsigned k = 0; k < ahead; ++k) of_[k] = next_ + k * Lanes < size_ ? __ldg(first_ + next_ + k * Lanes) : none_;
  }

  /// What element(j) gives for the columns, added up; the first ones are there.
  template <class S, class T, class Element>
  __device__ T sum(Element&& element) {
    T sum = S::template identity<T>();
    for (;;) {
      for (unsigned k = 0; k < ahead; ++k) {
        if (of_[k] != none_) sum = S::add(sum, element(of_[k]));
      }
      next_ += ahead * Lanes;
      if (next_ >= size_) return sum;
      load();
    }
  }

 private:
  NodeId none_;
  const NodeId* first_ = nullptr;
  unsigned size_ = 0;
  unsigned next_ = threadIdx.x % Lanes;
  NodeId of_[ahead];
};

/// Every Lanes-th bit of a warp's ballot, side by side.
template <unsigned Lanes>
__device__ std::uint32_t every_nth(std::uint32_t bits) {
  if constexpr (Lanes == 2) {
    bits &= 0x55555555U;
    bits = (bits | bits >> 1U) & 0x33333333U;
    bits = (bits | bits >> 2U) & 0x0F0F0F0FU;
    bits = (bits | bits >> 4U) & 0x00FF00FFU;
    bits = (bits | bits >> 8U) & 0x0000FFFFU;
  } else if constexpr (Lanes == 4) {
    bits &= 0x11111111U;
    bits = (bits | bits >> 3U) & 0x03030303U;
    bits = (bits | bits >> 6U) & 0x000F000FU;
    bits = (bits | bits >> 12U) & 0x000000FFU;
  }
  return bits;
}

/// A warp's 32 / Lanes results into a binary output: a unit of that many bits is nobody else's.
template <unsigned Lanes>
__device__ void store_unit(const BitsOut& out, const OutputRule& rule, NodeId row, NodeId nrows, std::uint32_t values) {
  using Unit =
      std::conditional_t<Lanes == 1, std::uint32_t, std::conditional_t<Lanes == 2, std::uint16_t, std::uint8_t>>;
  constexpr unsigned rows = 32 / Lanes;
  const NodeId left = nrows - row;
  const std::uint32_t own = left >= rows ? ~0U >> (32 - rows) : (1U << left) - 1;
  const std::uint32_t selected = selected_word(rule, row / 32) >> (row % 32);
  Unit* unit = reinterpret_cast<Unit*>(out.words) + row / rows;
  std::uint32_t bits = own & selected & values;
  if (rule.accumulate || !rule.replace) {
    const std::uint32_t keep = (rule.accumulate ? selected : 0U) | (rule.replace ? 0U : ~selected);
    if ((keep & own) != 0) bits |= *unit & keep;
  }
  *unit = static_cast<Unit>(bits);
}

template <class S, unsigned Lanes, class In, class Out>
__global__ void __launch_bounds__(short_rows_threads)
    mxv_short_rows(const __grid_constant__ MxvArgs<S, CsrPatternView, In, Out> args) {
  using T = typename ValueOf<Out>::type;
  trigger_dependent_launch();
  const NodeId row = (blockIdx.x * short_rows_threads + threadIdx.x) / Lanes;
  RowColumns<Lanes> columns(args.a, row);
  if (args.rule.mask == nullptr) columns.load();
  wait_for_previous_kernel();
  T sum = S::template identity<T>();
  if (row < args.a.nrows && selects(args.rule, row)) {
    if (args.rule.mask != nullptr) columns.load();
    sum = columns.template sum<S, T>([&](NodeId j) { return element_product<S, T>(args.x, j); });
  }
  sum = reduce_among<S>(sum, Lanes);
  if constexpr (is_bits<Out>) {
    const std::uint32_t values = every_nth<Lanes>(__ballot_sync(full_warp, sum != 0));
    if (threadIdx.x % 32 == 0 && row < args.a.nrows) store_unit<Lanes>(args.out, args.rule, row, args.a.nrows, values);
  } else {
    if (threadIdx.x % Lanes == 0 && row < args.a.nrows) store_value<S>(args.out, args.rule, row, sum);
  }
}

template <unsigned Lanes, class S, class In, class Out>
void launch_short_rows_of(const Device& device, const MxvArgs<S, CsrPatternView, In, Out>& args) {
  static ProgrammaticKernel kernel(mxv_short_rows<S, Lanes, In, Out>, "mxv_short_rows");
  const unsigned blocks = blocks_for(std::size_t{args.a.nrows} * Lanes, short_rows_threads);
  kernel.launch(device, blocks, short_rows_threads, 0, args);
}

/// A binary output has at most four lanes a row: see store_unit.
template <class S, class In, class Out>
void launch_short_rows(const Device& device, const MxvArgs<S, CsrPatternView, In, Out>& args, unsigned lanes) {
  if constexpr (!is_bits<Out>) {
    if (lanes == 8) return launch_short_rows_of<8>(device, args);
  }
  switch (lanes) {
    case 1: return launch_short_rows_of<1>(device, args);
    case 2: return launch_short_rows_of<2>(device, args);
    default: return launch_short_rows_of<4>(device, args);
  }
}

}  // namespace bitgraph::mxv_cuda
