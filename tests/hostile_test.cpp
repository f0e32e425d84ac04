// SPDX-License-Identifier: Apache-2.0
// Arrays, data sets and models whose fields disagree at random, given to every public constructor: it throws an Error,
// or what it makes gives the right results. BITGRAPH_CASES sets the number of cases a type; with the address sanitizer
// this is where writes beyond an array show.
#include <bitgraph/bitgraph.hpp>

#include "support/near_logits.hpp"
#include "support/random_matrices.hpp"
#include "support/random_model.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

using Entries = std::set<std::pair<NodeId, NodeId>>;

std::size_t cases() {
  const char* asked = std::getenv("BITGRAPH_CASES");
  return asked != nullptr ? std::strtoull(asked, nullptr, 10) : test::sanitized ? 300 : 2000;
}

/// Random numbers of one case.
class Draw {
 public:
  explicit Draw(std::size_t which) : key_{which, 0x4057, 0} {}
  std::uint64_t below(std::uint64_t bound) { return random_below(key_, next_++, bound); }
  bool once_in(std::uint64_t n) { return below(n) == 0; }

  /// Mostly `usual`; else a near or a wild number.
  template <class T>
  T perhaps(T usual, std::uint64_t how_often = 6) {
    if (!once_in(how_often)) return usual;
    switch (below(5)) {
      case 0: return static_cast<T>(usual + 1);
      case 1: return static_cast<T>(usual - 1);
      case 2: return static_cast<T>(usual * 2 + 3);
      case 3: return T{0};
      default: return std::numeric_limits<T>::max();
    }
  }

 private:
  RandomKey key_;
  std::uint64_t next_ = 0;
};

/// What came of the cases of a type: some must be accepted and some refused, or the test tests nothing.
class Outcomes {
 public:
  /// make() throws an Error or gives a value for check().
  template <class Make, class Check>
  void add(Make&& make, Check&& check) {
    try {
      auto value = make();
      ++accepted_;
      check(value);
    } catch (const Error&) {
      ++refused_;
    }
  }
  ~Outcomes() {
    EXPECT_GT(accepted_, 0U);
    EXPECT_GT(refused_, 0U);
  }

 private:
  std::size_t accepted_ = 0, refused_ = 0;
};

template <class T>
Buffer<T> random_buffer(std::size_t size, const std::function<T()>& draw) {
  Buffer<T> buffer(size);
  for (T& value : buffer) value = draw();
  return buffer;
}

/// Arrays of a CSR pattern that are right but for what `d` spoils.
struct CsrArrays {
  NodeId nrows, ncols;
  std::vector<EdgeOffset> row_ptr;
  std::vector<NodeId> col_ind;

  explicit CsrArrays(Draw& d)
      : nrows(static_cast<NodeId>(d.below(9))), ncols(static_cast<NodeId>(d.once_in(2) ? nrows : d.below(70))) {
    row_ptr.push_back(0);
    for (NodeId i = 0; i < nrows; ++i) {
      for (NodeId j = 0; j < ncols; ++j) {
        if (d.once_in(4)) col_ind.push_back(j);
      }
      row_ptr.push_back(col_ind.size());
    }
    if (d.once_in(2)) spoil(d);
  }

  void spoil(Draw& d) {
    switch (d.below(6)) {
      case 0: nrows = d.perhaps(nrows, 1); break;
      case 1: ncols = d.perhaps(ncols, 1); break;
      case 2: row_ptr[d.below(row_ptr.size())] = d.perhaps(EdgeOffset{col_ind.size()}, 2); break;
      case 3: row_ptr.resize(d.perhaps(row_ptr.size(), 1) % 20); break;
      case 4: col_ind.resize((col_ind.size() + 1 + d.below(3)) % 600); break;
      default:
        if (!col_ind.empty()) col_ind[d.below(col_ind.size())] = static_cast<NodeId>(d.perhaps(d.below(80), 3));
    }
  }

