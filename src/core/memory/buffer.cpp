// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/buffer.hpp>

#include <mutex>

namespace bitgraph::detail {

namespace {

/// Storage of a device, freed as it was made.
struct Allocation {
  Device device;
  void* data = nullptr;
  std::size_t bytes = 0;
  Storage storage = Storage::pool;

  explicit Allocation(const Device& where) : device(where) {}
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  ~Allocation() {
    if (data != nullptr) device.deallocate(data, bytes, storage);
  }
};

/// Storage in use by another stream than the one that it will be freed in.
struct OtherStream {
  std::shared_ptr<const void> owner;
  Device user;

  OtherStream(std::shared_ptr<const void> of, const Device& by) : owner(std::move(of)), user(by) {}
  OtherStream(const OtherStream&) = delete;
  OtherStream& operator=(const OtherStream&) = delete;
  ~OtherStream() {
    try {
      user.synchronize();
    } catch (const Error&) {
      // a kernel failed: who waits for the stream is told
    }
  }
};

}  // namespace

std::shared_ptr<void> shared_allocation(const Device& device, std::size_t bytes, Storage storage) {
  auto allocation = std::make_shared<Allocation>(device);
  allocation->data = device.allocate(bytes, storage);
  allocation->bytes = bytes;
  allocation->storage = storage;
  void* const data = allocation->data;
  return {std::move(allocation), data};
}

std::shared_ptr<const void> shared_owner(std::shared_ptr<const void>& owner, void* data, std::size_t bytes,
                                         const Device& device, const Device& user) {
  static std::mutex guard;  // sharing is rare, and one lock for all keeps every buffer small
  std::shared_ptr<const void> shared;
  {
    const std::lock_guard lock(guard);
    if (!owner) {
      auto allocation = std::make_shared<Allocation>(device);
      allocation->bytes = bytes;
      allocation->data = data;
      owner = std::move(allocation);
    }
    shared = owner;
  }
  if (user == device) return shared;
  auto other = std::make_shared<OtherStream>(std::move(shared), user);
  user.wait_for(device);
  return other;
}

}  // namespace bitgraph::detail
