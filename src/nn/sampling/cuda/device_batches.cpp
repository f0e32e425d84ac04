// SPDX-License-Identifier: Apache-2.0
#include "nn/sampling/cuda/device_batches.hpp"

#include <bitgraph/core/error.hpp>

#include "core/cuda/runtime.hpp"
#include "core/devices/backend.hpp"
#include "core/devices/recording.hpp"
#include "core/memory/lent.hpp"
#include "formats/pattern/csr_chunks.hpp"
#include "nn/inference/graph_operands.hpp"
#include "nn/model/architectures.hpp"
#include "nn/sampling/cuda/sample.hpp"
#include "nn/sampling/cuda/sample_plan.hpp"
#include "nn/sampling/draws.hpp"
#include "nn/sampling/training_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

namespace bitgraph::nn {

namespace {

using namespace cuda_sampling;

constexpr std::size_t num_slots = 3;  ///< the batch of the step, and two ahead

/// A row of the graph is a target once: two of them would be two rows of a sample.
void check_targets(const Dataset& dataset) {
  std::vector<bool> met(dataset.graph.nrows(), false);
  for (const NodeId i : dataset.train) {
    if (i >= met.size())
      fail(ErrorCode::usage, fmt::format("neighbour sampling: target {} is no node of a graph of {}", i, met.size()));
    if (met[i]) fail(ErrorCode::usage, fmt::format("neighbour sampling: target {} stands twice", i));
    met[i] = true;
  }
}

SamplePlan plan_of(const Dataset& dataset, const TrainOptions& options, const std::vector<LayerShape>& shapes) {
  std::vector<Aggregation> aggregations;
  for (const LayerShape& shape : shapes) {
    if (shape.aggregation != Aggregation::none) aggregations.push_back(shape.aggregation);
  }
  const std::size_t targets = BatchOrder(dataset.train, *options.batch_size, options.seed).largest_batch();
  return {dataset.graph, options.fan_outs, aggregations, targets};
}

/// Whether the device has room for a quarter of its free memory, and kernels the numbers: places among entries have 31
/// bits there. A sample has no scales of columns.
bool fits(const SamplePlan& plan, const CsrPattern& graph, const Device& device) {
  constexpr std::size_t most = std::numeric_limits<std::int32_t>::max() - 1;
  if (plan.most(&HopPlan::entries) > most || plan.inputs() > most) return false;
  for (const HopPlan& hop : plan.hops) {
    if (hop.aggregation == Aggregation::symmetric) return false;
  }
  const std::size_t bytes = plan.bytes(graph, num_slots);
  return bytes <= cuda_runtime::available(device.index(), 4 * bytes) / 4;
}

/// Memory of the host that the device reads and writes by itself.
template <class T>
std::shared_ptr<T> pinned(std::size_t size, const Device& device) {
  const std::shared_ptr<void> memory(cuda_runtime::allocate_pinned(device.index(), size * sizeof(T)),
                                     cuda_runtime::deallocate_pinned);
  if (!memory)
    fail(ErrorCode::not_possible, device.name() + ": not enough memory of the host that the device can read");
  T* const values = static_cast<T*>(memory.get());
  std::uninitialized_fill_n(values, size, T{});
  return {memory, values};
}

/// Room for one pattern of a sample.
struct PatternRoom {
  Buffer<EdgeOffset> row_ptr;
  Buffer<NodeId> col_ind, chunk_row;

  PatternRoom(std::size_t nrows, std::size_t entries, const Device& device)
      : row_ptr(nrows + 1, device), col_ind(entries, device), chunk_row(csr_chunk_bounds(nrows, entries), device) {}

  [[nodiscard]] PatternArrays arrays() noexcept { return {row_ptr.data(), col_ind.data(), chunk_row.data()}; }

  /// What is in it.
  [[nodiscard]] CsrPattern pattern(NodeId nrows, NodeId ncols, std::size_t entries, EdgeOffset longest_row) {
    const Device& device = row_ptr.device();
    return {nrows,
            ncols,
            lent(row_ptr.data(), nrows + std::size_t{1}, device),
            lent(col_ind.data(), entries, device),
            lent(chunk_row.data(), csr_chunk_bounds(nrows, entries), device),
            longest_row,
            trusted};
  }
};

/// Room for the layer of one hop.
struct HopRoom {
  PatternRoom pattern, transposed;
  Buffer<float> row_scale, vote_scale;

