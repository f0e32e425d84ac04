// SPDX-License-Identifier: Apache-2.0
// Functions that a source makes out of templates for others to call, from one list of types instead of a line each:
//
//     [[gnu::used]] constexpr auto instances =
//         for_types(Types<float, double>(), []<class T>() { return &sum_of<T>; });
//
// The array of addresses stays in the object file, and so do the functions.
#pragma once

#include <tuple>

namespace bitgraph {

template <class... T>
struct Types {};

/// What fn.operator()<T>() gives for each type, in a tuple.
template <class... T, class Fn>
constexpr auto for_types(Types<T...>, Fn fn) {
  return std::make_tuple(fn.template operator()<T>()...);
}

}  // namespace bitgraph
