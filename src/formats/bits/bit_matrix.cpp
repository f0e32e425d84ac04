// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/formats/bit_matrix.hpp>

#include "core/preconditions.hpp"
#include "core/threads/parallel.hpp"
#include "formats/bits/bit_transpose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

namespace bitgraph {

namespace {

/// Throws bad_input naming the first row with a padding bit that is set.
template <BitDomain Domain>
void check_padding(const BitMatrixView<Domain>& bits) {
  if (bits.ncols % 64 == 0) return;
  const std::uint64_t padding = ~std::uint64_t{0} << (bits.ncols % 64);
  for (std::size_t i = 0; i < bits.nrows; ++i) {
    if ((bits.row(i)[bits.words_per_row - 1] & padding) != 0) {
      fail(ErrorCode::bad_input,
           fmt::format("bit matrix: row {}: a padding bit behind column {} is set", i, bits.ncols));
    }
  }
}

}  // namespace

template <BitDomain Domain>
BitMatrix<Domain>::BitMatrix(std::size_t nrows, std::size_t ncols, Buffer<std::uint64_t> words, Trusted)
    : nrows_(nrows), ncols_(ncols), words_(std::move(words)) {
  // Divided, not multiplied: the product of hostile sides may wrap around.
  const bool fits = nrows == 0 || words_per_row() == 0
                        ? words_.empty()
                        : words_.size() % nrows == 0 && words_.size() / nrows == words_per_row();
  if (!fits) {
    fail(ErrorCode::usage, fmt::format("bit matrix: {} words for {} x {} bits, expected {} a row", words_.size(), nrows,
                                       ncols, words_per_row()));
  }
}

template <BitDomain Domain>
BitMatrix<Domain>::BitMatrix(std::size_t nrows, std::size_t ncols, Buffer<std::uint64_t> words)
    : BitMatrix(nrows, ncols, std::move(words), trusted) {
  if (device().is_host()) {
    check_padding(std::as_const(*this).view());
  } else {
    const Buffer<std::uint64_t> here = words_.to(Device{});
    check_padding(BitMatrixView<Domain>{nrows, ncols, words_per_row(), here.data()});
  }
}

template class BitMatrix<ZeroOne>;
template class BitMatrix<PlusMinusOne>;

template <BitDomain Domain>
BitMatrix<Domain> transpose(const BitMatrix<Domain>& a) {
  require_host(a.device(), "transpose of a bit matrix");
  BitMatrix<Domain> b(a.ncols(), a.nrows(), a.device());
  const auto from = a.view();
  const auto to = b.view();
  parallel_for(a.device(), from.words_per_row, 1, [&](std::size_t word) {
    const std::size_t rows = std::min<std::size_t>(64, a.ncols() - word * 64);
    for (std::size_t block = 0; block < to.words_per_row; ++block) {
      std::array<std::uint64_t, 64> bits{};
      for (std::size_t r = 0; r < 64 && block * 64 + r < a.nrows(); ++r) bits[r] = from.row(block * 64 + r)[word];
      transpose_bits<64>(bits);
      for (std::size_t r = 0; r < rows; ++r) to.row(word * 64 + r)[block] = bits[r];
    }
  });
  return b;
}

template BitMatrix<ZeroOne> transpose(const BitMatrix<ZeroOne>&);
template BitMatrix<PlusMinusOne> transpose(const BitMatrix<PlusMinusOne>&);

BitMatrix<ZeroOne> to_bit_matrix(const CsrPattern& a) {
  require_host(a.device(), "to_bit_matrix");
  BitMatrix<ZeroOne> bits(a.nrows(), a.ncols(), a.device());
  const auto out = bits.view();
  parallel_for(a.device(), a.nrows(), 1024, [&](std::size_t i) {
    for (const NodeId j : a.row(static_cast<NodeId>(i))) out.row(i)[j / 64] |= std::uint64_t{1} << (j % 64);
  });
  return bits;
}

CsrPattern to_csr(const BitMatrix<ZeroOne>& a) {
  require_host(a.device(), "to_csr of a bit matrix");
  constexpr std::size_t most = std::numeric_limits<NodeId>::max();
  if (a.nrows() > most || a.ncols() > most) {
    fail(ErrorCode::usage, fmt::format("to_csr: {} x {} exceeds 2^32 - 1 rows or columns", a.nrows(), a.ncols()));
  }
  const auto in = a.view();
  Buffer<EdgeOffset> row_ptr(a.nrows() + 1, EdgeOffset{0}, a.device());
  parallel_for(a.device(), a.nrows(), 1024, [&](std::size_t i) {
    for (std::size_t w = 0; w < in.words_per_row; ++w)
      row_ptr[i] += static_cast<EdgeOffset>(std::popcount(in.row(i)[w]));
  });
  Buffer<NodeId> col_ind(exclusive_scan(a.device(), row_ptr.span()), a.device());
  parallel_for(a.device(), a.nrows(), 1024, [&](std::size_t i) {
    NodeId* to = col_ind.data() + row_ptr[i];
    for (std::size_t w = 0; w < in.words_per_row; ++w) {
      for (std::uint64_t bits = in.row(i)[w]; bits != 0; bits &= bits - 1) {
        *to++ = static_cast<NodeId>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
      }
    }
  });
  return {static_cast<NodeId>(a.nrows()), static_cast<NodeId>(a.ncols()), std::move(row_ptr), std::move(col_ind),
          trusted};
}

template <BitDomain Domain>
DenseMatrix<float> to_dense(const BitMatrix<Domain>& a) {
  require_host(a.device(), "to_dense");
  DenseMatrix<float> out(a.nrows(), a.ncols(), a.device());
  parallel_for(a.device(), a.nrows(), 64, [&](std::size_t i) {
    for (std::size_t j = 0; j < a.ncols(); ++j) out(i, j) = a.value(i, j);
  });
  return out;
}

template DenseMatrix<float> to_dense(const BitMatrix<ZeroOne>&);
template DenseMatrix<float> to_dense(const BitMatrix<PlusMinusOne>&);

}  // namespace bitgraph
