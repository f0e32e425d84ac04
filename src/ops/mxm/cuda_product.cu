// SPDX-License-Identifier: Apache-2.0
#include "ops/mxm/cuda.hpp"
#include "ops/mxm/cuda_product.cuh"

namespace bitgraph {

namespace {

using namespace mxm_cuda;

CsrPattern multiply(const Device& device, const CsrPatternView& a, const CsrPatternView& b, const CsrPatternView& mask,
                    MaskUse use, Buffer<std::uint32_t>* counts) {
  const bool counted = counts != nullptr;
  SparseRows rows = use == MaskUse::inside
                        ? product_within(device, a, b, mask, counted)
                        : gathered_product(device, a, b, use == MaskUse::none ? CsrPatternView{} : mask, counted);
  if (counted) *counts = std::move(rows.counts);
  return {a.nrows, b.ncols, std::move(rows.row_ptr), std::move(rows.col_ind)};
}

template <int K>
CsrPattern multiply(const Device& device, const BitTileView<K>& a, const BitTileView<K>& b, const BitTileView<K>& mask,
                    MaskUse use, Buffer<std::uint32_t>* counts) {
  const CsrPattern left = unpacked(device, a), right = unpacked(device, b);
  if (use == MaskUse::none) return multiply(device, left.view(), right.view(), CsrPatternView{}, use, counts);
  const CsrPattern within = unpacked(device, mask);
  return multiply(device, left.view(), right.view(), within.view(), use, counts);
}

}  // namespace

template <class Graph>
CsrPattern product(const Cuda& backend, const ProductArgs<Graph>& args, Buffer<std::uint32_t>* counts) {
  const ScopedCudaDevice scope(backend.device.index());
  return multiply(backend.device, args.a, args.b, args.mask, args.mask_use, counts);
}

template CsrPattern product(const Cuda&, const ProductArgs<CsrPatternView>&, Buffer<std::uint32_t>*);
template CsrPattern product(const Cuda&, const ProductArgs<BitTileView<4>>&, Buffer<std::uint32_t>*);
template CsrPattern product(const Cuda&, const ProductArgs<BitTileView<8>>&, Buffer<std::uint32_t>*);
template CsrPattern product(const Cuda&, const ProductArgs<BitTileView<16>>&, Buffer<std::uint32_t>*);
template CsrPattern product(const Cuda&, const ProductArgs<BitTileView<32>>&, Buffer<std::uint32_t>*);
template CsrPattern product(const Cuda&, const ProductArgs<BitTileView<64>>&, Buffer<std::uint32_t>*);

}  // namespace bitgraph
