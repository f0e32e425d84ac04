// SPDX-License-Identifier: Apache-2.0
// The few records of the zip format that stored members need (PKWARE's APPNOTE 6.3, sections 4.3 to 4.5).
#include "io/array/stored_npz.hpp"

#include "io/array/array.hpp"
#include "io/array/npy.hpp"

#include <libdeflate.h>

#include <algorithm>
#include <limits>

namespace bitgraph {

namespace {

constexpr std::uint32_t local_mark = 0x04034B50, entry_mark = 0x02014B50, end_mark = 0x06054B50;
constexpr std::uint32_t wide_end_mark = 0x06064B50, wide_locator_mark = 0x07064B50;
constexpr std::size_t local_size = 30, entry_size = 46, end_size = 22, wide_end_size = 56, locator_size = 20;
constexpr std::uint16_t wide_field = 1;          ///< the extra field that has 64-bit sizes
constexpr std::uint16_t padding_field = 0xD935;  ///< the one that zipalign fills up with
constexpr std::uint32_t in_wide_field = 0xFFFFFFFF;
constexpr std::uint64_t alignment = 64;
constexpr std::uint16_t utf8_names = 1U << 11;
constexpr std::uint16_t first_day = 1U << 5 | 1U;  ///< of the format's calendar
constexpr std::uint16_t encrypted = 1;

/// Little-endian numbers, one behind another.
class Record {
 public:
  Record& u16(std::uint64_t value) { return number(value, 2); }
  Record& u32(std::uint64_t value) { return number(value, 4); }
  Record& u64(std::uint64_t value) { return number(value, 8); }
  Record& zeros(std::size_t count) {
    bytes_.append(count, '\0');
    return *this;
  }
  Record& text(std::string_view text) {
    bytes_ += text;
    return *this;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  Record& number(std::uint64_t value, int size) {
    for (int n = 0; n < size; ++n) bytes_ += static_cast<char>(value >> (8 * n) & 0xFF);
    return *this;
  }
  std::string bytes_;
};

std::uint64_t number_at(std::span<const std::byte> bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t n = size; n-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[at + n]);
  return value;
}

std::uint64_t short_size(std::uint64_t value) { return std::min<std::uint64_t>(value, in_wide_field); }

}  // namespace

void StoredNpzWriter::put(std::span<const std::byte> bytes) {
  file_.write(bytes);
  at_ += bytes.size();
}

void StoredNpzWriter::add(const std::string& key, ElementType type, std::span<const std::uint64_t> shape,
                          std::span<const std::byte> data) {
  require_size(type, shape, data.size(), path_ + ": " + key);
  const std::string header = npy_header(type, shape);
  Entry entry{key + ".npy", 0, header.size() + data.size(), at_};
  entry.checksum = libdeflate_crc32(0, header.data(), header.size());
  if (!data.empty()) entry.checksum = libdeflate_crc32(entry.checksum, data.data(), data.size());  // null starts anew
  const bool wide = entry.size >= in_wide_field;
  const std::uint64_t extra = wide ? 20 : 0;
  // A field of padding has at least the four bytes that name it.
  const std::uint64_t front = at_ + local_size + entry.name.size() + extra;
  std::uint64_t padding = (alignment - front % alignment) % alignment;
  if (padding != 0 && padding < 4) padding += alignment;
  Record record;
  record.u32(local_mark).u16(wide ? 45 : 20).u16(utf8_names).u16(0).u16(0).u16(first_day).u32(entry.checksum);
  record.u32(short_size(entry.size)).u32(short_size(entry.size)).u16(entry.name.size()).u16(extra + padding);
  record.text(entry.name);
  if (wide) record.u16(wide_field).u16(16).u64(entry.size).u64(entry.size);
  if (padding != 0) record.u16(padding_field).u16(padding - 4).zeros(padding - 4);
  put(record.bytes());
  put(header);
  put(data);
  entries_.push_back(std::move(entry));
}

void StoredNpzWriter::commit() {
  const std::uint64_t begin = at_;
  for (const Entry& entry : entries_) {
    Record extra;
    if (entry.size >= in_wide_field) extra.u64(entry.size).u64(entry.size);
    if (entry.offset >= in_wide_field) extra.u64(entry.offset);
    const std::size_t extra_size = extra.bytes().empty() ? 0 : extra.bytes().size() + 4;
    const int version = extra_size == 0 ? 20 : 45;
    Record record;
    record.u32(entry_mark).u16(version).u16(version).u16(utf8_names).u16(0).u16(0).u16(first_day).u32(entry.checksum);
    record.u32(short_size(entry.size)).u32(short_size(entry.size)).u16(entry.name.size()).u16(extra_size);
    record.u16(0).u16(0).u16(0).u32(0).u32(short_size(entry.offset)).text(entry.name);
    if (extra_size != 0) record.u16(wide_field).u16(extra_size - 4).text(extra.bytes());
    put(record.bytes());
  }
  const std::uint64_t end = at_;
  Record record;
  if (end >= in_wide_field) {
    record.u32(wide_end_mark).u64(wide_end_size - 12).u16(45).u16(45).u32(0).u32(0);
    record.u64(entries_.size()).u64(entries_.size()).u64(end - begin).u64(begin);
    record.u32(wide_locator_mark).u32(0).u64(end).u32(1);
  }
  record.u32(end_mark).u16(0).u16(0).u16(entries_.size()).u16(entries_.size());
  record.u32(short_size(end - begin)).u32(short_size(begin)).u16(0);
  put(record.bytes());
  file_.commit();
}

namespace {

/// A reader of records at places that the archive itself names: every place is looked at before it is believed.
class Archive {
 public:
  explicit Archive(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool has(std::uint64_t at, std::uint64_t size) const {
    return at <= bytes_.size() && size <= bytes_.size() - at;
  }
  [[nodiscard]] bool marked(std::uint64_t at, std::uint64_t size, std::uint32_t mark) const {
    return has(at, size) && u32(at) == mark;
  }
  [[nodiscard]] std::uint64_t u16(std::uint64_t at) const { return number_at(bytes_, at, 2); }
  [[nodiscard]] std::uint64_t u32(std::uint64_t at) const { return number_at(bytes_, at, 4); }
  [[nodiscard]] std::uint64_t u64(std::uint64_t at) const { return number_at(bytes_, at, 8); }
  [[nodiscard]] std::string_view text(std::uint64_t at, std::uint64_t size) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + at, size};
  }
  [[nodiscard]] std::span<const std::byte> part(std::uint64_t at, std::uint64_t size) const {
    return bytes_.subspan(at, size);
  }
  [[nodiscard]] std::uint64_t size() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
};

struct Directory {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
};

std::optional<Directory> find_directory(const Archive& archive) {
  constexpr std::uint64_t longest_comment = 65535;
  for (std::uint64_t comment = 0; comment <= longest_comment && archive.size() >= end_size + comment; ++comment) {
    const std::uint64_t at = archive.size() - end_size - comment;
    if (archive.u32(at) != end_mark || archive.u16(at + 20) != comment) continue;
    Directory directory{archive.u32(at + 16), archive.u32(at + 12)};
    if (directory.begin == in_wide_field || directory.size == in_wide_field) {
      if (at < locator_size || archive.u32(at - locator_size) != wide_locator_mark) return std::nullopt;
      const std::uint64_t wide_end = archive.u64(at - locator_size + 8);
      if (!archive.marked(wide_end, wide_end_size, wide_end_mark)) return std::nullopt;
      directory = {archive.u64(wide_end + 48), archive.u64(wide_end + 40)};
    }
    if (!archive.has(directory.begin, directory.size)) return std::nullopt;
    return directory;
  }
  return std::nullopt;
}

/// Sizes and offset of a directory entry, from the wide field where they do not fit the short ones.
struct Place {
  std::uint64_t size = 0, packed_size = 0, offset = 0;

