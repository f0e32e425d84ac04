// SPDX-License-Identifier: Apache-2.0
// NumPy's .npz: a zip of .npy members, stored or deflated.
#include "io/array/npz.hpp"

#include "io/array/stored_npz.hpp"
#include "io/file/file.hpp"
#include "io/file/room.hpp"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace bitgraph {

namespace {

struct FreeSource {
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
struct CloseMember {
  void operator()(zip_file_t* member) const { zip_fclose(member); }
};
using Source = std::unique_ptr<zip_source_t, FreeSource>;

std::string message(zip_error_t& error) {
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

/// A member while it is unpacked: header first, then as much of the data as is wanted.
class Member {
 public:
  Member(zip_t* archive, std::uint64_t index, std::string name) : name_(std::move(name)) {
    zip_stat_init(&status_);
    if (zip_stat_index(archive, index, 0, &status_) != 0) fail_in(name_, zip_strerror(archive));
    if ((status_.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && status_.encryption_method != ZIP_EM_NONE)
      fail_in(name_, "the member is encrypted");
    if ((status_.valid & ZIP_STAT_COMP_METHOD) != 0 && status_.comp_method != ZIP_CM_STORE &&
        status_.comp_method != ZIP_CM_DEFLATE) {
      fail_in(name_, fmt::format("compression method {}, expected 0 (stored) or 8 (deflated)", status_.comp_method));
    }
    file_.reset(zip_fopen_index(archive, index, 0));
    if (!file_) fail_in(name_, std::string("damaged or cut: ") + zip_strerror(archive));
  }

  /// Unpacks until `to` is full or the member ends; returns how many bytes came.
  std::size_t read(std::span<std::byte> to) {
    std::size_t filled = 0;
    while (filled < to.size()) {
      const zip_int64_t got = zip_fread(file_.get(), to.data() + filled, to.size() - filled);
      if (got < 0) fail_in(name_, fmt::format("byte {}: damaged or cut: {}", at_, zip_file_strerror(file_.get())));
      if (got == 0) break;
      filled += static_cast<std::size_t>(got);
      at_ += static_cast<std::size_t>(got);
    }
    return filled;
  }

  NpyHeader read_header() {
    constexpr std::size_t prefix = 12;
    std::vector<std::byte> front(prefix);
    front.resize(read(front));
    // Version 1.0 has its length in two bytes, the later ones in four; a wrong length is refused by the parser.
    if (front.size() == prefix) {
      const auto byte = [&](std::size_t n) { return static_cast<std::size_t>(front[n]); };
      const bool first = byte(6) == 1;
      const std::size_t length = byte(8) | byte(9) << 8 | (first ? 0 : byte(10) << 16 | byte(11) << 24);
      const std::size_t end = std::max(prefix, std::min(longest_npy_header, length + (first ? 10 : 12)));
      front.resize(end);
      front.resize(prefix + read(std::span(front).subspan(prefix)));
    }
    return read_npy_header(front, name_);  // every header that parses is longer than the prefix
  }

  /// The `size` bytes behind the header, which must end the member. Room is made as they come.
  Buffer<std::byte> read_data(const NpyHeader& header, std::uint64_t size, std::size_t archive_size) {
    if ((status_.valid & ZIP_STAT_SIZE) != 0 && status_.size - header.data_offset != size) {
      fail_in(name_, fmt::format("the archive says {} bytes, expected {} for a shape of ({})", status_.size,
                                 header.data_offset + size, fmt::join(header.shape, ", ")));
    }
    Buffer<std::byte> data = room_to_unpack(std::min<std::uint64_t>(size, 4 * archive_size + 4096), name_);
    std::size_t filled = 0;
    for (;;) {
      filled += read(data.span().subspan(filled));
      if (filled < data.size()) fail_in(name_, fmt::format("byte {}: the data is cut", at_));
      if (filled == size) break;
      Buffer<std::byte> larger = room_to_unpack(std::min<std::uint64_t>(size, 2 * data.size()), name_);
      std::copy_n(data.begin(), filled, larger.begin());
      data = std::move(larger);
    }
    std::byte behind{};
    if (read({&behind, 1}) != 0)  // reading the end also compares the checksum
      fail_in(name_, fmt::format("byte {}: data behind the last element", header.data_offset + size));
    return data;
  }

 private:
  std::string name_;
  zip_stat_t status_{};
  std::unique_ptr<zip_file_t, CloseMember> file_;
  std::size_t at_ = 0;
};

/// Bytes of the data behind a header. A member cannot hold more than deflate's largest expansion of the archive.
std::uint64_t data_size(const NpyHeader& header, const NpyElement& element, std::size_t archive_size,
                        const std::string& name) {
  constexpr std::uint64_t most_expansion = 1040;
  return element.size * checked_size(header.shape, archive_size * most_expansion / element.size, name);
}

}  // namespace

void NpzReader::Discard::operator()(zip* archive) const { zip_discard(archive); }

NpzReader::NpzReader(std::span<const std::byte> bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {
  if (bytes.empty()) fail_in(name_, "not a .npz archive: an empty file");  // libzip takes it for an empty archive
  zip_error_t error;
  zip_error_init(&error);
  Source source(zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error));
  if (!source) fail_in(name_, "cannot read the archive: " + message(error));
  archive_.reset(zip_open_from_source(source.get(), ZIP_RDONLY, &error));
  if (!archive_) fail_in(name_, "not a .npz archive: " + message(error));
  (void)source.release();  // the archive's now
  zip_error_fini(&error);
  for (zip_int64_t index = 0; index < zip_get_num_entries(archive_.get(), 0); ++index) {
    const char* raw = zip_get_name(archive_.get(), static_cast<zip_uint64_t>(index), ZIP_FL_ENC_RAW);
    std::string key = raw == nullptr ? "" : raw;
    if (!key.ends_with(".npy")) continue;
    key.resize(key.size() - 4);
    members_[key] = static_cast<std::uint64_t>(index);
  }
}

std::vector<std::string> NpzReader::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, index] : members_) keys.push_back(key);
  return keys;
}

