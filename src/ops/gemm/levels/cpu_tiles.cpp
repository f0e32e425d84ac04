// SPDX-License-Identifier: Apache-2.0
// Products of levels of at most 8 bits on a matrix unit of tiles. A block of 32 rows of X is unpacked into tiles and
// meets all panels of a slice of outputs. Tiles and vectors work side by side: while a block is multiplied, the next
// one is unpacked and the sums of the one before go through the epilogue, a row at a time between products.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gemm/levels/cpu_tiles.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/gemm/cpu/amx_levels.hpp"
#include "ops/gemm/levels/cpu_rows-inl.hpp"
#include "ops/gemm/levels/levels.hpp"

#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_AVX3_DL  // what a processor with tiles has (core/devices/isa.hpp)

namespace hn = hwy::HWY_NAMESPACE;

using gemm_cpu::block_of_tiles;
using gemm_cpu::sum_stride;
using gemm_cpu::tile_bytes;
using gemm_cpu::tile_columns;
using gemm_cpu::tile_side;

constexpr std::size_t panel_outputs = LevelWeights::panel_outputs;
constexpr std::size_t slice_panels = slice_outputs / panel_outputs;
constexpr std::size_t most_tiles = cpu_gemm_tuning().level_tiles;
static_assert(panel_outputs == tile_side && LevelWeights::group * tile_side == tile_columns);
static_assert(slice_outputs <= sum_stride);

/// How levels lie in X: the bytes of a tile of columns.
enum class Levels : std::size_t { planes = plane_piece_bytes, nibbles = tile_columns / 2, bytes = tile_columns };

/// Tile `tile` of a row of X: 64 columns as bytes, zeros behind the last one.
template <Levels levels>
HWY_INLINE hn::Vec512<std::uint8_t> columns_of(const QuantizedView<>& x, const std::uint8_t* row, std::size_t tile) {
  const hn::Full512<std::uint8_t> whole;
  constexpr auto bytes = static_cast<std::size_t>(levels);
  const std::size_t left = x.row_bytes - tile * bytes;
  const std::uint8_t* const from = row + tile * bytes;
  if constexpr (levels == Levels::planes) {
    return bytes_of_planes(whole, row, tile * tile_columns);
  } else if constexpr (levels == Levels::nibbles) {
    const hn::Full256<std::uint8_t> half;
    const auto packed = left >= bytes ? hn::LoadU(half, from) : hn::MaskedLoad(hn::FirstN(half, left), half, from);
    return hn::BitCast(whole, apart(hn::PromoteTo(hn::Full512<std::uint16_t>(), packed)));
  } else {
    return left >= bytes ? hn::LoadU(whole, from) : hn::MaskedLoad(hn::FirstN(whole, left), whole, from);
  }
}

/// Some tiles of columns of a block of rows of X.
struct TileStage {
  std::size_t row, count, first, tiles;
};

/// A stage ready to be multiplied. Rows that are not there hold whatever was there before: nobody looks at their sums.
struct TileRows {
  HWY_ALIGN std::uint8_t tiles[2 * most_tiles * tile_bytes];  ///< [16 rows][tile of columns][row][column]
  HWY_ALIGN std::int32_t start[block_of_tiles * tile_side];   ///< what the sums of a row begin with, 16 times
  std::int32_t x_sums[block_of_tiles];                        ///< as in TileBlock
};

/// The sums of a block of rows and a slice of outputs.
struct TileBlock {
  std::size_t row = 0, count = 0, finished = 0;
  HWY_ALIGN std::int32_t sums[block_of_tiles * sum_stride];
  std::int32_t x_sums[block_of_tiles];  ///< zeros where the epilogue has no use for them
};

