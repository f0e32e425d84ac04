// SPDX-License-Identifier: Apache-2.0
// NumPy's .npz: a zip of .npy members.
#include "io/npz.hpp"

#include "io/file.hpp"
#include "io/npy.hpp"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <numeric>

namespace bitgraph {

namespace {

struct DiscardZip {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseMember {
  void operator()(zip_file_t* member) const { zip_fclose(member); }
};
using Zip = std::unique_ptr<zip_t, DiscardZip>;

std::string message(zip_error_t& error) {
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

Zip open_zip(std::span<const std::byte> bytes, const std::string& name) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  if (source == nullptr) fail_in(name, "cannot read the archive: " + message(error));
  Zip archive(zip_open_from_source(source, ZIP_RDONLY, &error));
  if (!archive) {
    zip_source_free(source);
    fail_in(name, "not a .npz archive: " + message(error));
  }
  zip_error_fini(&error);
  return archive;
}

/// A member's bytes, grown as they come: the size in the archive's directory is only a promise.
std::vector<std::byte> read_member(zip_t* archive, zip_uint64_t index, const std::string& name, std::size_t limit) {
  const std::unique_ptr<zip_file_t, CloseMember> member(zip_fopen_index(archive, index, 0));
  if (!member) fail_in(name, std::string("cannot be read: ") + zip_strerror(archive));
  std::vector<std::byte> bytes;
  std::size_t filled = 0;
  for (;;) {
    bytes.resize(std::min(limit + 1, std::max<std::size_t>(bytes.size() * 2, std::size_t{1} << 16)));
    const zip_int64_t got = zip_fread(member.get(), bytes.data() + filled, bytes.size() - filled);
    if (got < 0) fail_in(name, "damaged or cut");
    filled += static_cast<std::size_t>(got);
    if (filled > limit) fail_in(name, "unpacks to more than its archive can hold");
    if (got == 0) break;
  }
  bytes.resize(filled);
  return bytes;
}

const Array& member(const NpzMembers& members, const std::string& key, const std::string& name) {
  const auto found = members.find(key);
  if (found == members.end()) fail_in(name, "lacks the member '" + key + "'");
  return found->second;
}

template <class T>
Buffer<T> converted(const Array& array, const std::string& name, const std::string& key) {
  try {
    return array.as<T>();
  } catch (const Error& error) {
    fail_in(name + ": " + key, error.what());
  }
}

}  // namespace

NpzMembers read_npz(std::span<const std::byte> bytes, const std::string& name, const std::vector<std::string>& wanted) {
  constexpr std::size_t most_expansion = 1040;  // deflate's largest, rounded up
  const Zip archive = open_zip(bytes, name);
  NpzMembers members;
  for (zip_int64_t index = 0; index < zip_get_num_entries(archive.get(), 0); ++index) {
    const char* raw = zip_get_name(archive.get(), static_cast<zip_uint64_t>(index), ZIP_FL_ENC_RAW);
    std::string key = raw == nullptr ? "" : raw;
    if (!key.ends_with(".npy")) continue;
    key.resize(key.size() - 4);
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), key) == wanted.end()) continue;
    const auto data = read_member(archive.get(), static_cast<zip_uint64_t>(index), name + ": " + key,
                                  bytes.size() * most_expansion + 65536);
    if (auto array = read_npy(data, name + ": " + key)) members.insert_or_assign(key, std::move(*array));
  }
  return members;
}

std::string read_npz_string(std::span<const std::byte> bytes, const std::string& name, const std::string& key) {
  const Zip archive = open_zip(bytes, name);
  const zip_int64_t index = zip_name_locate(archive.get(), (key + ".npy").c_str(), 0);
  if (index < 0) return "";
  constexpr std::size_t longest = 4096;
  const auto data = read_member(archive.get(), static_cast<zip_uint64_t>(index), name + ": " + key, longest);
  const std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
  const std::size_t header_end = text.find('\n');
  if (header_end == std::string_view::npos) return "";
  std::string value;
  for (const char c : text.substr(header_end + 1)) {
    if (c != '\0') value += c;  // U is four bytes a character
  }
  return value;
}

