// SPDX-License-Identifier: Apache-2.0
#include "io/graph/b2sr.hpp"
#include "core/preconditions.hpp"

#include "io/file/file.hpp"
#include "io/graph/graph_readers.hpp"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace bitgraph {

namespace {

static_assert(std::endian::native == std::endian::little,
              "the file's numbers are little-endian, as is every supported processor");

/// No text file starts so, and a transfer that changes line ends or cuts at a control character breaks it.
constexpr std::array<char, 8> magic{'B', '2', 'S', 'R', '\r', '\n', '\x1A', '\n'};
constexpr std::uint32_t first_version = 1;    ///< ids are numbers, or counted from 0
constexpr std::uint32_t current_version = 2;  ///< ids may be counted from another number, or be words
constexpr std::uint32_t reversed_version = 0x01000000;
constexpr std::uint64_t alignment = 64;

/// The arrays that may follow the header, in the order in which they lie.
enum Section : std::size_t { row_ptr, col_ind, bits, new_id, ids, num_sections };
// The characters of words lie behind the last one.

/// The first 128 bytes.
struct FileHeader {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t tile_dim;  ///< 0: pattern CSR
  std::uint64_t nrows;
  std::uint64_t ncols;
  std::uint64_t nvals;
  std::uint64_t num_indices;                         ///< tiles, or entries of a pattern
  std::array<std::uint64_t, num_sections> sections;  ///< where they start; 0: absent
  std::uint64_t file_size;
  std::uint64_t payload_hash;  ///< XXH3-64 of everything behind the header
  std::uint64_t first_id;      ///< counted ids: that of node 0. 0 in version 1
  std::uint64_t word_bytes;    ///< ids that are words: their characters; else 0, as in version 1
  std::uint64_t header_hash;   ///< XXH3-64 of the bytes before it
};
static_assert(sizeof(FileHeader) == 128 && offsetof(FileHeader, sections) == 48 &&
              offsetof(FileHeader, header_hash) == 120);

std::uint64_t hash_of_header(const FileHeader& header) {
  return XXH3_64bits(&header, offsetof(FileHeader, header_hash));
}

std::uint64_t aligned(std::uint64_t offset) { return (offset + alignment - 1) / alignment * alignment; }

std::uint64_t num_lines(const FileHeader& header) {
  return header.tile_dim == 0 ? header.nrows : (header.nrows + header.tile_dim - 1) / header.tile_dim;
}

/// Bytes of the bits of a tile; 0 for a pattern.
std::uint64_t bytes_of_bits(const FileHeader& header) {
  return header.tile_dim == 0 ? 0 : tile_bytes(static_cast<int>(header.tile_dim));
}

/// Bytes of every section that the header's numbers ask for, optional ones included.
std::array<std::uint64_t, num_sections> section_bytes(const FileHeader& header) {
  return {8 * (num_lines(header) + 1), 4 * header.num_indices, bytes_of_bits(header) * header.num_indices,
          4 * header.nrows, 8 * (header.nrows + (header.word_bytes != 0 ? 1 : 0))};
}

/// Lays the present sections one behind another, each at a multiple of 64; sets their places and the file's size.
void lay_out(FileHeader& header, const std::array<bool, num_sections>& present) {
  const auto bytes = section_bytes(header);
  std::uint64_t offset = sizeof(FileHeader);
  for (std::size_t s = 0; s < num_sections; ++s) {
    header.sections[s] = present[s] ? offset : 0;
    if (present[s]) offset = aligned(offset + bytes[s]);
  }
  header.file_size = header.word_bytes == 0 ? offset : aligned(offset + header.word_bytes);
}

/// Where the characters of words lie.
std::uint64_t words_offset(const FileHeader& header) { return header.file_size - aligned(header.word_bytes); }

/// Sizes that make sense, so that no product of them overflows.
void check_sizes(const FileHeader& header, const std::string& name) {
  constexpr std::uint64_t most = std::numeric_limits<NodeId>::max();
  if (header.tile_dim != 0 && (header.tile_dim > 64 || !is_tile_dim(static_cast<int>(header.tile_dim)))) {
    fail_at_byte(name, 12, fmt::format("tile side {}, expected 4, 8, 16, 32, 64, or 0 for a pattern", header.tile_dim));
  }
  if (header.nrows >= most) fail_at_byte(name, 16, fmt::format("{} rows, expected less than 2^32 - 1", header.nrows));
  if (header.ncols >= most)
    fail_at_byte(name, 24, fmt::format("{} columns, expected less than 2^32 - 1", header.ncols));
  if (header.word_bytes > header.file_size)
    fail_at_byte(name, 112, fmt::format("{} bytes of words do not fit the file", header.word_bytes));
  if (header.num_indices > header.file_size / (4 + bytes_of_bits(header)))
    fail_at_byte(name, 40, fmt::format("{} tiles or entries do not fit the file", header.num_indices));
  // A tile holds at least one entry and at most all of them; a pattern has an index for each.
  const std::uint64_t most_a_tile = std::max<std::uint64_t>(1, 8 * bytes_of_bits(header));
  if (header.nvals < header.num_indices || header.nvals > header.num_indices * most_a_tile ||
      (header.tile_dim == 0 && header.nvals != header.num_indices)) {
    fail_at_byte(name, 32, fmt::format("{} entries do not fit {} tiles or indices", header.nvals, header.num_indices));
  }
}

FileHeader read_header(std::span<const std::byte> bytes, const std::string& name, HeaderChecksum checksum) {
  FileHeader header{};
  if (bytes.size() < sizeof magic || std::memcmp(bytes.data(), magic.data(), sizeof magic) != 0)
    fail_at_byte(name, 0, "not a .b2sr file: expected the magic B2SR");
  if (bytes.size() < sizeof header) fail_at_byte(name, bytes.size(), "the header is cut");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.version == reversed_version)
    fail_at_byte(name, 8, "the bytes of its numbers are in reverse: written on a big-endian machine");
  if (header.version < first_version || header.version > current_version) {
    fail_at_byte(
        name, 8,
        fmt::format("version {} of the format, this program reads versions {} and {}{}", header.version, first_version,
                    current_version, header.version > current_version ? ": a newer one wrote it" : ""));
  }
  if (checksum == HeaderChecksum::compare && header.header_hash != hash_of_header(header))
    fail_at_byte(name, offsetof(FileHeader, header_hash), "the header's checksum is wrong: the file is damaged");
  if (header.file_size != bytes.size()) {
    fail_at_byte(
        name, bytes.size(),
        fmt::format("the file has {} bytes, expected {}: it is cut or was added to", bytes.size(), header.file_size));
  }
  if (header.version == first_version && (header.first_id != 0 || header.word_bytes != 0))
    fail_at_byte(name, offsetof(FileHeader, first_id), "reserved bytes are set");
  check_sizes(header, name);
  FileHeader expected = header;
  lay_out(expected, {true, true, header.tile_dim != 0, header.sections[new_id] != 0, header.sections[ids] != 0});
  if (header.sections != expected.sections || header.file_size != expected.file_size)
    fail_at_byte(name, offsetof(FileHeader, sections), "the sections do not lie where their sizes put them");
  if ((header.sections[new_id] != 0 || header.sections[ids] != 0) && header.nrows != header.ncols)
    fail_at_byte(name, offsetof(FileHeader, sections), "a numbering of the nodes of a matrix that is not square");
  if (header.word_bytes != 0 && header.sections[ids] == 0)
    fail_at_byte(name, offsetof(FileHeader, word_bytes), "words without their places");
  return header;
}

