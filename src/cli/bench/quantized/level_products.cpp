// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/quantized/level_products.hpp"

#include <bitgraph/ops/gemm.hpp>
#include <bitgraph/ops/level_gemm.hpp>

#include "cli/bench/quantized/level_data.hpp"
#include "cli/peers/byte_rival.hpp"
#include "cli/peers/requantize.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

namespace bitgraph::cli {

namespace {

struct Widths {
  int w, x;
  LevelPacking packing = LevelPacking::places;  ///< of X and of the levels out

  [[nodiscard]] bool in_planes() const { return packing == LevelPacking::planes; }
  [[nodiscard]] std::string precision() const { return fmt::format("w{}a{}", w, x); }
};
constexpr std::array layer_widths{Widths{2, 2}, Widths{2, 2, LevelPacking::planes}, Widths{4, 4}, Widths{8, 8},
                                  Widths{8, 4}};

/// The operands of one product, on the host and where they are multiplied.
class LayerProduct {
 public:
  LayerProduct(const std::vector<std::size_t>& shape, const Widths& widths, const Common& common, const Device& device)
      : device_(device),
        host_x_(random_level_matrix(shape[0], shape[1], widths.x, ScaleExtent::tensor, 0.02F, {common.seed, 10, 0},
                                    device.is_host() ? device : Device())),
        host_w_(
            random_level_matrix(shape[2], shape[1], widths.w, ScaleExtent::row, 0.01F, {common.seed, 11, 0}, Device())),
        x_(to_packing(host_x_, widths.packing).to(device)),
        w_(prepare_level_weights(host_w_, device,
                                 {.x_bits = widths.x, .x_packing = widths.packing, .out_packing = widths.packing})),
        out_(shape[0], shape[2], widths.x, device, widths.packing) {
    // Four standard deviations of a sum are the range of the levels.
    const double deviation = std::sqrt(static_cast<double>(shape[1])) * std::exp2(widths.x + widths.w) / 12;
    const double step = 4 * deviation * 0.01 * host_x_.scale().steps[0] / std::exp2(widths.x);
    out_.set_scale(
        centred_scale(ScaleExtent::tensor, 1, widths.x, static_cast<float>(step), {common.seed, 12, 0}).to(device));
  }

  void run() { level_gemm_into(out_, x_, w_); }
  [[nodiscard]] std::string kernel() const { return level_gemm_explain(x_, w_).kernel; }
  void check(const std::string& what) const { check(what, out_); }

  /// The rival's: bytes by cuBLASLt, and what makes its sums levels. False where it has no way for the shape.
  bool prepare(ByteRival& rival) {
    const std::size_t depth = host_x_.ncols(), outputs = host_w_.nrows();
    if (depth % 4 != 0 || outputs % 4 != 0) return false;
    x_bytes_ = centred_bytes(host_x_).to(device_);
    w_bytes_ = centred_bytes(host_w_).to(device_);
    sums_ = DenseMatrix<std::int32_t>(host_x_.nrows(), outputs, device_);
    rival_out_ = QuantizedMatrix(host_x_.nrows(), outputs, out_.bits(), device_);
    const LevelScale to = out_.scale().to(Device());
    rival_out_.set_scale(to.to(device_));
    Buffer<float> factors(outputs), shifts(outputs, -to.offsets[0] / to.steps[0]);
    for (std::size_t f = 0; f < outputs; ++f)
      factors[f] = host_x_.scale().steps[0] * host_w_.scale().steps[f] / to.steps[0];
    factors_ = factors.to(device_);
    shifts_ = shifts.to(device_);
    return rival.prepare(sums_, x_bytes_, w_bytes_, depth);
  }
  void multiply(ByteRival& rival) { rival.multiply(sums_, x_bytes_, w_bytes_); }
  void requantize_sums() {
    requantize(device_, {std::as_const(sums_).view(), factors_.data(), shifts_.data(), rival_out_.view()});
  }
  void check_rival(const std::string& what) const { check(what, rival_out_); }

 private:
  void check(const std::string& what, const QuantizedMatrix& out) const {
    check_levels(what, out, rows_to_check(out.nrows()), [&](std::size_t i, std::size_t f) {
      std::int64_t sum = 0;
      for (std::size_t c = 0; c < host_x_.ncols(); ++c) {
        sum += (std::int64_t{host_x_.level(i, c)} - middle_level(host_x_.bits())) *
               (std::int64_t{host_w_.level(f, c)} - middle_level(host_w_.bits()));
      }
      return static_cast<double>(sum) * host_x_.scale().steps[0] * host_w_.scale().steps[f];
    });
  }

