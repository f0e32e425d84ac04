// SPDX-License-Identifier: Apache-2.0
// The table of operators: all that is known of a kind stands in its row. A new operator is a room in src/ops, a value
// of OperatorKind, and a row.
#pragma once

#include <bitgraph/nn/program.hpp>
#include "nn/one_launch/row_program.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace bitgraph::nn {

class Runtime;
class TrainingRun;
struct Prepared;

/// Of the tiles that meet bit planes.
inline constexpr std::size_t side_of_planes = 64;

/// What passes may know of a graph: numbers, not its arrays.
struct GraphFacts {
  std::size_t nodes = 0;
  std::size_t entries = 0;      ///< of the adjacency matrix, without loops
  std::size_t longest_row = 0;  ///< entries, without a loop
  bool has_empty_row = false;
  std::size_t tiles = 0;      ///< of side side_of_planes, that have an entry; 0: not counted
  double entries_a_tile = 0;  ///< of these tiles, in a sample of them; 0: not known

  [[nodiscard]] static GraphFacts of(const CsrPattern& a);
};

/// What an operator moves and works out, on a graph of that size. Gathers count for each entry, in sectors of 32 bytes.
struct Traffic {
  double bytes = 0;
  double work = 0;  ///< multiplications and additions, of bits too
};

inline constexpr std::size_t no_input = ~std::size_t{0};

/// What the output of an operator in training may share with its first input.
enum class TrainsInPlace : std::uint8_t {
  no,
  gradient,  ///< the gradient is changed in place on its way back
  both       ///< values and gradient
};

struct OperatorTraits {
  OperatorKind kind;
  std::string_view name;

  /// As BitGNN writes it: "BMM.BBF".
  std::string (*paper_name)(const Program&, const Operator&);

  /// What is wrong with the shapes and formats of inputs and outputs; empty: nothing is.
  std::string (*check)(const Program&, const Operator&);

  Traffic (*traffic)(const Program&, const Operator&, const GraphFacts&);

  /// The input whose memory the first output may have, where nobody reads that input later.
  std::size_t overwrites;

  /// Finds what a run needs besides values: patterns, orders of rows, parts. Null: nothing.
  void (*find)(Runtime&, const Operator&, Prepared&);

  /// Once the values have memory: rows of parts. Null: nothing.
  void (*bind)(Runtime&, const Operator&, Prepared&);

  void (*run)(Runtime&, const Operator&, Prepared&);

  /// The same as parts of one launch of a CUDA device. Null: it cannot be part of one.
  std::vector<LaunchStep> (*launch)(const Runtime&, const Operator&, const Prepared&);

  /// In training: the same in floats, keeping what the gradient needs. Null: it has no part in training.
  void (*train)(TrainingRun&, const Operator&) = nullptr;

  /// From the gradient of the output to those of inputs and parameters.
  void (*gradient)(TrainingRun&, const Operator&) = nullptr;

  /// Which memory the output has in training where nobody else reads the first input.
  TrainsInPlace in_place = TrainsInPlace::no;
};

[[nodiscard]] const OperatorTraits& operator_traits(OperatorKind kind) noexcept;

[[nodiscard]] std::string paper_name(const Program& program, const Operator& op);

/// Whether tiles of the graph meet bit planes of the input, which are the second output.
[[nodiscard]] bool multiplies_planes(const Program& program, const Operator& op);
/// Whether a sum of levels over neighbours adds planes: its input's, or those that it makes. The last output is memory
/// for that.
[[nodiscard]] bool adds_planes(const Program& program, const Operator& op);

/// Bytes that a gather of `bytes` moves: whole sectors.
[[nodiscard]] constexpr std::size_t gathered_bytes(std::size_t bytes) noexcept { return (bytes + 31) / 32 * 32; }

}  // namespace bitgraph::nn
