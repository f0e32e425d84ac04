// SPDX-License-Identifier: Apache-2.0
// Functions that a source makes out of templates for others to call, from one list of types instead of a line each:
//
//     [[gnu::used]] constexpr auto instances =
//         for_types(Types<float, double>(), [](auto type) { return &sum_of<TypeOf<decltype(type)>>; });
//
// The tuple of addresses stays in the object file, and so do the functions.
#pragma once

#include <tuple>
#include <type_traits>

namespace bitgraph {

template <class... T>
struct Types {};

/// The type that for_types hands to a function.
template <class Type>
using TypeOf = typename Type::type;

/// What fn(std::type_identity<T>()) gives for each type, in a tuple.
template <class... T, class Fn>
constexpr auto for_types(Types<T...>, Fn fn) {
  return std::make_tuple(fn(std::type_identity<T>())...);
}

}  // namespace bitgraph
