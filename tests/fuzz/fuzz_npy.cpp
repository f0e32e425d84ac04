// SPDX-License-Identifier: Apache-2.0
#include "fuzz_arrays.hpp"
#include "io/array/npy.hpp"

#include <algorithm>
#include <optional>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace bitgraph;
  std::optional<Array> array;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  if (!fuzz::accepted([&] { array = read_npy(bytes, fuzz::file_name); }) || !array) return 0;
  fuzz::expect_sound(*array);
  const std::string header = npy_header(array->type, array->shape);
  std::vector<std::byte> file(header.size() + array->data.size());
  std::memcpy(file.data(), header.data(), header.size());
  std::copy(array->data.begin(), array->data.end(), file.data() + header.size());
  const auto again = read_npy(file, fuzz::file_name);
  fuzz::expect(again && again->type == array->type && again->shape == array->shape &&
                   std::equal(array->data.begin(), array->data.end(), again->data.begin(), again->data.end()),
               "written and read again");
  return 0;
}
