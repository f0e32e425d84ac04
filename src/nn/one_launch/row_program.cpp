// SPDX-License-Identifier: Apache-2.0
#include "nn/one_launch/row_program.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace bitgraph::nn {

namespace {

using Kind = LaunchStep::Kind;

constexpr unsigned most_teams = 15;  ///< of a block: as many barriers as are left beside the whole block's
constexpr std::size_t warp_entries = 32;

bool gathers(Kind kind) { return kind == Kind::vote || kind == Kind::sum || kind == Kind::level_sum; }
/// Whether the output's earlier value is read.
bool updates(const LaunchStep& s) {
  return s.kind == Kind::either || s.kind == Kind::add || (s.kind == Kind::place && s.first_column != 0);
}

std::size_t words_of(std::size_t width) { return (width + 63) / 64; }
bool makes_levels(const LaunchStep& s) { return s.level.out_bits != 0; }
bool reads_levels(const LaunchStep& s) { return is_of_levels(s.kind) && s.level.entries == nullptr; }
/// That a row has in what is kept: of levels bytes, of floats two columns a lane.
std::size_t kept_words(const LaunchStep& s) {
  return words_of(s.out_width) * (s.makes_bits ? 1 : makes_levels(s) ? 8 : 32);
}
std::size_t published_words(const LaunchStep& s) {
  return makes_levels(s) ? published_level_words(s.out_width) : nn::published_words(s.out_width, s.makes_bits);
}
/// Whether what a step makes can be told and kept: floats of a step of levels are a result only.
bool can_be_read(const LaunchStep& s) { return makes_levels(s) || !is_of_levels(s.kind); }

class Compiler {
 public:
  explicit Compiler(const LaunchSteps& steps) : all_(steps), from_(steps.steps) {}

  std::optional<RowProgram> compile() {
    if (from_.empty() || from_.size() > most_row_steps) return std::nullopt;
    made_.resize(from_.size());
    for (std::size_t n = 0; n < from_.size() && possible_; ++n) translate(n);
    if (!possible_ || program_.exchange_words >= not_kept || program_.row_words >= not_kept) return std::nullopt;
    write_result();
    for (const std::size_t n : order()) program_.steps.push_back(made_[n]);
    return std::move(program_);
  }

 private:
  /// The last step ahead of `n` that writes a matrix.
  [[nodiscard]] std::optional<std::size_t> writer(std::uint32_t matrix, std::size_t n) const {
    while (n-- > 0 && matrix != no_matrix) {
      if (from_[n].out == matrix) return n;
    }
    return std::nullopt;
  }

  /// Whether a later step reads what step n makes of the row.
  [[nodiscard]] bool is_read(std::size_t n) const {
    const std::uint32_t matrix = from_[n].out;
    for (std::size_t later = n + 1; later < from_.size(); ++later) {
      const LaunchStep& s = from_[later];
      if (!gathers(s.kind) && s.in == matrix) return true;
      if (s.out == matrix) return updates(s);
    }
    return false;
  }

  std::uint32_t kept(std::map<std::uint32_t, std::uint32_t>& places, std::uint32_t matrix, std::size_t words) {
    const auto [at, fresh] = places.try_emplace(matrix, static_cast<std::uint32_t>(program_.row_words));
    if (fresh) program_.row_words += words;
    return at->second;
  }
  std::uint32_t kept_scale(std::uint32_t matrix) { return kept(scales_, matrix, 1); }

  void translate(std::size_t n) {
    const LaunchStep& s = from_[n];
    RowStep& to = made_[n];
    to.kind = s.kind;
    to.makes_bits = s.makes_bits;
    to.in_width = static_cast<std::uint32_t>(s.in_width);
    to.out_width = static_cast<std::uint32_t>(s.out_width);
    to.first_column = static_cast<std::uint32_t>(s.first_column);
    to.col_ind = s.col_ind;
    to.weight = s.weight;
    to.row_scale = s.row_scale;
    to.col_scale = s.col_scale;
    to.col_offset = s.col_offset;
    to.bias = s.bias;
    to.level = s.level;
    if (is_of_levels(s.kind)) {
      to.columns = static_cast<std::uint32_t>(program_.columns);
      program_.columns += published_level_words(s.out_width);
    }
    if (s.row_ptr != nullptr) to.pattern = pattern(s);
    possible_ = possible_ && (can_be_read(s) || !is_read(n));
    if (is_read(n) || updates(s)) to.out = kept(rows_, s.out, kept_words(s));
    if (s.kind == Kind::binarize) to.scale = kept_scale(s.out);
    if (gathers(s.kind)) {
      to.gathered = gathered(s, n);
    } else if (s.kind != Kind::sparse_product && s.level.entries == nullptr) {
      find_input(s, to, n);
    }
    if (s.row_scale_of != no_matrix) {
      possible_ = possible_ && writer(s.row_scale_of, n).has_value();
      to.scale = kept_scale(s.row_scale_of);
    }
  }

  void find_input(const LaunchStep& s, RowStep& to, std::size_t n) {
    const auto before = writer(s.in, n);
    if (before) {
      possible_ = possible_ && makes_levels(from_[*before]) == reads_levels(s);
      to.in = kept(rows_, s.in, kept_words(from_[*before]));
    } else if (s.kind == Kind::product && s.bits_in != nullptr) {
      to.bits_in = s.bits_in;
    } else {
      possible_ = false;
    }
  }

