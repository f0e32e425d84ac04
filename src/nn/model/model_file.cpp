// SPDX-License-Identifier: Apache-2.0
// Models as safetensors files: docs/formats.md lists tensors and metadata.
#include <bitgraph/io/array.hpp>
#include <bitgraph/nn/model.hpp>
#include <bitgraph/ops/dense.hpp>

#include "nn/model/tensor_reader.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

namespace bitgraph::nn {

namespace {

constexpr std::string_view format_name = "bitgraph-model";

/// Version 3 has the formats of every layer. Version 2 has one precision for all layers, and signs in tensors of
/// another name. Version 1 is a GCN of two layers whose float weights are inputs x outputs.
enum class FileVersion { two_layers = 1, one_precision = 2, formats = 3 };
constexpr auto newest = FileVersion::formats;

template <class T>
Array array_of(ElementType type, std::vector<std::uint64_t> shape, std::span<const T> values) {
  return {type, std::move(shape), Buffer<std::byte>::copy_of(std::as_bytes(values))};
}

Array vector_of(const Buffer<float>& values) { return array_of(ElementType::f32, {values.size()}, values.span()); }

/// Steps and offsets, where there are any.
void put(TensorFile& file, const std::string& name, const LevelScale& scale) {
  if (!scale.steps.empty()) file.tensors[name + "_step"] = vector_of(scale.steps);
  if (scale.has_offsets()) file.tensors[name + "_offset"] = vector_of(scale.offsets);
}

void put(TensorFile& file, const std::string& prefix, const Linear& linear) {
  if (linear.in_levels()) {
    const QuantizedMatrix& w = linear.levels();
    file.tensors[prefix + "weight"] = array_of(ElementType::u8, {w.nrows(), w.row_bytes()}, w.levels().span());
    put(file, prefix + "weight", w.scale());
  } else if (linear.binary()) {
    const auto& [bits, scale] = linear.signs();
    file.tensors[prefix + "weight"] = array_of(ElementType::u64, {bits.nrows(), bits.words_per_row()}, bits.words());
    file.tensors[prefix + "weight_scale"] = vector_of(scale);
  } else {
    const auto& weight = linear.floats();
    file.tensors[prefix + "weight"] = array_of(ElementType::f32, {weight.nrows(), weight.ncols()}, weight.values());
  }
  file.tensors[prefix + "bias"] = vector_of(linear.bias);
}

Linear take(const TensorReader& reader, const std::string& prefix, const LayerShape& shape, const NumberFormat& format,
            FileVersion version) {
  const std::uint64_t in = shape.inputs;
  const std::uint64_t out = shape.outputs;
  Linear linear;
  if (format.kind == NumberKind::levels) {
    linear.weight = reader.levels(prefix + "weight", out, in, format);
  } else if (format.kind == NumberKind::sign) {
    const char* const name = version == FileVersion::formats ? "weight" : "weight_bits";
    linear.weight = Binarized{reader.bits(prefix + name, out, in), reader.scales(prefix + "weight_scale", {out})};
  } else if (version == FileVersion::two_layers) {
    DenseMatrix<float> weight(out, in);
    transpose_into(weight, {in, out, reader.floats(prefix + "weight", {in, out})});
    linear.weight = std::move(weight);
  } else {
    linear.weight = DenseMatrix<float>(out, in, reader.floats(prefix + "weight", {out, in}));
  }
  linear.bias = reader.floats(prefix + "bias", {out});
  return linear;
}

FileVersion version_of(const TensorReader& reader) {
  const std::string text = reader.text("version");
  for (const auto version : {FileVersion::two_layers, FileVersion::one_precision, FileVersion::formats}) {
    if (text == std::to_string(static_cast<int>(version))) return version;
  }
  reader.refuse(
      fmt::format("version '{}', this program reads versions 1 to {}", printable(text), static_cast<int>(newest)));
}

/// Sides below 2^31, so that no product of two of them and a size overflows.
std::size_t width(const TensorReader& reader, const std::string& key) {
  const std::uint64_t value = reader.number(key);
  if (value == 0 || value >= (1U << 31)) reader.refuse("a layer's width is out of range");
  return value;
}

template <class Fn>
auto known(const TensorReader& reader, const std::string& key, const std::string& what, Fn&& parse) {
  const std::string text = reader.text(key);
  try {
    return parse(text);
  } catch (const Error&) {
    reader.refuse("unknown " + what + " '" + printable(text) + "'");
  }
}

void put(std::map<std::string, std::string>& metadata, const TrainingRecord& record) {
  const Split& split = record.split;
  metadata["data_fingerprint"] = record.data;
  metadata["training_nodes"] = record.training_nodes;
  switch (split.kind) {
    case SplitKind::file: metadata["split"] = "file"; return;
    case SplitKind::per_class:
      metadata["split"] = "per-class";
      metadata["split_counts"] = fmt::format("{},{}", split.train_per_class, split.validation_per_class);
      break;
    case SplitKind::shares:
      metadata["split"] = "shares";
      metadata["split_shares"] =
          fmt::format("{},{},{}", split.shares.train, split.shares.validation, split.shares.test);
  }
  metadata["split_seed"] = std::to_string(split.seed);
}

/// So many numbers with commas between them.
template <class T, std::size_t N>
std::array<T, N> numbers(const TensorReader& reader, const std::string& key) {
  const std::string text = reader.text(key);
  std::array<T, N> values{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t n = 0; n < N; ++n) {
    const auto [stop, error] = std::from_chars(at, end, values[n]);
    const bool last = n + 1 == N;
    if (error != std::errc() || (last ? stop != end : stop == end || *stop != ',')) {
      reader.refuse(
          fmt::format("metadata '{}': '{}', expected {} numbers with commas between them", key, printable(text), N));
    }
    at = last ? stop : stop + 1;
  }
  return values;
}

std::string digits(const TensorReader& reader, const std::string& key) {
  std::string text = reader.text(key);
  constexpr std::size_t length = 16;
  if (text.size() != length || text.find_first_not_of("0123456789abcdef") != std::string::npos)
    reader.refuse(fmt::format("metadata '{}': '{}', expected 16 hexadecimal digits", key, printable(text)));
  return text;
}

/// Files of before such records have none.
std::optional<TrainingRecord> record_of(const TensorFile& file, const TensorReader& reader) {
  if (!file.metadata.contains("split")) return std::nullopt;
  TrainingRecord record{.data = digits(reader, "data_fingerprint"), .training_nodes = digits(reader, "training_nodes")};
  Split& split = record.split;
  const std::string kind = reader.text("split");
  if (kind == "file") return record;
  split.seed = reader.number("split_seed");
  if (kind == "per-class") {
    split.kind = SplitKind::per_class;
    const auto counts = numbers<std::size_t, 2>(reader, "split_counts");
    split.train_per_class = counts[0];
    split.validation_per_class = counts[1];
  } else if (kind == "shares") {
    split.kind = SplitKind::shares;
    const auto shares = numbers<double, 3>(reader, "split_shares");
    split.shares = {shares[0], shares[1], shares[2]};
  } else {
    reader.refuse("metadata 'split': unknown kind '" + printable(kind) + "'");
  }
  return record;
}

std::string formats_key(std::size_t layer) { return fmt::format("layer{}.formats", layer); }

/// Layers of one model all multiply signs, or none does; the last one does not vote. Only models of levels have layers
/// of levels.
Precision layer_precision(const TensorReader& reader, FileVersion version, const Precision& model, std::size_t layer,
                          bool last) {
  if (version != FileVersion::formats) return last ? model.of_last_layer() : model;
  const std::string key = formats_key(layer);
  const Precision precision = known(reader, key, "formats of layer " + std::to_string(layer), precision_from_string);
  if (precision.multiplies_signs() != model.multiplies_signs() || (last && precision.votes()) ||
      (precision.has_levels() && !model.has_levels())) {
    reader.refuse(fmt::format("metadata '{}': layer {} of a model of precision {} cannot be of precision {}", key,
                              layer, to_string(model), to_string(precision)));
  }
  return precision;
}

}  // namespace

void Model::save(const std::filesystem::path& path) const {
  if (network) fail(ErrorCode::not_possible, "a model with a network of its own is code: no file can hold it");
  if (layer_builder != nullptr)
    fail(ErrorCode::not_possible,
         "a layer of your own is code: save the model without it, and give it back when loaded");
  TensorFile file;
  file.metadata = {{"format", std::string(format_name)},
                   {"version", std::to_string(static_cast<int>(newest))},
                   {"kind", std::string(to_string(architecture))},
                   {"precision", to_string(precision)},
                   {"dataset", dataset},
                   {"seed", std::to_string(seed)},
                   {"normalize_rows", normalize_rows ? "1" : "0"},
                   {"num_features", std::to_string(num_features())},
                   {"hidden", std::to_string(hidden())},
                   {"num_classes", std::to_string(num_classes())},
                   {"depth", std::to_string(depth())}};
  if (jumping_knowledge) file.metadata["jumping_knowledge"] = "1";
  if (readout) file.metadata["readout"] = "sum";
  if (thresholds != 1) file.metadata["thresholds"] = std::to_string(thresholds);
  if (trained) put(file.metadata, *trained);
  for (std::size_t n = 0; n < layers.size(); ++n) {
    file.metadata[formats_key(n)] = formats_of(layers[n].precision);
    put(file, fmt::format("layer{}.", n), layers[n].neighbor);
    if (!layers[n].root.empty()) put(file, fmt::format("layer{}.root_", n), layers[n].root);
    put(file, fmt::format("layer{}.input", n), layers[n].input_scale);
    put(file, fmt::format("layer{}.message", n), layers[n].message_scale);
  }
  if (!input_mean.empty()) {
    file.tensors["input.mean"] = vector_of(input_mean);
    file.tensors["input.inverse_deviation"] = vector_of(input_inverse_deviation);
    if (input_limit != 0) file.tensors["input.limit"] = vector_of(Buffer<float>(1, input_limit));
  }
  save_safetensors(path, file);
}

Model Model::load(const std::filesystem::path& path) {
  const TensorFile file = load_safetensors(path);
  const TensorReader reader(file, path.string());
  if (!file.metadata.contains("format") || file.metadata.at("format") == "pt") return model_of_state(file, reader);
  if (reader.text("format") != format_name) reader.refuse("not a bitgraph model");
  const FileVersion version = version_of(reader);
  Model model;
  model.architecture = known(reader, "kind", "kind of model", architecture_from_string);
  model.precision = known(reader, "precision", "precision", precision_from_string);
  model.dataset = reader.text("dataset");
  model.seed = reader.number("seed");
  model.trained = record_of(file, reader);
  model.jumping_knowledge = file.metadata.contains("jumping_knowledge") && reader.flag("jumping_knowledge");
  if (file.metadata.contains("readout")) {
    if (reader.text("readout") != "sum")
      reader.refuse(fmt::format("unknown readout '{}', expected sum", printable(reader.text("readout"))));
    model.readout = true;
  }
  model.normalize_rows = reader.flag("normalize_rows");
  const std::size_t num_features = width(reader, "num_features");
  if (file.metadata.contains("thresholds")) {
    model.thresholds = reader.number("thresholds");
    if (model.thresholds < 2 || model.thresholds > most_thresholds)
      reader.refuse(fmt::format("{} thresholds of a feature, expected 2 to {}", model.thresholds, most_thresholds));
  }
  const std::size_t inputs = num_features * model.thresholds;
  const std::size_t hidden = width(reader, "hidden");
  const std::size_t num_classes = width(reader, "num_classes");
  const std::uint64_t depth = version == FileVersion::two_layers ? 2 : reader.number("depth");
  if (depth == 0 || depth > most_depth)
    reader.refuse(fmt::format("a depth of {}, expected 1 to {}", depth, most_depth));
  auto shapes = layer_shapes(model.architecture, inputs, hidden, num_classes, depth, model.jumping_knowledge);
  for (std::size_t n = 0; n < shapes.size(); ++n) {
    const bool last = n + 1 == shapes.size();
    // A node has weights of its own in the sum: a GIN whose eps is not 0.
    if (shapes[n].aggregation == Aggregation::sum_with_self &&
        file.tensors.contains(fmt::format("layer{}.root_bias", n))) {
      shapes[n].aggregation = Aggregation::sum;
      shapes[n].root = true;
    }
    Layer layer{.aggregation = shapes[n].aggregation,
                .precision = layer_precision(reader, version, model.precision, n, last)};
    const NumberFormat& format = layer.precision.weight;
    layer.neighbor = take(reader, fmt::format("layer{}.", n), shapes[n], format, version);
    if (shapes[n].root) layer.root = take(reader, fmt::format("layer{}.root_", n), shapes[n], format, version);
    if (layer.precision.multiplies_levels() && n > 0)
      layer.input_scale = reader.level_scale(fmt::format("layer{}.input", n), ScaleExtent::tensor, 1);
    if (layer.precision.sums_levels() && layer.aggregation != Aggregation::none) {
      layer.message_scale =
          reader.level_scale(fmt::format("layer{}.message", n), ScaleExtent::column, shapes[n].outputs);
    }
    model.layers.push_back(std::move(layer));
  }
  if (model.precision.multiplies_signs() || file.tensors.contains("input.mean")) {
    model.input_mean = reader.floats("input.mean", {inputs});
    model.input_inverse_deviation = reader.scales("input.inverse_deviation", {inputs});
    if (!model.precision.multiplies_signs() && file.tensors.contains("input.limit"))
      model.input_limit = reader.scales("input.limit", {1})[0];
  }
  reader.refuse_what_is_left();
  return model;
}

}  // namespace bitgraph::nn
