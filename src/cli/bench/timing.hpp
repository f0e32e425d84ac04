// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/device.hpp>

#include <functional>

namespace bitgraph::cli {

/// Seconds of a call, over several samples.
struct Spread {
  double median = 0, least = 0, most = 0;
  int repeats = 0;
};

struct Timing {
  int repeats = 9;
  double limit = 20;    ///< seconds that one cell of the table may take: fewer samples are taken then, at least one
  double batch = 5e-4;  ///< shorter calls are timed several at a time, until they take so many seconds
  double warm = 0;      ///< seconds of calls before the first sample, beside the limit
  /// Of the process and all its threads, not of the clock on the wall: what other programs do changes it less.
  bool processor_time = false;
};

/// What lets a GPU come back to its clock while kernels are loaded and data is made: 0.1 s; on the host none.
[[nodiscard]] double usual_warm_up(const Device& device);

/// Seconds that `body` takes.
[[nodiscard]] double seconds_of(const std::function<void()>& body);

/// Times call(k) for the samples k = 0, 1, ...; the first call of all, for sample 0 (with a warm-up the first two), is
/// not counted unless it used up the limit. `finish` waits until what was called is done, and is timed once a batch.
[[nodiscard]] Spread measure(const Timing& timing, const std::function<void(int)>& call,
                             const std::function<void()>& finish);

}  // namespace bitgraph::cli