  Device device_;
  QuantizedMatrix host_x_, host_w_, x_;
  LevelWeights w_;
  QuantizedMatrix out_, rival_out_;
  Buffer<std::int8_t> x_bytes_, w_bytes_;
  Buffer<float> factors_, shifts_;
  DenseMatrix<std::int32_t> sums_;
};

/// The rival in floats, on the host: the same for all widths.
struct FloatProduct {
  DenseMatrix<float> x, w, out;

  FloatProduct(const std::vector<std::size_t>& shape, const Common& common, const Device& host)
      : x(values_of(random_level_matrix(shape[0], shape[1], 8, ScaleExtent::tensor, 0.02F, {common.seed, 10, 0}, host),
                    host)),
        w(values_of(random_level_matrix(shape[2], shape[1], 8, ScaleExtent::row, 0.01F, {common.seed, 11, 0}, host),
                    host)),
        out(shape[0], shape[2], host) {}
  void run() { float_gemm(out, x, false, w, true); }
};

/// Adds what the rival takes to a row.
void measure_bytes(Json& row, LayerProduct& product, ByteRival& rival, const CallTimer& timer) {
  if (!product.prepare(rival)) return;
  row["rival_us"] = 1e6 * timer.seconds([&] {
    product.multiply(rival);
    product.requantize_sums();
  });
  product.check_rival("cuBLASLt's product");
  row["rival_product_us"] = 1e6 * timer.seconds([&] { product.multiply(rival); });
  row["rival_requantize_us"] = 1e6 * timer.seconds([&] { product.requantize_sums(); });
}

void print_row(const Json& row) {
  std::string line = fmt::format("  {:<6}{:>12.1f}", row["precision"].get<std::string>(), row["us"].get<double>());
  if (!row["rival_us"].is_null())
    line += fmt::format("{:>12.1f}{:>8.2f}", row["rival_us"].get<double>(), row["ratio"].get<double>());
  if (row.contains("rival_product_us")) {
    line += fmt::format("   product {:.1f}, requantize {:.1f}", row["rival_product_us"].get<double>(),
                        row["rival_requantize_us"].get<double>());
  }
  fmt::print("{}   {}\n", line, row["kernel"].get<std::string>());
}

}  // namespace

void measure_level_products(Json& results, const std::vector<std::size_t>& shape, const Common& common,
                            const CallTimer& timer) {
  const Device& device = timer.device();
  std::string absent;
  const auto bytes = device.is_host() ? nullptr : make_byte_rival(device, absent);
  const auto floats = device.is_host() ? std::make_unique<FloatProduct>(shape, common, device) : nullptr;
  const std::string rival = device.is_host() ? float_gemm_kernels(device) : "cuBLASLt int8, requantized";
  if (!common.json) {
    fmt::print("\nProducts of levels, {} x {} by {} x {}, levels out; beside {}{}\n", shape[0], shape[1], shape[1],
               shape[2], rival, absent.empty() ? "" : ": " + absent);
    fmt::print("  {:<6}{:>12}{:>12}{:>8}\n", "", "us", "rival us", "ratio");
  }
  Progress progress("measuring", common.quiet);
  std::size_t done = 0;
  for (const Widths& widths : layer_widths) {
    progress.update(done++, layer_widths.size(), "products of levels");
    if (widths.in_planes() && !level_gemm_takes_planes(device, widths.w, shape[1])) continue;
    const std::string precision = widths.precision();
    LayerProduct product(shape, widths, common, device);
    Json row{{"figure", "products"},       {"rows", shape[0]},       {"depth", shape[1]},
             {"outputs", shape[2]},        {"precision", precision}, {"packing", to_string(widths.packing)},
             {"kernel", product.kernel()}, {"us", nullptr},          {"rival", rival},
             {"rival_us", nullptr},        {"ratio", nullptr}};
    row["us"] = 1e6 * timer.seconds([&] { product.run(); });
    product.check(fmt::format("product of levels, {} in {}", precision, to_string(widths.packing)));
    if (bytes != nullptr) measure_bytes(row, product, *bytes, timer);
    if (floats != nullptr) row["rival_us"] = 1e6 * timer.seconds([&] { floats->run(); });
    if (!row["rival_us"].is_null()) row["ratio"] = row["rival_us"].get<double>() / row["us"].get<double>();
    if (!common.json) print_row(row);
    results.push_back(std::move(row));
  }
}

}  // namespace bitgraph::cli
