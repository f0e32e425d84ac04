// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/error.hpp>
#include <bitgraph/core/kernel_loop.hpp>
#include <bitgraph/core/parallel_loop.hpp>
#include <bitgraph/ops/mxv.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace bitgraph {

namespace detail {

/// What the loop of mxv_with works on; one pointer to it fits into the function that the threads are given.
template <class S, class T, class View>
struct MxvWithWork {
  View a;
  const T* x;
  T* out;
  const std::uint64_t* mask;
  bool complement, replace, accumulate;

  [[nodiscard]] constexpr bool selects(std::size_t i) const noexcept {
    return mask == nullptr || (((mask[i / 64] >> (i % 64)) & 1U) != 0) != complement;
  }
  constexpr void finish(std::size_t i, const T& sum) const {
    if (selects(i)) {
      out[i] = accumulate ? S::add(out[i], sum) : sum;
    } else if (replace) {
      out[i] = S::template identity<T>();
    }
  }
};

template <class S, class T>
void mxv_with_rows(const MxvWithWork<S, T, CsrPatternView>& work, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    T sum = S::template identity<T>();
    if (work.selects(i)) {
      for (const NodeId j : work.a.row(static_cast<NodeId>(i))) sum = S::add(sum, S::multiply(work.x[j]));
    }
    work.finish(i, sum);
  }
}

/// begin is a multiple of K.
template <class S, class T, int K>
void mxv_with_rows(const MxvWithWork<S, T, BitTileView<K>>& work, std::size_t begin, std::size_t end) {
  const BitTileView<K>& a = work.a;
  for (std::size_t first = begin; first < end; first += K) {
    const std::size_t rows = std::min<std::size_t>(K, end - first);
    std::array<T, K> sums;
    sums.fill(S::template identity<T>());
    bool any = false;
    for (std::size_t r = 0; r < rows; ++r) any = any || work.selects(first + r);
    for (EdgeOffset t = a.tile_row_ptr[first / K]; any && t < a.tile_row_ptr[first / K + 1]; ++t) {
      const T* x = work.x + std::size_t{a.tile_col_ind[t]} * K;
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::uint64_t bits = a.tile_row(t, static_cast<int>(r)); bits != 0; bits &= bits - 1) {
          sums[r] = S::add(sums[r], S::multiply(x[std::countr_zero(bits)]));
        }
      }
    }
    for (std::size_t r = 0; r < rows; ++r) work.finish(first + r, sums[r]);
  }
}

/// On a CUDA device, `units` the entries or tiles of the view; of mxv_with.cuh.
template <class S, class T, class View>
void mxv_with_on_device(const MxvWithWork<S, T, View>& work, const Device& device, EdgeOffset units);

template <class S, bool with_kernels, class T, class View>
void mxv_with_view(Buffer<T>& out, const View& a, const Device& device, const Buffer<T>& x, const MxvOptions& options,
                   [[maybe_unused]] EdgeOffset units) {
  const BitVector* mask = options.mask.bits;
  const MxvWithWork<S, T, View> work{a,
                                     x.data(),
                                     out.data(),
                                     mask == nullptr ? nullptr : mask->view().words,
                                     options.mask.complement,
                                     options.replace,
                                     options.accumulate};
  if constexpr (with_kernels) {
    if (!device.is_host()) return mxv_with_on_device(work, device, units);
  }
  constexpr std::size_t grain = 256;  // a multiple of every tile side
  parallel_loop(device, out.size(), grain,
                [&work](std::size_t begin, std::size_t end) { mxv_with_rows(work, begin, end); });
}

}  // namespace detail

/// mxv_into over a semiring of your own: S is any type with the three functions of SemiringOver (ops/semiring.hpp), T
/// any plain type. out(i) = sum over the entries (i, j) of A of multiply(x(j)), taken in the order of the columns, a
/// row by one thread: the same for any number of threads, and the same from every format. A is a CsrPattern or a
/// BitTileMatrix of any side, n x m; x has m elements, out n; mask, replace and accumulate as for mxv_into.
///
/// The loops are plain C++, compiled where they are used; those of mxv_into are vectorised. The semirings of the
/// library may be used here too, with types that mxv_into does not have.
///
/// On a CUDA device it runs where nvcc compiles the call (examples/own_semiring_cuda.cu): the functions of S are
/// constexpr or __host__ __device__, and the file is compiled with --expt-relaxed-constexpr. Sums are taken in a fixed
/// order that depends on the format, within d eps of the sum of their magnitudes for floats (d entries). A call from a
/// file of another compiler throws not_possible there. Throws usage naming the sizes. Allocates nothing. O(nvals).
template <class S, class T, class Graph, bool with_kernels = detail::with_kernels>
requires SemiringOver<S, T>
void mxv_with(Buffer<T>& out, S, const Graph& a, const Buffer<T>& x, const MxvOptions& options = {}) {
  const auto size = [](std::size_t n) { return std::to_string(n); };
  const BitVector* mask = options.mask.bits;
  if (x.size() != a.ncols() || out.size() != a.nrows() || (mask != nullptr && mask->size() != a.nrows())) {
    fail(ErrorCode::usage, "mxv_with: A is " + size(a.nrows()) + " x " + size(a.ncols()) + ", x has " + size(x.size()) +
                               " elements, the output " + size(out.size()) +
                               (mask == nullptr ? "" : ", the mask " + size(mask->size())));
  }
  require(out.size() == 0 || out.data() != x.data(), "mxv_with: the output is x");
  const Device& device = a.device();
  require_same_stream("mxv_with", "A", device, "x", x.device());
  require_same_stream("mxv_with", "A", device, "the output", out.device());
  if (mask != nullptr) require_same_stream("mxv_with", "A", device, "the mask", mask->device());
  if (!with_kernels && !device.is_host()) {
    fail(ErrorCode::not_possible, device.name() +
                                      ": mxv_with: a semiring of your own runs on the host only, unless nvcc "
                                      "compiles the call");
  }
  if constexpr (std::is_same_v<Graph, CsrPattern>) {
    detail::mxv_with_view<S, with_kernels>(out, a.view(), device, x, options, a.nvals());
  } else {
    with_tile_dim(a.tile_dim(), [&](auto k) {
      detail::mxv_with_view<S, with_kernels>(out, a.template view<k()>(), device, x, options, a.num_tiles());
    });
  }
}

}  // namespace bitgraph

#ifdef __CUDACC__
#include <bitgraph/ops/mxv_with.cuh>
#endif
