// SPDX-License-Identifier: Apache-2.0
// The sampling profile of Bit-GraphBLAS (section III-C), and an estimate of the number of tiles from the same kind of
// sample.
//
// The number of tiles is the sum over all entries of 1 / (entries in the entry's tile). Rows are drawn with a
// probability proportional to their degree, so that entries are drawn evenly. The mean of 1 / c over the entries of the
// drawn row's tile row, or over a few entries of the drawn row where the tile row is long, times the number of entries,
// is an unbiased estimate whose spread does not depend on how skewed the degrees are.
#include <bitgraph/formats/advisor.hpp>

#include <bitgraph/core/random.hpp>

#include "core/devices/backend.hpp"
#include "core/threads/parallel.hpp"
#include "formats/cuda/formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <span>
#include <vector>

namespace bitgraph {

namespace {

using cuda_formats::entries_a_row;
using cuda_formats::ProfileAnswer;
using cuda_formats::ProfileDraw;
using cuda_formats::short_tile_row;

/// Entries of the k x k tile that holds (i, j).
std::size_t tile_occupancy(const CsrPatternView& a, NodeId i, NodeId j, NodeId k) {
  const NodeId first_row = i / k * k;
  const auto end_row = static_cast<NodeId>(std::min<std::size_t>(a.nrows, std::size_t{first_row} + k));
  const NodeId first_col = j / k * k;
  const std::size_t end_col = std::size_t{first_col} + k;
  std::size_t occupancy = 0;
  for (NodeId row = first_row; row < end_row; ++row) {
    const auto columns = a.row(row);
    const auto begin = std::lower_bound(columns.begin(), columns.end(), first_col);
    auto end = begin;
    while (end != columns.end() && *end < end_col) ++end;
    occupancy += static_cast<std::size_t>(end - begin);
  }
  return occupancy;
}

/// Non-empty bit rows of row i at side k: the distinct tile columns.
std::size_t bit_rows(std::span<const NodeId> row, NodeId k) {
  std::size_t distinct = 0;
  for (std::size_t e = 0; e < row.size(); ++e) distinct += (e == 0 || row[e] / k != row[e - 1] / k) ? 1U : 0U;
  return distinct;
}

NodeId row_of_entry(const CsrPatternView& a, EdgeOffset entry) {
  const auto* after = std::upper_bound(a.row_ptr, a.row_ptr + a.nrows + 1, entry);
  return static_cast<NodeId>(after - a.row_ptr - 1);
}

/// Tiles per entry of the tile row of a row. Draws come in the order of the rows: the last answer is kept.
class TileRows {
 public:
  TileRows(const CsrPatternView& a, NodeId k) : a_(a), k_(k) {}

  [[nodiscard]] std::size_t entries(NodeId i) const {
    return static_cast<std::size_t>(a_.row_ptr[end_row(i)] - a_.row_ptr[i / k_ * k_]);
  }

  double tiles_per_entry(NodeId i) {
    if (i / k_ == last_) return answer_;
    columns_.clear();
    for (EdgeOffset e = a_.row_ptr[i / k_ * k_]; e < a_.row_ptr[end_row(i)]; ++e)
      columns_.push_back(a_.col_ind[e] / k_);
    const auto size = static_cast<double>(columns_.size());
    std::sort(columns_.begin(), columns_.end());
    last_ = i / k_;
    answer_ = static_cast<double>(std::unique(columns_.begin(), columns_.end()) - columns_.begin()) / size;
    return answer_;
  }

 private:
  [[nodiscard]] std::size_t end_row(NodeId i) const {
    return std::min<std::size_t>(a_.nrows, std::size_t{i / k_ * k_} + k_);
  }

