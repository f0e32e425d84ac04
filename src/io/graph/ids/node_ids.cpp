// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>
#include <bitgraph/io/node_ids.hpp>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

namespace bitgraph {

namespace {

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The place of `wanted` among n ids, `at(i)` being the i-th.
template <class Id, class At>
std::optional<NodeId> place_of(const Id& wanted, std::size_t n, const At& at) {
  // Ids rise as a file is read, and need not behind a reordering: what halving does not find may still be there.
  std::size_t low = 0;
  for (std::size_t high = n; low < high;) {
    const std::size_t middle = low + (high - low) / 2;
    if (at(middle) < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low < n && at(low) == wanted) return static_cast<NodeId>(low);
  for (std::size_t i = 0; i < n; ++i) {
    if (at(i) == wanted) return static_cast<NodeId>(i);
  }
  return std::nullopt;
}

}  // namespace

NodeIds NodeIds::counted_from(std::uint64_t first) {
  NodeIds ids;
  ids.first_ = first;
  return ids;
}

NodeIds NodeIds::of_numbers(Buffer<std::uint64_t> ids) {
  NodeIds made;
  made.numbers_ = std::move(ids);
  return made;
}

NodeIds NodeIds::of_words(Buffer<std::uint64_t> starts, Buffer<char> text) {
  require(!starts.empty(), "node ids: the places of the words do not fit their characters");
  NodeIds made = of_words(std::move(starts), std::move(text), trusted);
  made.validate();
  return made;
}

void NodeIds::validate() const {
  if (!are_words()) return;
  require(
      starts_[0] == 0 && starts_[starts_.size() - 1] == text_.size() && std::is_sorted(starts_.begin(), starts_.end()),
      "node ids: the places of the words do not fit their characters");
}

NodeIds NodeIds::of_words(Buffer<std::uint64_t> starts, Buffer<char> text, Trusted) {
  NodeIds made;
  made.starts_ = std::move(starts);
  made.text_ = std::move(text);
  return made;
}

std::uint64_t NodeIds::number(NodeId node) const noexcept {
  if (!numbers_.empty()) return numbers_[node];
  return are_words() ? node : first_ + node;
}

std::string_view NodeIds::word(NodeId node) const noexcept {
  return characters().substr(starts_[node], starts_[node + std::size_t{1}] - starts_[node]);
}

std::string NodeIds::text(NodeId node) const {
  std::string out;
  append_to(out, node);
  return out;
}

void NodeIds::append_to(std::string& out, NodeId node) const {
  if (are_words()) {
    out += word(node);
  } else {
    out += std::to_string(number(node));
  }
}

std::optional<NodeId> NodeIds::find(std::string_view id, NodeId num_nodes) const {
  if (are_words()) {
    return place_of(id, std::min<std::size_t>(num_nodes, size()),
                    [&](std::size_t i) { return word(static_cast<NodeId>(i)); });
  }
  const auto number = number_of(id);
  if (!number) return std::nullopt;
  if (!numbers_.empty()) {
    return place_of(*number, std::min<std::size_t>(num_nodes, size()), [&](std::size_t i) { return numbers_[i]; });
  }
  if (*number < first_ || *number - first_ >= num_nodes) return std::nullopt;
  return static_cast<NodeId>(*number - first_);
}

NodeIds NodeIds::permuted(std::span<const NodeId> new_id) const {
  const std::size_t n = new_id.size();
  if (are_counted()) {
    // Counted ids have gaps nowhere, but an order of their own now.
    Buffer<std::uint64_t> ids(n);
    for (std::size_t i = 0; i < n; ++i) ids[new_id[i]] = first_ + i;
    return of_numbers(std::move(ids));
  }
  require(size() == n, "node ids: a permutation of another number of nodes");
  if (!are_words()) {
    Buffer<std::uint64_t> ids(n);
    for (std::size_t i = 0; i < n; ++i) ids[new_id[i]] = numbers_[i];
    return of_numbers(std::move(ids));
  }
  Buffer<std::uint64_t> starts(n + 1, std::uint64_t{0});
  for (std::size_t i = 0; i < n; ++i) starts[new_id[i] + std::size_t{1}] = word(static_cast<NodeId>(i)).size();
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  Buffer<char> text(text_.size());
  for (std::size_t i = 0; i < n; ++i) {
    const std::string_view from = word(static_cast<NodeId>(i));
    std::copy(from.begin(), from.end(), text.data() + starts[new_id[i]]);
  }
  return of_words(std::move(starts), std::move(text));
}

NodeIds NodeIds::clone() const {
  NodeIds copy;
  copy.first_ = first_;
  copy.numbers_ = numbers_.clone();
  copy.starts_ = starts_.clone();
  copy.text_ = text_.clone();
  return copy;
}

}  // namespace bitgraph
