// SPDX-License-Identifier: Apache-2.0
#include "nn/inference/parts/packed_parts.hpp"

#include <bitgraph/core/error.hpp>
#include <bitgraph/ops/dense.hpp>

#include "core/cuda/runtime.hpp"
#include "core/memory/host_memory.hpp"
#include "core/memory/lent.hpp"
#include "core/memory/storage_room.hpp"
#include "nn/inference/graph_operands.hpp"
#include "nn/inference/input_features.hpp"
#include "nn/inference/operator_times.hpp"
#include "nn/program/layers.hpp"

#include <algorithm>
#include <utility>

namespace bitgraph::nn {

namespace {

/// Operators of a recorded run, at most. Making the CUDA graph takes microseconds for each, and a run of more operators
/// takes so long that the host asks for them faster than the device does them.
constexpr std::size_t most_recorded = 4096;

/// Memory of the host that a device reads by itself, or plain memory where there is too little of that.
class HostBytes {
 public:
  HostBytes() = default;
  HostBytes(std::size_t size, const Device& device, bool pins) : size_(size) {
    if (size == 0) return;
    if (pins) pinned_ = {cuda_runtime::allocate_pinned(device.index(), size), cuda_runtime::deallocate_pinned};
    if (!pinned_) plain_ = Buffer<std::byte>(size);
  }

  [[nodiscard]] std::byte* data() noexcept { return pinned_ ? static_cast<std::byte*>(pinned_.get()) : plain_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool pinned() const noexcept { return plain_.empty(); }

 private:
  std::size_t size_ = 0;
  std::shared_ptr<void> pinned_;
  Buffer<std::byte> plain_;
};

}  // namespace

struct PackedParts::Group {
  Group(const GroupSample& sample, const Model& metadata, const Dataset& dataset, const Precision& form,
        FeatureStorage storage, const Device& in_slot)
      : nodes(sample.nodes.size()),
        features(metadata, dataset, form, storage, in_slot, sample.nodes),
        graph(sample.pattern, in_slot) {}

