// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/model.hpp>

#include <bitgraph/io/array.hpp>

#include "io/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace bitgraph::nn {

namespace {

constexpr std::array<std::pair<Precision, std::string_view>, 3> names{
    {{Precision::real, "float"}, {Precision::full, "full"}, {Precision::bin, "bin"}}};

constexpr std::string_view format_name = "bitgraph-model";
constexpr std::string_view format_version = "1";

template <class T>
Array array_of(ElementType type, std::vector<std::uint64_t> shape, std::span<const T> values) {
  return {type, std::move(shape), Buffer<std::byte>::copy_of(std::as_bytes(values))};
}

Array vector_of(const Buffer<float>& values) { return array_of(ElementType::f32, {values.size()}, values.span()); }

/// Takes tensors out of a file by name, checking type and shape.
class TensorReader {
 public:
  TensorReader(const TensorFile& file, std::string name) : file_(file), name_(std::move(name)) {}

  [[nodiscard]] std::string text(const std::string& key) const {
    const auto found = file_.metadata.find(key);
    if (found == file_.metadata.end()) refuse("the metadata lack '" + key + "'");
    return found->second;
  }

  [[nodiscard]] std::uint64_t number(const std::string& key) const {
    const std::string value = text(key);
    std::uint64_t parsed = 0;
    const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
    if (error != std::errc() || stop != value.data() + value.size())
      refuse(fmt::format("metadata '{}': '{}' is not a whole number", key, printable(value)));
    return parsed;
  }

  [[nodiscard]] const Array& tensor(const std::string& key, ElementType type,
                                    const std::vector<std::uint64_t>& shape) const {
    const auto found = file_.tensors.find(key);
    if (found == file_.tensors.end()) refuse("the tensor '" + key + "' is missing");
    if (found->second.type != type || found->second.shape != shape) {
      refuse(fmt::format("the tensor '{}' is {} [{}], expected {} [{}]", key, to_string(found->second.type),
                         fmt::join(found->second.shape, ", "), to_string(type), fmt::join(shape, ", ")));
    }
    return found->second;
  }

  [[nodiscard]] Buffer<float> floats(const std::string& key, const std::vector<std::uint64_t>& shape) const {
    Buffer<float> values = tensor(key, ElementType::f32, shape).as<float>();
    for (const float value : values.span()) {
      if (!std::isfinite(value)) refuse("the tensor '" + key + "' holds a value that is not finite");
    }
    return values;
  }

  /// Floats of which none is negative.
  [[nodiscard]] Buffer<float> scales(const std::string& key, const std::vector<std::uint64_t>& shape) const {
    Buffer<float> values = floats(key, shape);
    if (std::any_of(values.begin(), values.end(), [](float v) { return v < 0; }))
      refuse("the tensor '" + key + "' holds a negative scale");
    return values;
  }

  [[nodiscard]] BitMatrix<PlusMinusOne> bits(const std::string& key, std::uint64_t nrows, std::uint64_t ncols) const {
    auto words = tensor(key, ElementType::u64, {nrows, words_for_bits(ncols)}).as<std::uint64_t>();
    try {
      return {nrows, ncols, std::move(words)};
    } catch (const Error& error) {
      refuse("the tensor '" + key + "': " + error.what());
    }
  }

  [[noreturn]] void refuse(const std::string& what) const { fail(ErrorCode::bad_input, name_ + ": " + what); }

 private:
  const TensorFile& file_;
  std::string name_;
};

}  // namespace

std::string_view to_string(Precision precision) noexcept {
  for (const auto& [value, name] : names) {
    if (value == precision) return name;
  }
  return "unknown";
}

Precision precision_from_string(std::string_view name) {
  for (const auto& [value, text] : names) {
    if (text == name) return value;
  }
  fail(ErrorCode::usage, "unknown precision '" + std::string(name) + "': use float, full or bin");
}

std::size_t Model::num_features() const {
  return precision == Precision::real ? real.front().weight.nrows() : binary.front().weight.ncols();
}
std::size_t Model::hidden() const {
  return precision == Precision::real ? real.front().weight.ncols() : binary.front().weight.nrows();
}
std::size_t Model::num_classes() const {
  return precision == Precision::real ? real.back().weight.ncols() : binary.back().weight.nrows();
}

std::size_t Model::bytes() const noexcept {
  std::size_t total = input_mean.bytes() + input_inverse_deviation.bytes();
  for (const auto& layer : real) total += layer.weight.bytes() + layer.bias.bytes();
  for (const auto& layer : binary) total += layer.weight.bytes() + layer.scale.bytes() + layer.bias.bytes();
  return total;
}