  [[nodiscard]] CsrPattern make() const {
    return {nrows, ncols, Buffer<EdgeOffset>::copy_of(row_ptr), Buffer<NodeId>::copy_of(col_ind)};
  }
};

Entries entries_of(const CsrPattern& a) {
  Entries entries;
  for (NodeId i = 0; i < a.nrows(); ++i) {
    for (const NodeId j : a.row(i)) entries.emplace(i, j);
  }
  return entries;
}

Entries transposed(const Entries& entries) {
  Entries turned;
  for (const auto& [i, j] : entries) turned.emplace(j, i);
  return turned;
}

void expect_right_sums(const CsrPattern& a, const Entries& entries) {
  if (a.ncols() > 4096 || a.nrows() > 4096) return;
  DenseMatrix<float> x(a.ncols(), 3);
  for (std::size_t n = 0; n < x.values().size(); ++n) x.values()[n] = static_cast<float>(n % 7);
  DenseMatrix<float> expected(a.nrows(), 3);
  for (const auto& [i, j] : entries) {
    for (std::size_t c = 0; c < 3; ++c) expected(i, c) += x(j, c);
  }
  const auto sums = spmm<DenseMatrix>(a, x);
  EXPECT_TRUE(std::ranges::equal(sums.values(), expected.values()));
}

TEST(Hostile, CsrPattern) {
  Outcomes outcomes;
  for (std::size_t n = 0; n < cases(); ++n) {
    SCOPED_TRACE(n);
    Draw d(n);
    const CsrArrays arrays(d);
    outcomes.add([&] { return arrays.make(); },
                 [&](const CsrPattern& a) {
                   const Entries entries = entries_of(a);
                   ASSERT_EQ(entries.size(), a.nvals());
                   EXPECT_TRUE(std::ranges::all_of(entries, [&](const auto& e) { return e.second < a.ncols(); }));
                   expect_right_sums(a, entries);
                   if (a.ncols() > 4096) return;
                   EXPECT_EQ(entries_of(transpose(a)), transposed(entries));
                   EXPECT_EQ(unpack(pack(a, {.tile_dim = tile_dims[d.below(tile_dims.size())]})), a);
                   EXPECT_EQ(to_csr(to_sell(a)), a);
                 });
  }
}

TEST(Hostile, BitTileMatrix) {
  Outcomes outcomes;
  for (std::size_t n = 0; n < cases(); ++n) {
    SCOPED_TRACE(n);
    Draw d(n);
    const int k = tile_dims[d.below(tile_dims.size())];
    const BitTileMatrix right =
        pack(test::random_pattern(static_cast<NodeId>(d.below(70)), static_cast<NodeId>(d.below(70)), 0.05, n),
             {.tile_dim = k});
    std::vector<EdgeOffset> ptr(right.tile_row_ptr().begin(), right.tile_row_ptr().end());
    std::vector<NodeId> cols(right.tile_col_ind().begin(), right.tile_col_ind().end());
    std::vector<std::byte> bits(right.bit_tiles().begin(), right.bit_tiles().end());
    NodeId nrows = right.nrows(), ncols = right.ncols();
    int side = k;
    EdgeOffset nvals = right.nvals();
    switch (d.below(10)) {
      case 0: nrows = d.perhaps(nrows, 1); break;
      case 1: ncols = d.perhaps(ncols, 1); break;
      case 2: ptr[d.below(ptr.size())] = d.perhaps(EdgeOffset{cols.size()}, 2); break;
      case 3:
        if (!cols.empty()) cols[d.below(cols.size())] = static_cast<NodeId>(d.perhaps(d.below(20), 3));
        break;
      case 4:
        if (!bits.empty()) bits[d.below(bits.size())] ^= static_cast<std::byte>(d.below(256));
        break;
      case 5: bits.resize(d.below(bits.size() + 9)); break;
      case 6: side = d.perhaps(side, 1); break;
      case 7: nvals = d.perhaps(nvals, 1); break;
      default: break;
    }
    outcomes.add(
        [&] {
          return BitTileMatrix(nrows, ncols, side, Buffer<EdgeOffset>::copy_of(ptr), Buffer<NodeId>::copy_of(cols),
                               Buffer<std::byte>::copy_of(bits), nvals);
        },
        [&](const BitTileMatrix& a) {
          const CsrPattern pattern = unpack(a);
          EXPECT_EQ(pattern.nvals(), a.nvals());
          if (a.ncols() > 4096) return;
          EXPECT_EQ(pack(pattern, {.tile_dim = a.tile_dim()}), a);
          EXPECT_EQ(entries_of(unpack(transpose(a))), transposed(entries_of(pattern)));
        });
  }
}

