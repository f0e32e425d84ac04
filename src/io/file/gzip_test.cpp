// SPDX-License-Identifier: Apache-2.0
#include "io/file/gzip.hpp"

#include <bitgraph/core/random.hpp>

#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

namespace bitgraph {
namespace {

using test::message_of;

std::string packed(std::string_view plain) {
  const Buffer<std::byte> bytes = gzip(std::as_bytes(std::span(plain)));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string unpacked(const std::string& bytes, const Device& device = {}) {
  const Buffer<std::byte> plain = gunzip(std::as_bytes(std::span(bytes)), "file", device);
  return {reinterpret_cast<const char*>(plain.data()), plain.size()};
}

std::string noise(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t n = 0; n < size; ++n) text[n] = static_cast<char>(random_below({1, 1, 0}, n, 256));
  return text;
}

TEST(Gzip, PacksAndUnpacks) {
  for (const std::string& plain : {std::string(), std::string("a"), noise(100000), std::string(1000000, 'x')}) {
    EXPECT_EQ(unpacked(packed(plain)), plain);
  }
}

TEST(Gzip, TheFrontIsUnpackedAlone) {
  const std::string plain = noise(300000);
  const std::string one = packed(plain);
  const std::string two = packed(plain.substr(0, 1000)) + packed(plain.substr(1000));
  for (const std::string& file : {one, two}) {
    for (const std::size_t most : {std::size_t{1}, std::size_t{999}, std::size_t{1000}, std::size_t{1001},
                                   plain.size() - 1, plain.size(), plain.size() + 1}) {
      const GzipFront front = gunzip_front(std::as_bytes(std::span(file)), most, "file");
      const std::size_t expected = std::min(most, plain.size());
      ASSERT_EQ(std::string(reinterpret_cast<const char*>(front.bytes.data()), front.bytes.size()),
                plain.substr(0, expected));
      EXPECT_LE(front.packed, file.size());
      // Noise takes as many bytes packed as it has.
      EXPECT_NEAR(static_cast<double>(front.packed), static_cast<double>(expected), 2000);
      if (most != plain.size()) {
        EXPECT_EQ(front.whole, most > plain.size());
      }
    }
  }
}

TEST(Gzip, ABadFrontIsRefused) {
  const auto front_of = [](const std::string& bytes) {
    return gunzip_front(std::as_bytes(std::span(bytes)), 1 << 20, "file");
  };
  const std::string file = packed(noise(100000));
  EXPECT_EQ(message_of(ErrorCode::bad_input, [&] { static_cast<void>(front_of("text")); }),
            "file: byte 0: not gzip data");
  EXPECT_NE(
      message_of(ErrorCode::bad_input, [&] { static_cast<void>(front_of(file.substr(0, 20000) + file.substr(20001))); })
          .find("damaged"),
      std::string::npos);
  EXPECT_NE(message_of(ErrorCode::bad_input, [&] { static_cast<void>(front_of(file.substr(0, 5))); }).find("damaged"),
            std::string::npos);
}

TEST(Gzip, MembersFollowOneAnother) {
  const std::string large(3000000, 'y');
  EXPECT_EQ(unpacked(packed(large) + packed("") + packed("tail")), large + "tail");
  EXPECT_EQ(unpacked(packed("head") + packed(large)), "head" + large);
}

TEST(Gzip, ZerosBehindTheEndArePadding) { EXPECT_EQ(unpacked(packed("abc") + std::string(1000, '\0')), "abc"); }

TEST(Gzip, SaysWhatIsDamaged) {
  const std::string good = packed(noise(1000));
  const auto why = [](const std::string& bytes) {
    return message_of(ErrorCode::bad_input, [&] { (void)unpacked(bytes); });
  };
  EXPECT_EQ(why(""), "file: byte 0: not gzip data");
  EXPECT_EQ(why("plain text"), "file: byte 0: not gzip data");
  EXPECT_EQ(why(good.substr(0, 500)), "file: byte 0: damaged or cut gzip data");
  EXPECT_EQ(why(good.substr(0, 2)), "file: byte 0: damaged or cut gzip data");
  EXPECT_EQ(why(good + "tail"), "file: byte " + std::to_string(good.size()) + ": damaged or cut gzip data");
  std::string flipped = good;
  flipped[500] = static_cast<char>(flipped[500] ^ 1);
  EXPECT_EQ(why(flipped), "file: byte 0: damaged or cut gzip data");
}

/// A trailer that promises 4 GiB, and data that expands as far as deflate goes: both stay within the file's size times
/// deflate's 1,032.
TEST(Gzip, MemoryIsBoundedByTheFile) {
  const Device device = Device::host(1);
  std::string liar = packed(noise(1000));
  liar.replace(liar.size() - 4, 4, "\xFF\xFF\xFF\xFF");
  EXPECT_NE(message_of(ErrorCode::bad_input, [&] { (void)unpacked(liar, device); }), "no error");
  EXPECT_LE(device.memory().peak, 1100 * liar.size() + 65536);

  device.reset_peak();
  const std::string bomb = packed(std::string(std::size_t{20} << 20, '\0'));
  EXPECT_EQ(unpacked(bomb, device).size(), std::size_t{20} << 20);
  EXPECT_LE(device.memory().peak, 1100 * bomb.size() + 65536);
}

}  // namespace
}  // namespace bitgraph
