// SPDX-License-Identifier: Apache-2.0
#include "io/file/gzip.hpp"

#include "io/file/file.hpp"
#include "io/file/room.hpp"

#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace bitgraph {

namespace {

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* d) const { libdeflate_free_decompressor(d); }
};
struct FreeCompressor {
  void operator()(libdeflate_compressor* c) const { libdeflate_free_compressor(c); }
};

/// Deflate's largest expansion, rounded up.
constexpr std::size_t most_expansion = 1040;

/// Size of the last member modulo 2^32, as its trailer says: a good first guess for files of one member.
std::size_t promised_size(std::span<const std::byte> packed) {
  if (packed.size() < 4) return 0;
  std::uint32_t size = 0;
  std::memcpy(&size, packed.data() + packed.size() - 4, 4);
  return size;
}

bool all_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

bool is_gzip(std::span<const std::byte> bytes) noexcept {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1F} && bytes[1] == std::byte{0x8B};
}

Buffer<std::byte> gunzip(std::span<const std::byte> packed, const std::string& name, const Device& device) {
  if (!is_gzip(packed)) fail_at_byte(name, 0, "not gzip data");
  const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> unpacker(libdeflate_alloc_decompressor());
  if (!unpacker) fail(ErrorCode::not_possible, "not enough memory to unpack " + name);
  const std::size_t limit = packed.size() * most_expansion + 65536;
  Buffer<std::byte> out =
      room_to_unpack(std::min(limit, std::max(promised_size(packed), packed.size() * 2)), name, device);
  std::size_t filled = 0;
  std::size_t position = 0;
  while (position < packed.size()) {
    std::size_t used = 0;
    std::size_t written = 0;
    const auto result =
        libdeflate_gzip_decompress_ex(unpacker.get(), packed.data() + position, packed.size() - position,
                                      out.data() + filled, out.size() - filled, &used, &written);
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE && out.size() < limit) {
      Buffer<std::byte> larger = room_to_unpack(std::min(limit, out.size() * 2 + 65536), name, device);
      std::copy_n(out.data(), filled, larger.data());
      out = std::move(larger);
      continue;
    }
    if (result != LIBDEFLATE_SUCCESS) {
      if (position != 0 && all_zero(packed.subspan(position))) break;
      fail_at_byte(name, position, "damaged or cut gzip data");
    }
    position += used;
    filled += written;
  }
  if (filled == out.size()) return out;
  Buffer<std::byte> exact(filled, device);
  std::copy_n(out.data(), filled, exact.data());
  return exact;
}

Buffer<std::byte> inflate_zlib(std::span<const std::byte> packed, const std::string& name, std::uint64_t byte) {
  const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> unpacker(libdeflate_alloc_decompressor());
  if (!unpacker) fail(ErrorCode::not_possible, "not enough memory to unpack " + name);
  const std::size_t limit = packed.size() * most_expansion;
  for (std::size_t size = std::min(limit, 16 * packed.size());; size = std::min(limit, 2 * size)) {
    Buffer<std::byte> out = room_to_unpack(size, name);
    std::size_t written = 0;
    const auto result =
        libdeflate_zlib_decompress(unpacker.get(), packed.data(), packed.size(), out.data(), out.size(), &written);
    if (result == LIBDEFLATE_SUCCESS) return Buffer<std::byte>::copy_of(out.span().first(written));
    if (result != LIBDEFLATE_INSUFFICIENT_SPACE || size == limit) fail_at_byte(name, byte, "damaged or cut zlib data");
  }
}

GzipFront gunzip_front(std::span<const std::byte> packed, std::size_t most, const std::string& name) {
  if (!is_gzip(packed)) fail_at_byte(name, 0, "not gzip data");
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) fail(ErrorCode::not_possible, "not enough memory to unpack " + name);
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> ends(&stream, inflateEnd);
  Buffer<std::byte> out(std::min(most, packed.size() * most_expansion));
  std::size_t used = 0;
  std::size_t filled = 0;
  bool ended = false;
  while (filled < out.size() && !ended) {
    constexpr std::size_t step = std::size_t{1} << 30;
    const std::size_t given = std::min(step, packed.size() - used);
    const std::size_t room = std::min(step, out.size() - filled);
    // zlib does not write to its input; its interface is older than const.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + used));
    stream.avail_in = static_cast<uInt>(given);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + filled);
    stream.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream, Z_NO_FLUSH);
    used += given - stream.avail_in;
    filled += room - stream.avail_out;
    if (result == Z_OK && (given != stream.avail_in || room != stream.avail_out)) continue;
    if (result != Z_STREAM_END) fail_at_byte(name, used, "damaged or cut gzip data");
    ended = !is_gzip(packed.subspan(used));
    if (!ended && inflateReset(&stream) != Z_OK) fail_at_byte(name, used, "damaged or cut gzip data");
  }
  return {Buffer<std::byte>::copy_of(out.span().first(filled)), used, ended};
}

Buffer<std::byte> gzip(std::span<const std::byte> plain) {
  constexpr int level = 6;
  const std::unique_ptr<libdeflate_compressor, FreeCompressor> packer(libdeflate_alloc_compressor(level));
  if (!packer) fail(ErrorCode::not_possible, "not enough memory to pack");
  Buffer<std::byte> out(libdeflate_gzip_compress_bound(packer.get(), plain.size()));
  const std::size_t size = libdeflate_gzip_compress(packer.get(), plain.data(), plain.size(), out.data(), out.size());
  return Buffer<std::byte>::copy_of(out.span().first(size));
}

}  // namespace bitgraph
