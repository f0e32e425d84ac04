// SPDX-License-Identifier: Apache-2.0
#include "ops/mxm/cuda/kernels.hpp"
#include "ops/mxm/cuda/product.cuh"

namespace bitgraph {

CsrPattern product(const Cuda& backend, const ProductArgs<CsrPatternView>& args, Buffer<std::uint32_t>* counts) {
  using namespace mxm_cuda;
  const ScopedCudaDevice scope(backend.device.index());
  const bool counted = counts != nullptr;
  const CsrPatternView hidden = args.mask_use == MaskUse::outside ? args.mask : CsrPatternView{};
  SparseRows rows = args.mask_use == MaskUse::inside
                        ? product_within(backend.device, args.a, args.b, args.mask, counted)
                        : gathered_product(backend.device, args.a, args.b, hidden, counted);
  if (counted) *counts = std::move(rows.counts);
  return {args.a.nrows, args.b.ncols, std::move(rows.row_ptr), std::move(rows.col_ind)};
}

}  // namespace bitgraph
