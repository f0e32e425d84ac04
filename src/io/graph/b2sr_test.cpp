// SPDX-License-Identifier: Apache-2.0
#include "io/graph/b2sr.hpp"

#include "support/b2sr_bytes.hpp"
#include "support/expect_error.hpp"
#include "support/fixtures.hpp"
#include "support/random_matrices.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <vector>

namespace bitgraph {
namespace {

using test::contents;
using test::expect_error;
using test::number_at;
using test::put_number;
using test::TemporaryFolder;
namespace at = test::b2sr_at;

/// 6 x 5: (0, 1), (1, 4), (4, 0), (5, 3), (5, 4). Asymmetric, and the last tiles stick out of the matrix.
CsrPattern small_pattern() {
  const std::vector<NodeId> rows{0, 1, 4, 5, 5};
  const std::vector<NodeId> cols{1, 4, 0, 3, 4};
  return csr_from_edges(6, 5, rows, cols);
}

/// `values` as little-endian bytes, filled up with zeros to a multiple of 64.
template <class T>
std::string section(const std::vector<T>& values) {
  std::string bytes((values.size() * sizeof(T) + 63) / 64 * 64, '\0');
  for (std::size_t n = 0; n < values.size(); ++n) put_number(bytes, n * sizeof(T), values[n]);
  return bytes;
}

/// The header of docs/formats.md, in front of a payload.
std::string file_of(std::uint32_t tile_dim, const std::vector<std::uint64_t>& numbers, const std::string& payload) {
  std::string bytes("B2SR\r\n\x1A\n", 8);
  bytes.resize(at::payload);
  put_number(bytes, at::version, std::uint32_t{1});
  put_number(bytes, at::tile_dim, tile_dim);
  for (std::size_t n = 0; n < numbers.size(); ++n) put_number(bytes, at::nrows + 8 * n, numbers[n]);
  put_number(bytes, at::file_size, at::payload + payload.size());
  bytes += payload;
  test::seal_b2sr(bytes);
  return bytes;
}

TEST(B2sr, WritesTilesByteForByte) {
  const TemporaryFolder folder;
  save_graph(pack(small_pattern(), {.tile_dim = 4}), folder / "a.b2sr");
  // Rows of a 4 x 4 tile, from the lowest bits on: 0010, 0, 0, 0; 0, 0001 (column 4), 0, 0; 0001, 1000, ..; 0, 0001.
  const std::string payload = section<std::uint64_t>({0, 2, 4}) + section<std::uint32_t>({0, 1, 0, 1}) +
                              section<std::uint16_t>({0x0002, 0x0010, 0x0081, 0x0010});
  EXPECT_EQ(contents(folder / "a.b2sr"), file_of(4, {6, 5, 5, 4, 128, 192, 256, 0, 0}, payload));
  EXPECT_EQ(contents(folder / "a.b2sr"), contents(test::fixture("tiles4.b2sr")));
}

TEST(B2sr, WritesRowsOfLargerTilesLowestBitFirst) {
  const TemporaryFolder folder;
  save_graph(pack(small_pattern(), {.tile_dim = 8}), folder / "a.b2sr");
  const std::string payload = section<std::uint64_t>({0, 1}) + section<std::uint32_t>({0}) +
                              section<std::uint8_t>({0x02, 0x10, 0, 0, 0x01, 0x18, 0, 0});
  EXPECT_EQ(contents(folder / "a.b2sr"), file_of(8, {6, 5, 5, 1, 128, 192, 256, 0, 0}, payload));
}

TEST(B2sr, WritesPatternsAndNumberingsByteForByte) {
  const TemporaryFolder folder;
  const std::vector<NodeId> rows{0, 2};
  const std::vector<NodeId> cols{2, 1};
  B2srFile file{
      .pattern = csr_from_edges(3, 3, rows, cols), .new_id = {2, 0, 1}, .ids = NodeIds::of_numbers({7, 1ULL << 40, 9})};
  save_b2sr(file, folder / "a.b2sr");
  const std::string payload = section<std::uint64_t>({0, 1, 1, 2}) + section<std::uint32_t>({2, 1}) +
                              section<std::uint32_t>({2, 0, 1}) + section<std::uint64_t>({7, 1ULL << 40, 9});
  EXPECT_EQ(contents(folder / "a.b2sr"), file_of(0, {3, 3, 2, 2, 128, 192, 0, 256, 320}, payload));
  EXPECT_EQ(contents(folder / "a.b2sr"), contents(test::fixture("pattern_numbered.b2sr")));
}

TEST(B2sr, ReadsTheFilesOfVersionOne) {
  EXPECT_EQ(unpack(map_b2sr(test::fixture("tiles4.b2sr"))), small_pattern());
  const B2srFile file = open_b2sr(test::fixture("pattern_numbered.b2sr"));
  EXPECT_FALSE(file.ids.are_words());
  EXPECT_EQ(file.pattern->col_ind()[0], 2U);
  EXPECT_EQ(file.new_id[0], 2U);
  EXPECT_EQ(file.ids.number(1), std::uint64_t{1} << 40);
}

/// A pattern, tiles of any side, each perhaps with numberings: what a file can hold.
B2srFile arbitrary_file() {
  const auto nrows = *rc::gen::inRange<NodeId>(0, 150);
  const bool square = *rc::gen::arbitrary<bool>();
  const auto ncols = square ? nrows : *rc::gen::inRange<NodeId>(0, 150);
  CsrPattern a = test::random_pattern(nrows, ncols, *rc::gen::elementOf(std::vector<double>{0, 0.01, 0.3}),
                                      *rc::gen::arbitrary<std::uint64_t>());
  B2srFile file;
  const int tile_dim = *rc::gen::elementOf(std::vector<int>{0, 4, 8, 16, 32, 64});
  if (tile_dim == 0) {
    file.pattern = std::move(a);
  } else {
    file.tiles = pack(a, {.tile_dim = tile_dim});
  }
  if (square && *rc::gen::arbitrary<bool>()) {
    file.new_id = Buffer<NodeId>(nrows);
    std::iota(file.new_id.begin(), file.new_id.end(), NodeId{0});
    std::reverse(file.new_id.begin(), file.new_id.end());
  }
  if (square && *rc::gen::arbitrary<bool>()) {
    Buffer<std::uint64_t> ids(nrows);
    std::iota(ids.begin(), ids.end(), *rc::gen::arbitrary<std::uint64_t>());
    file.ids = NodeIds::of_numbers(std::move(ids));
  } else if (square && nrows != 0 && *rc::gen::arbitrary<bool>()) {
    std::string text;
    Buffer<std::uint64_t> starts(nrows + std::size_t{1}, std::uint64_t{0});
    for (NodeId i = 0; i < nrows; ++i) {
      text += "node " + std::to_string(i) + *rc::gen::element<std::string>("", "!", ", jr");
      starts[i + 1] = text.size();
    }
    file.ids = NodeIds::of_words(std::move(starts), Buffer<char>::copy_of(std::span<const char>(text)));
  } else if (*rc::gen::arbitrary<bool>()) {
    file.ids = NodeIds::counted_from(1);
  }
  return file;
}

TEST(B2sr, RoundTrips) {
  const TemporaryFolder folder;
  EXPECT_TRUE(rc::check([&] {
    const B2srFile file = arbitrary_file();
    const auto path = folder / "x.b2sr";
    save_b2sr(file, path);
    const B2srFile again = open_b2sr(path);
    RC_ASSERT(again.tiles.has_value() == file.tiles.has_value());
    if (file.tiles) RC_ASSERT(*again.tiles == *file.tiles);
    if (file.pattern) RC_ASSERT(*again.pattern == *file.pattern);
    RC_ASSERT(std::ranges::equal(again.new_id.span(), file.new_id.span()));
    for (NodeId i = 0; i < file.ids.size(); ++i) RC_ASSERT(again.ids.text(i) == file.ids.text(i));
    RC_ASSERT(again.ids.first() == file.ids.first());
    verify_b2sr(path);
    const Graph graph = load_graph(path);
    RC_ASSERT(graph.pattern == (file.tiles ? unpack(*file.tiles) : file.pattern->clone()));
    RC_ASSERT(graph.tiles.has_value() == file.tiles.has_value());
    for (NodeId i = 0; i < graph.pattern.nrows(); ++i) {
      // Counted ids go with their nodes to their new places.
      const bool moved = file.ids.are_counted() && !file.new_id.empty();
      RC_ASSERT(graph.ids.text(moved ? file.new_id[i] : i) == file.ids.text(i));
    }
    const std::string bytes = contents(path);
    save_b2sr(again, path);  // from its own mapping
    RC_ASSERT(contents(path) == bytes);
  }));
}

TEST(B2sr, EveryArrayBorrowsTheMappingAtAMultipleOf64) {
  const TemporaryFolder folder;
  const CsrPattern a = test::random_pattern(100, 100, 0.1, 3);
  save_graph(pack(a, {.tile_dim = 16}), folder / "a.b2sr");
  const Device device = Device::host(1);
  const B2srFile file = open_b2sr(folder / "a.b2sr", device);
  EXPECT_EQ(device.memory().allocations, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.tiles->tile_row_ptr().data()) % 64, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.tiles->tile_col_ind().data()) % 64, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.tiles->bit_tiles().data()) % 64, 0U);
  std::filesystem::remove(folder / "a.b2sr");
  EXPECT_EQ(unpack(*file.tiles), a);  // the mapping lives as long as the arrays do
}

