// SPDX-License-Identifier: Apache-2.0
// Archives that no writer would write.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bitgraph::test {

struct ZipMember {
  std::string name;
  std::string bytes;                      ///< as they lie in the archive
  std::optional<std::uint32_t> promised;  ///< the unpacked size that both headers tell
  std::uint16_t method = 0;               ///< stored
  std::optional<std::uint32_t> checksum;  ///< of the unpacked bytes
  std::uint16_t flags = 0;                ///< 1: encrypted
};

/// A zip archive of the members, whatever they claim.
inline std::string zip_of(const std::vector<ZipMember>& members) {
  const auto put = [](std::string& to, std::uint64_t value, int bytes) {
    for (int b = 0; b < bytes; ++b) to += static_cast<char>(value >> (8 * b) & 0xFFU);
  };
  std::string archive;
  std::string directory;
  for (const ZipMember& member : members) {
    const auto* data = reinterpret_cast<const Bytef*>(member.bytes.data());
    const auto sum = static_cast<std::uint32_t>(crc32(0, data, static_cast<uInt>(member.bytes.size())));
    std::string common;
    put(common, 20, 2);  // version needed
    put(common, member.flags, 2);
    put(common, member.method, 2);
    put(common, 0x00210000, 4);  // midnight of 1980-01-01
    put(common, member.checksum.value_or(sum), 4);
    put(common, member.bytes.size(), 4);
    put(common, member.promised.value_or(static_cast<std::uint32_t>(member.bytes.size())), 4);
    put(common, member.name.size(), 2);
    put(common, 0, 2);  // extra field
    const std::size_t offset = archive.size();
    archive += "PK\3\4" + common + member.name + member.bytes;
    directory += "PK\1\2";
    put(directory, 20, 2);  // version made by
    directory += common;
    directory.append(10, '\0');  // comment, disk, attributes
    put(directory, offset, 4);
    directory += member.name;
  }
  std::string end = "PK\5\6";
  put(end, 0, 4);  // disks
  put(end, members.size(), 2);
  put(end, members.size(), 2);
  put(end, directory.size(), 4);
  put(end, archive.size(), 4);
  put(end, 0, 2);  // comment
  return archive + directory + end;
}

}  // namespace bitgraph::test
