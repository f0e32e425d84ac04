// SPDX-License-Identifier: Apache-2.0
// The plot of the tuner.
#include "cli/commands/network/plot.hpp"

#include <bitgraph/core/random.hpp>

#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

namespace bitgraph::cli {
namespace {

struct Box {
  double x0, y0, x1, y1;
};

/// What the labels of an SVG cover: texts of size 11 that start with "label".
std::vector<Box> labels_of(const std::string& svg) {
  static const std::regex text(
      "<text x=\"([0-9.]+)\" y=\"([0-9.]+)\" text-anchor=\"(\\w+)\" font-size=\"11\">(label[^<]*)</text>");
  constexpr double character = 6, ascent = 9, descent = 2;
  std::vector<Box> boxes;
  for (auto at = std::sregex_iterator(svg.begin(), svg.end(), text); at != std::sregex_iterator(); ++at) {
    const double x = std::stod((*at)[1]);
    const double y = std::stod((*at)[2]);
    const double length = character * static_cast<double>((*at)[4].length());
    const bool start = (*at)[3] == "start";
    boxes.push_back({start ? x : x - length, y - ascent, start ? x + length : x, y + descent});
  }
  return boxes;
}

TEST(Plot, LabelsLieWithinThePictureAndApart) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    // Points in one spot, in a line, and anywhere.
    std::vector<PlotPoint> points;
    for (std::size_t n = 0; n < 5; ++n) {
      const double spread = seed % 3 == 0 ? 0 : 1;
      points.push_back(
          {.x = 100 + 400 * spread * random_uniform({seed, 1, 0}, n),
           .y = 80 + (seed % 3 == 1 ? 0 : 10 * spread * random_uniform({seed, 2, 0}, n)),
           .area = 1000,
           .filled = true,
           .label = "label " + std::string(static_cast<std::size_t>(40 * random_uniform({seed, 3, 0}, n)), 'w')});
    }
    const std::vector<Box> boxes = labels_of(scatter_plot(points, {.title = "title", .x = "x", .y = "y"}));
    ASSERT_EQ(boxes.size(), points.size());
    for (std::size_t a = 0; a < boxes.size(); ++a) {
      EXPECT_TRUE(boxes[a].x0 >= 0 && boxes[a].x1 <= 720 && boxes[a].y0 >= 0 && boxes[a].y1 <= 440) << seed;
      for (std::size_t b = a + 1; b < boxes.size(); ++b) {
        const bool apart = boxes[a].x1 <= boxes[b].x0 || boxes[b].x1 <= boxes[a].x0 || boxes[a].y1 <= boxes[b].y0 ||
                           boxes[b].y1 <= boxes[a].y0;
        EXPECT_TRUE(apart) << "labels " << a << " and " << b << ", seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace bitgraph::cli
