// SPDX-License-Identifier: Apache-2.0
// Matrix times vector, matrix times matrix, and triangles by way of the latter.
#include "cli/peers/graphblas/objects.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <string>

namespace bitgraph::cli::graphblas {

namespace {

struct Semiring {
  GrB_Semiring semiring;
  const char* name;
  Form form;  ///< of x
};

/// Those that give the job's result; which is fastest depends on the graph.
std::vector<Semiring> semirings_for(MxvKind kind) {
  switch (kind) {
    case MxvKind::bits_to_bits:
      return {{GrB_LOR_LAND_SEMIRING_BOOL, "lor_land, x full", Form::full},
              {GrB_LOR_LAND_SEMIRING_BOOL, "lor_land, x bitmap", Form::bitmap},
              {GxB_ANY_PAIR_BOOL, "any_pair, x bitmap", Form::bitmap}};
    case MxvKind::bits_to_counts:
      return {{GrB_PLUS_TIMES_SEMIRING_FP32, "plus_times, x full", Form::full},
              {GxB_PLUS_SECOND_FP32, "plus_second, x full", Form::full},
              {GxB_PLUS_PAIR_FP32, "plus_pair, x bitmap", Form::bitmap}};
    case MxvKind::plus_times:
      return {{GrB_PLUS_TIMES_SEMIRING_FP32, "plus_times", Form::full},
              {GxB_PLUS_SECOND_FP32, "plus_second", Form::full}};
    case MxvKind::min_plus: return {{GrB_MIN_PLUS_SEMIRING_FP32, "min_plus", Form::full}};
    case MxvKind::min_first: return {{GxB_MIN_SECOND_FP32, "min_second", Form::full}};
    case MxvKind::max_times:
      return {{GrB_MAX_TIMES_SEMIRING_FP32, "max_times", Form::full}, {GxB_MAX_SECOND_FP32, "max_second", Form::full}};
  }
  return {};
}

/// What the ways of one product share.
struct MxvOperands {
  Matrix a;
  Vector full, bitmap, hidden, out;
  GrB_Type type = nullptr;
  GrB_Index rows = 0;
  double absent = 0;
};

void multiply(MxvOperands& g, const Semiring& semiring) {
  g.out = empty_vector(g.type, g.rows);
  const GrB_Vector x = semiring.form == Form::full ? g.full.get() : g.bitmap.get();
  require_success(GrB_mxv(g.out.get(), g.hidden.get(), nullptr, semiring.semiring, g.a.get(), x,
                          g.hidden.get() == nullptr ? nullptr : GrB_DESC_RSC));
  require_success(GrB_Vector_wait(g.out.get(), GrB_MATERIALIZE));
}

/// The strict triangle of a matrix, finished.
Matrix triangle_of(const Matrix& a, GrB_IndexUnaryOp which, std::int64_t diagonal) {
  GrB_Index n = 0;
  require_success(GrB_Matrix_nrows(&n, a.get()));
  Matrix part = empty_matrix(GrB_BOOL, n, n);
  require_success(GrB_Matrix_select_INT64(part.get(), nullptr, nullptr, which, a.get(), diagonal, nullptr));
  require_success(GrB_Matrix_wait(part.get(), GrB_MATERIALIZE));
  return part;
}

/// What the product over plus_pair adds up to.
double sum_of(const Matrix& product) {
  std::int64_t sum = 0;
  require_success(GrB_Matrix_reduce_INT64(&sum, nullptr, GrB_PLUS_MONOID_INT64, product.get(), nullptr));
  return static_cast<double>(sum);
}

std::vector<double> row_sums(const Matrix& product, GrB_Index n) {
  const Vector sums = empty_vector(GrB_FP64, n);
  require_success(GrB_Matrix_reduce_Monoid(sums.get(), nullptr, nullptr, GrB_PLUS_MONOID_FP64, product.get(), nullptr));
  return numbers_of(sums.get(), 0);
}

/// Sorting by degree pays where the mean is far above the median: LAGraph's rule.
bool is_skewed(const PeerMatrix& a) {
  std::vector<std::size_t> degrees(a.nrows);
  for (NodeId i = 0; i < a.nrows; ++i) degrees[i] = a.row(i).size();
  const auto middle = degrees.begin() + static_cast<std::ptrdiff_t>(degrees.size() / 2);
  std::nth_element(degrees.begin(), middle, degrees.end());
  return static_cast<double>(a.col_ind.size()) / a.nrows > 4 * static_cast<double>(*middle);
}

/// Rows and columns by rising degree.
Matrix sorted_by_degree(const PeerMatrix& a) {
  std::vector<NodeId> order(a.nrows), place(a.nrows);
  std::iota(order.begin(), order.end(), NodeId{0});
  std::stable_sort(order.begin(), order.end(), [&](NodeId i, NodeId j) { return a.row(i).size() < a.row(j).size(); });
  for (NodeId k = 0; k < a.nrows; ++k) place[order[k]] = k;
  std::vector<EdgeOffset> row_ptr{0};
  std::vector<NodeId> col_ind;
  col_ind.reserve(a.col_ind.size());
  for (const NodeId i : order) {
    for (const NodeId j : a.row(i)) col_ind.push_back(place[j]);
    std::sort(col_ind.begin() + static_cast<std::ptrdiff_t>(row_ptr.back()), col_ind.end());
    row_ptr.push_back(col_ind.size());
  }
  return pattern_matrix({a.nrows, a.ncols, row_ptr, col_ind}, GrB_BOOL);
}

struct MxmOperands {
  Matrix a, product;
  double number = 0;
};

struct Masking {
  const char* name;
  bool is_there;
  GrB_Descriptor descriptor;
};

/// Those that give the job's result: A is its own transpose, and dot products within a mask read rows of both.
std::vector<Masking> maskings_of(MxmKind kind) {
  switch (kind) {
    case MxmKind::masked_sum: return {{"", true, GrB_DESC_ST1}};
    case MxmKind::masked_reach:
    case MxmKind::masked_counts: return {{", masked", true, GrB_DESC_S}, {" with A', masked", true, GrB_DESC_ST1}};
    case MxmKind::outside_reach: return {{", masked", true, GrB_DESC_SC}};
    default: return {{"", false, nullptr}};
  }
}

}  // namespace

std::vector<PeerWay> mxv_ways(const PeerMatrix& a, const MxvJob& job) {
  auto g = std::make_shared<MxvOperands>();
  g->type = job.kind == MxvKind::bits_to_bits ? GrB_BOOL : GrB_FP32;
  g->rows = a.nrows;
  g->a = pattern_matrix(a, g->type);
  g->full = vector_of(job.x, g->type, Form::full);
  g->bitmap = vector_of(job.x, g->type, Form::bitmap);
  if (!job.hidden.empty()) g->hidden = vector_of(job.hidden);
  const bool least = job.kind == MxvKind::min_plus || job.kind == MxvKind::min_first;
  g->absent = least ? std::numeric_limits<double>::infinity() : 0;
  std::vector<PeerWay> ways;
  for (const Semiring& semiring : semirings_for(job.kind)) {
    ways.push_back({.calls = std::string("GrB_mxv over ") + semiring.name,
                    .prepare = {},
                    .run = [g, semiring](NodeId) { multiply(*g, semiring); },
                    .result = [g] { return numbers_of(g->out.get(), g->absent); }});
  }
  return ways;
}

std::vector<PeerWay> triangle_ways(const PeerMatrix& a) {
  auto g = std::make_shared<MxmOperands>();
  const bool sorted = is_skewed(a);
  g->a = sorted ? sorted_by_degree(a) : pattern_matrix(a, GrB_BOOL);
  const GrB_Index n = a.nrows;
  return {{.calls = std::string("L U' masked by L over plus_pair") + (sorted ? ", sorted beforehand" : ""),
           .prepare = {},
           .run =
               [g, n](NodeId) {
                 const Matrix lower = triangle_of(g->a, GrB_TRIL, -1);
                 const Matrix upper = triangle_of(g->a, GrB_TRIU, 1);
                 const Matrix product = empty_matrix(GrB_INT64, n, n);
                 require_success(GrB_mxm(product.get(), lower.get(), nullptr, GxB_PLUS_PAIR_INT64, lower.get(),
                                         upper.get(), GrB_DESC_ST1));
                 g->number = sum_of(product);
               },
           .result = [g] { return std::vector{g->number}; }}};
}

std::vector<PeerWay> mxm_ways(const PeerMatrix& a, MxmKind kind) {
  const bool triangular = kind == MxmKind::masked_sum;
  const bool sum = triangular || kind == MxmKind::sum;
  const bool reach = kind == MxmKind::reach || kind == MxmKind::masked_reach || kind == MxmKind::outside_reach;
  auto g = std::make_shared<MxmOperands>();
  g->a = pattern_matrix(a, GrB_BOOL);
  if (triangular) g->a = triangle_of(g->a, GrB_TRIL, -1);
  const GrB_Type type = reach ? GrB_BOOL : sum ? GrB_INT64 : GrB_INT32;
  const GrB_Semiring semiring = reach ? GxB_ANY_PAIR_BOOL : sum ? GxB_PLUS_PAIR_INT64 : GxB_PLUS_PAIR_INT32;
  const GrB_Index n = a.nrows;
  std::vector<PeerWay> ways;
  for (const Masking& masking : maskings_of(kind)) {
    ways.push_back({.calls = std::string("GrB_mxm over ") + (reach ? "any_pair" : "plus_pair") + masking.name +
                             (sum ? ", GrB_reduce" : ""),
                    .prepare = {},
                    .run =
                        [=](NodeId) {
                          g->product = empty_matrix(type, n, n);
                          require_success(GrB_mxm(g->product.get(), masking.is_there ? g->a.get() : nullptr, nullptr,
                                                  semiring, g->a.get(), g->a.get(), masking.descriptor));
                          require_success(GrB_Matrix_wait(g->product.get(), GrB_MATERIALIZE));
                          if (sum) g->number = sum_of(g->product);
                        },
                    .result = [=] { return sum ? std::vector{g->number} : row_sums(g->product, n); }});
  }
  return ways;
}

}  // namespace bitgraph::cli::graphblas
