// SPDX-License-Identifier: Apache-2.0
// The whole library. Each header stands alone too.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/device.hpp>
#include <bitgraph/core/error.hpp>
#include <bitgraph/core/parallel_loop.hpp>
#include <bitgraph/core/random.hpp>
#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/advisor.hpp>
#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/bit_vector.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/formats/reorder.hpp>
#include <bitgraph/formats/sell_pattern.hpp>
#include <bitgraph/formats/sparse_bit_matrix.hpp>
#include <bitgraph/graph/components.hpp>
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/graph/packed_graph.hpp>
#include <bitgraph/io/array.hpp>
#include <bitgraph/io/dataset.hpp>
#include <bitgraph/io/graph.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/model.hpp>
#include <bitgraph/nn/train.hpp>
#include <bitgraph/ops/batch_norm.hpp>
#include <bitgraph/ops/binarize.hpp>
#include <bitgraph/ops/dropout.hpp>
#include <bitgraph/ops/gemm.hpp>
#include <bitgraph/ops/log_softmax.hpp>
#include <bitgraph/ops/mxv.hpp>
#include <bitgraph/ops/semiring.hpp>
#include <bitgraph/ops/spmm.hpp>