  std::uint32_t pattern(const LaunchStep& s) {
    auto& known = program_.row_ptrs;
    const auto found = static_cast<std::size_t>(std::find(known.begin(), known.end(), s.row_ptr) - known.begin());
    if (found == known.size()) {
      possible_ = possible_ && found < most_patterns;
      known.push_back(s.row_ptr);
    }
    if (gathers(s.kind) && !std::exchange(aggregates_, true)) program_.aggregation = found;
    return static_cast<std::uint32_t>(found);
  }

  std::uint32_t gathered(const LaunchStep& s, std::size_t n) {
    const auto before = writer(s.in, n);
    if (!before || from_[*before].kind == Kind::place || !can_be_read(from_[*before]) ||
        makes_levels(from_[*before]) != reads_levels(s)) {
      possible_ = false;
      return not_kept;
    }
    RowStep& teller = made_[*before];
    if (teller.published != not_kept) {
      possible_ = possible_ && teller.published_scale == s.neighbor_scale;
      return teller.published;
    }
    teller.published = static_cast<std::uint32_t>(program_.exchange_words);
    teller.published_scale = s.neighbor_scale;
    program_.exchange_words += all_.num_rows * published_words(from_[*before]);
    return teller.published;
  }

  void write_result() {
    const auto last = writer(all_.result, from_.size());
    if (last) made_[*last].floats_out = all_.result_data;
  }

  [[nodiscard]] std::vector<std::size_t> order() const {
    std::vector<std::size_t> all(from_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    for (std::size_t n = 1; n < all.size(); ++n) {
      for (std::size_t at = n; at > 0; --at) {
        const LaunchStep& own = from_[all[at]];
        const LaunchStep& before = from_[all[at - 1]];
        const bool bound = own.in == before.out || own.out == before.out;
        if (gathers(own.kind) || !gathers(before.kind) || bound) break;
        std::swap(all[at], all[at - 1]);
      }
    }
    return all;
  }

  const LaunchSteps& all_;
  const std::vector<LaunchStep>& from_;
  bool possible_ = true;
  bool aggregates_ = false;
  std::map<std::uint32_t, std::uint32_t> rows_, scales_;  ///< where a row keeps a matrix, and its scale
  std::vector<RowStep> made_;
  RowProgram program_;
};

struct Team {
  NodeId row;
  unsigned size;
};

/// The longest rows first, as many as may take a quarter of all warps.
std::vector<Team> wanted_teams(std::span<const EdgeOffset> row_ptr, unsigned blocks) {
  std::vector<Team> teams;
  for (std::size_t i = 0; i + 1 < row_ptr.size(); ++i) {
    const std::size_t entries = row_ptr[i + 1] - row_ptr[i];
    const std::size_t size = std::min<std::size_t>(most_block_warps, (entries + warp_entries - 1) / warp_entries);
    if (size > 1) teams.push_back({static_cast<NodeId>(i), static_cast<unsigned>(size)});
  }
  std::stable_sort(teams.begin(), teams.end(), [](const Team& a, const Team& b) { return a.size > b.size; });
  std::size_t extra = 0;
  std::size_t kept = 0;
  while (kept < teams.size() && extra + teams[kept].size <= std::size_t{blocks} * most_block_warps / 4)
    extra += teams[kept++].size;
  teams.resize(kept);
  return teams;
}

}  // namespace

std::optional<RowProgram> row_program(const LaunchSteps& steps) { return Compiler(steps).compile(); }

Placement place_rows(std::span<const EdgeOffset> row_ptr, unsigned blocks) {
  Placement made;
  const std::size_t n = row_ptr.empty() ? 0 : row_ptr.size() - 1;
  if (n == 0) return made;
  made.blocks = blocks = static_cast<unsigned>(std::min<std::size_t>(blocks, n));
  const std::vector<Team> teams = wanted_teams(row_ptr, blocks);
  std::size_t needed = n;
  for (const Team& t : teams) needed += t.size - 1;
  made.warps = static_cast<unsigned>(std::min<std::size_t>(most_block_warps, (needed + blocks - 1) / blocks));
  if (!teams.empty()) made.warps = std::max(made.warps, teams.front().size);
  made.places.resize(std::size_t{made.warps} * blocks);

  std::vector<unsigned> used(blocks, 0);  // warps, of teams
  std::vector<std::uint8_t> barriers(blocks, 0);
  std::vector<bool> placed(n, false);
  for (const Team& t : teams) {
    const auto b = static_cast<std::size_t>(std::min_element(used.begin(), used.end()) - used.begin());
    const unsigned size = std::min(t.size, made.warps - used[b]);
    if (size < 2 || barriers[b] == most_teams) break;
    ++barriers[b];
    for (unsigned rank = 0; rank < size; ++rank) {
      made.places[std::size_t{used[b] + rank} * blocks + b] = {t.row, static_cast<std::uint8_t>(rank),
                                                               static_cast<std::uint8_t>(size), barriers[b], 0};
    }
    used[b] += size;
    placed[t.row] = true;
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (placed[i]) continue;
    while (at < made.places.size() && made.places[at].row != no_row) ++at;
    if (at == made.places.size()) made.places.resize(made.places.size() + std::size_t{made.warps} * blocks);
    made.places[at].row = static_cast<NodeId>(i);
  }
  made.slots = static_cast<unsigned>(made.places.size() / (std::size_t{made.warps} * blocks));
  return made;
}

}  // namespace bitgraph::nn
