// SPDX-License-Identifier: Apache-2.0
#include "fuzz_promise.hpp"
#include "io/graph/b2sr.hpp"

#include <memory>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace bitgraph;
  // The mapping of a file starts at a page; a buffer at a multiple of 64.
  const auto storage =
      std::make_shared<Buffer<std::byte>>(Buffer<std::byte>::copy_of({reinterpret_cast<const std::byte*>(data), size}));
  const Device device = Device::host(1);
  const auto verified = [&](HeaderChecksum checksum) {
    B2srFile file = open_b2sr(storage->span(), storage, fuzz::file_name, device, checksum);
    if (checksum == HeaderChecksum::compare) check_b2sr_payload(storage->span(), fuzz::file_name);
    check_b2sr_arrays(file, fuzz::file_name);
    return file;
  };
  (void)fuzz::accepted([&] { (void)verified(HeaderChecksum::compare); });
  B2srFile file;
  if (!fuzz::accepted([&] { file = verified(HeaderChecksum::ignore); })) return 0;
  fuzz::expect(file.tiles.has_value() != file.pattern.has_value(), "tiles or a pattern");
  if (!file.tiles) return 0;
  const CsrPattern pattern = unpack(*file.tiles);
  pattern.validate();
  fuzz::expect(pack(pattern, {.tile_dim = file.tiles->tile_dim()}) == *file.tiles, "unpacked and packed again");
  return 0;
}
