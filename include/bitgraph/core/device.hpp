// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace bitgraph {

/// Bytes that a device's buffers hold and have held.
struct MemoryUse {
  std::size_t live = 0;         ///< bytes allocated now
  std::size_t peak = 0;         ///< most bytes allocated at once since the last reset_peak()
  std::size_t allocations = 0;  ///< number of allocations so far
};

/// Where a value lives and where an operator runs: the host with a number of threads, or a CUDA device.
///
/// A Device is a small handle, copied freely. Copies share the record of their memory; two calls of host() do not.
class Device {
 public:
  enum class Kind { host, cuda };

  /// The host with all its threads (OMP_NUM_THREADS is obeyed) and no record of memory.
  Device() = default;

  /// The host with `threads` threads; 0 means all. Throws usage for a negative number.
  static Device host(int threads = 0);

  /// CUDA device number `index`. Throws not_possible where the library was built without CUDA or no such device exists.
  static Device cuda(int index = 0);

  /// The first CUDA device where there is one, else the host.
  static Device best();

  /// True where the library was built with CUDA. It says nothing of the machine.
  static bool cuda_built() noexcept;

  [[nodiscard]] Kind kind() const noexcept;
  [[nodiscard]] bool is_host() const noexcept { return kind() == Kind::host; }
  [[nodiscard]] int index() const noexcept;

  /// Number of host threads that operators use; at least 1.
  [[nodiscard]] int threads() const noexcept;

  /// "cpu" or "cuda:0".
  [[nodiscard]] std::string name() const;

  /// What the buffers made for this handle and its copies hold. All zero for a default-constructed Device.
  [[nodiscard]] MemoryUse memory() const noexcept;
  void reset_peak() const noexcept;

  /// Two handles are equal where they name the same place: data of one may be used by operators of the other.
  friend bool operator==(const Device& a, const Device& b) noexcept {
    return a.kind() == b.kind() && a.index() == b.index();
  }

  /// Raw storage, aligned to 64 bytes; what Buffer is made of. Throws not_possible when memory runs out.
  [[nodiscard]] void* allocate(std::size_t bytes) const;
  void deallocate(void* data, std::size_t bytes) const noexcept;

 private:
  struct State;
  explicit Device(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace bitgraph