TEST(Hostile, BitMatrix) {
  Outcomes outcomes;
  for (std::size_t n = 0; n < cases(); ++n) {
    SCOPED_TRACE(n);
    Draw d(n);
    const std::size_t nrows = d.below(6), ncols = d.below(140);
    const std::size_t size = d.perhaps(nrows * words_for_bits(ncols), 4) % 1000;
    auto words = random_buffer<std::uint64_t>(size, [&] { return d.once_in(3) ? d.below(64) : 0; });
    const std::size_t rows = d.perhaps(nrows), cols = d.perhaps(ncols);
    outcomes.add([&] { return BitMatrix<ZeroOne>(rows, cols, std::move(words)); },
                 [&](const BitMatrix<ZeroOne>& a) {
                   if (a.words().empty()) return;  // no rows, or none with a column
                   std::size_t ones = 0;
                   for (const std::uint64_t word : a.words()) ones += static_cast<std::size_t>(std::popcount(word));
                   EXPECT_EQ(to_csr(a).nvals(), ones);
                   EXPECT_EQ(transpose(transpose(a)), a);
                 });
  }
}

TEST(Hostile, SidesWhoseProductOverflows) {
  const std::size_t half = std::size_t{1} << 32;
  for (const auto& [rows, cols] : {std::pair{half, half}, {half * 2, half / 2}, {~std::size_t{0}, std::size_t{3}}}) {
    EXPECT_THROW(DenseMatrix<float>(rows, cols), Error);
    EXPECT_THROW(DenseMatrix<float>(rows, cols, Buffer<float>()), Error);
    EXPECT_THROW(BitMatrix<ZeroOne>(rows, cols * 64), Error);
    EXPECT_THROW(BitMatrix<ZeroOne>(rows, ~std::size_t{0}), Error);
    EXPECT_THROW(Buffer<double>(~std::size_t{0} / 4), Error);
  }
}

TEST(Hostile, ValuesAndColumnMaps) {
  Outcomes outcomes;
  for (std::size_t n = 0; n < cases(); ++n) {
    SCOPED_TRACE(n);
    Draw d(n);
    const CsrPattern pattern = test::random_pattern(static_cast<NodeId>(d.below(8)), 5, 0.4, n);
    const auto values = random_buffer<float>(d.perhaps(std::size_t{pattern.nvals()}) % 100,
                                             [&] { return static_cast<float>(d.below(5)) - 2; });
    const Buffer<float> shift(d.perhaps(std::size_t{5}, 8) % 9, 0.5F), scale(d.perhaps(std::size_t{5}, 8) % 9, 1.0F);
    outcomes.add(
        [&] {
          if (d.once_in(2)) static_cast<void>(CsrMatrix<float>(pattern.clone(), values.clone()));
          return binarize(pattern, values.span(), ColumnMap{shift.span(), scale.span()});
        },
        [&](const SparseBinarized& bits) {
          DenseMatrix<float> x = test::dense_of(pattern, values.span());
          if (!shift.empty()) {
            for (std::size_t e = 0; e < x.values().size(); ++e) x.values()[e] -= 0.5F;
          }
          EXPECT_EQ(to_bit_matrix(bits.bits), binarize(x).bits);
        });
  }
}