void NpzReader::refuse(const std::string& key, const std::string& what) const {
  fail_in(name_ + ": " + printable(key), what);
}

std::optional<Array> NpzReader::array(const std::string& key) const {
  const std::string name = name_ + ": " + printable(key);
  Member member(archive_.get(), members_.at(key), name);
  const NpyHeader header = member.read_header();
  const auto element = npy_element(header.descr);
  if (!element) return std::nullopt;
  const std::uint64_t size = data_size(header, *element, bytes_.size(), name);
  return npy_array(header, *element, member.read_data(header, size, bytes_.size()));
}

Array NpzReader::numbers(const std::string& key) const {
  if (!contains(key)) fail_in(name_, "lacks the member '" + printable(key) + "'");
  auto found = array(key);
  if (!found) refuse(key, "the elements are not numbers");
  return std::move(*found);
}

std::vector<std::uint64_t> NpzReader::shape(const std::string& key) const {
  if (!contains(key)) fail_in(name_, "lacks the member '" + printable(key) + "'");
  return Member(archive_.get(), members_.at(key), name_ + ": " + printable(key)).read_header().shape;
}

std::optional<std::span<const std::byte>> NpzReader::stored(const std::string& key) const {
  return stored_member(bytes_, key + ".npy");
}

std::string NpzReader::text(const std::string& key) const {
  if (!contains(key)) return "";
  Member member(archive_.get(), members_.at(key), name_ + ": " + printable(key));
  const NpyHeader header = member.read_header();
  const std::string_view descr = header.descr;
  constexpr std::size_t longest = 64;
  std::size_t length = 0;
  const bool wide = descr.size() > 2 && descr[1] == 'U';
  if (descr.size() < 3 || (descr[1] != 'S' && !wide) || !header.shape.empty()) return "";
  const auto [stop, error] = std::from_chars(descr.data() + 2, descr.data() + descr.size(), length);
  if (error != std::errc() || stop != descr.data() + descr.size() || length > longest) return "";
  const Buffer<std::byte> data = member.read_data(header, length * (wide ? 4 : 1), bytes_.size());
  std::string value;
  for (const std::byte b : data.span()) {
    if (b != std::byte{0}) value += static_cast<char>(b);  // type U has four bytes a character
  }
  return value;
}

std::map<std::string, Array> read_npz(std::span<const std::byte> bytes, const std::string& name,
                                      const std::vector<std::string>& wanted) {
  const NpzReader reader(bytes, name);
  std::map<std::string, Array> arrays;
  for (const std::string& key : reader.keys()) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), key) == wanted.end()) continue;
    if (auto array = reader.array(key)) arrays.emplace(key, std::move(*array));
  }
  return arrays;
}

