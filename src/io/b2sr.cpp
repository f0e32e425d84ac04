// SPDX-License-Identifier: Apache-2.0
#include "io/b2sr.hpp"

#include "io/graph_readers.hpp"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <bit>
#include <cstring>
#include <vector>

namespace bitgraph {

namespace {

static_assert(std::endian::native == std::endian::little,
              "the file's numbers are little-endian, as is every supported processor");

constexpr std::array<char, 8> magic{'B', '2', 'S', 'R', '\r', '\n', '\x1A', '\n'};
constexpr std::uint32_t current_version = 1;
constexpr std::uint64_t alignment = 64;

/// The first 128 bytes. tile_dim 0 is pattern CSR, whose sections are row_ptr and col_ind.
struct FileHeader {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t tile_dim;
  std::uint64_t nrows;
  std::uint64_t ncols;
  std::uint64_t nvals;
  std::uint64_t num_indices;  ///< tiles, or entries of a pattern
  std::uint64_t row_ptr_offset;
  std::uint64_t col_ind_offset;
  std::uint64_t bits_offset;  ///< 0 for a pattern
  std::uint64_t file_size;
  std::uint64_t payload_hash;  ///< XXH3-64 of everything behind the header
  std::array<std::uint64_t, 4> reserved;
  std::uint64_t header_hash;  ///< XXH3-64 of the bytes before it
};
static_assert(sizeof(FileHeader) == 128);

std::uint64_t hash_of_header(const FileHeader& header) {
  return XXH3_64bits(&header, offsetof(FileHeader, header_hash));
}

std::uint64_t aligned(std::uint64_t offset) { return (offset + alignment - 1) / alignment * alignment; }

FileHeader read_header(const MappedFile& file, const std::string& name) {
  FileHeader header{};
  if (file.size() < sizeof header) fail_at_byte(name, file.size(), "not a .b2sr file: the header is cut");
  std::memcpy(&header, file.data(), sizeof header);
  if (header.magic != magic) fail_at_byte(name, 0, "not a .b2sr file: wrong magic");
  if (header.version != current_version) {
    fail_at_byte(name, 8, fmt::format("version {}, this program reads version {}", header.version, current_version));
  }
  if (header.header_hash != hash_of_header(header))
    fail_at_byte(name, 120, "the header's checksum is wrong: the file is damaged");
  if (header.file_size != file.size()) {
    fail_at_byte(
        name, file.size(),
        fmt::format("the file has {} bytes, expected {}: it is cut or was added to", file.size(), header.file_size));
  }
  return header;
}

/// A section of `count` values as a buffer that keeps the mapping alive.
template <class T>
Buffer<T> section(const std::shared_ptr<MappedFile>& file, std::uint64_t offset, std::uint64_t count,
                  const std::string& name, const Device& device) {
  if (offset % alignment != 0 || offset < sizeof(FileHeader) || offset > file->size() ||
      count > (file->size() - offset) / sizeof(T)) {
    fail_in(name, fmt::format("a section of {} values at byte {} lies outside the file", count, offset));
  }
  return Buffer<T>::borrow(reinterpret_cast<T*>(file->data() + offset), count, file, device);
}

struct Sections {
  std::span<const std::byte> row_ptr;
  std::span<const std::byte> col_ind;
  std::span<const std::byte> bits;
};

void save(const std::filesystem::path& path, FileHeader header, const Sections& sections) {
  static constexpr std::array<std::byte, alignment> zeros{};
  header.magic = magic;
  header.version = current_version;
  std::vector<std::span<const std::byte>> parts(1);
  std::uint64_t offset = sizeof(FileHeader);
  const auto put = [&](std::span<const std::byte> bytes) {
    const std::uint64_t start = offset;
    parts.push_back(bytes);
    offset += bytes.size();
    parts.push_back(std::span(zeros).first(aligned(offset) - offset));
    offset = aligned(offset);
    return start;
  };
  header.row_ptr_offset = put(sections.row_ptr);
  header.col_ind_offset = put(sections.col_ind);
  if (header.tile_dim != 0) header.bits_offset = put(sections.bits);
  header.file_size = offset;
  XXH3_state_t* state = XXH3_createState();
  if (state == nullptr) fail(ErrorCode::not_possible, "not enough memory");
  XXH3_64bits_reset(state);
  for (std::size_t p = 1; p < parts.size(); ++p) XXH3_64bits_update(state, parts[p].data(), parts[p].size());
  header.payload_hash = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  header.header_hash = hash_of_header(header);
  parts[0] = std::as_bytes(std::span(&header, 1));
  write_file(path, parts);
}

}  // namespace

B2srContents open_b2sr(const std::shared_ptr<MappedFile>& file, const std::string& name, const Device& device) {
  const FileHeader header = read_header(*file, name);
  constexpr std::uint64_t most = ~NodeId{0};
  if (header.nrows >= most || header.ncols >= most) fail_at_byte(name, 16, "2^32 - 1 or more rows or columns");
  if (header.tile_dim != 0 && !is_tile_dim(static_cast<int>(header.tile_dim))) {
    fail_at_byte(name, 12, fmt::format("tile side {}, expected 4, 8, 16, 32, 64, or 0 for a pattern", header.tile_dim));
  }
  const auto nrows = static_cast<NodeId>(header.nrows);
  const auto ncols = static_cast<NodeId>(header.ncols);
  const int k = static_cast<int>(header.tile_dim);
  const std::uint64_t lines = k == 0 ? header.nrows : (header.nrows + header.tile_dim - 1) / header.tile_dim;
  auto row_ptr = section<EdgeOffset>(file, header.row_ptr_offset, lines + 1, name, device);
  auto col_ind = section<NodeId>(file, header.col_ind_offset, header.num_indices, name, device);
  if (row_ptr[lines] != header.num_indices)
    fail_at_byte(name, header.row_ptr_offset + 8 * lines, "the last row pointer differs from the header");
  B2srContents contents;
  if (k == 0) {
    contents.pattern = CsrPattern(nrows, ncols, std::move(row_ptr), std::move(col_ind));
  } else {
    auto bits = section<std::byte>(file, header.bits_offset, header.num_indices * tile_bytes(k), name, device);
    contents.tiles =
        BitTileMatrix(nrows, ncols, k, std::move(row_ptr), std::move(col_ind), std::move(bits), header.nvals);
  }
  return contents;
}

void check_b2sr_payload(const MappedFile& file, const std::string& name) {
  const FileHeader header = read_header(file, name);
  const auto payload = file.bytes().subspan(sizeof header);
  if (XXH3_64bits(payload.data(), payload.size()) != header.payload_hash) {
    fail_at_byte(name, sizeof header, "the data's checksum is wrong: the file is damaged");
  }
}

BitTileMatrix map_b2sr(const std::filesystem::path& path) {
  auto contents = open_b2sr(MappedFile::open(path), path.string(), {});
  if (!contents.tiles) fail_in(path.string(), "holds a pattern CSR, expected tiles");
  return std::move(*contents.tiles);
}

namespace {

B2srContents open_verified(const std::filesystem::path& path, const Device& device) {
  const auto file = MappedFile::open(path);
  const std::string name = path.string();
  auto contents = open_b2sr(file, name, device);
  check_b2sr_payload(*file, name);
  try {
    if (contents.tiles) contents.tiles->validate();
    if (contents.pattern) contents.pattern->validate();
  } catch (const Error& error) {
    fail_in(name, error.what());
  }
  return contents;
}

}  // namespace

void verify_b2sr(const std::filesystem::path& path, const Device& device) { (void)open_verified(path, device); }

Graph read_b2sr_graph(const std::filesystem::path& path, const LoadOptions& options, const Device& device) {
  auto contents = open_verified(path, device);
  Graph graph;
  graph.pattern = contents.tiles ? unpack(*contents.tiles) : contents.pattern->clone();
  if (options.undirected) {
    graph.pattern = symmetrized(graph.pattern);
  } else {
    graph.tiles = std::move(contents.tiles);
  }
  return graph;
}

void save_graph(const BitTileMatrix& a, const std::filesystem::path& path) {
  FileHeader header{};
  header.tile_dim = static_cast<std::uint32_t>(a.tile_dim());
  header.nrows = a.nrows();
  header.ncols = a.ncols();
  header.nvals = a.nvals();
  header.num_indices = a.num_tiles();
  save(path, header, {std::as_bytes(a.tile_row_ptr()), std::as_bytes(a.tile_col_ind()), a.bit_tiles()});
}

void write_b2sr_graph(const CsrPattern& a, const std::filesystem::path& path) {
  FileHeader header{};
  header.nrows = a.nrows();
  header.ncols = a.ncols();
  header.nvals = a.nvals();
  header.num_indices = a.nvals();
  save(path, header, {std::as_bytes(a.row_ptr()), std::as_bytes(a.col_ind()), {}});
}

}  // namespace bitgraph
