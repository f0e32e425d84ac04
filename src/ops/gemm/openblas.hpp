// SPDX-License-Identifier: Apache-2.0
// OpenBLAS chooses its kernels by the processor's name; this makes sure that the choice is a good one.
#pragma once

#include <string>

namespace bitgraph {

/// The kernels that OpenBLAS runs, "Haswell" for one. A processor newer than OpenBLAS itself gets kernels for SSE3, a
/// fifth as fast; the first call makes it choose by what the processor can do instead. OPENBLAS_CORETYPE is left alone
/// where it is set.
const std::string& openblas_kernels();

}  // namespace bitgraph
