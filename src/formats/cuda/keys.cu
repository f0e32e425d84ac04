// SPDX-License-Identifier: Apache-2.0
#include "formats/cuda/keys.cuh"

#include <bitgraph/core/kernel.cuh>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include <utility>

namespace bitgraph::cuda_formats {

namespace {

/// Calls run(storage, bytes) twice, as CUB wants it: for the size of its storage, then with it.
template <class Run>
void with_storage(const Device& device, const char* what, Run&& run) {
  std::size_t bytes = 0;
  cuda_check(run(nullptr, bytes), what);
  Buffer<std::byte> storage(bytes == 0 ? 1 : bytes, device);
  cuda_check(run(static_cast<void*>(storage.data()), bytes), what);
}

/// row_ptr[i]: the first key that is of row i or later.
__global__ void find_rows(const std::uint64_t* keys, EdgeOffset size, int low_bits, NodeId nrows, EdgeOffset* row_ptr) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i > nrows) return;
  EdgeOffset low = 0;
  EdgeOffset high = size;
  while (low < high) {
    const EdgeOffset middle = (low + high) / 2;
    if (keys[middle] >> low_bits < i) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  row_ptr[i] = low;
}

}  // namespace

EdgeOffset exclusive_scan(Buffer<EdgeOffset>& values) {
  const Device& device = values.device();
  const ScopedCudaDevice scope(device.index());
  with_storage(device, "a scan", [&](void* storage, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(storage, bytes, values.data(), values.data(), values.size(),
                                         stream_of(device));
  });
  EdgeOffset sum = 0;
  Device::copy(&sum, Device{}, values.data() + values.size() - 1, device, sizeof(sum));
  return sum;
}

Buffer<std::uint64_t> sorted(Buffer<std::uint64_t> keys, int begin_bit, int end_bit) {
  if (keys.size() < 2 || begin_bit == end_bit) return keys;
  const Device device = keys.device();
  const ScopedCudaDevice scope(device.index());
  Buffer<std::uint64_t> other(keys.size(), device);
  cub::DoubleBuffer<std::uint64_t> both(keys.data(), other.data());
  with_storage(device, "a sort", [&](void* storage, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(storage, bytes, both, keys.size(), begin_bit, end_bit, stream_of(device));
  });
  return both.Current() == keys.data() ? std::move(keys) : std::move(other);
}

Buffer<std::uint64_t> without_repetitions(Buffer<std::uint64_t> keys) {
  if (keys.size() < 2) return keys;
  const Device device = keys.device();
  const ScopedCudaDevice scope(device.index());
  Buffer<std::uint64_t> kept(keys.size(), device);
  Buffer<EdgeOffset> count(1, device);
  with_storage(device, "a selection", [&](void* storage, std::size_t& bytes) {
    return cub::DeviceSelect::Unique(storage, bytes, keys.data(), kept.data(), count.data(),
                                     static_cast<std::int64_t>(keys.size()), stream_of(device));
  });
  const std::size_t size = count.to(Device{})[0];
  if (size == keys.size()) return kept;
  keys = Buffer<std::uint64_t>();
  Buffer<std::uint64_t> exact(size, device);
  Device::copy(exact.data(), device, kept.data(), device, exact.bytes());
  return exact;
}

Buffer<EdgeOffset> row_pointers(const Buffer<std::uint64_t>& keys, int low_bits, NodeId nrows) {
  constexpr unsigned block_threads = 256;
  const Device& device = keys.device();
  const ScopedCudaDevice scope(device.index());
  Buffer<EdgeOffset> row_ptr(std::size_t{nrows} + 1, device);
  find_rows<<<blocks_for(row_ptr.size(), block_threads), block_threads, 0, stream_of(device)>>>(
      keys.data(), keys.size(), low_bits, nrows, row_ptr.data());
  cuda_check_launch("find_rows");
  return row_ptr;
}

}  // namespace bitgraph::cuda_formats
