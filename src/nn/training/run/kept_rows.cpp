// SPDX-License-Identifier: Apache-2.0
#include "nn/training/run/kept_rows.hpp"

#include "core/threads/parallel.hpp"
#include "nn/training/run/cpu_kept_rows.hpp"

namespace bitgraph::nn {

void KeptRows::take(const FeatureRows& rows, const BitMatrix<ZeroOne>* keep, float scale, const Device& device) {
  constexpr std::size_t grain = 32;
  const FeatureEntries& all = *rows.all;
  const KeptRowArgs args{all.present.view(),
                         keep == nullptr ? BitMatrixView<ZeroOne>{} : keep->view(),
                         all.pattern.row_ptr().data(),
                         all.values.data(),
                         rows.nodes.data(),
                         scale};
  const auto lengths = pattern_.start(rows.nodes.size());
  parallel_for(device, lengths.size(), grain, [&](std::size_t i) { lengths[i] = count_kept(args, i); });
  const auto columns = pattern_.make_room(device);
  if (values_.size() < columns.size()) values_ = Buffer<float>(columns.size() + columns.size() / 8);
  parallel_for(device, lengths.size(), grain, [&](std::size_t i) {
    const EdgeOffset begin = pattern_.begin_of_row(i);
    fill_kept(args, i, columns.data() + begin, values_.data() + begin);
  });
  pattern_.finish(all.pattern.ncols(), device);
}

}  // namespace bitgraph::nn
