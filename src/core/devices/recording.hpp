// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/device.hpp>

#include <memory>

namespace bitgraph {

/// A list of kernels, asked of a CUDA device once and then launched again and again as one: a CUDA graph. A launch
/// costs what one kernel's does, and each kernel behind it a quarter of that.
class Recording {
 public:
  Recording() = default;

  /// Records what `work` asks of the device's stream. `work` has run before, so that whatever it keeps is allocated; it
  /// must not wait for the device.
  template <class Work>
  void record(const Device& device, Work&& work) {
    begin(device);
    try {
      work();
    } catch (...) {
      end(false);
      throw;
    }
    end(true);
  }

  /// Does the work: asks for it as it is and records it the first time, and launches what was recorded from then on.
  template <class Work>
  void repeat(const Device& device, Work&& work) {
    if (usable()) return launch();
    work();
    record(device, work);
  }

  /// Whether a recording of the device's stream is under way: what is asked of it now will be done by launch().
  [[nodiscard]] static bool under_way(const Device& device);

  /// False before the first record(), and where the device's workspace has moved since: record again then.
  [[nodiscard]] bool usable() const;

  /// Does what was recorded, on the device's stream.
  void launch() const;

  void clear() noexcept { graph_.reset(); }

 private:
  void begin(const Device& device);
  void end(bool keep);

  Device device_;
  std::shared_ptr<void> graph_;
  void* workspace_ = nullptr;
  void* zeroed_workspace_ = nullptr;
};

}  // namespace bitgraph
