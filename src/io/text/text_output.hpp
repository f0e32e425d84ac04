// SPDX-License-Identifier: Apache-2.0
// Text of graphs on its way to a file: formatted and packed in blocks by all threads, written in order, so that no more
// than a few blocks are ever in memory.
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>

#include "core/threads/parallel.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bitgraph {

class TextOutput {
 public:
  using Sink = std::function<void(std::span<const std::byte>)>;

  /// Bytes go to `sink` as they come, or each block as a gzip member of its own.
  TextOutput(Sink sink, bool packed, Device device)
      : sink_(std::move(sink)), packed_(packed), device_(std::move(device)) {}

  void put(std::string_view text) { sink_(finished(text).bytes()); }

  /// write(block, text) appends the text of each block in [0, blocks).
  template <class Write>
  void put_blocks(std::size_t blocks, Write&& write) {
    const std::size_t batch = static_cast<std::size_t>(device_.threads()) * 4;
    std::vector<Block> done(std::min(batch, blocks));
    for (std::size_t first = 0; first < blocks; first += batch) {
      device_.throw_if_stopped();
      const std::size_t size = std::min(batch, blocks - first);
      parallel_chunks(device_, size, size > 1 ? 1 : 2, [&](Range range) {
        for (std::size_t b = range.begin; b < range.end; ++b) {
          std::string text;
          write(first + b, text);
          done[b] = finished(std::move(text));
        }
      });
      for (std::size_t b = 0; b < size; ++b) sink_(done[b].bytes());
    }
  }

 private:
  /// Text, or what it was packed to.
  struct Block {
    std::string text;
    Buffer<std::byte> packed;
    [[nodiscard]] std::span<const std::byte> bytes() const {
      return packed.empty() ? std::as_bytes(std::span(text.data(), text.size())) : packed.span();
    }
  };
  [[nodiscard]] Block finished(std::string text) const;
  [[nodiscard]] Block finished(std::string_view text) const { return finished(std::string(text)); }

  Sink sink_;
  bool packed_;
  Device device_;
};

inline void append_number(std::string& text, std::uint64_t number) {
  std::array<char, 20> digits;
  const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  text.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

/// write(i, text) appends the text of row i, for every row in order.
template <class Write>
void put_rows(TextOutput& out, const CsrPattern& a, Write&& write) {
  // Blocks of about equal rows and entries: an empty row may be a line too.
  constexpr std::uint64_t block = std::uint64_t{1} << 16;
  const auto row_ptr = a.row_ptr();
  const auto first_row = [&](std::uint64_t b) {
    NodeId low = 0;
    NodeId high = a.nrows();
    while (low < high) {
      const NodeId middle = low + (high - low) / 2;
      if (row_ptr[middle] + middle < b * block) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  out.put_blocks((a.nvals() + a.nrows() + block - 1) / block, [&](std::size_t b, std::string& text) {
    const NodeId end = first_row(b + 1);
    for (NodeId i = first_row(b); i < end; ++i) write(i, text);
  });
}

}  // namespace bitgraph