TEST(B2sr, OpensWithoutReadingTheArrays) {
  // A file of 64 GiB, nearly all of it a hole: whoever read it would not be done in this test's lifetime.
  const TemporaryFolder folder;
  const std::uint64_t entries = (std::uint64_t{64} << 30) / 4;
  std::string header = file_of(0, {1, 1000, entries, entries, 128, 192, 0, 0, 0}, section<std::uint64_t>({0, entries}));
  const std::uint64_t size = header.size() + 4 * entries;
  put_number(header, at::file_size, size);
  put_number(header, at::header_hash, std::uint64_t{XXH3_64bits(header.data(), at::header_hash)});
  const auto path = folder.put("hole.b2sr", header);
  std::error_code error;
  std::filesystem::resize_file(path, size, error);
  if (error) GTEST_SKIP() << "no file of 64 GiB with a hole here: " << error.message();
  const B2srFile file = open_b2sr(path);
  EXPECT_EQ(file.pattern->nvals(), entries);
  EXPECT_EQ(file.pattern->col_ind().back(), 0U);
}

TEST(B2sr, LoadsAsAnUndirectedGraph) {
  const TemporaryFolder folder;
  const CsrPattern a = test::random_pattern(50, 50, 0.05, 1);
  save_graph(pack(a, {.tile_dim = 8}), folder / "a.b2sr");
  const Graph graph = load_graph(folder / "a.b2sr", {.undirected = true});
  EXPECT_EQ(graph.pattern, symmetrized(a));
  EXPECT_FALSE(graph.tiles.has_value());
}

