// SPDX-License-Identifier: Apache-2.0
#include "ops/add/add.hpp"

#include <bitgraph/ops/add.hpp>

#include "ops/operands.hpp"

#include <fmt/format.h>

#include <type_traits>

namespace bitgraph {

namespace {

using Bits = BitMatrix<PlusMinusOne>;
using Floats = DenseMatrix<float>;

template <class In, class Out>
void check(const Out& out, const In& a, const In& b, const AddOptions& options) {
  if (a.nrows() != b.nrows() || a.ncols() != b.ncols() || out.nrows() != a.nrows() || out.ncols() != a.ncols()) {
    fail(ErrorCode::usage, fmt::format("add: A is {} x {}, B is {} x {}, the output is {} x {}", a.nrows(), a.ncols(),
                                       b.nrows(), b.ncols(), out.nrows(), out.ncols()));
  }
  check_length("add", options.a_scales.row, a.nrows(), "a_scales.row");
  check_length("add", options.a_scales.col, a.ncols(), "a_scales.col");
  check_length("add", options.b_scales.row, a.nrows(), "b_scales.row");
  check_length("add", options.b_scales.col, a.ncols(), "b_scales.col");
  check_length("add", options.bias, a.ncols(), "bias");
  if (options.activation != Activation::none && std::is_same_v<Out, Bits>) {
    fail(ErrorCode::usage, "add: signs behind a relu are all +1, and behind a tanh as before it; leave it out");
  }
  check_device("add", out.device(), a.device(), "A");
  check_device("add", out.device(), b.device(), "B");
}

}  // namespace

template <class In, class Out>
void add_into(Out& out, const In& a, const In& b, const AddOptions& options) {
  check(out, a, b, options);
  const AddArgs<decltype(a.view()), decltype(out.view())> args{a.view(),
                                                               b.view(),
                                                               out.view(),
                                                               or_null(options.a_scales.row),
                                                               or_null(options.a_scales.col),
                                                               or_null(options.b_scales.row),
                                                               or_null(options.b_scales.col),
                                                               or_null(options.bias),
                                                               options.activation};
  with_backend(out.device(), "add", [&](const auto& backend) { add(backend, args); });
}

template void add_into(Bits&, const Bits&, const Bits&, const AddOptions&);
template void add_into(Floats&, const Bits&, const Bits&, const AddOptions&);
template void add_into(Bits&, const Floats&, const Floats&, const AddOptions&);
template void add_into(Floats&, const Floats&, const Floats&, const AddOptions&);

}  // namespace bitgraph