  std::size_t nodes;
  std::size_t first = 0;  ///< of the logits in the order of the batches
  std::size_t slot = 0;
  std::shared_ptr<StorageRoom> room;  ///< of the slot, closed
  InputFeatures features;
  GraphOperands graph;
  std::optional<Runtime> runtime;
  HostBytes packed;
};

PackedParts::PackedParts(const Model& model, const Dataset& dataset, const InferenceOptions& options,
                         const Device& device, const Packing& packing)
    : PackedParts(model, dataset, options, device, packing,
                  lay_out_batches(model, dataset, options, device, packing.group_bytes)) {}

PackedParts::PackedParts(const Model& model, const Dataset& dataset, const InferenceOptions& options,
                         const Device& device, const Packing& packing, const PackedLayout& layout)
    : OverParts(dataset.graph.nrows(), layout.predicted),
      options_(options_of_batches(options, model, device)),
      device_(device),
      copying_(device.is_host() ? device : Device::cuda(device.index())),
      most_nodes_(layout.most_nodes) {
  const PassContext context{.options = options_, .graph = layout.facts, .on_host = device.is_host()};
  compiled_ = compile(program_of(model), context, 1, false);
  for (std::size_t s = 0; s < layout.slots; ++s) slots_.emplace_back(layout.slot_bytes, device_);
  const std::size_t bytes = place(program(), most_nodes_, compiled_.shares_memory).bytes;
  values_ = Buffer<std::uint64_t>((bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t), device_);

  PartBatches batches = inference_batches(dataset, options, device);
  num_batches_ = batches.num_batches();
  // What is pinned is lost for all else: the host keeps as much as it gives.
  const bool pins = packing.pins && !device_.is_host() && layout.predicted.host_bytes <= available_memory() / 2;
  const Model metadata = metadata_of(model);
  const Precision form = form_of_features(model, options.forms);
  std::vector<NodeId> place(num_nodes());
  NodeId next = 0;
  for (const BatchGroup& group : layout.groups) {
    device_.throw_if_stopped();
    const GroupSample sample = take_group(batches, group);
    make_group(model, metadata, dataset, form, sample, pins);
    groups_.back()->first = next;
    for (const NodeId node : sample.nodes) place[node] = next++;
  }
  bytes_ = {.model = model.bytes(),
            .graph = groups_[largest_]->graph.bytes(),
            .features = groups_[largest_]->features.bytes()};
  const std::size_t classes = program().value(program().result).columns;
  by_batches_ = DenseMatrix<float>(num_nodes(), classes, device_);
  place_ = Buffer<NodeId>::copy_of(place, device_);
  logits_ = DenseMatrix<float>(num_nodes(), classes, device_);
  records_ =
      options.launching != Launching::steps && pinned() && groups_.size() * program().operators.size() <= most_recorded;
}

/// Streams may be at work on slots and buffers.
PackedParts::~PackedParts() {
  for (const Device& at : {copying_, device_}) {
    try {
      at.synchronize();
    } catch (const Error&) {
      // a kernel failed: who waits for the logits is told
    }
  }
}

void PackedParts::make_group(const Model& model, const Model& metadata, const Dataset& dataset, const Precision& form,
                             const GroupSample& sample, bool pins) {
  const std::size_t slot = groups_.size() % slots_.size();
  const auto room = std::make_shared<StorageRoom>(slots_[slot].data(), slots_[slot].size());
  const Device in_slot = device_.with_room(room);
  groups_.push_back(std::make_unique<Group>(sample, metadata, dataset, form, options_.features, in_slot));
  Group& group = *groups_.back();
  group.slot = slot;
  group.room = room;
  if (group.nodes > groups_[largest_]->nodes) largest_ = groups_.size() - 1;
  if (!weights_) weights_.emplace(model, program(), group.features, device_);
  group.runtime.emplace(group.graph, group.features, *weights_, options_, in_slot);
  group.runtime->find(compiled_, no_order_, false);
  group.runtime->take_memory(lent(values_.data(), values_.size(), device_));
  group.runtime->bind(most_nodes_);
  room->close();
  group.packed = HostBytes(room->used(), device_, pins);
  Device::copy(group.packed.data(), Device(), slots_[slot].data(), device_, room->used());
}

void PackedParts::load(std::size_t group) {
  Group& next = *groups_[group];
  copying_.wait_for(device_);
  std::byte* const to = slots_[next.slot].data();
  const std::size_t bytes = next.packed.size();
  if (device_.is_host()) return Device::copy(to, device_, next.packed.data(), device_, bytes);
  if (bytes != 0) cuda_runtime::copy_ahead(copying_.index(), copying_.stream(), to, next.packed.data(), bytes);
}

void PackedParts::compute(Group& group) {
  if (group.nodes == 0) return;
  for (std::size_t n = 0; n < program().operators.size(); ++n) group.runtime->run(n);
  // A copy, not a kernel, ends the group: kernels behind a kernel may start early and read the next graph.
  const DenseMatrix<float>& logits = group.runtime->result();
  Device::copy(by_batches_.view().row(group.first), device_, logits.view().data, device_, logits.bytes());
}

void PackedParts::ask_for_all() {
  load(0);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    // The stream of the kernels has been asked for the groups before g. So it waits for copies up to g here, and the
    // copy of g + 1 waits for the kernels up to g - 1, which read its slot. With one slot it waits for those of g.
    device_.wait_for(copying_);
    const bool another = g + 1 < groups_.size(), ahead = slots_.size() > 1;
    if (another && ahead) load(g + 1);
    compute(*groups_[g]);
    if (another && !ahead) load(g + 1);
  }
  gather_rows_into(logits_, by_batches_, place_);
}

const DenseMatrix<float>& PackedParts::run() {
  device_.throw_if_stopped();
  if (records_ && !Recording::under_way(device_)) {
    recording_.repeat(device_, [this] { ask_for_all(); });
  } else {
    ask_for_all();
  }
  return logits_;
}

/// The steps of levels by row are packed with the batches. They are made again where they are, as in make_group().
void PackedParts::set_weights(const Model& model) {
  if (!weights_) return;
  weights_->set(model.layers);
  if (!model.has_levels()) return;
  recording_.clear();
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    Group& group = *groups_[g];
    load(g);
    device_.wait_for(copying_);
    group.room->reopen();
    group.runtime->bind(most_nodes_);
    group.room->close();
    Device::copy(group.packed.data(), Device(), slots_[group.slot].data(), device_, group.packed.size());
  }
}

std::vector<ExplainedOperator> PackedParts::explain(std::size_t repeats) {
  load(largest_);
  device_.wait_for(copying_);
  Group& group = *groups_[largest_];
  const std::size_t count = program().operators.size();
  OperatorTimes times(count, device_);
  for (std::size_t repeat = 0; repeat <= repeats; ++repeat) {
    for (std::size_t n = 0; n < count; ++n) times.run(n, [&] { group.runtime->run(n); });
  }
  return times.explain(program(), {.nodes = group.graph.num_nodes(), .entries = group.graph.entries()});
}

std::string PackedParts::feature_format() const { return groups_.front()->features.format(); }

std::size_t PackedParts::packed_bytes() const noexcept {
  std::size_t total = 0;
  for (const auto& group : groups_) total += group->packed.size();
  return total;
}

bool PackedParts::pinned() const noexcept {
  return std::ranges::all_of(groups_, [](const auto& group) { return group->packed.pinned(); });
}

}  // namespace bitgraph::nn