  HopRoom(const HopPlan& plan, const Device& device)
      : pattern(plan.rows, plan.entries, device),
        transposed(plan.inputs, plan.entries, device),
        row_scale(plan.rows, device),
        vote_scale(plan.rows, device) {}

  [[nodiscard]] HopArgs args(const HopPlan& plan, float factor) {
    return {.fan_out = plan.fan_out,
            .most_rows = static_cast<std::uint32_t>(plan.rows),
            .most_inputs = static_cast<std::uint32_t>(plan.inputs),
            .most_entries = static_cast<std::uint32_t>(plan.entries),
            .longest_row = plan.longest_row,
            .loops = has_loops(plan.aggregation),
            .sums = is_sum(plan.aggregation),
            .factor = factor,
            .pattern = pattern.arrays(),
            .transposed = transposed.arrays(),
            .row_scale = row_scale.data(),
            .vote_scale = vote_scale.data()};
  }

  [[nodiscard]] std::shared_ptr<const LayerGraph> graph(const HopSizes& sizes) {
    const Device& device = row_scale.device();
    return std::make_shared<LayerGraph>(
        pattern.pattern(sizes.rows, sizes.inputs, sizes.entries, sizes.longest_row),
        transposed.pattern(sizes.inputs, sizes.rows, sizes.entries, sizes.longest_column),
        lent(row_scale.data(), sizes.rows, device), lent(vote_scale.data(), sizes.rows, device));
  }
};

/// Room for one batch.
struct Slot {
  Buffer<NodeId> nodes;
  Buffer<std::int32_t> labels;
  std::vector<HopRoom> rooms;
  std::vector<HopArgs> hops;
  Buffer<BatchRequest> request;
  Buffer<HopSizes> sizes;
  std::shared_ptr<BatchRequest> request_here;
  std::shared_ptr<HopSizes> sizes_here;
  std::shared_ptr<void> drawn;  ///< the event of the last draw: `sizes_here` are there, `request_here` may be written
  Recording recording;

  Slot(const SamplePlan& plan, float factor, const Device& device)
      : nodes(plan.inputs(), device),
        labels(plan.targets(), device),
        request(1, device),
        sizes(plan.hops.size(), device),
        request_here(pinned<BatchRequest>(1, device)),
        sizes_here(pinned<HopSizes>(plan.hops.size(), device)),
        drawn(cuda_runtime::create_event(device.index()), cuda_runtime::destroy_event) {
    for (const HopPlan& hop : plan.hops) hops.push_back(rooms.emplace_back(hop, device).args(hop, factor));
  }

  void wait() const noexcept { cuda_runtime::wait_for_event(drawn.get()); }
};

/// The graph, and what draws one after another have in common.
struct Common {
  Buffer<EdgeOffset> row_ptr;
  Buffer<NodeId> col_ind;
  Buffer<std::int32_t> labels;
  Buffer<NodeId> place;
  Buffer<std::uint32_t> marks;
  Buffer<NodeId> fresh_before;
  Buffer<EdgeOffset> drawn_ptr;
  Buffer<NodeId> drawn, numbered, rows_of_entries, sorted_columns, sorted_rows;
  Buffer<std::byte> library;

  Common(const Dataset& dataset, const SamplePlan& plan, const Device& device)
      : row_ptr(Buffer<EdgeOffset>::copy_of(dataset.graph.row_ptr(), device)),
        col_ind(Buffer<NodeId>::copy_of(dataset.graph.col_ind(), device)),
        labels(Buffer<std::int32_t>::copy_of(dataset.labels, device)),
        place(dataset.graph.nrows(), std::numeric_limits<NodeId>::max(), device),
        marks(mark_words(dataset.graph.nrows()), 0U, device),
        fresh_before(marks.size() + 1, device),
        drawn_ptr(plan.most(&HopPlan::rows) + 1, device),
        drawn(plan.most(&HopPlan::drawn), device),
        rows_of_entries(plan.most(&HopPlan::entries), device),
        sorted_columns(plan.most(&HopPlan::entries), device) {
    if (plan.most(&HopPlan::longest_row) <= most_sorted_by_warp) return;
    numbered = Buffer<NodeId>(plan.most(&HopPlan::entries), device);
    sorted_rows = Buffer<NodeId>(plan.most(&HopPlan::entries), device);
  }

