// SPDX-License-Identifier: Apache-2.0
#include "nn/updates/changing_rows.hpp"

#include "support/random_matrices.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <vector>

namespace bitgraph::nn {
namespace {

struct Content {
  std::vector<NodeId> columns;
  std::vector<float> values;
};

CsrPattern pattern_of(const std::vector<Content>& rows, NodeId ncols) {
  std::vector<NodeId> from, to;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const NodeId j : rows[i].columns) {
      from.push_back(static_cast<NodeId>(i));
      to.push_back(j);
    }
  }
  return csr_from_edges(static_cast<NodeId>(rows.size()), ncols, from, to);
}

Content random_content(NodeId ncols) {
  Content content;
  for (NodeId j = 0; j < ncols; ++j) {
    if (!*rc::gen::arbitrary<bool>()) continue;
    content.columns.push_back(j);
    content.values.push_back(static_cast<float>(*rc::gen::inRange(-9, 9)));
  }
  return content;
}

TEST(ChangingRows, ReplacedRowsStandWhereAMatrixMadeOfThemHasThem) {
  EXPECT_TRUE(rc::check([] {
    NodeId ncols = *rc::gen::inRange<NodeId>(1, 9);
    std::vector<Content> model(*rc::gen::inRange<std::size_t>(0, 9));
    for (Content& row : model) row = random_content(ncols);
    std::vector<float> values;
    for (const Content& row : model) values.insert(values.end(), row.values.begin(), row.values.end());
    const bool valued = *rc::gen::arbitrary<bool>();
    const auto reserved = *rc::gen::inRange<std::size_t>(0, 40);
    ChangingRows rows = valued ? ChangingRows(pattern_of(model, ncols), values, reserved / 4, reserved, Device())
                               : ChangingRows(pattern_of(model, ncols), reserved / 4, reserved, Device());
    for (int round = 0; round < 4; ++round) {
      ncols += *rc::gen::inRange<NodeId>(0, 3);
      model.resize(*rc::gen::inRange<std::size_t>(0, 12));
      std::map<NodeId, Content> changes;
      for (std::size_t i = 0; i < model.size(); ++i) {
        if (*rc::gen::arbitrary<bool>()) changes[static_cast<NodeId>(i)] = random_content(ncols);
      }
      std::vector<ChangingRows::Row> list;
      for (const auto& [row, content] : changes) {
        list.push_back({row, content.columns, content.values});
        model[row] = content;
      }
      rows.replace(list, static_cast<NodeId>(model.size()), ncols);
      rows.pattern().validate();
      RC_ASSERT(rows.pattern() == pattern_of(model, ncols));
      if (!valued) continue;
      std::vector<float> expected;
      for (const Content& row : model) expected.insert(expected.end(), row.values.begin(), row.values.end());
      RC_ASSERT(std::vector<float>(rows.values().begin(), rows.values().end()) == expected);
    }
  }));
}

}  // namespace
}  // namespace bitgraph::nn
