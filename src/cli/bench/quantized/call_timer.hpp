// SPDX-License-Identifier: Apache-2.0
// How the figures of quantized networks and products are timed: a call among many in a stream.
#pragma once

#include <bitgraph/core/device.hpp>

#include "cli/bench/timing.hpp"

#include <utility>

namespace bitgraph::cli {

class CallTimer {
 public:
  /// `limit`: seconds that one figure may take, of at most so many samples.
  CallTimer(Device device, int repeats, double limit) : device_(std::move(device)), repeats_(repeats), limit_(limit) {}

  [[nodiscard]] const Device& device() const noexcept { return device_; }

  /// Seconds of a call, the median of the samples. With one thread of the host they are processor time.
  template <class Call>
  [[nodiscard]] double seconds(const Call& call) const {
    constexpr double together = 2e-3;  // of calls in a stream, whose end is waited for once
    const Timing timing{.repeats = repeats_,
                        .limit = limit_,
                        .batch = together,
                        .warm = usual_warm_up(device_) / 10,
                        .processor_time = device_.is_host() && device_.threads() == 1};
    return measure(
               timing, [&](int) { call(); }, [&] { device_.synchronize(); })
        .median;
  }

 private:
  Device device_;
  int repeats_;
  double limit_;
};

}  // namespace bitgraph::cli