TEST(Hostile, Permutations) {
  Outcomes outcomes;
  for (std::size_t n = 0; n < cases(); ++n) {
    SCOPED_TRACE(n);
    Draw d(n);
    const auto size = static_cast<NodeId>(d.below(9));
    const CsrPattern a = test::random_pattern(size, size, 0.3, n);
    std::vector<NodeId> new_id(size);
    std::iota(new_id.begin(), new_id.end(), NodeId{0});
    for (std::size_t i = size; i > 1; --i) std::swap(new_id[i - 1], new_id[d.below(i)]);
    if (d.once_in(2) && size != 0) new_id[d.below(size)] = static_cast<NodeId>(d.perhaps(d.below(size + 1), 3));
    if (d.once_in(5)) new_id.resize(d.below(12));
    outcomes.add([&] { return permuted(a, new_id); },
                 [&](const CsrPattern& b) { EXPECT_EQ(permuted(b, inverse_permutation(new_id).span()), a); });
  }
}

TEST(Hostile, Samplers) {
  Outcomes outcomes;
  for (std::size_t n = 0; n < cases(); ++n) {
    SCOPED_TRACE(n);
    Draw d(n);
    const auto size = static_cast<NodeId>(d.below(12));
    const CsrPattern graph = test::random_pattern(size, d.once_in(9) ? size + 1 : size, 0.3, n);
    std::vector<NodeId> nodes;
    for (NodeId i = 0; i < size; ++i) {
      if (d.once_in(2)) nodes.push_back(d.perhaps(i, 20));
    }
    outcomes.add(
        [&] {
          const std::size_t fan_out = d.below(9) == 0 ? 0 : 1 + d.below(4);
          nn::NeighborSampler neighbors(graph, std::vector<std::size_t>(d.below(4), fan_out), n);
          nn::NeighborSample sample;
          neighbors.sample_into(sample, nodes, 1, 1);
          nn::RandomWalkSampler walks(graph, nodes, {.num_roots = d.perhaps(std::size_t{5}) % 50, .walk_length = 3});
          nn::SubgraphSample subgraph;
          walks.sample_into(subgraph, 1, 1);
          return nn::induced_subgraph(graph, nodes);
        },
        [&](const CsrPattern& induced) {
          Entries expected;
          const Entries entries = entries_of(graph);
          for (std::size_t i = 0; i < nodes.size(); ++i) {
            for (std::size_t j = 0; j < nodes.size(); ++j) {
              if (entries.contains({nodes[i], nodes[j]}))
                expected.emplace(static_cast<NodeId>(i), static_cast<NodeId>(j));
            }
          }
          EXPECT_EQ(entries_of(induced), expected);
        });
  }
}

/// A data set that is right but for what `d` spoils.
Dataset random_dataset(Draw& d, std::uint64_t seed) {
  constexpr std::uint64_t features = 6;
  constexpr std::int32_t classes = 3;
  Dataset set;
  set.name = "hostile";
  const auto n = static_cast<NodeId>(1 + d.below(12));
  const CsrPattern a = symmetrized(test::random_pattern(n, n, 0.2, seed));
  set.graph = d.once_in(12) ? a.clone() : without_self_loops(a);
  if (d.once_in(12)) set.graph = test::random_pattern(n, n + 1, 0.2, seed);
  const auto rows = d.perhaps(std::size_t{n}, 10) % 9000;
  const auto columns = d.perhaps(std::size_t{features}, 10) % 50;
  const auto value = [&] { return d.once_in(300) ? std::nanf("") : static_cast<float>(d.below(4)); };
  if (d.once_in(2)) {
    set.dense_features = DenseMatrix<float>(rows, columns, random_buffer<float>(rows * columns, value));
  }
  if (!set.has_dense_features()) {
    set.features.pattern = test::random_pattern(static_cast<NodeId>(rows), static_cast<NodeId>(columns), 0.4, seed + 1);
    set.features.values =
        random_buffer<float>(d.perhaps(std::size_t{set.features.pattern.nvals()}, 10) % 200000, value);
  }
  set.num_classes = d.perhaps(classes, 10);
  set.labels.resize(d.perhaps(std::size_t{n}, 10) % 100);
  for (auto& label : set.labels) label = static_cast<std::int32_t>(d.below(d.once_in(20) ? 5 : 4)) - 1;
  for (auto* part : {&set.train, &set.validation, &set.test}) {
    for (NodeId i = 0; i < n; ++i) {
      if (d.once_in(2)) part->push_back(d.perhaps(i, 60));
    }
  }
  return set;
}

