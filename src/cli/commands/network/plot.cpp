// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/network/plot.hpp"

#include "io/file/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace bitgraph::cli {

namespace {

constexpr double width = 720, height = 440, left = 70, right = 30, top = 50, bottom = 60;

struct Range {
  double low, high;

  /// Where `value` lies, from 0 to 1.
  [[nodiscard]] double share(double value) const { return (value - low) / (high - low); }
};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string words(double x, double y, const std::string& text, const char* anchor, int size) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\">{}</text>\n", x, y, anchor,
                     size, escaped(text));
}

/// What a text covers.
struct Box {
  double x0, y0, x1, y1;

  [[nodiscard]] bool meets(const Box& b) const { return x0 < b.x1 && b.x0 < x1 && y0 < b.y1 && b.y0 < y1; }
};

/// Puts labels beside their points: where no other label lies, and within the picture.
class Labels {
 public:
  std::string put(double x, double y, const std::string& text) {
    constexpr double step = 15;
    constexpr int rows = 12;
    for (int row = 0; row < rows; ++row) {
      for (const double at : {y - 10 - step * row, y + 18 + step * row}) {  // above, and below
        for (const bool to_right : {x < width / 2, x >= width / 2}) {
          const Box box = box_of(x, at, text, to_right);
          if (free(box)) return place(box, text, to_right);
        }
      }
    }
    return place(box_of(x, y - 10, text, true), text, true);
  }

 private:
  static constexpr int size = 11;
  static constexpr double character = 6.6;  ///< wide enough for sans-serif at this size

  static Box box_of(double x, double baseline, const std::string& text, bool to_right) {
    const double length = character * static_cast<double>(text.size());
    const double from = to_right ? std::min(x + 10, width - 4 - length) : std::max(x - 10 - length, 4.0);
    return {from, baseline - size, from + length, baseline + 3};
  }

  [[nodiscard]] bool free(const Box& box) const {
    const bool inside = box.x0 >= 0 && box.x1 <= width && box.y0 >= top - 10 && box.y1 <= height - bottom;
    return inside && std::none_of(placed_.begin(), placed_.end(), [&](const Box& b) { return b.meets(box); });
  }

  std::string place(const Box& box, const std::string& text, bool to_right) {
    placed_.push_back(box);
    return words(to_right ? box.x0 : box.x1, box.y1 - 3, text, to_right ? "start" : "end", size);
  }

  std::vector<Box> placed_;
};

Range padded(double low, double high, double least) {
  const double pad = std::max((high - low) * 0.08, least);
  return {low - pad, high + pad};
}

}  // namespace

std::string scatter_plot(const std::vector<PlotPoint>& points, const PlotText& text) {
  double least_x = 1, most_x = 1, least_y = 0, most_y = 1, most_area = 1;
  if (!points.empty()) {
    const auto [a, b] = std::minmax_element(points.begin(), points.end(), [](auto& p, auto& q) { return p.x < q.x; });
    const auto [c, d] = std::minmax_element(points.begin(), points.end(), [](auto& p, auto& q) { return p.y < q.y; });
    least_x = std::log10(std::max(a->x, 1e-3));
    most_x = std::log10(std::max(b->x, 1e-3));
    least_y = c->y;
    most_y = d->y;
    for (const PlotPoint& p : points) most_area = std::max(most_area, p.area);
  }
  const Range xs = padded(least_x, most_x, 0.05);
  const Range ys = padded(least_y, most_y, 0.5);
  const auto x_of = [&](double x) { return left + xs.share(std::log10(std::max(x, 1e-3))) * (width - left - right); };
  const auto y_of = [&](double y) { return height - bottom - ys.share(y) * (height - top - bottom); };
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      width, height);
  svg += words(width / 2, 26, text.title, "middle", 15);
  svg += words(width / 2, height - 14, text.x, "middle", 12);
  svg += words(left - 50, top - 14, text.y, "start", 12);
  constexpr int ticks = 5;
  for (int n = 0; n <= ticks; ++n) {
    const double share = static_cast<double>(n) / ticks;
    const double y = ys.low + share * (ys.high - ys.low);
    const double x = std::pow(10, xs.low + share * (xs.high - xs.low));
    svg += fmt::format("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#ddd\"/>\n", left,
                       width - right, y_of(y));
    svg += words(left - 8, y_of(y) + 4, fmt::format("{:.1f}", y), "end", 11);
    svg += words(x_of(x), height - bottom + 20, fmt::format("{:.4g}", x), "middle", 11);
  }
  Labels labels;
  for (const PlotPoint& p : points) {
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" stroke=\"#1f5fa8\" fill=\"{}\" fill-opacity=\"0.5\"/>\n",
        x_of(p.x), y_of(p.y), 3 + 9 * std::sqrt(p.area / most_area), p.filled ? "#1f5fa8" : "none");
    if (!p.label.empty()) svg += labels.put(x_of(p.x), y_of(p.y), p.label);
  }
  return svg + "</svg>\n";
}

void write_text(const std::string& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace bitgraph::cli