/// open_b2sr and verify_b2sr of those bytes refuse with the message behind the file's name.
void expect_refused(const TemporaryFolder& folder, const std::string& bytes, const std::string& message) {
  const auto path = folder.put("x.b2sr", bytes);
  expect_error([&] { (void)open_b2sr(path); }, ErrorCode::bad_input, path.string() + ": " + message);
  expect_error([&] { verify_b2sr(path); }, ErrorCode::bad_input, path.string() + ": " + message);
}

TEST(B2sr, EveryFieldOfTheHeaderIsChecked) {
  const TemporaryFolder folder;
  save_graph(pack(small_pattern(), {.tile_dim = 4}), folder / "a.b2sr");
  const std::string good = contents(folder / "a.b2sr");
  struct Case {
    std::size_t where;
    int bytes;
    std::uint64_t value;
    const char* message;
  };
  constexpr std::uint64_t wraps = std::uint64_t{1} << 62;
  const char* sections = "byte 48: the sections do not lie where their sizes put them";
  const std::vector<Case> cases{
      {0, 1, 'b', "byte 0: not a .b2sr file: expected the magic B2SR"},
      {4, 1, '\n', "byte 0: not a .b2sr file: expected the magic B2SR"},
      {at::version, 4, 0, "byte 8: version 0 of the format, this program reads versions 1 and 2"},
      {at::version, 4, 3, "byte 8: version 3 of the format, this program reads versions 1 and 2: a newer one wrote it"},
      {at::version, 4, 0x01000000, "byte 8: the bytes of its numbers are in reverse: written on a big-endian machine"},
      {at::tile_dim, 4, 5, "byte 12: tile side 5, expected 4, 8, 16, 32, 64, or 0 for a pattern"},
      {at::tile_dim, 4, 128, "byte 12: tile side 128, expected 4, 8, 16, 32, 64, or 0 for a pattern"},
      {at::tile_dim, 4, 0xFFFFFFFC, "byte 12: tile side 4294967292, expected 4, 8, 16, 32, 64, or 0 for a pattern"},
      {at::tile_dim, 4, 0, "byte 32: 5 entries do not fit 4 tiles or indices"},
      {at::tile_dim, 4, 8, "byte 136: the last row pointer is 2, expected 4"},
      {at::nrows, 8, 0xFFFFFFFF, "byte 16: 4294967295 rows, expected less than 2^32 - 1"},
      {at::nrows, 8, wraps, "byte 16: 4611686018427387904 rows, expected less than 2^32 - 1"},
      {at::nrows, 8, 1000000, sections},
      {at::nrows, 8, 0, "byte 128: the last row pointer is 0, expected 4"},
      {at::ncols, 8, ~std::uint64_t{0}, "byte 24: 18446744073709551615 columns, expected less than 2^32 - 1"},
      {at::nvals, 8, 3, "byte 32: 3 entries do not fit 4 tiles or indices"},
      {at::nvals, 8, 65, "byte 32: 65 entries do not fit 4 tiles or indices"},
      {at::nvals, 8, 1000000000000, "byte 32: 1000000000000 entries do not fit 4 tiles or indices"},
      {at::num_indices, 8, 1000000000000, "byte 40: 1000000000000 tiles or entries do not fit the file"},
      {at::num_indices, 8, wraps, "byte 40: 4611686018427387904 tiles or entries do not fit the file"},
      {at::num_indices, 8, 5, "byte 144: the last row pointer is 4, expected 5"},
      {at::row_ptr, 8, 129, sections},
      {at::row_ptr, 8, 0, sections},
      {at::col_ind, 8, 128, sections},
      {at::col_ind, 8, wraps, sections},
      {at::bits, 8, 0, sections},
      {at::bits, 8, 258, sections},
      {at::new_id, 8, 320, sections},
      {at::ids, 8, 1, sections},
      {at::file_size, 8, 0, "byte 320: the file has 320 bytes, expected 0: it is cut or was added to"},
      {at::file_size, 8, wraps,
       "byte 320: the file has 320 bytes, expected 4611686018427387904: it is cut or was added to"},
      {at::reserved, 8, 1, "byte 104: reserved bytes are set"},
      {at::reserved + 15, 1, 1, "byte 104: reserved bytes are set"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.message);
    std::string bytes = good;
    for (int b = 0; b < c.bytes; ++b)
      bytes[c.where + static_cast<std::size_t>(b)] = static_cast<char>(c.value >> (8 * b));
    test::seal_b2sr(bytes);
    expect_refused(folder, bytes, c.message);
  }
}