  /// False where the wide field lacks what is needed. The entry lies inside the archive.
  bool read(const Archive& archive, std::uint64_t entry) {
    size = archive.u32(entry + 24);
    packed_size = archive.u32(entry + 20);
    offset = archive.u32(entry + 42);
    std::uint64_t at = entry + entry_size + archive.u16(entry + 28);
    const std::uint64_t end = at + archive.u16(entry + 30);
    while (at + 4 <= end) {
      const std::uint64_t next = at + 4 + archive.u16(at + 2);
      if (archive.u16(at) == wide_field && next <= end) {
        std::uint64_t value = at + 4;
        for (std::uint64_t* number : {&size, &packed_size, &offset}) {
          if (*number != in_wide_field) continue;
          if (value + 8 > next) return false;
          *number = archive.u64(value);
          value += 8;
        }
        return true;
      }
      at = next;
    }
    return size != in_wide_field && packed_size != in_wide_field && offset != in_wide_field;
  }
};

std::optional<std::span<const std::byte>> contents(const Archive& archive, std::uint64_t entry) {
  const bool stored = archive.u16(entry + 10) == 0 && (archive.u16(entry + 8) & encrypted) == 0;
  Place place;
  if (!stored || !place.read(archive, entry) || place.size != place.packed_size) return std::nullopt;
  if (!archive.marked(place.offset, local_size, local_mark)) return std::nullopt;
  const std::uint64_t begin =
      place.offset + local_size + archive.u16(place.offset + 26) + archive.u16(place.offset + 28);
  if (!archive.has(begin, place.size)) return std::nullopt;
  const auto bytes = archive.part(begin, place.size);
  if (libdeflate_crc32(0, bytes.data(), bytes.size()) != archive.u32(entry + 16)) return std::nullopt;
  return bytes;
}

}  // namespace

std::optional<std::span<const std::byte>> stored_member(std::span<const std::byte> bytes, std::string_view name) {
  const Archive archive(bytes);
  const auto directory = find_directory(archive);
  if (!directory) return std::nullopt;
  std::optional<std::uint64_t> found;
  const std::uint64_t end = directory->begin + directory->size;
  for (std::uint64_t at = directory->begin; at < end;) {
    if (!archive.marked(at, entry_size, entry_mark)) return std::nullopt;
    const std::uint64_t name_size = archive.u16(at + 28);
    const std::uint64_t next = at + entry_size + name_size + archive.u16(at + 30) + archive.u16(at + 32);
    if (next > end) return std::nullopt;
    // Of members of one name the last one counts.
    if (archive.text(at + entry_size, name_size) == name) found = at;
    at = next;
  }
  return found ? contents(archive, *found) : std::nullopt;
}

}  // namespace bitgraph
