// SPDX-License-Identifier: Apache-2.0
// Small SVG pictures.
#pragma once

#include <string>
#include <vector>

namespace bitgraph::cli {

struct PlotPoint {
  double x = 0;
  double y = 0;
  double area = 0;  ///< of its circle, relative to the others'
  bool filled = false;
  std::string label;
};

struct PlotText {
  std::string title, x, y;
};

/// Points over a logarithmic x axis, as a whole SVG document.
[[nodiscard]] std::string scatter_plot(const std::vector<PlotPoint>& points, const PlotText& text);

/// Writes a file whole or not at all.
void write_text(const std::string& path, const std::string& text);

}  // namespace bitgraph::cli