  [[nodiscard]] SampledGraph graph(const NodeId* order) const noexcept {
    return {static_cast<NodeId>(place.size()), row_ptr.data(), col_ind.data(), labels.data(), order};
  }

  [[nodiscard]] SampleScratch scratch() noexcept {
    return {.place = place.data(),
            .marks = marks.data(),
            .fresh_before = fresh_before.data(),
            .drawn_ptr = drawn_ptr.data(),
            .drawn = drawn.data(),
            .numbered = numbered.data(),
            .rows_of_entries = rows_of_entries.data(),
            .sorted_columns = sorted_columns.data(),
            .sorted_rows = sorted_rows.data(),
            .library = library.data(),
            .library_bytes = library.size()};
  }
};

class DeviceBatches final : public BatchQueue {
 public:
  DeviceBatches(const Dataset& dataset, const TrainOptions& options, SamplePlan plan, const Device& device)
      : device_(device),
        drawing_(Device::cuda(device.index())),
        plan_(std::move(plan)),
        seed_(options.seed),
        order_(dataset.train, *options.batch_size, options.seed),
        end_(*options.epochs * order_.batches()),
        common_(dataset, plan_, device) {
    std::vector<NodeId> counted(plan_.targets());
    std::iota(counted.begin(), counted.end(), NodeId{0});
    counted_ = Buffer<NodeId>::copy_of(counted, device);
    const float factor = sum_factor(dataset.graph);
    slots_.reserve(num_slots);
    for (std::size_t s = 0; s < num_slots; ++s) slots_.emplace_back(plan_, factor, device);
    with_cuda(device, "neighbour sampling", [&](const auto& cuda) {
      const std::size_t bytes = library_bytes(cuda, dataset.graph.nrows(), slots_.front().hops);
      common_.library = Buffer<std::byte>(bytes, device);
    });
  }

  DeviceBatches(const DeviceBatches&) = delete;
  DeviceBatches& operator=(const DeviceBatches&) = delete;

  /// The arrays go behind the work of the device that trains; draws that are under way write to them, too.
  ~DeviceBatches() override {
    for (const Slot& slot : slots_) slot.wait();
  }

  [[nodiscard]] std::size_t batches() const noexcept override { return order_.batches(); }

  PlacedBatch get(std::size_t epoch, std::size_t n) override {
    const std::size_t number = (epoch - 1) * batches() + n;
    if (number != next_) asked_end_ = number;  // anew: a draw of another batch is drawn over
    const std::size_t last = std::min(std::max(end_, number + 1), number + num_slots);
    for (; asked_end_ < last; ++asked_end_) ask(asked_end_);
    next_ = number + 1;
    Slot& slot = slots_[number % num_slots];
    slot.wait();
    return placed(slot, order_.batch(n).size());
  }

 private:
  /// Asks the device to draw a batch. It does so when it is done with the last step that reads what is in the slot.
  void ask(std::size_t number) {
    Slot& slot = slots_[number % num_slots];
    slot.wait();
    const std::size_t epoch = number / batches() + 1, n = number % batches();
    const NodeId* const order = order_of(epoch);
    const Range targets = order_.batch(n);
    *slot.request_here = {
        seed_of_batch(seed_, Draw::neighbors, static_cast<std::uint32_t>(epoch), static_cast<std::uint32_t>(n)),
        static_cast<std::uint32_t>(targets.begin), static_cast<std::uint32_t>(targets.size())};
    drawing_.wait_for(device_);
    slot.recording.repeat(drawing_, [&] { draw(slot, order); });
    cuda_runtime::record_event(drawing_.index(), drawing_.stream(), slot.drawn.get());
  }