/// Throws usage where an array of node numbers does not fit the matrix.
void require_numbering(std::size_t size, NodeId nrows, NodeId ncols, const char* what) {
  if (size != 0 && (size != nrows || nrows != ncols)) {
    fail(ErrorCode::usage, fmt::format("save_b2sr: {} {} for a matrix of {} x {}", size, what, nrows, ncols));
  }
}

struct Contents {
  std::span<const EdgeOffset> row_ptr;
  std::span<const NodeId> col_ind;
  std::span<const std::byte> bits;
  std::span<const NodeId> new_id;
  const NodeIds* ids = nullptr;
};

void save(const std::filesystem::path& path, FileHeader header, const Contents& contents) {
  static constexpr std::array<std::byte, alignment> zeros{};
  require_numbering(contents.new_id.size(), static_cast<NodeId>(header.nrows), static_cast<NodeId>(header.ncols),
                    "new ids");
  static const NodeIds counted;
  const NodeIds& of_nodes = contents.ids == nullptr ? counted : *contents.ids;
  require_numbering(of_nodes.size(), static_cast<NodeId>(header.nrows), static_cast<NodeId>(header.ncols), "ids");
  header.magic = magic;
  const std::span<const std::uint64_t> of_ids = of_nodes.are_words() ? of_nodes.starts() : of_nodes.numbers();
  header.first_id = of_nodes.are_counted() ? of_nodes.first() : 0;
  header.word_bytes = of_nodes.characters().size();
  header.version = header.first_id != 0 || header.word_bytes != 0 ? current_version : first_version;
  const bool has_ids = of_nodes.size() != 0;
  lay_out(header, {true, true, header.tile_dim != 0, !contents.new_id.empty(), has_ids});
  const std::array<std::span<const std::byte>, num_sections + 1> sections{
      std::as_bytes(contents.row_ptr),
      std::as_bytes(contents.col_ind),
      contents.bits,
      std::as_bytes(contents.new_id),
      has_ids ? std::as_bytes(of_ids) : std::span<const std::byte>(),
      std::as_bytes(std::span(of_nodes.characters().data(), of_nodes.characters().size()))};
  std::vector<std::span<const std::byte>> parts(1);
  for (const auto section : sections) {
    parts.push_back(section);
    parts.push_back(std::span(zeros).first(aligned(section.size()) - section.size()));
  }
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  if (!state) fail(ErrorCode::not_possible, "not enough memory");
  XXH3_64bits_reset(state.get());
  for (const auto part : parts) {
    if (!part.empty()) XXH3_64bits_update(state.get(), part.data(), part.size());
  }
  header.payload_hash = XXH3_64bits_digest(state.get());
  header.header_hash = hash_of_header(header);
  parts[0] = std::as_bytes(std::span(&header, 1));
  write_file(path, parts);
}

