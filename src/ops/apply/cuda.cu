// SPDX-License-Identifier: Apache-2.0
// assign on a CUDA device: values of any type, as the words that they are made of.
#include "ops/apply/apply.hpp"

#include <bitgraph/core/error.hpp>
#include <bitgraph/core/kernel_loop.hpp>

#include <array>
#include <cstdint>
#include <cstring>

namespace bitgraph {

namespace {

template <class Word>
struct AssignLoop {
  Word* x;
  const std::uint64_t* mask;
  bool complement;
  unsigned words_a_value;
  unsigned at;  ///< the word of each value that is written
  Word word;
  __device__ bool take(std::size_t i) const {
    return mask == nullptr || ((mask[i / 64] >> (i % 64) & 1U) != 0) != complement;
  }
  __device__ void put(std::size_t i, bool selected) const {
    if (selected) x[i * words_a_value + at] = word;
  }
};

template <class Word>
void assign_words(const Device& device, void* x, std::size_t n, const void* value, std::size_t value_size,
                  const Mask& mask) {
  const std::uint64_t* bits = mask.bits == nullptr ? nullptr : mask.bits->words().data();
  const auto words = static_cast<unsigned>(value_size / sizeof(Word));
  for (unsigned w = 0; w < words; ++w) {
    Word word;
    std::memcpy(&word, static_cast<const char*>(value) + w * sizeof(Word), sizeof(Word));
    detail::kernel_loop(device, n, AssignLoop<Word>{static_cast<Word*>(x), bits, mask.complement, words, w, word});
  }
}

}  // namespace

void assign_values(const Cuda& backend, void* x, std::size_t n, const void* value, std::size_t value_size,
                   const Mask& mask) {
  if (value_size % 8 == 0) return assign_words<std::uint64_t>(backend.device, x, n, value, value_size, mask);
  if (value_size % 4 == 0) return assign_words<std::uint32_t>(backend.device, x, n, value, value_size, mask);
  if (value_size % 2 == 0) return assign_words<std::uint16_t>(backend.device, x, n, value, value_size, mask);
  assign_words<std::uint8_t>(backend.device, x, n, value, value_size, mask);
}

}  // namespace bitgraph