  void draw(Slot& slot, const NodeId* order) {
    const SampleArgs args{.graph = common_.graph(order),
                          .batch = {.most_targets = static_cast<std::uint32_t>(plan_.targets()),
                                    .request = slot.request.data(),
                                    .nodes = slot.nodes.data(),
                                    .labels = slot.labels.data(),
                                    .sizes = slot.sizes.data()},
                          .scratch = common_.scratch(),
                          .hops = slot.hops,
                          .request_here = slot.request_here.get(),
                          .sizes_here = slot.sizes_here.get()};
    with_cuda(drawing_, "neighbour sampling", [&](const auto& cuda) { draw_sample(cuda, args); });
  }

  /// Where the device has the order of an epoch, behind the draws of the epoch before. It is the same place for all of
  /// them: recordings have it.
  const NodeId* order_of(std::size_t epoch) {
    if (epoch != epoch_there_) {
      upload_.wait();
      const std::span<const NodeId> order = order_.of_epoch(epoch);
      upload_.clear();
      order_place_ = upload_.add<NodeId>(order.size());
      std::ranges::copy(order, upload_[order_place_].begin());
      upload_.upload(order_there_, drawing_);
      epoch_there_ = epoch;
    }
    return upload_.lend(order_place_).data();
  }

  PlacedBatch placed(Slot& slot, std::size_t num_targets) {
    const std::span<const HopSizes> sizes(slot.sizes_here.get(), plan_.hops.size());
    check(sizes, num_targets);
    PlacedBatch batch;
    for (std::size_t h = sizes.size(); h-- > 0;) batch.graphs.push_back(slot.rooms[h].graph(sizes[h]));
    batch.nodes = lent(slot.nodes.data(), sizes.back().inputs, device_);
    batch.counted = lent(counted_.data(), num_targets, device_);
    batch.labels = lent(slot.labels.data(), num_targets, device_);
    return batch;
  }

  /// A draw that failed leaves other sizes behind: kernels of the step would read anywhere.
  void check(std::span<const HopSizes> sizes, std::size_t num_targets) const {
    std::size_t rows = num_targets;
    for (std::size_t h = 0; h < sizes.size(); ++h) {
      const HopPlan& plan = plan_.hops[h];
      if (sizes[h].rows != rows || sizes[h].inputs < rows || sizes[h].inputs > plan.inputs ||
          sizes[h].entries > plan.entries) {
        fail(ErrorCode::internal,
             fmt::format("{}: drawing neighbours failed: hop {} of {} targets has {} rows, {} inputs and {} entries; "
                         "expected {}, at most {} and {}",
                         device_.name(), h, num_targets, sizes[h].rows, sizes[h].inputs, sizes[h].entries, rows,
                         plan.inputs, plan.entries));
      }
      rows = sizes[h].inputs;
    }
  }

  Device device_;   ///< that trains
  Device drawing_;  ///< the same with a stream of its own
  SamplePlan plan_;
  std::uint64_t seed_;
  BatchOrder order_;
  std::size_t end_;  ///< batches from here on are drawn when they are asked for
  Common common_;
  Buffer<NodeId> counted_;
  ArrayPack upload_;
  ArrayPack::Place<NodeId> order_place_;
  Buffer<std::byte> order_there_;
  std::size_t epoch_there_ = 0;
  std::vector<Slot> slots_;
  std::size_t next_ = 0;       ///< the batch that get() is called for
  std::size_t asked_end_ = 0;  ///< batches from next_ to here are drawn, or the device will
};

}  // namespace

std::unique_ptr<BatchQueue> make_device_batches(const Dataset& dataset, const TrainOptions& options,
                                                const std::vector<LayerShape>& shapes, const Device& device) {
  if (device.is_host() || options.partition != nullptr) return nullptr;
  if (traits_of(options.architecture).batches != BatchKind::neighbors) return nullptr;
  SamplePlan plan = plan_of(dataset, options, shapes);
  if (!fits(plan, dataset.graph, device)) return nullptr;
  check_targets(dataset);
  return std::make_unique<DeviceBatches>(dataset, options, std::move(plan), device);
}

}  // namespace bitgraph::nn