void save(const std::filesystem::path& path, const BitTileMatrix& a, const Contents& numbering) {
  FileHeader header{};
  header.tile_dim = static_cast<std::uint32_t>(a.tile_dim());
  header.nrows = a.nrows();
  header.ncols = a.ncols();
  header.nvals = a.nvals();
  header.num_indices = a.num_tiles();
  save(path, header, {a.tile_row_ptr(), a.tile_col_ind(), a.bit_tiles(), numbering.new_id, numbering.ids});
}

void save(const std::filesystem::path& path, const CsrPattern& a, const Contents& numbering) {
  FileHeader header{};
  header.nrows = a.nrows();
  header.ncols = a.ncols();
  header.nvals = a.nvals();
  header.num_indices = a.nvals();
  save(path, header, {a.row_ptr(), a.col_ind(), {}, numbering.new_id, numbering.ids});
}

/// What is wrong with a permutation; empty where nothing is.
std::string permutation_fault(std::span<const NodeId> new_id) {
  std::vector<bool> taken(new_id.size(), false);
  for (std::size_t i = 0; i < new_id.size(); ++i) {
    if (new_id[i] >= new_id.size() || taken[new_id[i]])
      return fmt::format("new_id: {} of node {} is out of range or taken", new_id[i], i);
    taken[new_id[i]] = true;
  }
  return "";
}

B2srFile open_verified(const std::filesystem::path& path, const Device& device) {
  const auto file = MappedFile::open(path);
  const std::string name = path.string();
  B2srFile contents = open_b2sr({file->data(), file->size()}, file, name, device);
  check_b2sr_payload(file->bytes(), name);
  check_b2sr_arrays(contents, name);
  return contents;
}

}  // namespace

B2srFile open_b2sr(std::span<std::byte> bytes, std::shared_ptr<const void> owner, const std::string& name,
                   const Device& device, HeaderChecksum checksum) {
  const FileHeader header = read_header(bytes, name, checksum);
  const auto section = [&]<class T>(T, Section which, std::uint64_t count) {
    return Buffer<T>::borrow(reinterpret_cast<T*>(bytes.data() + header.sections[which]), count, owner, device);
  };
  const std::uint64_t lines = num_lines(header);
  auto pointers = section(EdgeOffset{}, row_ptr, lines + 1);
  auto indices = section(NodeId{}, col_ind, header.num_indices);
  if (pointers[lines] != header.num_indices) {
    fail_at_byte(name, header.sections[row_ptr] + 8 * lines,
                 fmt::format("the last row pointer is {}, expected {}", pointers[lines], header.num_indices));
  }
  const auto nrows = static_cast<NodeId>(header.nrows);
  const auto ncols = static_cast<NodeId>(header.ncols);
  B2srFile file;
  if (header.tile_dim == 0) {
    file.pattern = CsrPattern(nrows, ncols, std::move(pointers), std::move(indices), trusted);
  } else {
    file.tiles =
        BitTileMatrix(nrows, ncols, static_cast<int>(header.tile_dim), std::move(pointers), std::move(indices),
                      section(std::byte{}, bits, header.num_indices * bytes_of_bits(header)), header.nvals, trusted);
  }
  if (header.sections[new_id] != 0) file.new_id = section(NodeId{}, new_id, header.nrows);
  file.ids = NodeIds::counted_from(header.first_id);
  if (header.word_bytes != 0) {
    auto* const characters = reinterpret_cast<char*>(bytes.data() + words_offset(header));
    auto starts = section(std::uint64_t{}, ids, header.nrows + 1);
    if (starts[header.nrows] != header.word_bytes)
      fail_at_byte(name, header.sections[ids], "the places of the words do not fit their characters");
    file.ids = NodeIds::of_words(std::move(starts), Buffer<char>::borrow(characters, header.word_bytes, owner, device),
                                 trusted);
  } else if (header.sections[ids] != 0) {
    file.ids = NodeIds::of_numbers(section(std::uint64_t{}, ids, header.nrows));
  }
  return file;
}

