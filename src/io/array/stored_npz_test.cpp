// SPDX-License-Identifier: Apache-2.0
#include "io/array/stored_npz.hpp"

#include "io/array/npz.hpp"

#include "support/expect_error.hpp"
#include "support/fixtures.hpp"
#include "support/npz_members.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace bitgraph {
namespace {

using test::TemporaryFolder;
using Floats = std::vector<float>;

std::string archive_of(const Floats& values, const std::vector<std::uint8_t>& bytes) {
  const TemporaryFolder folder;
  StoredNpzWriter writer(folder / "x.npz");
  const std::array<std::uint64_t, 2> shape{values.size() / 2, 2};
  writer.add("m", ElementType::f32, shape, std::as_bytes(std::span(values)));
  writer.add<std::uint8_t>("a_longer_name", ElementType::u8, bytes);
  writer.add<float>("nothing", ElementType::f32, std::span<const float>{});
  writer.commit();
  return test::contents(folder / "x.npz");
}

std::optional<std::string> stored(const std::string& archive, const std::string& name) {
  const auto found = stored_member(test::as_bytes(archive), name);
  if (!found) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(found->data()), found->size());
}

TEST(StoredNpz, IsReadAsAnyArchive) {
  Floats values(34);
  std::iota(values.begin(), values.end(), 0.5F);
  const std::string archive = archive_of(values, {1, 2, 3});
  EXPECT_EQ(archive, archive_of(values, {1, 2, 3}));
  const NpzReader reader(test::as_bytes(archive), "x.npz");
  const Array m = reader.numbers("m");
  EXPECT_EQ(m.shape, (std::vector<std::uint64_t>{17, 2}));
  EXPECT_TRUE(std::ranges::equal(m.as<float>().span(), values));
  EXPECT_TRUE(
      std::ranges::equal(reader.vector<std::uint8_t>("a_longer_name").span(), std::vector<std::uint8_t>{1, 2, 3}));
  EXPECT_EQ(reader.vector<float>("nothing").size(), 0U);
}

TEST(StoredNpz, ValuesAreAlignedWhereTheyLie) {
  const Floats values(34, 1.0F);
  const std::string archive = archive_of(values, std::vector<std::uint8_t>(5, 7));
  for (const char* name : {"m.npy", "a_longer_name.npy", "nothing.npy"}) {
    const auto found = stored_member(test::as_bytes(archive), name);
    ASSERT_TRUE(found) << name;
    const std::size_t begin = static_cast<std::size_t>(found->data() - test::as_bytes(archive).data());
    EXPECT_EQ((begin + read_npy_header(*found, "x").data_offset) % 64, 0U) << name;
  }
  EXPECT_FALSE(stored(archive, "m"));
}

TEST(StoredNpz, OtherArchivesStoredMembersAreFound) {
  const auto member = test::vector_member<float>("m", {1, 2});
  const std::string archive = test::zip_of({member, test::vector_member<float>("n", {3})});
  EXPECT_EQ(stored(archive, "m.npy"), member.bytes);
  auto deflated = member;
  deflated.method = 8;
  EXPECT_FALSE(stored(test::zip_of({deflated}), "m.npy"));
  auto encrypted = member;
  encrypted.flags = 1;
  EXPECT_FALSE(stored(test::zip_of({encrypted}), "m.npy"));
  auto damaged = member;
  damaged.checksum = 1;
  EXPECT_FALSE(stored(test::zip_of({damaged}), "m.npy"));
  auto longer = member;
  longer.promised = 4000000000;
  EXPECT_FALSE(stored(test::zip_of({longer}), "m.npy"));
  // Of two members of one name the last one counts, as for libzip and Python.
  const auto second = test::vector_member<float>("m", {9});
  EXPECT_EQ(stored(test::zip_of({member, second}), "m.npy"), second.bytes);
}

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int b = 0; b < bytes; ++b) text += static_cast<char>(value >> (8 * b) & 0xFFU);
  return text;
}

TEST(StoredNpz, ReadsWideRecords) {
  // One member; its directory entry has sizes and offset in the wide field, and the directory's place is in a wide end.
  const auto member = test::vector_member<float>("m", {1, 2});
  const std::string narrow = test::zip_of({member});
  const std::size_t begin = narrow.find("PK\1\2");
  std::string entry = narrow.substr(begin, 46 + member.name.size());
  const std::string all_ones(8, '\xFF');
  entry.replace(20, 8, all_ones);
  entry.replace(30, 2, little_endian(28, 2));
  entry.replace(42, 4, all_ones.substr(4));
  const std::uint64_t size = member.bytes.size();
  entry += little_endian(1, 2) + little_endian(24, 2) + little_endian(size, 8) + little_endian(size, 8) +
           little_endian(0, 8);
  const std::string wide_end = "PK\6\6" + little_endian(44, 8) + little_endian(0x2D002D, 4) + std::string(8, '\0') +
                               little_endian(1, 8) + little_endian(1, 8) + little_endian(entry.size(), 8) +
                               little_endian(begin, 8);
  const std::string locator =
      "PK\6\7" + std::string(4, '\0') + little_endian(begin + entry.size(), 8) + little_endian(1, 4);
  const std::string end =
      "PK\5\6" + std::string(4, '\0') + little_endian(1, 2) + little_endian(1, 2) + all_ones + std::string(2, '\0');
  const std::string archive = narrow.substr(0, begin) + entry + wide_end + locator + end;
  EXPECT_EQ(stored(archive, "m.npy"), member.bytes);
  const NpzReader reader(test::as_bytes(archive), "x.npz");
  EXPECT_EQ(reader.vector<float>("m").size(), 2U);
  std::string short_field = archive;  // a wide field without the offset
  short_field.replace(begin + 46 + member.name.size() + 2, 2, little_endian(16, 2));
  EXPECT_FALSE(stored(short_field, "m.npy"));
}

TEST(StoredNpz, DamageIsNeverBelieved) {
  const Floats values{1, 2, 3, 4};
  const std::string archive = archive_of(values, {5});
  const auto whole = stored(archive, "m.npy");
  ASSERT_TRUE(whole);
  for (std::size_t size = 0; size < archive.size(); ++size) EXPECT_FALSE(stored(archive.substr(0, size), "m.npy"));
  for (std::size_t at = 0; at < archive.size(); ++at) {
    for (const int change : {0x01, 0x80, 0xFF}) {
      std::string damaged = archive;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      const auto found = stored(damaged, "m.npy");
      EXPECT_TRUE(!found || *found == *whole) << "byte " << at;
    }
  }
}

TEST(StoredNpz, RefusesAShapeThatDoesNotFit) {
  const TemporaryFolder folder;
  StoredNpzWriter writer(folder / "x.npz");
  const Floats values{1, 2, 3};
  const std::array<std::uint64_t, 2> shape{2, 2};
  EXPECT_THROW(writer.add("m", ElementType::f32, shape, std::as_bytes(std::span(values))), Error);
}

}  // namespace
}  // namespace bitgraph
