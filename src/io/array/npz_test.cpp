// SPDX-License-Identifier: Apache-2.0
#include "io/array/npz.hpp"

#include "io/graph/graph_readers.hpp"
#include "support/expect_error.hpp"
#include "support/fixtures.hpp"
#include "support/npz_members.hpp"
#include "support/random_matrices.hpp"
#include "support/temporary_folder.hpp"
#include "support/zip_builder.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

namespace bitgraph {
namespace {

using test::expect_bad_input;
using test::fixture;
using test::TemporaryFolder;
using test::text_member;
using test::vector_member;
using test::zip_of;
using test::ZipMember;

std::map<std::string, Array> read(const std::string& bytes) { return read_npz(test::as_bytes(bytes), "x.npz"); }

Graph read_graph(const std::string& bytes, const LoadOptions& options = {}) {
  return read_npz_graph(test::as_bytes(bytes), "x.npz", options, {});
}

using Ints = std::vector<std::int32_t>;

/// The pattern of the fixtures: rows with 2, 0, 3 and 1 entries.
CsrPattern fixture_pattern() {
  const std::vector<NodeId> rows{0, 0, 2, 2, 2, 3};
  const std::vector<NodeId> cols{1, 4, 0, 1, 4, 2};
  return csr_from_edges(4, 5, rows, cols);
}

TEST(Npz, RoundTrips) {
  const TemporaryFolder folder;
  EXPECT_TRUE(rc::check([&] {
    std::map<std::string, Array> members;
    const auto count = *rc::gen::inRange(0, 4);
    for (int m = 0; m < count; ++m) {
      const auto type = static_cast<ElementType>(*rc::gen::inRange(0, 10));
      const auto rows = *rc::gen::inRange<std::uint64_t>(0, 5);
      const auto cols = *rc::gen::inRange<std::uint64_t>(0, 40);
      const auto data =
          *rc::gen::container<std::vector<char>>(rows * cols * element_size(type), rc::gen::arbitrary<char>());
      members["m" + std::to_string(m)] = {
          type, {rows, cols}, Buffer<std::byte>::copy_of(std::as_bytes(std::span(data)))};
    }
    const auto path = folder / "x.npz";
    save_npz(path, members);
    const std::string first = test::contents(path);
    const auto again = load_npz(path);
    RC_ASSERT(again.size() == members.size());
    for (const auto& [key, array] : members) {
      const Array& found = again.at(key);
      RC_ASSERT(found.type == array.type);
      RC_ASSERT(found.shape == array.shape);
      RC_ASSERT(std::ranges::equal(found.data.span(), array.data.span()));
    }
    save_npz(path, again);
    RC_ASSERT(test::contents(path) == first);  // equal contents, equal files
  }));
}

TEST(Npz, GivesTheMembersThatAreWanted) {
  const auto path = fixture("dataset.npz");
  const auto all = load_npz(path);
  EXPECT_EQ(all.size(), 12U);  // class_names (objects) and node_names (strings) are left out
  EXPECT_FALSE(all.contains("class_names"));
  EXPECT_FALSE(all.contains("node_names"));
  const auto some = load_npz(path, {"labels", "class_names", "missing"});
  ASSERT_EQ(some.size(), 1U);
  EXPECT_EQ(some.at("labels").as<std::int32_t>()[1], 3);
}

TEST(Npz, TellsTheShapeOfAMemberWithoutItsData) {
  const std::string bytes =
      zip_of({test::array_member("a", {2, 3}, std::vector<float>(6)), vector_member<std::int32_t>("n", {1, 2, 3, 4}),
              test::array_member("cut", {1000, 7}, std::vector<float>())});
  const NpzReader reader(test::as_bytes(bytes), "x.npz");
  EXPECT_EQ(reader.shape("a"), (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(reader.shape("n"), (std::vector<std::uint64_t>{4}));
  EXPECT_EQ(reader.shape("cut"), (std::vector<std::uint64_t>{1000, 7}));
  EXPECT_THROW(static_cast<void>(reader.numbers("cut")), Error);
  expect_bad_input([&] { static_cast<void>(reader.shape("missing")); }, "x.npz: lacks the member 'missing'");
}

TEST(Npz, ReadsTextsOfOneString) {
  const std::string bytes = zip_of(
      {text_member("s", "csr"), vector_member<std::int32_t>("n", {1}), {"u.npy", test::contents(fixture("text.npy"))}});
  const NpzReader reader(test::as_bytes(bytes), "x.npz");
  EXPECT_EQ(reader.text("s"), "csr");
  EXPECT_EQ(reader.text("n"), "");
  EXPECT_EQ(reader.text("u"), "");  // an array of two
  EXPECT_EQ(reader.text("missing"), "");
  const std::string wide = test::contents(fixture("csr_wide.npz"));  // type U
  EXPECT_EQ(NpzReader(test::as_bytes(wide), "x.npz").text("format"), "csr");
}

TEST(Npz, NeverUnpacksObjects) {
  // The data of the first are cut and damaged: nobody looks at them.
  const std::string object = test::contents(fixture("object.npy")).substr(0, 130);
  ZipMember broken{"a.npy", object, std::uint32_t{4000000000U}, 0, std::uint32_t{1}};
  const auto members = read(zip_of({broken, vector_member<std::int32_t>("b", {7}), {"readme.txt", "text"}}));
  ASSERT_EQ(members.size(), 1U);
  EXPECT_EQ(members.at("b").as<std::int32_t>()[0], 7);
}

TEST(Npz, TakesTheLastOfTwoMembersOfOneName) {
  const auto members = read(zip_of({vector_member<std::int32_t>("a", {1}), vector_member<std::int32_t>("a", {2})}));
  EXPECT_EQ(members.at("a").as<std::int32_t>()[0], 2);
}

TEST(Npz, SaysWhatIsWrong) {
  const ZipMember good = vector_member<std::int32_t>("a", {1, 2, 3});
  const auto with = [&](auto change) {
    ZipMember member = good;
    change(member);
    return zip_of({member});
  };
  const std::string huge = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }";
  const std::string many = "{'descr': '<f4', 'fortran_order': False, 'shape': (20000,), }";
  const auto npy = [](const std::string& dictionary) {
    return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(dictionary.size()) + '\0' + dictionary;
  };
  const std::string archive = zip_of({good});
  struct Case {
    std::string bytes;
    std::string message;
  };
  const std::vector<Case> cases{
      {"", "x.npz: not a .npz archive: an empty file"},
      {"PK no archive", "x.npz: not a .npz archive: Not a zip archive"},
      {archive.substr(0, archive.size() - 9), "x.npz: not a .npz archive: Not a zip archive"},
      {with([](ZipMember& m) { m.bytes.resize(m.bytes.size() - 2); }),
       "x.npz: a: the archive says 138 bytes, expected 140 for a shape of (3)"},
      {with([](ZipMember& m) { m.bytes += "xx"; }),
       "x.npz: a: the archive says 142 bytes, expected 140 for a shape of (3)"},
      {with([](ZipMember& m) { m.checksum = 1; }), "x.npz: a: byte 140: damaged or cut: CRC error"},
      {with([](ZipMember& m) { m.method = 12; }),
       "x.npz: a: compression method 12, expected 0 (stored) or 8 (deflated)"},
      {with([](ZipMember& m) { m.method = 8; }), "x.npz: a: byte 6: damaged or cut: CRC error"},
      {with([](ZipMember& m) { m.flags = 1; }), "x.npz: a: the member is encrypted"},
      {with([](ZipMember& m) { m.bytes = "numbers"; }),
       "x.npz: a: byte 0: not a .npy file: expected the magic \\x93NUMPY"},
      {with([](ZipMember& m) { m.bytes.resize(30); }), "x.npz: a: byte 30: the header is cut"},
      {with([](ZipMember& m) {
         m.name = "a\nb\x1b.npy";
         m.bytes = "numbers";
       }),
       "x.npz: a?b?: byte 0: not a .npy file: expected the magic \\x93NUMPY"},
      {with([&](ZipMember& m) { m.bytes = npy(huge) + "aaaa"; }),
       "x.npz: a: a shape of (1000000000000) asks for more than the 49660 elements that there is room for"},
      {with([&](ZipMember& m) {
         m.bytes = npy(many) + "aaaa";
         m.promised = static_cast<std::uint32_t>(npy(many).size() + 80000);
       }),
       "x.npz: a: byte 75: damaged or cut: Zip archive inconsistent"},
  };
  for (const Case& c : cases) expect_bad_input([&] { (void)read(c.bytes); }, c.message);
}

TEST(Npz, ReadsWhatSciPyWrites) {
  for (const char* file : {"csr.npz", "csr_stored.npz", "csc.npz", "coo.npz", "coo_bool.npz", "csr_wide.npz"}) {
    SCOPED_TRACE(file);
    const Graph graph = load_graph(fixture(file));
    graph.pattern.validate();
    EXPECT_EQ(graph.pattern, fixture_pattern());
    EXPECT_FALSE(graph.weighted);
  }
  EXPECT_TRUE(load_graph(fixture("csr_weighted.npz")).weighted);
  EXPECT_EQ(load_graph(fixture("csr_weighted.npz")).pattern, fixture_pattern());
}

TEST(Npz, SortsAndMergesRows) {
  for (const char* file : {"csr_unsorted.npz", "csc_unsorted.npz"}) {
    SCOPED_TRACE(file);
    const Graph graph = load_graph(fixture(file));
    EXPECT_EQ(graph.pattern, fixture_pattern());
    EXPECT_FALSE(graph.weighted);  // 1 + 1 of a duplicate is no weight
  }
}

TEST(Npz, ReadsTheAdjacencyOfADataSet) {
  const Graph directed = load_graph(fixture("dataset.npz"));
  EXPECT_EQ(directed.pattern.nvals(), 4U);  // as it lies in the file: the loop too
  EXPECT_EQ(num_self_loops(directed.pattern), 1U);
  const Graph undirected = load_graph(fixture("dataset.npz"), {.undirected = true});
  EXPECT_TRUE(is_symmetric(undirected.pattern));
  EXPECT_EQ(undirected.pattern.nvals(), 7U);
}

TEST(Npz, RoundTripsGraphs) {
  const TemporaryFolder folder;
  EXPECT_TRUE(rc::check([&](std::uint64_t seed) {
    const auto nrows = *rc::gen::inRange<NodeId>(0, 40);
    const auto ncols = *rc::gen::inRange<NodeId>(0, 40);
    const CsrPattern a = test::random_pattern(nrows, ncols, 0.1, seed);
    save_graph(a, folder / "x.npz");
    const Graph graph = load_graph(folder / "x.npz");
    RC_ASSERT(graph.pattern == a);
    RC_ASSERT(!graph.weighted);
  }));
}

TEST(Npz, SaysWhatIsWrongWithAMatrix) {
  const auto csr = [](const Ints& indptr, const Ints& indices, const std::vector<std::int64_t>& shape,
                      std::vector<ZipMember> more = {}) {
    more.push_back(vector_member("indptr", indptr));
    more.push_back(vector_member("indices", indices));
    more.push_back(vector_member("shape", shape));
    return zip_of(more);
  };
  const auto coo = [](const Ints& row, const Ints& col, const std::vector<std::int64_t>& shape,
                      std::vector<ZipMember> more = {}) {
    more.push_back(vector_member("row", row));
    more.push_back(vector_member("col", col));
    more.push_back(vector_member("shape", shape));
    return zip_of(more);
  };
  const ZipMember complex{"data.npy", test::contents(fixture("complex.npy"))};
  const std::string nothing = "holds neither a SciPy sparse matrix nor adj_data, adj_indices, adj_indptr, adj_shape";
  struct Case {
    std::string bytes;
    std::string message;
  };
  const std::vector<Case> cases{
      {zip_of({}), nothing},
      {zip_of({vector_member<float>("x", {1})}), nothing},
      {zip_of({vector_member<std::int32_t>("indptr", {0, 0})}), "lacks the member 'shape'"},
      {zip_of({vector_member<std::int32_t>("adj_indptr", {0, 0}), vector_member<std::int64_t>("adj_shape", {1, 1})}),
       "lacks the member 'adj_indices'"},
      {csr({0, 1}, {0}, {1, 1, 1}), "shape: 3 sides, expected 2"},
      {csr({0, 1}, {0}, {-1, 1}), "shape: element 0: found -1, expected a whole number from 0 to 18446744073709551615"},
      {csr({0, 1}, {0}, {1, std::int64_t{1} << 32}), "shape: a side of 4294967296, expected less than 2^32 - 1"},
      {csr({0, 1}, {0}, {2, 1}), "indptr: 2 pointers, expected 3 for the shape"},
      {csr({1, 1}, {0}, {1, 1}), "indptr: element 0: found 1, expected 0"},
      {csr({0, 2, 1}, {0}, {2, 1}), "indptr: element 2: 2 falls to 1"},
      {csr({0, 1, -5}, {0}, {2, 1}),
       "indptr: element 2: found -5, expected a whole number from 0 to 18446744073709551615"},
      {csr({0, 2}, {0}, {1, 1}), "indptr: element 1: found 2, expected 1, the number of indices"},
      {csr({0, 2}, {0, 1}, {1, 1}), "indices: element 1: found 1, expected less than 1"},
      {csr({0, 1}, {-1}, {1, 1}), "indices: element 0: found -1, expected a whole number from 0 to 4294967295"},
      {csr({0, 1}, {0}, {1, 1}, {vector_member<float>("data", {1, 1})}), "data: 2 values for 1 entries"},
      {csr({0, 1}, {0}, {1, 1}, {complex}), "data: the elements are not numbers"},
      {csr({0, 1}, {0}, {1, 1}, {text_member("format", "bsr")}), "format: found 'bsr', expected csr, csc or coo"},
      {csr({0, 1}, {0}, {1, 1}, {text_member("format", "coo")}), "lacks the member 'row'"},
      {csr({0, 0}, {}, {4000000000, 1}, {text_member("format", "csc")}),
       "shape: a side of 4000000000, more than a file of this size can mean"},
      {coo({0}, {0, 1}, {1, 1}), "col: 2 columns for 1 rows"},
      {coo({0}, {1}, {1, 1}), "col: element 0: found 1, expected less than 1"},
      {coo({-7}, {1}, {1, 1}), "row: element 0: found -7, expected a whole number from 0 to 4294967295"},
      {coo({}, {}, {1, 4000000000}), "shape: a side of 4000000000, more than a file of this size can mean"},
      {coo({0}, {0}, {1, 1}, {vector_member<float>("data", {})}), "data: 0 values for 1 entries"},
  };
  for (const Case& c : cases) expect_bad_input([&] { (void)read_graph(c.bytes); }, "x.npz: " + c.message);
  expect_bad_input(
      [&] { (void)load_graph(fixture("csr.npz"), {.undirected = true}); },
      fixture("csr.npz").string() + ": found a rectangular matrix, expected a square one for an undirected graph");
  expect_bad_input([&] { (void)load_graph(fixture("bsr.npz")); },
                   fixture("bsr.npz").string() + ": format: found 'bsr', expected csr, csc or coo");
  expect_bad_input([&] { (void)load_graph(fixture("dia.npz")); },
                   fixture("dia.npz").string() + ": format: found 'dia', expected csr, csc or coo");
}

}  // namespace
}  // namespace bitgraph
