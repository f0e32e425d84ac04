// SPDX-License-Identifier: Apache-2.0
// The graph formats that kernels are made for, as lists of types.
#pragma once

#include <bitgraph/formats/views.hpp>

#include "core/instances.hpp"

namespace bitgraph {

using TileViews = Types<BitTileView<4>, BitTileView<8>, BitTileView<16>, BitTileView<32>, BitTileView<64>>;
using GraphViews =
    Types<CsrPatternView, BitTileView<4>, BitTileView<8>, BitTileView<16>, BitTileView<32>, BitTileView<64>>;

}  // namespace bitgraph
