// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/bit_vector.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/ops/kernel_choice.hpp>
#include <bitgraph/ops/semiring.hpp>

#include <cstdint>

namespace bitgraph {

struct MxvOptions {
  Mask mask;                ///< elements of the output that are computed; the others keep what they hold
  bool replace = false;     ///< elements outside the mask become the semiring's identity
  bool accumulate = false;  ///< out(i) = add(out(i), result(i)), else out(i) = result(i)
};

/// out = A (x) x over a semiring: out(i) = sum over the entries (i, j) of A of multiply(x(j)). A is n x m, a CsrPattern
/// or a BitTileMatrix of any side; x has m elements, out n. It runs where A lives (a.device()), with that device's
/// threads; x, out and mask must live there too.
///
/// The types choose among the six schemes of Bit-GraphBLAS (section IV, Table II), masked or not:
///     x BitVector, out BitVector   bmv_bin_bin_bin     or_and
///     x BitVector, out Buffer<T>   bmv_bin_bin_full    plus_times, plus_pair: neighbours in the set
///     x Buffer<T>, out Buffer<T>   bmv_bin_full_full   plus_times, plus_pair (degrees), min_plus, max_times,
///                                                      min_first, any_first
/// T is float, double or std::int32_t; mxv_with (ops/mxv_with.hpp) takes any type and semiring. `out` must have its
/// final size and must not be x or the mask; a repeated call allocates nothing. Rows outside the mask are skipped, not
/// computed and dropped, as far as whole tile rows are outside. Throws usage naming the sizes.
///
/// Bits, integers, minima and maxima are exact and the same everywhere (no value may be NaN for the latter).
/// Floating-point sums are deterministic for one device, format and instruction set and any number of threads; the
/// order of a row's terms is not the reference's: the difference is at most d eps times the sum of their absolute
/// values, d the row's entries. O(nvals), or O(num_tiles) word operations.
template <class S, class Out, class Graph, class X>
void mxv_into(Out& out, S semiring, const Graph& a, const X& x, const MxvOptions& options = {});

/// out = x^T A: out(j) = sum over the entries (i, j) of A of multiply(x(i)), without transposing A: rows of A whose
/// element of x is not set, or is the semiring's identity and adds nothing, are skipped. Threads share the columns, so
/// sums are taken in the order of the rows. The rest as for mxv_into. Where A^T is at hand, mxv_into with it is faster
/// unless x is sparse. On a CUDA device, products of floating-point values are added up by way of A^T after all, which
/// every call makes anew, in memory of its own and waiting for the device: who repeats them gives mxv_into a transpose.
template <class S, class Out, class Graph, class X>
void vxm_into(Out& out, S semiring, const X& x, const Graph& a, const MxvOptions& options = {});

/// The kernels that mxv_into and vxm_into would run with these operands, which are not changed. They throw as those do.
/// Where vxm_into would make a transpose, so does vxm_explain.
template <class S, class Out, class Graph, class X>
[[nodiscard]] KernelChoice mxv_explain(Out& out, S semiring, const Graph& a, const X& x,
                                       const MxvOptions& options = {});
template <class S, class Out, class Graph, class X>
[[nodiscard]] KernelChoice vxm_explain(Out& out, S semiring, const X& x, const Graph& a,
                                       const MxvOptions& options = {});

/// The same with a new output: bits from bits over or_and, else values of the vector's type. The elements outside a
/// mask are the identity.
template <class S, class Graph>
[[nodiscard]] BitVector mxv(S semiring, const Graph& a, const BitVector& x, MxvOptions options = {}) {
  static_assert(std::is_same_v<S, OrAnd>, "bits give bits over or_and; say mxv<T>(...) for counts");
  BitVector out(a.nrows(), a.device());
  options.replace = true;
  mxv_into(out, semiring, a, x, options);
  return out;
}

template <class S, class Graph, class T>
[[nodiscard]] Buffer<T> mxv(S semiring, const Graph& a, const Buffer<T>& x, MxvOptions options = {}) {
  Buffer<T> out(a.nrows(), a.device());
  options.replace = true;
  mxv_into(out, semiring, a, x, options);
  return out;
}

/// mxv<float>(plus_times, a, bits): how many neighbours are in the set.
template <class T, class S, class Graph>
[[nodiscard]] Buffer<T> mxv(S semiring, const Graph& a, const BitVector& x, MxvOptions options = {}) {
  Buffer<T> out(a.nrows(), a.device());
  options.replace = true;
  mxv_into(out, semiring, a, x, options);
  return out;
}

}  // namespace bitgraph