TEST(B2sr, NumberingsNeedASquareMatrix) {
  const TemporaryFolder folder;
  const std::string payload = section<std::uint64_t>({0, 0}) + section<std::uint32_t>({0});
  std::string bytes = file_of(0, {1, 2, 0, 0, 128, 192, 0, 192, 0}, payload);
  expect_refused(folder, bytes, "byte 48: a numbering of the nodes of a matrix that is not square");
}

TEST(B2sr, WordsWhosePlacesDoNotFitAreRefused) {
  const TemporaryFolder folder;
  B2srFile file{.pattern = CsrPattern(2, 2, Buffer<EdgeOffset>{0, 0, 0}, {}),
                .ids = NodeIds::of_words({0, 3, 6}, {'a', 'n', 'n', 'b', 'o', 'b'})};
  save_b2sr(file, folder / "good.b2sr");
  const std::string good = contents(folder / "good.b2sr");
  const auto places = good.find(std::string("\3\0\0\0\0\0\0\0\6", 9));
  ASSERT_NE(places, std::string::npos);
  const auto refused = [&](std::size_t where, char value, const std::string& message) {
    std::string bytes = good;
    bytes[where] = value;
    test::seal_b2sr(bytes);
    const auto path = folder.put("bad.b2sr", bytes);
    EXPECT_EQ(test::message_of(ErrorCode::bad_input, [&] { verify_b2sr(path); }), path.string() + ": " + message);
  };
  refused(places, 7, "node ids: the places of the words do not fit their characters");
  refused(places + 8, 5, "byte 192: the places of the words do not fit their characters");
  refused(112, 7, "byte 192: the places of the words do not fit their characters");
  refused(112, 0, "byte 48: the sections do not lie where their sizes put them");
}

