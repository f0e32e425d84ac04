// SPDX-License-Identifier: Apache-2.0
#include "core/memory/array_pack.hpp"

#include "core/cuda/runtime.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace bitgraph {

void ArrayPack::grow(std::size_t filled) {
  const std::size_t room = std::max(used_, room_ + room_ / 2);
  Buffer<std::byte> larger(room);
  if (filled != 0) std::memcpy(larger.data(), data_, filled);
  here_ = std::move(larger);  // pinned memory is freed by the thread that has the device
  data_ = here_.data();
  room_ = room;
}

void ArrayPack::upload(Buffer<std::byte>& there, const Device& device) {
  device_ = device;
  lent_ = data_;
  if (device.is_host() || used_ == 0) return;
  if (pinned_.get() != data_ && room_ != refused_) pin(device);
  if (there.size() < used_ || !(there.device() == device)) there = Buffer<std::byte>(room_, device);
  if (!copied_) copied_ = {cuda_runtime::create_event(device.index()), cuda_runtime::destroy_event};
  cuda_runtime::copy_pinned(device.index(), device.stream(), there.data(), data_, used_, copied_.get());
  lent_ = there.data();
}

void ArrayPack::pin(const Device& device) {
  const std::shared_ptr<void> pinned(cuda_runtime::allocate_pinned(device.index(), room_),
                                     cuda_runtime::deallocate_pinned);
  if (!pinned) {
    refused_ = room_;
    return;
  }
  std::memcpy(pinned.get(), data_, used_);
  pinned_ = pinned;
  data_ = static_cast<std::byte*>(pinned_.get());
  here_ = {};
}

void ArrayPack::wait() const noexcept {
  if (copied_) cuda_runtime::wait_for_event(copied_.get());
}

}  // namespace bitgraph
