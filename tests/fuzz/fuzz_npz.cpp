// SPDX-License-Identifier: Apache-2.0
#include "fuzz_arrays.hpp"
#include "io/array/npz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace bitgraph;
  const auto archive = fuzz::with_checksums({reinterpret_cast<const std::byte*>(data), size});
  std::map<std::string, Array> members;
  if (!fuzz::accepted([&] { members = read_npz(archive, fuzz::file_name); })) return 0;
  for (const auto& [key, array] : members) fuzz::expect_sound(array);
  return 0;
}
