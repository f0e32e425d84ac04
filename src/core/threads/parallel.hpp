// SPDX-License-Identifier: Apache-2.0
// Parallel loops over the host's threads. Not installed: public headers know no backend.
#pragma once

#include <bitgraph/core/device.hpp>

#include "core/threads/host_pool.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <exception>
#include <span>
#include <vector>

namespace bitgraph {

/// A contiguous part of a loop.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
  [[nodiscard]] std::size_t size() const noexcept { return end - begin; }
};

/// Part `part` of [0, n) cut into `parts` nearly equal pieces.
[[nodiscard]] inline Range part_of(std::size_t n, std::size_t part, std::size_t parts) noexcept {
  return {n / parts * part + std::min(part, n % parts), n / parts * (part + 1) + std::min(part + 1, n % parts)};
}

/// True where a loop is one thread's: the device has no more, or the caller is within a parallel loop already.
[[nodiscard]] inline bool runs_alone(const Device& device) noexcept {
  return device.threads() == 1 || omp_in_parallel() != 0;
}

/// Runs body(thread, num_threads) once on every thread. The first exception is thrown again on the caller's thread.
template <class Body>
void parallel_region(const Device& device, Body&& body) {
  if (runs_alone(device)) {
    body(0, 1);
    return;
  }
  const int threads = device.threads();
  host_pool::about_to_start();
  std::exception_ptr error;
#pragma omp parallel num_threads(threads)
  {
    try {
      body(omp_get_thread_num(), omp_get_num_threads());
    } catch (...) {
#pragma omp critical(bitgraph_parallel_error)
      if (!error) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

/// body(Range) over equal parts of [0, n), one part a thread; serial where n is below `grain`.
template <class Body>
void parallel_ranges(const Device& device, std::size_t n, std::size_t grain, Body&& body) {
  if (n <= grain) {
    if (n != 0) body(Range{0, n});
    return;
  }
  parallel_region(device, [&](int thread, int threads) {
    const Range range = part_of(n, static_cast<std::size_t>(thread), static_cast<std::size_t>(threads));
    if (range.size() != 0) body(range);
  });
}

/// body(Range) over chunks of [0, n) of `chunk` indices, for uneven work. Each thread starts in a part of its own, the
/// same in every loop of one length, so that what it wrote is still in its cache the next time, and then takes chunks
/// that others have not come to.
template <class Body>
void parallel_chunks(const Device& device, std::size_t n, std::size_t chunk, Body&& body) {
  if (n <= chunk) {
    if (n != 0) body(Range{0, n});
    return;
  }
  constexpr std::size_t max_parts = 64;
  struct alignas(64) Part {
    std::atomic<std::size_t> next;
    std::size_t end;
  };
  std::array<Part, max_parts> parts;
  const std::size_t num_chunks = (n + chunk - 1) / chunk;
  const std::size_t num_parts = std::min({max_parts, static_cast<std::size_t>(device.threads()), num_chunks});
  for (std::size_t p = 0; p < num_parts; ++p) {
    const Range range = part_of(num_chunks, p, num_parts);
    parts[p].next.store(range.begin, std::memory_order_relaxed);
    parts[p].end = range.end;
  }
  parallel_region(device, [&](int thread, int) {
    for (std::size_t turn = 0; turn < num_parts; ++turn) {
      Part& part = parts[(static_cast<std::size_t>(thread) + turn) % num_parts];
      for (std::size_t c = part.next.fetch_add(1); c < part.end; c = part.next.fetch_add(1)) {
        body(Range{c * chunk, std::min(n, (c + 1) * chunk)});
      }
    }
  });
}

/// body(i) for every i in [0, n), in equal parts.
template <class Body>
void parallel_for(const Device& device, std::size_t n, std::size_t grain, Body&& body) {
  parallel_ranges(device, n, grain, [&](Range range) {
    for (std::size_t i = range.begin; i < range.end; ++i) body(i);
  });
}

/// Replaces counts[0 .. n) by their exclusive prefix sum and returns the total. counts has n elements. O(n), parallel.
template <class T>
T exclusive_scan(const Device& device, std::span<T> counts) {
  constexpr std::size_t grain = std::size_t{1} << 16;
  const auto scan = [&](Range range, T sum) {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const T count = counts[i];
      counts[i] = sum;
      sum += count;
    }
    return sum;
  };
  if (counts.size() <= grain || runs_alone(device)) return scan({0, counts.size()}, T{});  // no barrier for others
  std::vector<T> totals(static_cast<std::size_t>(device.threads()) + 1);
  T total{};
  parallel_region(device, [&](int thread, int threads) {
    const auto me = static_cast<std::size_t>(thread);
    const Range range = part_of(counts.size(), me, static_cast<std::size_t>(threads));
    T sum{};
    for (std::size_t i = range.begin; i < range.end; ++i) sum += counts[i];
    totals[me + 1] = sum;
#pragma omp barrier
#pragma omp single
    for (std::size_t t = 1; t <= static_cast<std::size_t>(threads); ++t) totals[t] += totals[t - 1];
    scan(range, totals[me]);
    if (me + 1 == static_cast<std::size_t>(threads)) total = totals[me + 1];
  });
  return total;
}

}  // namespace bitgraph