std::optional<NpzSparse> read_sparse(const NpzMembers& members, const std::string& prefix, bool by_column,
                                     const std::string& name, const Device& device) {
  if (!members.contains(prefix + "indptr")) return std::nullopt;
  const auto indptr = converted<std::uint64_t>(member(members, prefix + "indptr", name), name, prefix + "indptr");
  const auto indices = converted<std::uint32_t>(member(members, prefix + "indices", name), name, prefix + "indices");
  const auto shape = converted<std::uint64_t>(member(members, prefix + "shape", name), name, prefix + "shape");
  Buffer<float> data(indices.size(), 1.0F);
  if (members.contains(prefix + "data")) data = converted<float>(members.at(prefix + "data"), name, prefix + "data");
  const auto refuse = [&](const std::string& what) { fail_in(name + ": " + prefix + "indptr", what); };
  constexpr std::uint64_t most = std::numeric_limits<NodeId>::max();
  if (shape.size() != 2 || shape[0] >= most || shape[1] >= most) refuse("the shape must be two sides below 2^32 - 1");
  const std::uint64_t outer = by_column ? shape[1] : shape[0];
  const std::uint64_t inner = by_column ? shape[0] : shape[1];
  if (indptr.size() != outer + 1 || indptr[0] != 0 || indptr[outer] != indices.size() ||
      data.size() != indices.size()) {
    refuse(fmt::format("{} pointers, {} indices and {} values do not fit {} rows", indptr.size(), indices.size(),
                       data.size(), outer));
  }
  // Sorted by row and column, duplicates added.
  struct Entry {
    NodeId row;
    NodeId col;
    float value;
  };
  std::vector<Entry> entries;
  entries.reserve(indices.size());
  for (std::uint64_t o = 0; o < outer; ++o) {
    if (indptr[o] > indptr[o + 1] || indptr[o + 1] > indices.size())
      refuse(fmt::format("row {}: the pointers fall", o));
    for (std::uint64_t e = indptr[o]; e < indptr[o + 1]; ++e) {
      if (indices[e] >= inner) refuse(fmt::format("row {}: index {} is outside 0 .. {}", o, indices[e], inner));
      const auto line = static_cast<NodeId>(o);
      entries.push_back(by_column ? Entry{indices[e], line, data[e]} : Entry{line, indices[e], data[e]});
    }
  }
  const auto before = [](const Entry& x, const Entry& y) { return x.row != y.row ? x.row < y.row : x.col < y.col; };
  if (!std::is_sorted(entries.begin(), entries.end(), before)) std::stable_sort(entries.begin(), entries.end(), before);
  std::size_t kept = 0;
  for (const Entry& entry : entries) {
    if (kept != 0 && entries[kept - 1].row == entry.row && entries[kept - 1].col == entry.col) {
      entries[kept - 1].value += entry.value;
    } else {
      entries[kept++] = entry;
    }
  }
  NpzSparse sparse;
  Buffer<EdgeOffset> row_ptr(shape[0] + 1, EdgeOffset{0}, device);
  Buffer<NodeId> col_ind(kept, device);
  sparse.values = Buffer<float>(kept, device);
  for (std::size_t e = 0; e < kept; ++e) {
    ++row_ptr[std::size_t{entries[e].row} + 1];
    col_ind[e] = entries[e].col;
    sparse.values[e] = entries[e].value;
  }
  std::partial_sum(row_ptr.begin(), row_ptr.end(), row_ptr.begin());
  sparse.pattern =
      CsrPattern(static_cast<NodeId>(shape[0]), static_cast<NodeId>(shape[1]), std::move(row_ptr), std::move(col_ind));
  return sparse;
}

std::map<std::string, Array> load_npz(const std::filesystem::path& path, const std::vector<std::string>& wanted) {
  return read_npz(MappedFile::open(path)->bytes(), path.string(), wanted);
}

void save_npz(const std::filesystem::path& path, const std::map<std::string, Array>& members) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* target = zip_source_buffer_create(nullptr, 0, 0, &error);
  if (target == nullptr) fail(ErrorCode::internal, path.string() + ": cannot write: " + message(error));
  zip_source_keep(target);
  const std::unique_ptr<zip_source_t, decltype(&zip_source_free)> keep(target, &zip_source_free);
  Zip archive(zip_open_from_source(target, ZIP_TRUNCATE, &error));
  const auto refuse = [&] {
    fail(ErrorCode::internal, path.string() + ": cannot write: " + zip_strerror(archive.get()));
  };
  if (!archive) fail(ErrorCode::internal, path.string() + ": cannot write: " + message(error));
  std::vector<std::vector<std::byte>> contents;
  contents.reserve(members.size());
  for (const auto& [key, array] : members) {
    const std::string header = npy_header(array.type, array.shape);
    auto& bytes = contents.emplace_back(header.size() + array.data.size());
    std::copy_n(reinterpret_cast<const std::byte*>(header.data()), header.size(), bytes.begin());
    std::copy(array.data.begin(), array.data.end(), bytes.begin() + static_cast<std::ptrdiff_t>(header.size()));
    zip_source_t* source = zip_source_buffer(archive.get(), bytes.data(), bytes.size(), 0);
    const zip_int64_t index =
        source == nullptr ? -1 : zip_file_add(archive.get(), (key + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) refuse();
    zip_file_set_mtime(archive.get(), static_cast<zip_uint64_t>(index), 0, 0);
  }
  if (zip_close(archive.get()) != 0) refuse();
  (void)archive.release();
  zip_stat_t status;
  if (zip_source_open(target) != 0 || zip_source_stat(target, &status) != 0)
    fail(ErrorCode::internal, path.string() + ": cannot write");
  std::vector<std::byte> bytes(status.size);
  zip_source_read(target, bytes.data(), bytes.size());
  zip_source_close(target);
  const std::array<std::span<const std::byte>, 1> parts{std::span<const std::byte>(bytes)};
  write_file(path, parts);
}

}  // namespace bitgraph