std::map<std::string, Array> load_npz(const std::filesystem::path& path, const std::vector<std::string>& wanted) {
  return read_npz(MappedFile::open(path)->bytes(), path.string(), wanted);
}

namespace {

/// Nothing but the end of a directory.
constexpr std::string_view empty_archive("PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22);

/// An archive written to memory.
class NpzWriter {
 public:
  explicit NpzWriter(std::string name) : name_(std::move(name)) {
    zip_error_t error;
    zip_error_init(&error);
    target_.reset(zip_source_buffer_create(nullptr, 0, 0, &error));
    if (!target_) refuse(message(error));
    zip_source_keep(target_.get());
    archive_.reset(zip_open_from_source(target_.get(), ZIP_TRUNCATE, &error));
    if (!archive_) {
      zip_source_free(target_.get());
      refuse(message(error));
    }
    zip_error_fini(&error);
  }

  /// A member of two parts, which must stay where they are until finish().
  void add(const std::string& key, std::span<const std::byte> header, std::span<const std::byte> data) {
    const auto fragment = [](std::span<const std::byte> bytes) {
      // libzip's type is not const; it only reads.
      return zip_buffer_fragment_t{const_cast<zip_uint8_t*>(reinterpret_cast<const zip_uint8_t*>(bytes.data())),
                                   bytes.size()};
    };
    const std::array<zip_buffer_fragment_t, 2> parts{fragment(header), fragment(data)};
    Source source(zip_source_buffer_fragment(archive_.get(), parts.data(), data.empty() ? 1 : 2, 0));
    if (!source) refuse(zip_strerror(archive_.get()));
    const zip_int64_t index = zip_file_add(archive_.get(), (key + ".npy").c_str(), source.get(), ZIP_FL_ENC_UTF_8);
    if (index < 0) refuse(zip_strerror(archive_.get()));
    (void)source.release();  // the archive's now
    // The first day that the format knows: equal contents make equal files.
    constexpr zip_uint16_t first_day = 1U << 5 | 1U;
    zip_file_set_dostime(archive_.get(), static_cast<zip_uint64_t>(index), 0, first_day, 0);
  }

  /// The archive's bytes. There must be a member: libzip writes nothing for an archive without any.
  std::vector<std::byte> finish() {
    if (zip_close(archive_.get()) != 0) refuse(zip_strerror(archive_.get()));
    (void)archive_.release();
    zip_stat_t status;
    zip_stat_init(&status);
    if (zip_source_open(target_.get()) != 0 || zip_source_stat(target_.get(), &status) != 0) refuse("no result");
    std::vector<std::byte> bytes(status.size);
    const zip_int64_t got = zip_source_read(target_.get(), bytes.data(), bytes.size());
    zip_source_close(target_.get());
    if (got < 0 || static_cast<std::size_t>(got) != bytes.size()) refuse("no result");
    return bytes;
  }

 private:
  struct Discard {
    void operator()(zip_t* archive) const { zip_discard(archive); }
  };
  [[noreturn]] void refuse(const std::string& what) const {
    fail(ErrorCode::internal, name_ + ": cannot write: " + what);
  }

  std::string name_;
  Source target_;
  std::unique_ptr<zip_t, Discard> archive_;
};

}  // namespace

void save_npz(const std::filesystem::path& path, const std::map<std::string, Array>& arrays,
              const std::map<std::string, std::string>& texts) {
  const auto bytes_of = [](const std::string& text) { return std::as_bytes(std::span(text.data(), text.size())); };
  std::map<std::string, std::string> headers;
  for (const auto& [key, text] : texts) headers.emplace(key, npy_of_text(text));
  for (const auto& [key, array] : arrays) {
    require_size(array.type, array.shape, array.data.size(), path.string() + ": " + key);
    headers.emplace(key, npy_header(array.type, array.shape));
  }
  if (headers.empty()) return write_file(path, empty_archive);
  NpzWriter writer(path.string());
  for (const auto& [key, header] : headers) {
    const auto array = arrays.find(key);
    writer.add(key, bytes_of(header), array == arrays.end() ? std::span<const std::byte>{} : array->second.data.span());
  }
  const std::vector<std::byte> bytes = writer.finish();
  const std::array<std::span<const std::byte>, 1> parts{std::span<const std::byte>(bytes)};
  write_file(path, parts);
}

void save_npz(const std::filesystem::path& path, const std::map<std::string, Array>& members) {
  save_npz(path, members, {});
}

}  // namespace bitgraph
