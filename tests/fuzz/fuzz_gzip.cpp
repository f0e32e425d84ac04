// SPDX-License-Identifier: Apache-2.0
#include "fuzz_text_graph.hpp"
#include "io/file/gzip.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace bitgraph;
  const std::span<const std::byte> packed(reinterpret_cast<const std::byte*>(data), size);
  Buffer<std::byte> plain;
  try {
    plain = gunzip(packed, fuzz::file_name);
  } catch (const Error& error) {
    fuzz::expect(error.code() == ErrorCode::bad_input, error.what());
    return 0;
  }
  const Buffer<std::byte> again = gunzip(gzip(plain.span()).span(), fuzz::file_name);
  fuzz::expect(std::equal(plain.begin(), plain.end(), again.begin(), again.end()), "packed and unpacked again");
  return 0;
}
