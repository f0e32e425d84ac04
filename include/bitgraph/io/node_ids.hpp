// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/types.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace bitgraph {

/// What a file calls its nodes. Operators number nodes 0 .. n-1; a person types and reads the ids of the file.
///
/// Three kinds: counted (node i has the id first + i, as in Matrix Market and METIS files, which count from 1), numbers
/// with gaps, and words. Move-only; on the host.
class NodeIds {
 public:
  /// Counted from 0.
  NodeIds() = default;

  /// Node i has the id first + i.
  [[nodiscard]] static NodeIds counted_from(std::uint64_t first);

  /// One number a node, no number twice, in any order.
  [[nodiscard]] static NodeIds of_numbers(Buffer<std::uint64_t> ids);

  /// Word i is characters starts[i] .. starts[i + 1] of `text`. Throws usage unless starts begins at 0, never falls and
  /// ends at text.size(). No word stands twice.
  [[nodiscard]] static NodeIds of_words(Buffer<std::uint64_t> starts, Buffer<char> text);
  [[nodiscard]] static NodeIds of_words(Buffer<std::uint64_t> starts, Buffer<char> text, Trusted);

  /// Throws usage as of_words() does. O(n).
  void validate() const;

  [[nodiscard]] bool are_counted() const noexcept { return numbers_.empty() && starts_.empty(); }
  [[nodiscard]] bool are_words() const noexcept { return !starts_.empty(); }

  /// Of counted ids: the id of node 0.
  [[nodiscard]] std::uint64_t first() const noexcept { return first_; }

  /// One a node; empty for counted ids and words.
  [[nodiscard]] std::span<const std::uint64_t> numbers() const noexcept { return numbers_.span(); }

  /// Of words: one more than there are nodes, and the characters.
  [[nodiscard]] std::span<const std::uint64_t> starts() const noexcept { return starts_.span(); }
  [[nodiscard]] std::string_view characters() const noexcept { return {text_.data(), text_.size()}; }

  /// How many nodes have an id; 0 for counted ids, which have no end.
  [[nodiscard]] std::size_t size() const noexcept { return are_words() ? starts_.size() - 1 : numbers_.size(); }

  /// The id of a node as a number. Of words: the node's own number.
  [[nodiscard]] std::uint64_t number(NodeId node) const noexcept;

  /// The word of a node; of words only.
  [[nodiscard]] std::string_view word(NodeId node) const noexcept;

  /// The id of a node as text.
  [[nodiscard]] std::string text(NodeId node) const;
  void append_to(std::string& out, NodeId node) const;

  /// The node with this id, among the first `num_nodes`. O(log n) where ids rise, else O(n).
  [[nodiscard]] std::optional<NodeId> find(std::string_view id, NodeId num_nodes) const;

  /// The ids when node i becomes node new_id[i]. O(n), and the characters of words.
  [[nodiscard]] NodeIds permuted(std::span<const NodeId> new_id) const;

  [[nodiscard]] NodeIds clone() const;
  [[nodiscard]] std::size_t bytes() const noexcept { return numbers_.bytes() + starts_.bytes() + text_.bytes(); }

 private:
  std::uint64_t first_ = 0;
  Buffer<std::uint64_t> numbers_;
  Buffer<std::uint64_t> starts_;
  Buffer<char> text_;
};

}  // namespace bitgraph