/// Rows begin .. end by a slice of outputs.
class TileProduct {
 public:
  TileProduct(const LevelGemmArgs& args, std::size_t first_output, std::size_t begin, std::size_t end)
      : args_(args),
        first_output_(first_output),
        outputs_(HWY_MIN(slice_outputs, args.outputs - first_output)),
        begin_(begin),
        end_(end),
        all_tiles_((args.x.ncols + tile_columns - 1) / tile_columns),
        chunk_tiles_(chunk_of(all_tiles_)),
        shift_(LevelWeights::shift_of(args.w_bits)),
        sums_x_(shift_ != 0 || args.w_scale.offsets != nullptr),
        w_(args, first_output, outputs_),
        panels_(args.panels + first_output / panel_outputs * args.panel_bytes) {
    const std::size_t whole = args.panel_bytes / tile_bytes * tile_bytes;
    cut_ = whole != args.panel_bytes;
    for (std::size_t panel = 0; cut_ && panel < num_panels(); ++panel) {
      std::memset(last_ + panel * tile_bytes, 0, tile_bytes);
      std::memcpy(last_ + panel * tile_bytes, panels_ + panel * args.panel_bytes + whole, args.panel_bytes - whole);
    }
  }

  void run() {
    begin_unpacking({begin_, HWY_MIN(block_of_tiles, end_ - begin_), 0, chunk_tiles_});
    while (unpacked_ < next_.count) unpack_row();
    while (next_.row < end_) {
      const TileStage stage = next_;
      const TileRows& rows = rows_[turn_];
      turn_ ^= 1U;
      begin_unpacking(after(stage));
      const bool block_ends = stage.first + stage.tiles == all_tiles_;
      TileBlock& block = blocks_[block_turn_];
      if (stage.first == 0) std::memcpy(block.x_sums, rows.x_sums, sizeof(block.x_sums));
      gemm_cpu::LevelTiles tiles;
      tiles.rows = rows.tiles;
      tiles.tiles = stage.tiles;
      tiles.panels = panels_ + stage.first * tile_bytes;
      tiles.panel_bytes = args_.panel_bytes;
      tiles.num_panels = num_panels();
      tiles.last = cut_ && block_ends ? last_ : nullptr;
      tiles.sums = block.sums;
      tiles.start = shift_ != 0 ? rows.start : nullptr;
      tiles.fresh = stage.first == 0;
      multiply(tiles);
      if (!block_ends) continue;
      block.row = stage.row;
      block.count = stage.count;
      block.finished = 0;
      block_turn_ ^= 1U;
    }
    for (TileBlock& last = done(); last.finished < last.count;) finish_row_of(last);
  }

 private:
  /// Tiles of columns that are multiplied at a time: chunks of about one size.
  static std::size_t chunk_of(std::size_t all) {
    const std::size_t chunks = (all + most_tiles - 1) / most_tiles;
    return (all + chunks - 1) / chunks;
  }

  [[nodiscard]] std::size_t num_panels() const { return (outputs_ + panel_outputs - 1) / panel_outputs; }

  [[nodiscard]] TileStage after(const TileStage& stage) const {
    TileStage next = stage;
    next.first += stage.tiles;
    if (next.first == all_tiles_) {
      next.first = 0;
      next.row += block_of_tiles;
      next.count = next.row < end_ ? HWY_MIN(block_of_tiles, end_ - next.row) : 0;
    }
    next.tiles = HWY_MIN(chunk_tiles_, all_tiles_ - next.first);
    return next;
  }

  /// The block whose sums wait for the epilogue.
  [[nodiscard]] TileBlock& done() { return blocks_[block_turn_ ^ 1U]; }

  /// The rest of the block before is finished, and the next stage unpacked, while tiles multiply.
  void multiply(const gemm_cpu::LevelTiles& tiles) {
    const TileBlock& before = done();
    steps_ = gemm_cpu::steps_of(tiles);
    tasks_ = next_.count + before.count - before.finished;
    due_ = 0;
    gemm_cpu::multiply_levels(tiles, {step, this});
  }

  /// As many of the tasks as one of so many steps has to do.
  static void step(void* self) {
    auto& product = *static_cast<TileProduct*>(self);
    for (product.due_ += product.tasks_; product.due_ >= product.steps_; product.due_ -= product.steps_) {
      if (product.unpacked_ < product.next_.count) {
        product.unpack_row();
      } else {
        product.finish_row_of(product.done());
      }
    }
  }

  void finish_row_of(TileBlock& block) {
    const std::size_t r = block.finished++;
    finish_row<std::int32_t>(args_, w_,
                             {block.row + r, first_output_, outputs_, block.sums + r * sum_stride, block.x_sums[r]});
  }

