// SPDX-License-Identifier: Apache-2.0
// A set of columns as bits, and how many columns of a row are in it. Included once for each instruction set (Highway's
// convention: the guard toggles).
#if defined(BITGRAPH_OPS_CPU_MARKS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef BITGRAPH_OPS_CPU_MARKS_INL_HPP
#undef BITGRAPH_OPS_CPU_MARKS_INL_HPP
#else
#define BITGRAPH_OPS_CPU_MARKS_INL_HPP
#endif

#include <bitgraph/core/types.hpp>

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE void set_marks(std::uint64_t* marks, const NodeId* columns, std::size_t n) {
  for (std::size_t e = 0; e < n; ++e) marks[columns[e] / 64] |= std::uint64_t{1} << (columns[e] % 64);
}

HWY_INLINE void clear_marks(std::uint64_t* marks, const NodeId* columns, std::size_t n) {
  for (std::size_t e = 0; e < n; ++e) marks[columns[e] / 64] = 0;
}

/// Counts marked columns of many rows, a lane a column. Where a processor gathers, whole vectors of columns are looked
/// up at a time, the last one in part.
class MarkCounter {
 public:
  HWY_INLINE explicit MarkCounter(const std::uint64_t* marks) : marks_(marks) {}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  using D = hn::ScalableTag<std::uint32_t>;

  /// A row of `size` columns; together not more than 2^32 columns a lane.
  HWY_INLINE void add(const NodeId* row, std::size_t size) {
    const D d;
    std::size_t e = 0;
    for (; e + hn::Lanes(d) <= size; e += hn::Lanes(d)) counts_ = hn::Add(counts_, bits_of(hn::LoadU(d, row + e)));
    if (e == size) return;
    const auto mask = hn::FirstN(d, size - e);
    counts_ = hn::Add(counts_, hn::IfThenElseZero(mask, bits_of(hn::MaskedLoad(mask, d, row + e))));
  }

  /// Whether a column of the row is marked; the first that is ends the search.
  [[nodiscard]] HWY_INLINE bool has_any(const NodeId* row, std::size_t size) const {
    const D d;
    std::size_t e = 0;
    for (; e + hn::Lanes(d) <= size; e += hn::Lanes(d)) {
      if (!hn::AllFalse(d, hn::Ne(bits_of(hn::LoadU(d, row + e)), hn::Zero(d)))) return true;
    }
    if (e == size) return false;
    const auto mask = hn::FirstN(d, size - e);
    const auto last = hn::IfThenElseZero(mask, bits_of(hn::MaskedLoad(mask, d, row + e)));
    return !hn::AllFalse(d, hn::Ne(last, hn::Zero(d)));
  }

  [[nodiscard]] HWY_INLINE std::uint64_t total() const {
    HWY_ALIGN std::uint32_t lanes[HWY_MAX_BYTES / 4];
    hn::Store(counts_, D(), lanes);
    std::uint64_t sum = 0;
    for (const std::uint32_t lane : lanes) sum += lane;
    return sum;
  }

 private:
  HWY_INLINE hn::Vec<D> bits_of(hn::Vec<D> columns) const {
    const D d;
    const hn::RebindToSigned<D> di;
    // Little-endian halves of the words: bit j is bit j % 32 of half j / 32.
    const auto* halves = reinterpret_cast<const std::uint32_t*>(marks_);
    const auto words = hn::GatherIndex(d, halves, hn::BitCast(di, hn::ShiftRight<5>(columns)));
    return hn::And(hn::Shr(words, hn::And(columns, hn::Set(d, 31))), hn::Set(d, 1));
  }

  const std::uint64_t* marks_;
  hn::Vec<D> counts_ = hn::Zero(D());
#else
  HWY_INLINE void add(const NodeId* row, std::size_t size) {
    for (std::size_t e = 0; e < size; ++e) total_ += (marks_[row[e] / 64] >> (row[e] % 64)) & 1U;
  }
  [[nodiscard]] HWY_INLINE bool has_any(const NodeId* row, std::size_t size) const {
    for (std::size_t e = 0; e < size; ++e) {
      if (((marks_[row[e] / 64] >> (row[e] % 64)) & 1U) != 0) return true;
    }
    return false;
  }
  [[nodiscard]] HWY_INLINE std::uint64_t total() const { return total_; }

 private:
  const std::uint64_t* marks_;
  std::uint64_t total_ = 0;
#endif
};

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
