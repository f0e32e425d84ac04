// SPDX-License-Identifier: Apache-2.0
#include "formats/rows.hpp"
#include "ops/mxv/instances.hpp"
#include "ops/mxv/mxv.hpp"

namespace bitgraph {

namespace {

/// Elements of any vector, one by one; a set bit is 1.
template <class T>
T element(const ValuesView<T>& x, std::size_t i) {
  return x.data[i];
}
bool element(const BitVectorView<std::uint64_t>& x, std::size_t i) { return x.bit(i); }

template <class T>
void store(const ValuesView<T>& out, std::size_t i, T value) {
  out.data[i] = value;
}
void store(const BitVectorView<std::uint64_t>& out, std::size_t i, bool value) {
  const std::uint64_t mask = std::uint64_t{1} << (i % 64);
  out.words[i / 64] = value ? (out.words[i / 64] | mask) : (out.words[i / 64] & ~mask);
}

template <class Out>
struct ValueOf;
template <class T>
struct ValueOf<ValuesView<T>> {
  using type = T;
};
template <>
struct ValueOf<BitVectorView<std::uint64_t>> {
  using type = bool;
};

/// What multiply makes of element i of x, and nothing for a bit that is not set.
template <class S, class T, class In, class Use>
void with_product(const In& x, std::size_t i, const Use& use) {
  if constexpr (std::is_same_v<In, BitVectorView<>>) {
    if (x.bit(i)) use(T{1});
  } else {
    use(S::multiply(element(x, i)));
  }
}

}  // namespace

template <class S, class Graph, class In, class Out>
void mxv(const Reference&, const MxvArgs<S, Graph, In, Out>& args) {
  using T = typename ValueOf<Out>::type;
  for_each_row(args.a, [&](NodeId i, const auto& for_each_neighbor) {
    if (!args.rule.selects(i)) {
      if (args.rule.replace) store(args.out, i, S::template identity<T>());
      return;
    }
    T sum = S::template identity<T>();
    for_each_neighbor([&](NodeId j) { with_product<S, T>(args.x, j, [&](T product) { sum = S::add(sum, product); }); });
    store(args.out, i, args.rule.accumulate ? S::add(element(args.out, i), sum) : sum);
  });
}

template <class S, class Graph, class In, class Out>
void vxm(const Reference&, const MxvArgs<S, Graph, In, Out>& args) {
  using T = typename ValueOf<Out>::type;
  for (std::size_t j = 0; j < args.out.size; ++j) {
    const bool selected = args.rule.selects(j);
    if (selected ? !args.rule.accumulate : args.rule.replace) store(args.out, j, S::template identity<T>());
  }
  for_each_row(args.a, [&](NodeId i, const auto& for_each_neighbor) {
    with_product<S, T>(args.x, i, [&](T product) {
      for_each_neighbor([&](NodeId j) {
        if (args.rule.selects(j)) store(args.out, j, S::add(element(args.out, j), product));
      });
    });
  });
}

[[gnu::used]] constexpr auto mxv_reference_kernels = mxv_kernels_of_all<Reference>();

}  // namespace bitgraph
