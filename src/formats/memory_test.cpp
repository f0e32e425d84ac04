// SPDX-License-Identifier: Apache-2.0
// Peak memory of the conversions, every allocation counted: buffers, scratch of each thread, vectors.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BITGRAPH_ALLOCATIONS_ARE_TAKEN \
  1  // the sanitizer brings an operator new of its own, and one is all there can be
#endif
#endif

#ifndef BITGRAPH_ALLOCATIONS_ARE_TAKEN
#include "support/everywhere.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

namespace {

std::atomic<std::size_t> live{0};
std::atomic<std::size_t> peak{0};

void* counted(void* data) noexcept {
  if (data == nullptr) return nullptr;
  const std::size_t now = live.fetch_add(malloc_usable_size(data)) + malloc_usable_size(data);
  std::size_t most = peak.load();
  while (most < now && !peak.compare_exchange_weak(most, now)) {
  }
  return data;
}

void* allocate(std::size_t size) noexcept { return counted(std::malloc(size == 0 ? 1 : size)); }

void* allocate(std::size_t size, std::align_val_t alignment) noexcept {
  const auto to = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(to, (size + to) / to * to));
}

void release(void* data) noexcept {
  if (data != nullptr) live.fetch_sub(malloc_usable_size(data));
  std::free(data);
}

void* or_throw(void* data) {
  if (data == nullptr) throw std::bad_alloc();
  return data;
}

}  // namespace

// The forms that the standard library's others fall back on, and the aligned ones.
void* operator new(std::size_t size) { return or_throw(allocate(size)); }
void* operator new[](std::size_t size) { return or_throw(allocate(size)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void* operator new(std::size_t size, std::align_val_t to) { return or_throw(allocate(size, to)); }
void* operator new[](std::size_t size, std::align_val_t to) { return or_throw(allocate(size, to)); }
void* operator new(std::size_t size, std::align_val_t to, const std::nothrow_t&) noexcept { return allocate(size, to); }
void* operator new[](std::size_t size, std::align_val_t to, const std::nothrow_t&) noexcept {
  return allocate(size, to);
}
void operator delete(void* data) noexcept { release(data); }
void operator delete[](void* data) noexcept { release(data); }
void operator delete(void* data, std::size_t) noexcept { release(data); }
void operator delete[](void* data, std::size_t) noexcept { release(data); }
void operator delete(void* data, std::align_val_t) noexcept { release(data); }
void operator delete[](void* data, std::align_val_t) noexcept { release(data); }
void operator delete(void* data, std::size_t, std::align_val_t) noexcept { release(data); }
void operator delete[](void* data, std::size_t, std::align_val_t) noexcept { release(data); }
void operator delete(void* data, const std::nothrow_t&) noexcept { release(data); }
void operator delete[](void* data, const std::nothrow_t&) noexcept { release(data); }
void operator delete(void* data, std::align_val_t, const std::nothrow_t&) noexcept { release(data); }
void operator delete[](void* data, std::align_val_t, const std::nothrow_t&) noexcept { release(data); }

namespace bitgraph {
namespace {

/// What convert() needed at its peak, beyond what was there before it, as a multiple of its result's bytes.
template <class Convert>
double peak_of_output(Convert&& convert) {
  const std::size_t before = live.load();
  peak.store(before);
  const auto output = convert();
  return static_cast<double>(peak.load() - before) / static_cast<double>(output.bytes());
}

void expect_within_bound(const std::string& what, double ratio) {
  EXPECT_LE(ratio, 1.25) << what;
  // The output itself must have been counted, or nothing is measured here.
  EXPECT_GE(ratio, 0.999) << what;
}

void check_conversions(const std::string& graph, const CsrPattern& a, const Device& device) {
  const auto check = [&](const std::string& what, auto&& convert) {
    expect_within_bound(what + " of " + graph + ", " + std::to_string(device.threads()) + " threads",
                        peak_of_output(convert));
  };
  check("transpose", [&] { return transpose(a); });
  check("clone", [&] { return a.clone(); });
  for (const int k : tile_dims) {
    const std::string side = " at side " + std::to_string(k);
    check("pack" + side, [&] { return pack(a, {.tile_dim = k}, device); });
    const BitTileMatrix tiles = pack(a, {.tile_dim = k}, device);
    check("unpack" + side, [&] { return unpack(tiles); });
    check("transpose" + side, [&] { return transpose(tiles); });
  }
}

TEST(Memory, ConversionsNeedAQuarterMoreThanTheirOutput) {
  for (const int threads : test::thread_counts) {
    if (test::sanitized && threads == 1) continue;  // a minute, for what other tests of one thread go through
    const Device device = Device::host(threads);
    check_conversions("R-MAT", test::rmat_pattern(14, 120000, 1, device), device);
    check_conversions("a grid", test::grid_pattern(250, 200, device), device);
    check_conversions("a wide matrix", test::random_pattern(3000, 200000, 200000 / 6e8, 1, device), device);
    check_conversions("a tall matrix", test::random_pattern(200000, 3000, 200000 / 6e8, 1, device), device);
  }
}

TEST(Memory, BitMatrices) {
  for (const int threads : test::thread_counts) {
    const CsrPattern a = test::random_pattern(5000, 3001, 200000 / 15e6, 2, Device::host(threads));
    const BitMatrix<ZeroOne> bits = to_bit_matrix(a);
    const std::string with = ", " + std::to_string(threads) + " threads";
    expect_within_bound("to_bit_matrix" + with, peak_of_output([&] { return to_bit_matrix(a); }));
    expect_within_bound("to_csr" + with, peak_of_output([&] { return to_csr(bits); }));
    expect_within_bound("transpose of bits" + with, peak_of_output([&] { return transpose(bits); }));
    expect_within_bound("to_dense" + with, peak_of_output([&] { return to_dense(bits); }));
  }
}

TEST(Memory, EdgeListsWithoutDuplicates) {
  for (const int threads : test::thread_counts) {
    const Device device = Device::host(threads);
    const CsrPattern a = test::rmat_pattern(16, 600000, 1, device);
    std::vector<NodeId> rows;
    std::vector<NodeId> cols;
    for (NodeId i = 0; i < a.nrows(); ++i) {
      for (const NodeId j : a.row(i)) {
        if (i < j) rows.push_back(j), cols.push_back(i);
      }
    }
    const double ratio =
        peak_of_output([&] { return csr_from_edges(a.nrows(), a.ncols(), rows, cols, {.symmetrize = true}, device); });
    expect_within_bound("csr_from_edges, " + std::to_string(threads) + " threads", ratio);
  }
}

}  // namespace
}  // namespace bitgraph

#endif  // BITGRAPH_ALLOCATIONS_ARE_TAKEN
