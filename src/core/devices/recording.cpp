// SPDX-License-Identifier: Apache-2.0
#include "core/devices/recording.hpp"

#include "core/cuda/runtime.hpp"

namespace bitgraph {

void Recording::begin(const Device& device) {
  device_ = device;
  workspace_ = device.workspace(0);
  zeroed_workspace_ = device.zeroed_workspace(0);
  cuda_runtime::begin_recording(device.index(), device.stream());
}

void Recording::end(bool keep) {
  void* graph = cuda_runtime::end_recording(device_.index(), device_.stream(), keep);
  graph_.reset();
  if (graph != nullptr) graph_ = std::shared_ptr<void>(graph, cuda_runtime::destroy_recording);
}

bool Recording::usable() const {
  return graph_ && device_.workspace(0) == workspace_ && device_.zeroed_workspace(0) == zeroed_workspace_;
}

bool Recording::under_way(const Device& device) {
  return !device.is_host() && cuda_runtime::is_recording(device.index(), device.stream());
}

void Recording::launch() const { cuda_runtime::launch_recording(device_.index(), device_.stream(), graph_.get()); }

}  // namespace bitgraph
