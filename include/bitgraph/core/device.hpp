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

  /// CUDA device number `index`. Operators run on `stream` (a cudaStream_t, which must outlive the handle), or on a
  /// stream of the handle's own. Throws not_possible, saying what to do, where the library was built without CUDA,
  /// where there is no such device or driver, and where the device is older than compute capability 8.0.
  static Device cuda(int index = 0, void* stream = nullptr);

  /// The first CUDA device where there is one, else the host.
  static Device best();

  /// True where the library was built with CUDA. It says nothing of the machine.
  static bool cuda_built() noexcept;

  [[nodiscard]] Kind kind() const noexcept;
  [[nodiscard]] bool is_host() const noexcept { return kind() == Kind::host; }
  [[nodiscard]] int index() const noexcept;

  /// Number of host threads that operators use; at least 1.
  [[nodiscard]] int threads() const noexcept;

  /// The cudaStream_t of a CUDA device; null for the host.
  [[nodiscard]] void* stream() const noexcept;

  /// Waits until everything asked of the device's stream is done; nothing to do for the host. Throws internal where a
  /// kernel failed.
  void synchronize() const;

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

  /// Scratch storage of a CUDA device's stream that operators use one after another: it grows to the most that was
  /// asked for and stays, so that a repeated call allocates nothing. What is in it is of the last operator; the zeroed
  /// one is all zero when an operator begins, and must be so when it ends. Not for two host threads at once.
  [[nodiscard]] void* workspace(std::size_t bytes) const;
  [[nodiscard]] void* zeroed_workspace(std::size_t bytes) const;

  /// Repeats the `pattern_size` bytes at `pattern` (1, 2, 4 or 8 of them) over `bytes` bytes of this device's storage.
  void fill(void* data, std::size_t bytes, const void* pattern, std::size_t pattern_size) const;

  /// Copies storage of `source` to storage of `target`. With the host it returns when that may go on. Between handles
  /// of CUDA devices at once: behind what the source was asked for before, ahead of what either is asked for later.
  static void copy(void* to, const Device& target, const void* from, const Device& source, std::size_t bytes);

 private:
  struct State;
  explicit Device(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace bitgraph