TEST(B2sr, EveryCutAndEveryFlippedBitIsFound) {
  const TemporaryFolder folder;
  B2srFile file{.tiles = pack(test::random_pattern(20, 20, 0.1, 5), {.tile_dim = 8}),
                .ids = NodeIds::of_numbers(Buffer<std::uint64_t>(20, 9))};
  file.new_id = Buffer<NodeId>(20);
  std::iota(file.new_id.begin(), file.new_id.end(), NodeId{0});
  save_b2sr(file, folder / "good.b2sr");
  const std::string good = contents(folder / "good.b2sr");
  const auto refused = [](const std::string& bytes) {
    const auto storage = std::make_shared<Buffer<std::byte>>(Buffer<std::byte>::copy_of(test::as_bytes(bytes)));
    try {
      const B2srFile opened = open_b2sr(storage->span(), storage, "x.b2sr", {});
      check_b2sr_payload(storage->span(), "x.b2sr");
      check_b2sr_arrays(opened, "x.b2sr");
    } catch (const Error& error) {
      const std::string_view message = error.what();
      return error.code() == ErrorCode::bad_input && message.starts_with("x.b2sr: ") &&
             message.find('\n') == std::string_view::npos;
    }
    return false;
  };
  EXPECT_FALSE(refused(good));
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_TRUE(refused(good.substr(0, size))) << size;
  EXPECT_TRUE(refused(good + std::string(64, '\0')));
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_TRUE(refused(bytes)) << "bit " << bit;
  }
}

TEST(B2sr, DamageSaysWhereItIs) {
  const TemporaryFolder folder;
  save_graph(pack(small_pattern(), {.tile_dim = 4}), folder / "a.b2sr");
  const std::string good = contents(folder / "a.b2sr");
  const auto damaged = [&](std::size_t where) {
    std::string bytes = good;
    bytes[where] = static_cast<char>(bytes[where] ^ 0x40);
    return bytes;
  };
  expect_refused(folder, damaged(20), "byte 120: the header's checksum is wrong: the file is damaged");
  expect_refused(folder, good.substr(0, 300),
                 "byte 300: the file has 300 bytes, expected 320: it is cut or was added to");
  expect_refused(folder, good.substr(0, 127), "byte 127: the header is cut");
  expect_refused(folder, "", "byte 0: not a .b2sr file: expected the magic B2SR");
  const auto path = folder.put("x.b2sr", damaged(256));
  const std::string name = path.string();
  EXPECT_NO_THROW((void)open_b2sr(path));  // opening reads the header only
  const std::string message = name + ": byte 128: the data's checksum is wrong: the file is damaged";
  expect_error([&] { verify_b2sr(path); }, ErrorCode::bad_input, message);
  expect_error([&] { (void)load_graph(path); }, ErrorCode::bad_input, message);
  const auto missing = folder / "none.b2sr";
  expect_error([&] { (void)open_b2sr(missing); }, ErrorCode::bad_input,
               missing.string() + ": cannot open: No such file or directory");
}