void spoil(nn::Linear& linear, Draw& d) {
  switch (d.below(7)) {
    case 0: linear.weight = DenseMatrix<float>(d.below(5), d.below(9)); break;
    case 1: linear.bits = BitMatrix<PlusMinusOne>(d.below(5), d.below(9)); break;
    case 2: linear.scale = Buffer<float>(d.below(9), 1.0F); break;
    case 3: linear.bias = Buffer<float>(d.below(9), 1.0F); break;
    case 4:
      if (!linear.bias.empty()) linear.bias[0] = INFINITY;
      break;
    case 5:
      if (!linear.scale.empty()) linear.scale[0] = d.once_in(2) ? -1.0F : NAN;
      break;
    default:
      if (!linear.weight.values().empty()) linear.weight.values()[0] = NAN;
  }
}

nn::Model random_model(Draw& d, std::uint64_t seed) {
  constexpr std::array architectures{nn::Architecture::gcn, nn::Architecture::inductive_gcn, nn::Architecture::sage,
                                     nn::Architecture::saint};
  constexpr std::array precisions{nn::Precision::real, nn::Precision::full, nn::Precision::bin};
  nn::Model model = test::random_model(architectures[d.below(4)], precisions[d.below(3)],
                                       1 + d.perhaps(std::size_t{5}, 15) % 50, 5, 3, 1 + d.below(3), seed);
  model.normalize_rows = d.once_in(2);
  if (!d.once_in(2)) return model;
  nn::Layer& layer = model.layers[d.below(model.layers.size())];
  switch (d.below(8)) {
    case 0: model.layers.clear(); break;
    case 1: layer.precision = precisions[d.below(3)]; break;
    case 2: layer.aggregation = static_cast<nn::Aggregation>(d.below(5)); break;
    case 3: model.input_mean = Buffer<float>(d.below(9), 0.5F); break;
    case 4: model.input_inverse_deviation = Buffer<float>(d.below(9), 0.5F); break;
    case 5: model.precision = precisions[d.below(3)]; break;
    case 6: spoil(layer.root, d); break;
    default: spoil(layer.neighbor, d);
  }
  return model;
}

TEST(Hostile, DataSetsModelsAndPlans) {
  Outcomes outcomes;
  for (std::size_t n = 0; n < cases(); ++n) {
    SCOPED_TRACE(n);
    Draw d(n);
    const Dataset set = random_dataset(d, n);
    const nn::Model model = random_model(d, n);
    nn::InferenceOptions options;
    options.features = d.once_in(2) ? nn::FeatureStorage::dense : nn::FeatureStorage::sparse;
    options.graph = static_cast<nn::GraphFormat>(d.below(4));
    options.tile_dim = d.perhaps(8, 9);
    options.order = static_cast<Order>(d.below(4));
    options.sequence = static_cast<nn::Sequence>(d.below(3));
    if (d.once_in(5)) options.forms.assign(d.below(4), static_cast<nn::Precision>(d.below(3)));
    if (d.once_in(5)) options.memory = d.below(9000);
    const Device host = Device::host(1 + static_cast<int>(d.below(2)));
    outcomes.add(
        [&] {
          nn::InferencePlan plan(model, set, options, host);
          static_cast<void>(nn::predict_memory(model, set, options, host));
          return plan.run().clone();
        },
        [&](const DenseMatrix<float>& logits) {
          std::vector<nn::Precision> forms = options.forms;
          if (forms.empty()) {
            for (const nn::Layer& layer : model.layers) forms.push_back(layer.precision);
          }
          const DenseMatrix<float> expected = emulate(model, set, forms);
          ASSERT_EQ(logits.nrows(), set.graph.nrows());
          ASSERT_EQ(logits.ncols(), model.num_classes());
          // A sum that is nearly 0 may have its sign from rounding, and one such row is many of a few.
          if (forms.front() == nn::Precision::real) test::expect_near(logits, expected);
        });
  }
}

