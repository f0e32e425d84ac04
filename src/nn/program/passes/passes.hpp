// SPDX-License-Identifier: Apache-2.0
// The passes: each rewrites a program, and keeps what it computes. compile() has their order.
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/nn/plan.hpp>

#include <bitgraph/nn/program.hpp>
#include "nn/program/operators.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace bitgraph::nn {

/// What passes decide by.
struct PassContext {
  const InferenceOptions& options;  ///< with one form a layer
  GraphFacts graph;
  bool on_host = true;
  bool whole = true;                ///< the graph is on the device as a whole; it does not come in parts
  bool sparse_features = false;     ///< the features are a sparse bit matrix
  bool features_in_planes = false;  ///< the features are levels in planes: packs_features()
  std::string_view without;         ///< leaves out this pass of passes_to_leave_out(), to see what it changes
};

struct Pass {
  std::string_view name;
  void (*rewrite)(Program&, const PassContext&);
};

/// Layers in floats become layers of the given forms: inputs of products of signs and of votes are quantized, by
/// operators of their own, and so are inputs of products and of sums of levels. One form a layer.
void apply_precision(Program& program, std::span<const Precision> forms);

/// How a program in floats takes its features, once its layers have these forms: signs with scales; levels with a scale
/// of each row where products of levels are all that reads them; else floats.
[[nodiscard]] NumberFormat format_of_features(const Program& program, std::span<const Precision> forms);

/// Of values that stand side by side and then become levels, each becomes levels first.
void quantize_before_joining(Program& program);

/// A product or a sum of levels whose result is quantized, rectified or both does so in its epilogue (QGTC, section
/// 4.5).
void make_levels_early(Program& program);

/// An operator whose result is quantized makes the signs itself: scales in front of a sign are dropped (BitGNN, section
/// 3.1.2).
void make_signs_early(Program& program);

/// For training: each layer drops elements of its input.
void drop_inputs(Program& program);

/// What two operators make alike is made once: a value that is quantized for several readers, most of all.
void share(Program& program);

/// What an operator does to each value; none: it is no relu and no tanh.
[[nodiscard]] Activation activation_of(const Operator& op);

/// A relu or a tanh goes into the sum before it.
void fold_activations(Program& program);

/// Where that moves fewer bytes: mean over neighbours of products becomes products of counts (BitGNN, section 3.1.3).
/// Each neighbour is then one bit a column, not a float.
void sequence(Program& program, const PassContext& context);

/// Whether a device may run all of it in one launch: the graph is small, or the options ask for that.
[[nodiscard]] bool may_be_one_launch(const InferenceOptions& options, std::size_t nodes, std::size_t entries);

/// Operators that aggregate get the form of the graph that suits them: what the options name, else the quickest. Sums
/// of levels over tiles get bit planes of their input as a second output (QGTC, section 4.3), and so do sums of two
/// bits over a large pattern on a device.
void choose_graph_forms(Program& program, const PassContext& context);

/// A sum of levels gets a second output: bit planes of its input, for products of tiles; or what the caller makes of
/// it: Value::is_sum_memory().
Value& add_memory(Program& program, Operator& op);

/// Whether sums of levels of so many bits multiply tiles of the graph by planes, where the options name no format.
[[nodiscard]] bool has_full_tiles(const PassContext& context, int bits);

/// Where the features are in planes: other levels of 2 bits are, too, where their kernels hand them on so. Whatever
/// the graph is: W lies in memory as these kernels read it.
void pack_levels_in_planes(Program& program, const PassContext& context);

/// Whether the features of a plan are to be levels in planes, on a device that takes them
/// (level_gemm_takes_planes()). `plain` is in floats.
[[nodiscard]] bool packs_features(const Program& plain, const PassContext& context);

/// On a CUDA device products of levels get the strategy that the options name.
void name_level_strategy(Program& program, const PassContext& context);

/// Patterns that have one kernel on a CUDA device, over a whole graph: a vote and the sum behind it, the product behind
/// that, scores of the last layer, counts and their product (BitGNN, section 3.3).
void fuse(Program& program, const PassContext& context);

/// On the host: outputs of layers that stand side by side are put together some rows at a time, for the product.
void join_rows(Program& program, const PassContext& context);

/// In how many parts the rows of the graph lie: at least `parts`; more where counts of all rows would take too much
/// memory at once, or where the graph becomes SELL part by part.
[[nodiscard]] std::size_t parts_of_rows(const Program& program, const PassContext& context, std::size_t parts);

/// Aggregations take the rows part by part. One part: nothing changes.
void split_rows(Program& program, std::size_t parts);

/// Puts `op` between a value and all its readers, that of the result too: what another device makes, for one, comes
/// here first. Sets its input, its layer and its output, which is as wide and of the same format; returns the output.
ValueId put_behind(Program& program, ValueId value, Operator op);

/// The result comes in the caller's order: a product or a sum of levels stores its rows so, behind all else there is an
/// operator for it.
void reorder_result(Program& program);

/// Operators that nobody reads go, and values that no operator has.
void remove_dead(Program& program);

/// A program, and the parts in which it takes the rows of the graph.
struct Compiled {
  Program program;
  std::size_t parts = 1;
  bool shares_memory = true;  ///< values that are never needed at once may have the same bytes
};

/// All passes, one after the other. `parts` as for parts_of_rows(); `reorders`: the result comes back in another order.
[[nodiscard]] Compiled compile(Program program, const PassContext& context, std::size_t parts, bool reorders);

/// The passes that a program computes the same without.
[[nodiscard]] std::vector<std::string_view> passes_to_leave_out();

/// Where values lie in one piece of memory, by their lifetimes: two that are never needed at once share their bytes.
struct Layout {
  static constexpr std::size_t nowhere = ~std::size_t{0};
  std::vector<std::size_t> offset;  ///< bytes, of each value; nowhere: it is not in that memory (the features)
  std::vector<ValueId> owner;       ///< of each value: that whose place it has; itself where it has its own
  std::size_t bytes = 0;
};

/// For a graph of so many nodes. The result keeps its place to the end. Where not `shares`, each value has bytes of its
/// own. O(values^2).
[[nodiscard]] Layout place(const Program& program, std::size_t nodes, bool shares = true);

}  // namespace bitgraph::nn