TEST(B2sr, EveryInvariantOfTheArraysIsChecked) {
  // Well sealed files whose arrays make no sense: what a careless or hostile program might write.
  const TemporaryFolder folder;
  const auto tiles = [](const std::vector<std::uint64_t>& row_ptr, const std::vector<std::uint32_t>& col_ind,
                        const std::vector<std::uint16_t>& bits, std::uint64_t nvals) {
    return file_of(4, {6, 5, nvals, col_ind.size(), 128, 192, 256, 0, 0},
                   section(row_ptr) + section(col_ind) + section(bits));
  };
  const auto pattern = [](const std::vector<std::uint64_t>& row_ptr, const std::vector<std::uint32_t>& col_ind,
                          const std::vector<std::uint32_t>& new_id = {}) {
    return file_of(0, {3, 3, col_ind.size(), col_ind.size(), 128, 192, 0, new_id.empty() ? 0U : 256U, 0},
                   section(row_ptr) + section(col_ind) + section(new_id));
  };
  struct Case {
    std::string bytes;
    const char* message;
  };
  const std::vector<Case> cases{
      {tiles({1, 1, 2}, {0, 1}, {1, 1}, 2), "B2SR-4: tile row 0: tile_row_ptr does not start at 0"},
      {tiles({0, 1000000000000, 2}, {0, 1}, {1, 1}, 2), "B2SR-4: tile row 1: tile_row_ptr falls"},
      {tiles({0, 2, 2}, {1, 0}, {1, 1}, 2),
       "B2SR-4: tile row 0: tile columns are not increasing and inside the matrix"},
      {tiles({0, 2, 2}, {1, 1}, {1, 1}, 2),
       "B2SR-4: tile row 0: tile columns are not increasing and inside the matrix"},
      {tiles({0, 0, 1}, {2}, {1}, 1), "B2SR-4: tile row 1: tile columns are not increasing and inside the matrix"},
      {tiles({0, 0, 1}, {0xFFFFFFFF}, {1}, 1),
       "B2SR-4: tile row 1: tile columns are not increasing and inside the matrix"},
      {tiles({0, 1, 1}, {1}, {2}, 1), "B2SR-4: tile row 0: a bit outside the matrix is set"},
      {tiles({0, 0, 1}, {0}, {0x0100}, 1), "B2SR-4: tile row 1: a bit outside the matrix is set"},
      {tiles({0, 0, 2}, {0, 1}, {3, 0}, 2), "B2SR-4: tile row 1: a tile is empty"},
      {tiles({0, 0, 1}, {0}, {3}, 1), "B2SR-4: 2 bits are set, expected 1"},
      {pattern({0, 2, 1, 1}, {0}), "pattern CSR: row 0: row_ptr falls"},
      {pattern({1, 1, 1, 1}, {0}), "pattern CSR: row_ptr starts at 1, expected 0"},
      {pattern({0, 1, 1, 1}, {3}), "pattern CSR: row 0: columns are not increasing and below 3"},
      {pattern({0, 0, 2, 2}, {1, 1}), "pattern CSR: row 1: columns are not increasing and below 3"},
      {pattern({0, 0, 0, 1}, {0}, {0, 1, 1}), "new_id: 1 of node 2 is out of range or taken"},
      {pattern({0, 0, 0, 1}, {0}, {0, 3, 1}), "new_id: 3 of node 1 is out of range or taken"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.message);
    const auto path = folder.put("x.b2sr", c.bytes);
    const std::string message = path.string() + ": " + c.message;
    EXPECT_NO_THROW((void)open_b2sr(path));
    expect_error([&] { verify_b2sr(path); }, ErrorCode::bad_input, message);
    expect_error([&] { (void)load_graph(path); }, ErrorCode::bad_input, message);
  }
}

TEST(B2sr, MapsOnlyTiles) {
  const auto path = test::fixture("pattern_numbered.b2sr");
  expect_error([&] { (void)map_b2sr(path); }, ErrorCode::bad_input,
               path.string() + ": holds a pattern CSR, expected tiles");
}

TEST(B2sr, WritesOnlyWhatFits) {
  const TemporaryFolder folder;
  const auto refused = [&](const B2srFile& file, const char* message) {
    expect_error([&] { save_b2sr(file, folder / "a.b2sr"); }, ErrorCode::usage, message);
  };
  refused({}, "save_b2sr: expected tiles or a pattern, not both");
  refused({.tiles = BitTileMatrix(), .pattern = CsrPattern()}, "save_b2sr: expected tiles or a pattern, not both");
  refused({.pattern = small_pattern(), .ids = NodeIds::of_numbers({1, 2, 3, 4, 5, 6})},
          "save_b2sr: 6 ids for a matrix of 6 x 5");
  refused({.pattern = CsrPattern(), .new_id = {0}}, "save_b2sr: 1 new ids for a matrix of 0 x 0");
  refused({.pattern = CsrPattern(), .new_id = {1}}, "save_b2sr: new_id: 1 of node 0 is out of range or taken");
  EXPECT_EQ(folder.size(), 0U);
}

}  // namespace
}  // namespace bitgraph