  CsrPatternView a_;
  NodeId k_;
  NodeId last_ = ~NodeId{0};
  double answer_ = 0;
  std::vector<NodeId> columns_;
};

/// The mean of 1 / c over a few entries of row i, evenly spaced from a random start: without repetition, and every
/// entry is as likely.
double inverse_occupancy(const CsrPatternView& a, NodeId i, NodeId k, std::size_t start) {
  const auto row = a.row(i);
  const std::size_t looks = std::min(row.size(), entries_a_row);
  double sum = 0;
  for (std::size_t look = 0; look < looks; ++look) {
    const std::size_t e = (start + look * row.size() / looks) % row.size();
    sum += 1.0 / static_cast<double>(tile_occupancy(a, i, row[e], k));
  }
  return sum / static_cast<double>(looks);
}

/// Draw `n` of `draws` from [0, size): one from each of as many equal parts. Neighbouring rows are alike in most
/// graphs, and parts that are sampled alike leave less to chance.
std::size_t stratified(RandomKey key, std::size_t counter, std::size_t n, std::size_t draws, std::size_t size) {
  const Range part = part_of(size, n, draws);
  return part.size() == 0 ? random_below(key, counter, size) : part.begin + random_below(key, counter, part.size());
}

/// What draw n of `draws` is: an entry, so that rows come by degree, for the tiles; a row by number for Algorithm 1.
ProfileDraw drawn(const CsrPattern& a, RandomKey key, std::size_t n, std::size_t draws) {
  RandomKey uniform = key;
  ++uniform.step;
  return {.entry = stratified(key, 2 * n, n, draws, a.nvals()),
          .start = random_bits(key, 2 * n + 1),
          .plain_row = static_cast<NodeId>(stratified(uniform, n, n, draws, a.nrows()))};
}

double compression_of(std::span<const NodeId> row, int k) {
  if (row.empty()) return 0;
  return static_cast<double>(row.size()) / static_cast<double>(bit_rows(row, static_cast<NodeId>(k)));
}

ProfileAnswer answered(const CsrPatternView& a, TileRows& tile_rows, int k, const ProfileDraw& draw) {
  __extension__ using Wide = unsigned __int128;
  const NodeId i = row_of_entry(a, draw.entry);
  const auto start = static_cast<std::size_t>((static_cast<Wide>(draw.start) * a.row(i).size()) >> 64);  // evenly
  return {tile_rows.entries(i) <= short_tile_row ? tile_rows.tiles_per_entry(i)
                                                 : inverse_occupancy(a, i, static_cast<NodeId>(k), start),
          compression_of(a.row(draw.plain_row), k)};
}

/// The answers to all draws, from where the pattern lives.
Buffer<ProfileAnswer> answers_to(const CsrPattern& a, int k, std::span<const ProfileDraw> draws) {
  if (!a.device().is_host())
    return with_cuda<Buffer<ProfileAnswer>>(a.device(), "profile_answers", [&](const auto& cuda) {
      return cuda_formats::profile_answers(cuda, a, k, draws);
    });
  Buffer<ProfileAnswer> answers(draws.size());
  TileRows tile_rows(a.view(), static_cast<NodeId>(k));
  for (std::size_t n = 0; n < draws.size(); ++n) answers[n] = answered(a.view(), tile_rows, k, draws[n]);
  return answers;
}

double mean_compression(std::span<const ProfileAnswer> answers) {
  double sum = 0;
  std::size_t rows = 0;
  for (const ProfileAnswer& answer : answers) {
    if (answer.compression == 0) continue;
    sum += answer.compression;
    ++rows;
  }
  return rows == 0 ? 0 : sum / static_cast<double>(rows);
}

TileProfile profile_side(const CsrPattern& a, int k, const ProfileOptions& options) {
  TileProfile result{.tile_dim = k};
  const bool all_rows = a.nrows() <= options.sampled_rows;
  const RandomKey key{options.seed, static_cast<std::uint32_t>(k), 0};
  std::vector<ProfileDraw> draws(a.nvals() == 0 ? 0 : std::min<std::size_t>(options.sampled_rows, a.nrows()));
  for (std::size_t n = 0; n < draws.size(); ++n) {
    draws[n] = all_rows ? ProfileDraw{.plain_row = static_cast<NodeId>(n)} : drawn(a, key, n, draws.size());
  }
  const Buffer<ProfileAnswer> answers = answers_to(a, k, draws);
  result.row_compression = mean_compression(answers.span());
  if (all_rows || a.nvals() == 0) {
    result.predicted_num_tiles = static_cast<double>(count_tiles(a, k));
  } else {
    double sum = 0;
    for (const ProfileAnswer& answer : answers.span()) sum += answer.inverse_occupancy;
    result.predicted_num_tiles = sum / static_cast<double>(draws.size()) * static_cast<double>(a.nvals());
  }
  const double empty = static_cast<double>(b2sr_bytes(a.nrows(), 0, k));
  result.predicted_bytes = empty + result.predicted_num_tiles * static_cast<double>(4 + tile_bytes(k));
  return result;
}

}  // namespace

Profile profile(const CsrPattern& a, const ProfileOptions& options) {
  require(options.sampled_rows > 0, "the advisor needs at least one sampled row");
  Profile result;
  const auto of_side = [&](std::size_t n) { result.tiles[n] = profile_side(a, tile_dims[n], options); };
  if (a.device().is_host()) {
    parallel_for(a.device(), tile_dims.size(), 0, of_side);
  } else {
    for (std::size_t n = 0; n < tile_dims.size(); ++n) of_side(n);
  }
  result.csr_pattern_bytes = sizeof(EdgeOffset) * (std::size_t{a.nrows()} + 1) + sizeof(NodeId) * a.nvals();
  result.csr_float32_bytes = csr_float32_bytes(a.nrows(), a.nvals());
  result.sampled_rows = std::min<std::size_t>(options.sampled_rows, a.nrows());
  return result;
}

Advice advise(const Profile& profile) {
  Advice advice{.predicted_bytes = static_cast<double>(profile.csr_pattern_bytes)};
  for (const TileProfile& side : profile.tiles) {
    if (side.predicted_bytes < advice.predicted_bytes) {
      advice.use_tiles = true;
      advice.tile_dim = side.tile_dim;
      advice.predicted_bytes = side.predicted_bytes;
    }
  }
  const auto csr = static_cast<double>(profile.csr_pattern_bytes);
  if (advice.use_tiles) {
    advice.reason =
        fmt::format("B2SR-{} is predicted at {:.0f} bytes, {:.2f} of pattern CSR's {:.0f}, from {} sampled rows",
                    advice.tile_dim, advice.predicted_bytes, advice.predicted_bytes / csr, csr, profile.sampled_rows);
  } else {
    const auto best = std::min_element(profile.tiles.begin(), profile.tiles.end(), [](const auto& x, const auto& y) {
      return x.predicted_bytes < y.predicted_bytes;
    });
    advice.reason = fmt::format(
        "pattern CSR takes {:.0f} bytes; the best tiles, B2SR-{}, are predicted at {:.0f}, from {} sampled rows", csr,
        best->tile_dim, best->predicted_bytes, profile.sampled_rows);
  }
  return advice;
}

}  // namespace bitgraph
