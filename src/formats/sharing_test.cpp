// SPDX-License-Identifier: Apache-2.0
// Matrices over storage that they share, and values that are not for the host to read.
#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/bit_vector.hpp>
#include <bitgraph/formats/csr_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include "support/cuda_device.hpp"
#include "support/expect_error.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

CsrPattern small_pattern(const Device& device = {}) {
  return CsrPattern(3, 70, Buffer<EdgeOffset>{0, 2, 2, 4}, Buffer<NodeId>{1, 69, 0, 3}).to(device);
}

const void* storage_of(const CsrPattern& a) { return a.col_ind().data(); }
const void* storage_of(const BitTileMatrix& a) { return a.bit_tiles().data(); }
template <BitDomain Domain>
const void* storage_of(const BitMatrix<Domain>& a) {
  return a.words().data();
}
const void* storage_of(const BitVector& a) { return a.words().data(); }
template <class T>
const void* storage_of(const DenseMatrix<T>& a) {
  return a.values().data();
}
template <class T>
const void* storage_of(const CsrMatrix<T>& a) {
  return a.values().data();
}

/// A second matrix has the storage of the first, under the handle that was asked for, and keeps it; nothing is copied.
template <class Make>
void expect_shares(const Make& make) {
  const Device first = Device::host(1);
  const Device second = Device::host(2);
  std::optional a(make(first));
  const auto there = a->share(second);
  const auto here = a->share();
  const std::size_t live = first.memory().live;
  EXPECT_EQ(storage_of(there), storage_of(*a));
  EXPECT_EQ(storage_of(here), storage_of(*a));
  EXPECT_EQ(there.device().threads(), 2);
  EXPECT_EQ(here.device().threads(), 1);
  EXPECT_EQ(there.bytes(), a->bytes());
  EXPECT_EQ(second.memory().allocations, 0U);
  a.reset();
  EXPECT_EQ(first.memory().live, live);
}

TEST(Sharing, EveryFormatSharesItsStorage) {
  expect_shares([](const Device& device) { return small_pattern(device); });
  expect_shares([](const Device& device) { return pack(small_pattern(device), {.tile_dim = 8}, device); });
  expect_shares([](const Device& device) { return BitMatrix<PlusMinusOne>(3, 70, device); });
  expect_shares([](const Device& device) { return BitVector(70, device); });
  expect_shares([](const Device& device) { return DenseMatrix<float>(3, 7, device); });
  expect_shares([](const Device& device) { return CsrMatrix<int>(small_pattern(device), Buffer<int>(4, 1, device)); });
}

TEST(Sharing, ASharedPatternIsThePatternWithAnIdOfItsOwn) {
  CsrPattern a = small_pattern();
  const CsrPattern shared = a.share();
  EXPECT_TRUE(shared == a);
  EXPECT_NE(shared.id(), a.id());
  a = CsrPattern();
  EXPECT_TRUE(shared == small_pattern());
  shared.validate();
  const BitTileMatrix tiles = pack(shared, {.tile_dim = 4});
  EXPECT_TRUE(tiles.share() == tiles);
}

TEST(Sharing, WhatIsWrittenThroughOneIsSeenByTheOther) {
  BitMatrix<ZeroOne> a(2, 100);
  const BitMatrix<ZeroOne> shared = a.share();
  a.set_bit(1, 99, true);
  EXPECT_TRUE(shared.bit(1, 99));
  EXPECT_TRUE(shared == a);
}

/// Reading on the host throws, and says how to bring the values.
template <class Fn>
void expect_refused(const std::string& what, const Fn& fn) {
  test::expect_error(fn, ErrorCode::usage, what + ": the values are on cuda:0; bring them with to(Device{})");
}

TEST(HostAccess, OfValuesOnACudaDeviceSaysWhereTheyAre) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const CsrPattern here = small_pattern();
  const CsrPattern a = here.to(device);
  expect_refused("comparing patterns", [&] { static_cast<void>(a == here); });
  expect_refused("comparing patterns", [&] { static_cast<void>(here == a); });
  expect_refused("reading a row of a pattern", [&] { static_cast<void>(a.row(0)); });
  expect_refused("checking a pattern", [&] { a.validate(); });

  const BitTileMatrix tiles = pack(a, {.tile_dim = 8});
  expect_refused("comparing tile matrices", [&] { static_cast<void>(tiles == pack(here, {.tile_dim = 8})); });
  expect_refused("checking a tile matrix", [&] { tiles.validate(); });

  BitMatrix<ZeroOne> bits(2, 70, device);
  expect_refused("comparing bit matrices", [&] { static_cast<void>(bits == BitMatrix<ZeroOne>(2, 70)); });
  expect_refused("reading a bit", [&] { static_cast<void>(bits.bit(1, 1)); });
  expect_refused("reading a bit", [&] { static_cast<void>(bits.value(1, 1)); });
  expect_refused("setting a bit", [&] { bits.set_bit(1, 1, true); });

  BitVector set(70, device);
  expect_refused("comparing bit vectors", [&] { static_cast<void>(BitVector(70) == set); });
  expect_refused("reading a bit", [&] { static_cast<void>(set.bit(1)); });
  expect_refused("setting a bit", [&] { set.set_bit(1, true); });

  const CsrMatrix<int> matrix(a.clone(), Buffer<int>(4, 1, device));
  expect_refused("reading a row of a matrix", [&] { static_cast<void>(matrix.row_values(0)); });
#ifndef NDEBUG
  expect_refused("reading a buffer", [&] { static_cast<void>(Buffer<int>(4, 1, device)[0]); });
  expect_refused("reading a buffer", [&] { static_cast<void>(DenseMatrix<float>(1, 1, device)(0, 0)); });
#endif
}

TEST(HostAccess, ArraysOfDifferentStreamsMakeNoPattern) {
  BITGRAPH_REQUIRE_CUDA();
  const Device a = Device::cuda();
  const Device b = Device::cuda();
  test::expect_error(
      [&] {
        CsrPattern(1, 1, Buffer<EdgeOffset>{{0, 1}, a}, Buffer<NodeId>{{0}, b});
      },
      ErrorCode::usage,
      "pattern CSR: row_ptr and col_ind are both on cuda:0, but on different streams; bring one to the other with "
      "to(), "
      "or share it with share()");
}

}  // namespace
}  // namespace bitgraph