void Model::require_fit(const Dataset& data) const {
  if (data.features.pattern.ncols() != num_features()) {
    fail(ErrorCode::bad_input, fmt::format("the model takes {} features, the data set {} has {}", num_features(),
                                           data.name, data.features.pattern.ncols()));
  }
  if (static_cast<std::size_t>(data.num_classes) != num_classes()) {
    fail(ErrorCode::bad_input,
         fmt::format("the model knows {} classes, the data set {} has {}", num_classes(), data.name, data.num_classes));
  }
}

void Model::save(const std::filesystem::path& path) const {
  TensorFile file;
  file.metadata = {{"format", std::string(format_name)},
                   {"version", std::string(format_version)},
                   {"kind", "gcn"},
                   {"precision", std::string(to_string(precision))},
                   {"dataset", dataset},
                   {"seed", std::to_string(seed)},
                   {"normalize_rows", normalize_rows ? "1" : "0"},
                   {"num_features", std::to_string(num_features())},
                   {"hidden", std::to_string(hidden())},
                   {"num_classes", std::to_string(num_classes())}};
  for (std::size_t n = 0; n < real.size(); ++n) {
    const auto prefix = fmt::format("layer{}.", n);
    const auto& weight = real[n].weight;
    file.tensors[prefix + "weight"] = array_of(ElementType::f32, {weight.nrows(), weight.ncols()}, weight.values());
    file.tensors[prefix + "bias"] = vector_of(real[n].bias);
  }
  for (std::size_t n = 0; n < binary.size(); ++n) {
    const auto prefix = fmt::format("layer{}.", n);
    const auto& weight = binary[n].weight;
    file.tensors[prefix + "weight_bits"] =
        array_of(ElementType::u64, {weight.nrows(), weight.words_per_row()}, weight.words());
    file.tensors[prefix + "weight_scale"] = vector_of(binary[n].scale);
    file.tensors[prefix + "bias"] = vector_of(binary[n].bias);
  }
  if (precision != Precision::real) {
    file.tensors["input.mean"] = vector_of(input_mean);
    file.tensors["input.inverse_deviation"] = vector_of(input_inverse_deviation);
  }
  save_safetensors(path, file);
}

Model Model::load(const std::filesystem::path& path) {
  const TensorFile file = load_safetensors(path);
  const TensorReader reader(file, path.string());
  if (reader.text("format") != format_name) reader.refuse("not a bitgraph model");
  if (reader.text("version") != format_version)
    reader.refuse("version '" + printable(reader.text("version")) + "', this program reads version 1");
  if (reader.text("kind") != "gcn") reader.refuse("unknown kind of model '" + printable(reader.text("kind")) + "'");
  Model model;
  const std::string precision = reader.text("precision");
  const auto* known = std::find_if(names.begin(), names.end(), [&](const auto& n) { return n.second == precision; });
  if (known == names.end()) reader.refuse("unknown precision '" + printable(precision) + "'");
  model.precision = known->first;
  model.dataset = reader.text("dataset");
  model.seed = reader.number("seed");
  const std::uint64_t normalize_rows = reader.number("normalize_rows");
  if (normalize_rows > 1) reader.refuse(fmt::format("normalize_rows is {}, expected 0 or 1", normalize_rows));
  model.normalize_rows = normalize_rows == 1;
  const std::array<std::uint64_t, 3> widths{reader.number("num_features"), reader.number("hidden"),
                                            reader.number("num_classes")};
  for (std::size_t n = 0; n + 1 < widths.size(); ++n) {
    const std::uint64_t in = widths[n];
    const std::uint64_t out = widths[n + 1];
    if (in == 0 || out == 0 || in >= (1U << 31) || out >= (1U << 31)) reader.refuse("a layer's width is out of range");
    const auto prefix = fmt::format("layer{}.", n);
    if (model.precision == Precision::real) {
      model.real.push_back({DenseMatrix<float>(in, out, reader.floats(prefix + "weight", {in, out})),
                            reader.floats(prefix + "bias", {out})});
    } else {
      model.binary.push_back({reader.bits(prefix + "weight_bits", out, in),
                              reader.scales(prefix + "weight_scale", {out}), reader.floats(prefix + "bias", {out})});
    }
  }
  if (model.precision != Precision::real) {
    model.input_mean = reader.floats("input.mean", {widths[0]});
    model.input_inverse_deviation = reader.scales("input.inverse_deviation", {widths[0]});
  }
  return model;
}

}  // namespace bitgraph::nn
