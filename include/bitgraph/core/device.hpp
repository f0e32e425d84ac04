// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

namespace bitgraph {

class StorageRoom;

/// Bytes that a device's buffers hold and have held.
struct MemoryUse {
  std::size_t live = 0;         ///< bytes allocated now
  std::size_t peak = 0;         ///< most bytes allocated at once since the last reset_peak()
  std::size_t allocations = 0;  ///< number of allocations so far
};

/// What storage on a CUDA device is taken from. On the host the two are the same.
enum class Storage {
  pool,   ///< the stream's pool: quick, and kept for the next buffer when it is freed
  plain,  ///< cudaMalloc: other processes can map it (cudaIpcGetMemHandle). Making and freeing it waits for the device
};

/// Where a value lives and where an operator runs: the host with a number of threads, or a CUDA device with a stream.
///
/// A Device is a small handle, copied freely. Copies share the record of their memory; two calls of host() do not.
///
/// A handle and its copies belong to one host thread at a time: they share a stream and its scratch storage. Two host
/// threads use a handle each (two calls of host() or cuda()), and may then run any operators at once. What both read is
/// copied, or shared (Buffer::share), so that each has it under its own handle.
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

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] bool is_host() const noexcept { return kind_ == Kind::host; }
  [[nodiscard]] int index() const noexcept { return index_; }

  /// Number of host threads that operators use; at least 1. It is 1 in a child that was forked after the process ran a
  /// parallel loop: the threads of the parent do not exist in the child.
  [[nodiscard]] int threads() const noexcept;

  /// The cudaStream_t of a CUDA device; null for the host.
  [[nodiscard]] void* stream() const noexcept;

  /// Waits until everything asked of the device's stream is done; nothing to do for the host. Throws internal where a
  /// kernel failed.
  void synchronize() const;

  /// What this handle is asked for from now on begins when all that `earlier` was asked for is done. It returns at
  /// once, but on the host, which waits itself. Nothing to do where `earlier` is the host.
  void wait_for(const Device& earlier) const;

  /// The same handle, whose long work ends when `stop` is requested: packing, reordering, graph algorithms (between
  /// rounds) and training (between steps) then throw Error with the code stopped. They keep nothing that is half done,
  /// and the next call works. Values made for the handle carry the token along; share() gives them another handle.
  [[nodiscard]] Device with_stop(std::stop_token stop) const;

  /// The same handle, for the library itself: its storage comes from `room` as long as there is some. Both handles have
  /// one stream, one scratch storage and one record of memory, in which the room counts for whoever made it.
  [[nodiscard]] Device with_room(std::shared_ptr<StorageRoom> room) const;

  /// Throws Error with the code stopped where the handle's token was asked to stop. Long loops call it where they may
  /// end. O(1), and free where there is no token.
  void throw_if_stopped() const {
    if (stop_.stop_requested()) fail_stopped();
  }

  /// "cpu" or "cuda:0".
  [[nodiscard]] std::string name() const;

  /// What the buffers made for this handle and its copies hold. All zero for a default-constructed Device.
  [[nodiscard]] MemoryUse memory() const noexcept;
  void reset_peak() const noexcept;

  /// Raw storage, aligned to 64 bytes; what Buffer is made of. Throws not_possible when memory runs out.
  /// Freed as it was made: the same bytes and the same kind of storage.
  [[nodiscard]] void* allocate(std::size_t bytes, Storage storage = Storage::pool) const;
  void deallocate(void* data, std::size_t bytes, Storage storage = Storage::pool) const noexcept;

  /// Scratch storage of a CUDA device's stream that operators use one after another: it grows to the most that was
  /// asked for and stays, so that a repeated call allocates nothing. What is in it is of the last operator; the zeroed
  /// one is all zero when an operator begins, and must be so when it ends. A handle and its copies have it in common:
  /// not for two host threads at once.
  [[nodiscard]] void* workspace(std::size_t bytes) const;
  [[nodiscard]] void* zeroed_workspace(std::size_t bytes) const;

  /// Repeats the `pattern_size` bytes at `pattern` (1, 2, 4 or 8 of them) over `bytes` bytes of this device's storage.
  void fill(void* data, std::size_t bytes, const void* pattern, std::size_t pattern_size) const;

  /// Copies storage of `source` to storage of `target`. With the host it returns when that may go on. Between handles
  /// of CUDA devices at once: behind what the source was asked for before, ahead of what either is asked for later.
  static void copy(void* to, const Device& target, const void* from, const Device& source, std::size_t bytes);

 private:
  struct State;
  Device(std::shared_ptr<State> state, Kind kind, int index) : state_(std::move(state)), kind_(kind), index_(index) {}
  [[noreturn]] static void fail_stopped();
  [[nodiscard]] bool has_room() const noexcept;
  [[nodiscard]] Device without_room() const;

  std::shared_ptr<State> state_;
  std::stop_token stop_;
  Kind kind_ = Kind::host;
  int index_ = 0;
};

/// True where both name one place: the host, or one CUDA device. Kernels and operators of one handle can read and write
/// memory of the other. Work on that memory is in order only where the handles are equal.
[[nodiscard]] inline bool same_place(const Device& a, const Device& b) noexcept {
  return a.kind() == b.kind() && a.index() == b.index();
}

/// Equal for ordering: the same place and, on a CUDA device, the same stream, so that what one is asked for comes
/// behind what the other was asked for before. Handles of the host are equal whatever their threads.
[[nodiscard]] inline bool operator==(const Device& a, const Device& b) noexcept {
  return same_place(a, b) && (a.is_host() || a.stream() == b.stream());
}

namespace detail {
[[noreturn]] void fail_mixed_devices(const char* op, const char* a_name, const Device& a, const char* b_name,
                                     const Device& b);
[[noreturn]] void fail_not_on_host(const char* what, const Device& device);
}  // namespace detail

/// Throws usage unless operands a and b of `op` are at the same place: "spmm: a is on cuda:0, x on cpu; bring one to
/// the other with to()". For operands that are only read and that whoever made them waited for, such as graphs.
inline void require_same_place(const char* op, const char* a_name, const Device& a, const char* b_name,
                               const Device& b) {
  if (!same_place(a, b)) detail::fail_mixed_devices(op, a_name, a, b_name, b);
}

/// Throws usage unless a == b: as require_same_place, and where both are on one CUDA device with a stream each: "spmm:
/// a and x are both on cuda:0, but on different streams; bring one to the other with to(), or share it with share()".
inline void require_same_stream(const char* op, const char* a_name, const Device& a, const char* b_name,
                                const Device& b) {
  if (!(a == b)) detail::fail_mixed_devices(op, a_name, a, b_name, b);
}

/// Throws usage where values on `device` are not for the host to read: "comparing bit matrices: the values are on
/// cuda:0; bring them with to(Device{})".
inline void require_on_host(const char* what, const Device& device) {
  if (!device.is_host()) detail::fail_not_on_host(what, device);
}

}  // namespace bitgraph