void check_b2sr_payload(std::span<const std::byte> bytes, const std::string& name) {
  FileHeader header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  const auto payload = bytes.subspan(sizeof header);
  if (XXH3_64bits(payload.data(), payload.size()) != header.payload_hash)
    fail_at_byte(name, sizeof header, "the data's checksum is wrong: the file is damaged");
}

void check_b2sr_arrays(const B2srFile& file, const std::string& name) {
  try {
    if (file.tiles) file.tiles->validate();
    if (file.pattern) file.pattern->validate();
    file.ids.validate();
  } catch (const Error& error) {
    fail_in(name, error.what());
  }
  if (const std::string fault = permutation_fault(file.new_id.span()); !fault.empty()) fail_in(name, fault);
}

B2srFile open_b2sr(const std::filesystem::path& path, const Device& device) {
  require_host(device, "open_b2sr");
  const auto file = MappedFile::open(path);
  return open_b2sr({file->data(), file->size()}, file, path.string(), device);
}

BitTileMatrix map_b2sr(const std::filesystem::path& path) {
  B2srFile file = open_b2sr(path);
  if (!file.tiles) fail_in(path.string(), "holds a pattern CSR, expected tiles");
  return std::move(*file.tiles);
}

void verify_b2sr(const std::filesystem::path& path, const Device& device) { (void)open_verified(path, device); }

namespace {

Graph graph_of(B2srFile file, const std::string& name, const LoadOptions& options) {
  Graph graph;
  graph.pattern = file.tiles ? unpack(*file.tiles) : std::move(*file.pattern);
  graph.new_id = std::move(file.new_id);
  graph.renumbered = !file.ids.are_counted() || !graph.new_id.empty();
  // Counted ids are those of the order before.
  const bool counted = file.ids.are_counted() && !graph.new_id.empty();
  graph.ids = counted ? file.ids.permuted(std::as_const(graph.new_id).span()) : std::move(file.ids);
  if (options.undirected) {
    if (graph.pattern.nrows() != graph.pattern.ncols())
      fail_in(name, "found a rectangular matrix, expected a square one for an undirected graph");
    graph.pattern = symmetrized(graph.pattern);
  } else {
    graph.tiles = std::move(file.tiles);
  }
  return graph;
}

}  // namespace

Graph read_b2sr_graph(const std::filesystem::path& path, const LoadOptions& options, const Device& device) {
  return graph_of(open_verified(path, device), path.string(), options);
}

Graph read_b2sr_graph(Buffer<std::byte> bytes, const std::string& name, const LoadOptions& options,
                      const Device& device) {
  auto owner = std::make_shared<Buffer<std::byte>>(std::move(bytes));
  const std::span<std::byte> all = owner->span();
  B2srFile contents = open_b2sr(all, owner, name, device);
  check_b2sr_payload(all, name);
  check_b2sr_arrays(contents, name);
  return graph_of(std::move(contents), name, options);
}

void save_b2sr(const B2srFile& file, const std::filesystem::path& path) {
  require(file.tiles.has_value() != file.pattern.has_value(), "save_b2sr: expected tiles or a pattern, not both");
  if (const std::string fault = permutation_fault(file.new_id.span()); !fault.empty())
    fail(ErrorCode::usage, "save_b2sr: " + fault);
  const Contents numbering{{}, {}, {}, file.new_id.span(), &file.ids};
  file.tiles ? save(path, *file.tiles, numbering) : save(path, *file.pattern, numbering);
}

void save_graph(const BitTileMatrix& a, const std::filesystem::path& path) { save(path, a, {}); }

void write_b2sr_graph(const CsrPattern& a, const NodeIds& ids, const std::filesystem::path& path) {
  save(path, a, {{}, {}, {}, {}, &ids});
}

}  // namespace bitgraph
