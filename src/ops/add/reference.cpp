// SPDX-License-Identifier: Apache-2.0
#include "ops/add/add.hpp"

namespace bitgraph {

namespace {

float element(const BitMatrixView<PlusMinusOne>& x, std::size_t i, std::size_t f) {
  return PlusMinusOne::value(x.bit(i, f));
}
float element(const DenseView<const float>& x, std::size_t i, std::size_t f) { return x(i, f); }

void store(const DenseView<float>& out, std::size_t i, std::size_t f, float y) { out(i, f) = y; }
void store(const BitMatrixView<PlusMinusOne, std::uint64_t>& out, std::size_t i, std::size_t f, float y) {
  // One bit at a time: the word may be an operand's too.
  std::uint64_t& word = out.row(i)[f / 64];
  const std::uint64_t bit = std::uint64_t{1} << (f % 64);
  word = y >= 0 ? word | bit : word & ~bit;
  if (f + 1 == out.ncols) word &= columns_of_word(out.ncols, f / 64);
}

}  // namespace

template <class In, class Out>
void add(const Reference&, const AddArgs<In, Out>& args) {
  for (std::size_t i = 0; i < args.out.nrows; ++i) {
    for (std::size_t f = 0; f < args.out.ncols; ++f) {
      store(args.out, i, f, args.apply(i, f, element(args.a, i, f), element(args.b, i, f)));
    }
  }
}

template void add(const Reference&, const AddBitsToBits&);
template void add(const Reference&, const AddBitsToFloats&);
template void add(const Reference&, const AddFloatsToBits&);
template void add(const Reference&, const AddFloatsToFloats&);

}  // namespace bitgraph