TEST(Hostile, SplitsAndFiles) {
  Outcomes outcomes;
  const test::TemporaryFolder folder;
  for (std::size_t n = 0; n < cases() / 10; ++n) {
    SCOPED_TRACE(n);
    Draw d(n);
    Dataset set = random_dataset(d, n);
    outcomes.add(
        [&] {
          if (d.once_in(2)) {
            draw_split(set, {.train_per_class = d.below(4), .validation_per_class = d.below(4), .seed = n});
          } else {
            inductive_split(set, {.train = 0.5, .validation = 0.25, .test = 0.25}, n);
          }
          save_dataset(set, folder / "set.npz");
          return load_dataset(folder / "set.npz");
        },
        [&](const Dataset& loaded) {
          EXPECT_EQ(loaded.graph, set.graph);
          EXPECT_EQ(loaded.train, set.train);
          EXPECT_EQ(loaded.test, set.test);
        });
  }
}

TEST(Hostile, Training) {
  Outcomes outcomes;
  for (std::size_t n = 0; n < cases() / 10; ++n) {
    SCOPED_TRACE(n);
    Draw d(n);
    const Dataset set = random_dataset(d, n);
    nn::TrainOptions options{.precision = nn::Precision::real,
                             .architecture = static_cast<nn::Architecture>(d.below(4))};
    options.hidden = d.perhaps(std::size_t{4}, 9) % 100;
    options.depth = d.perhaps(std::size_t{2}, 9) % 5;
    options.epochs = 1;
    options.batch_size = d.perhaps(std::size_t{3}, 9) % 100;
    options.walk_roots = d.perhaps(std::size_t{3}, 9) % 100;
    outcomes.add([&] { return nn::train(set, options, Device::host(2)); },
                 [&](const nn::TrainResult& trained) {
                   EXPECT_TRUE(std::isfinite(trained.validation_loss));
                   trained.model.require_fit(set);
                 });
  }
}

TEST(Hostile, AnEmptyGraphHasNoSource) {
  const PackedGraph empty = pack_graph(CsrPattern());
  EXPECT_THROW(static_cast<void>(bfs(empty, {.source = 0})), Error);
  EXPECT_THROW(static_cast<void>(sssp(empty, {.source = 0})), Error);
  const std::vector<NodeId> sources{0};
  EXPECT_THROW(static_cast<void>(multi_source_bfs(empty, {.sources = sources})), Error);
  EXPECT_THROW(static_cast<void>(betweenness(empty, {.sources = sources})), Error);
  EXPECT_EQ(closeness(empty).size(), 0U);
}

TEST(Hostile, ThreeNodesAndTheFeaturesOfThousands) {
  Draw d(1);
  Dataset set;
  set.graph = test::grid_pattern(3, 1);
  set.features.pattern = test::random_pattern(7650, 6, 0.3, 1);
  set.features.values = Buffer<float>(set.features.pattern.nvals(), 1.0F);
  const nn::Model model = test::random_model(nn::Architecture::gcn, nn::Precision::full, 6, 4, 3, 2, 1);
  EXPECT_THROW(nn::InferencePlan(model, set), Error);
  set.features.pattern = test::random_pattern(3, 6, 0.9, 1);
  set.features.values = {};
  EXPECT_THROW(nn::InferencePlan(model, set), Error);
}

}  // namespace
}  // namespace bitgraph
