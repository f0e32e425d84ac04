// SPDX-License-Identifier: Apache-2.0
#include "fuzz_arrays.hpp"
#include "io/array/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace bitgraph;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  TensorFile file;
  if (!fuzz::accepted([&] { file = read_safetensors(bytes, fuzz::file_name); })) return 0;
  for (const auto& [key, array] : file.tensors) fuzz::expect_sound(array);
  return 0;
}
