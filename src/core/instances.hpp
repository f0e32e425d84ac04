// SPDX-License-Identifier: Apache-2.0
// Functions that a source makes out of templates for others to call, from one list of types instead of a line each:
//
//     [[gnu::used]] constexpr auto instances =
//         for_types(Types<float, double>(), [](auto type) { return &sum_of<TypeOf<decltype(type)>>; });
//
// The addresses stay in the object file, and so do the functions.
#pragma once

#include <type_traits>

namespace bitgraph {

template <class... T>
struct Types {};

/// The type that for_types hands to a function.
template <class Type>
using TypeOf = typename Type::type;

/// Addresses of functions, or lists of them. A std::tuple would check what may be made of what, which takes a compiler
/// longer than some of the functions.
template <class... T>
struct Instances {};
template <class First, class... Rest>
struct Instances<First, Rest...> {
  First first;
  Instances<Rest...> rest;
};

constexpr Instances<> instances_of() { return {}; }
template <class First, class... Rest>
constexpr Instances<First, Rest...> instances_of(First first, Rest... rest) {
  return {first, instances_of(rest...)};
}

/// What fn(std::type_identity<T>()) gives for each type.
template <class... T, class Fn>
constexpr auto for_types(Types<T...>, Fn fn) {
  return instances_of(fn(std::type_identity<T>())...);
}

}  // namespace bitgraph