  void begin_unpacking(const TileStage& stage) {
    next_ = stage;
    unpacked_ = 0;
  }

  void unpack_row() {
    const std::size_t r = unpacked_++;
    if (args_.x.in_planes()) {
      unpack<Levels::planes>(r);
    } else if (args_.x.bits > 4) {
      unpack<Levels::bytes>(r);
    } else {
      unpack<Levels::nibbles>(r);
    }
  }

  /// Row r of the stage. With its first columns the levels of the whole row are added up.
  template <Levels form>
  HWY_INLINE void unpack(std::size_t r) {
    const hn::Full512<std::uint8_t> d;
    const hn::Full512<std::uint64_t> quads;
    const hn::Full512<std::int32_t> words;
    const QuantizedView<> x = args_.x;  // what bytes are stored to could be `args_` for all that compilers know
    const std::size_t first = next_.first, end = first + next_.tiles;
    const std::uint8_t* const row = x.row(next_.row + r);
    // The row at this place of the next block comes to the cache meanwhile.
    const std::uint8_t* const later = x.row(HWY_MIN(next_.row + r + block_of_tiles, x.nrows - 1));
    TileRows& to = rows_[turn_];
    std::uint8_t* at = to.tiles + (r / tile_side * next_.tiles * tile_side + r % tile_side) * tile_columns;
    const bool sums = sums_x_ && first == 0;
    auto sum = hn::Zero(quads);
    for (std::size_t t = first; t < end; ++t, at += tile_bytes) {
      const auto levels = columns_of<form>(x, row, t);
      hwy::Prefetch(later + t * static_cast<std::size_t>(form));
      hn::Store(levels, d, at);
      sum = hn::Add(sum, hn::SumsOf8(levels));
    }
    if (first != 0) return;
    for (std::size_t t = end; sums && t < all_tiles_; ++t) sum = hn::Add(sum, hn::SumsOf8(columns_of<form>(x, row, t)));
    const auto x_sum = sums ? static_cast<std::int32_t>(hn::GetLane(hn::SumOfLanes(quads, sum))) : 0;
    to.x_sums[r] = x_sum;
    if (shift_ != 0) hn::Store(hn::Set(words, shift_ * x_sum), words, to.start + r * tile_side);
  }

  const LevelGemmArgs& args_;
  const std::size_t first_output_, outputs_, begin_, end_, all_tiles_, chunk_tiles_;
  const std::int32_t shift_;  ///< what W's bytes are less than its levels
  const bool sums_x_;
  const SliceWeights w_;
  const std::int8_t* const panels_;
  bool cut_ = false;  ///< the last tile of a panel is not whole: `last_` has it
  TileStage next_{};  ///< being unpacked into rows_[turn_]
  std::size_t unpacked_ = 0;
  std::size_t steps_ = 1, tasks_ = 0, due_ = 0;
  unsigned turn_ = 0, block_turn_ = 0;
  TileRows rows_[2];
  TileBlock blocks_[2];
  HWY_ALIGN std::int8_t last_[slice_panels * tile_bytes];
};

void multiply_rows_by_tiles(const LevelGemmArgs& args, std::size_t begin, std::size_t end) {
  gemm_cpu::begin_tiles();
  for (std::size_t first = 0; first < args.outputs; first += slice_outputs) TileProduct(args, first, begin, end).run();
  gemm_cpu::end_tiles();
}

#else

void multiply_rows_by_tiles(const LevelGemmArgs&, std::size_t, std::size_t) {}  // never chosen

#endif

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/threads/parallel.hpp"

namespace bitgraph {

namespace {
HWY_EXPORT(multiply_rows_by_tiles);
}  // namespace

void level_gemm_by_tiles(const Cpu& backend, const LevelGemmArgs& args) {
  parallel_ranges(backend.device, args.x.nrows, gemm_cpu::block_of_tiles, [&](Range rows) {
    HWY_DYNAMIC_DISPATCH(multiply_rows_by_tiles)(args, rows.begin, rows.end);
  });
}

}  // namespace bitgraph
#endif  // HWY_ONCE
