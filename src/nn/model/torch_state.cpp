// SPDX-License-Identifier: Apache-2.0
// PyTorch state dictionaries in safetensors, by the layer names of PyTorch Geometric and of Bi-GCN.
#include "nn/model/architectures.hpp"
#include "nn/model/tensor_reader.hpp"

#include <cctype>
#include <charconv>
#include <cmath>
#include <map>

namespace bitgraph::nn {

namespace {

/// Names in the order of the numbers in them: conv2 before conv10.
struct ByNumber {
  bool operator()(const std::string& a, const std::string& b) const {
    std::size_t i = 0;
    std::size_t j = 0;
    const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    while (i < a.size() && j < b.size()) {
      if (digit(a[i]) && digit(b[j])) {
        std::size_t p = i;
        std::size_t q = j;
        while (p < a.size() && digit(a[p])) ++p;
        while (q < b.size() && digit(b[q])) ++q;
        if (p - i != q - j) return p - i < q - j;
        const int order = a.compare(i, p - i, b, j, q - j);
        if (order != 0) return order < 0;
        i = p;
        j = q;
      } else if (a[i] != b[j]) {
        return a[i] < b[j];
      } else {
        ++i;
        ++j;
      }
    }
    return a.size() - i < b.size() - j;
  }
};

/// An MLP and not one linear map.
bool has_mlp(const ArchitectureTraits& kind) { return layers_of_convolution(kind) > 1; }

/// The prefix of the convolution of that kind whose map from neighbours has the name, or whose MLP it is part of;
/// empty: it is of none.
std::string prefix_of(const std::string& name, const ArchitectureTraits& kind) {
  const std::string map = fmt::format(".{}{}", kind.torch_neighbor, has_mlp(kind) ? "." : "");
  const std::size_t at = has_mlp(kind) || name.ends_with(map) ? name.rfind(map) : std::string::npos;
  return at == std::string::npos ? "" : name.substr(0, at);
}

/// The first number in a name.
std::size_t number_in(std::string_view name) {
  std::size_t number = 0;
  const std::size_t at = name.find_first_of("0123456789");
  if (at != std::string_view::npos) std::from_chars(name.data() + at, name.data() + name.size(), number);
  return number;
}

constexpr float torch_epsilon = 1e-5F;  // of batch norm

class StateReader {
 public:
  StateReader(const TensorFile& file, const TensorReader& reader) : file_(file), reader_(reader) {}

  Model model() {
    find_layers();
    Model model;
    model.precision = file_.tensors.contains("bn1.running_mean") ? Precision::full : Precision::real;
    if (const auto named = file_.metadata.find("precision"); named != file_.metadata.end())
      model.precision = parsed("precision", named->second, precision_from_string);
    model.architecture = architecture();
    model.dataset = "PyTorch";
    if (file_.metadata.contains("normalize_rows")) model.normalize_rows = reader_.flag("normalize_rows");
    for (const auto& [prefix, kind] : convolutions_) add_convolution(model, prefix, *kind);
    const auto joined = convolutions_.size() * model.layers.front().outputs();
    model.jumping_knowledge = !model.concatenates() && linears_.size() == 1 &&
                              file_.tensors.at(linears_.front() + ".weight").shape[1] == joined;
    if (model.concatenates()) add_linear(model);
    check_widths(model);
    model.layers.back().precision = model.precision.of_last_layer();
    if (model.precision.multiplies_signs()) take_batch_norm(model);
    reader_.refuse_what_is_left(".num_batches_tracked");
    return model;
  }

 private:
  template <class Fn>
  [[nodiscard]] auto parsed(const std::string& key, const std::string& text, Fn&& parse) const
      -> decltype(parse(text)) {
    try {
      return parse(text);
    } catch (const Error&) {
      reader_.refuse("metadata '" + key + "' is '" + printable(text) + "'");
    }
  }

  /// Convolutions by their prefix, and the linear layers.
  void find_layers() {
    for (const auto& [name, tensor] : file_.tensors) {
      if (!name.ends_with(".weight")) continue;
      const std::string owner = name.substr(0, name.size() - 7);
      bool part = false;
      for (const ArchitectureTraits& kind : architecture_table()) {
        const std::string prefix = prefix_of(owner, kind);
        if (!prefix.empty()) {
          const ArchitectureTraits*& known = convolutions_[prefix];
          // Of those with the same names the first one in the table, unless the metadata say otherwise.
          if (known == nullptr || known->torch_neighbor != kind.torch_neighbor) known = &kind;
        }
        part = part || !prefix.empty() ||
               (!kind.torch_root.empty() && owner.ends_with(fmt::format(".{}", kind.torch_root)));
      }
      if (!part && tensor.shape.size() == 2) linears_.push_back(owner);
    }
    if (convolutions_.empty()) {
      reader_.refuse(
          "neither a bitgraph model nor a state dictionary with GCNConv (NAME.lin.weight), SAGEConv "
          "(NAME.lin_l.weight), GraphConv (NAME.lin_rel.weight) or GINConv (NAME.nn.0.weight)");
    }
    if (convolutions_.size() > most_depth)
      reader_.refuse(fmt::format("{} convolutions, at most {} can be run", convolutions_.size(), most_depth));
  }

  Architecture architecture() const {
    const Architecture found = convolutions_.begin()->second->architecture;
    for (const auto& [prefix, kind] : convolutions_) {
      if (kind->architecture != found) reader_.refuse("'" + printable(prefix) + "' is a convolution of another kind");
    }
    const auto named = file_.metadata.find("kind");
    if (named == file_.metadata.end()) return found;
    const Architecture wanted = parsed("kind", named->second, architecture_from_string);
    const bool same_names = traits_of(wanted).torch_neighbor == traits_of(found).torch_neighbor;
    if (!same_names) reader_.refuse("its layers are not those of '" + printable(named->second) + "'");
    return wanted;
  }

  /// W and its bias; a bias that is not there is zeros.
  Linear linear(const std::string& name, Precision precision, const std::string& other_bias = {}) {
    const auto found = file_.tensors.find(name + ".weight");
    if (found == file_.tensors.end()) reader_.refuse("the tensor '" + name + ".weight' is missing");
    if (found->second.shape.size() != 2 || found->second.shape[0] == 0 || found->second.shape[1] == 0)
      reader_.refuse(fmt::format("the tensor '{}.weight' is no matrix", name));
    const std::size_t outputs = found->second.shape[0];
    const std::size_t inputs = found->second.shape[1];
    DenseMatrix<float> weight(outputs, inputs, reader_.floats(name + ".weight", {outputs, inputs}));
    Buffer<float> values(outputs, 0.0F);
    for (const std::string& bias : {name + ".bias", other_bias}) {
      if (!bias.empty() && file_.tensors.contains(bias)) values = reader_.floats(bias, {outputs});
    }
    return make_linear(std::move(weight), std::move(values), precision.multiplies_signs());
  }

  /// Linear maps with a batch norm behind each of them or not; what rectifies between them has no tensors.
  void add_mlp(Model& model, const std::string& prefix, const ArchitectureTraits& kind) {
    if (model.precision.multiplies_signs())
      reader_.refuse("'" + prefix + ".nn': of a state dictionary an MLP is read in full precision alone");
    std::map<std::string, Linear, ByNumber> maps;
    const std::string mlp = fmt::format("{}.{}.", prefix, kind.torch_neighbor);
    const auto part = [&](const std::string& name, std::string_view ending) {
      return name.starts_with(mlp) && name.ends_with(ending) ? name.substr(0, name.size() - ending.size()) : "";
    };
    for (const auto& [name, tensor] : file_.tensors) {
      const std::string map = part(name, ".weight");
      if (!map.empty() && tensor.shape.size() == 2) maps.emplace(map, linear(map, model.precision));
    }
    const std::size_t expected = layers_of_convolution(kind);
    if (maps.size() != expected)
      reader_.refuse(
          fmt::format("'{}.{}' has {} linear maps, expected {}", prefix, kind.torch_neighbor, maps.size(), expected));
    for (const auto& [name, tensor] : file_.tensors) {
      const std::string norm = part(name, ".running_mean");
      if (norm.empty()) continue;
      const std::size_t number = number_in(std::string_view(norm).substr(mlp.size()));
      Linear* ahead = nullptr;
      for (auto& [map, linear] : maps) {  // nn.0 and nn.1, or nn.lins.0 and nn.norms.0
        const std::size_t of_map = number_in(std::string_view(map).substr(mlp.size()));
        if (of_map == number || of_map + 1 == number) ahead = &linear;
      }
      if (ahead == nullptr) reader_.refuse("'" + printable(norm) + "': a batch norm must follow a linear map");
      fold_norm(*ahead, norm);
    }
    for (auto& [map, linear] : maps) {
      model.layers.push_back({.aggregation = Aggregation::none, .precision = model.precision});
      model.layers.back().neighbor = std::move(linear);
    }
    weigh_self(model.layers[model.layers.size() - expected], prefix + ".eps");
  }

  void fold_norm(Linear& linear, const std::string& norm) const {
    const std::size_t outputs = linear.outputs();
    const auto values = [&](const char* what, float otherwise) {
      const std::string name = norm + what;
      return file_.tensors.contains(name) ? reader_.floats(name, {outputs}) : Buffer<float>(outputs, otherwise);
    };
    const Buffer<float> mean = reader_.floats(norm + ".running_mean", {outputs});
    const Buffer<float> variance = reader_.scales(norm + ".running_var", {outputs});
    const Buffer<float> scale = values(".weight", 1), shift = values(".bias", 0);
    for (std::size_t f = 0; f < outputs; ++f) {
      const float factor = scale[f] / std::sqrt(variance[f] + torch_epsilon);
      for (float& w : linear.floats().row(f)) w *= factor;
      linear.bias[f] = factor * (linear.bias[f] - mean[f]) + shift[f];
    }
  }

  /// (1 + eps) times the node itself.
  void weigh_self(Layer& layer, const std::string& eps) const {
    const float weight = file_.tensors.contains(eps) ? 1 + reader_.floats(eps, {1})[0] : 1;
    layer.aggregation = weight == 1 ? Aggregation::sum_with_self : Aggregation::sum;
    if (weight == 1) return;
    layer.root = make_linear(layer.neighbor.floats().clone(), Buffer<float>(layer.outputs(), 0.0F), false);
    for (float& w : layer.root.floats().values()) w *= weight;
  }

  void add_convolution(Model& model, const std::string& prefix, const ArchitectureTraits& kind) {
    if (has_mlp(kind)) return add_mlp(model, prefix, kind);
    const auto shapes = layer_shapes(model.architecture, 1, 1, 1);
    Layer layer{.aggregation = shapes.front().aggregation, .precision = model.precision};
    // GCNConv has its bias outside of its linear map, and adds it behind the aggregation.
    const bool outside = kind.torch_root.empty() && file_.tensors.contains(prefix + ".bias");
    if (outside && model.precision.multiplies_signs())
      reader_.refuse("'" + prefix + ".bias': a binary layer's bias is that of its linear map, " + prefix + ".lin.bias");
    const bool inside = kind.torch_root.empty() && file_.tensors.contains(prefix + ".lin.bias");
    if (inside && !model.precision.multiplies_signs())
      reader_.refuse("'" + prefix + ".lin.bias': a full-precision layer adds its bias behind the aggregation");
    layer.neighbor = linear(fmt::format("{}.{}", prefix, kind.torch_neighbor), model.precision, prefix + ".bias");
    if (!kind.torch_root.empty()) layer.root = linear(fmt::format("{}.{}", prefix, kind.torch_root), model.precision);
    model.layers.push_back(std::move(layer));
  }

  void add_linear(Model& model) {
    if (linears_.size() != 1)
      reader_.refuse(fmt::format("{} linear layers behind the convolutions, expected 1", linears_.size()));
    Layer layer{.aggregation = Aggregation::none, .precision = model.precision};
    layer.neighbor = linear(linears_.front(), model.precision);
    model.layers.push_back(std::move(layer));
  }

  /// What one layer gives the next one takes; all hidden layers of one width, as model files have them.
  void check_widths(const Model& model) const {
    const std::size_t depth = convolutions_.size();
    const auto shapes = layer_shapes(model.architecture, model.num_features(), model.hidden(), model.num_classes(),
                                     depth, model.jumping_knowledge);
    for (std::size_t l = 0; l < shapes.size(); ++l) {
      const Layer& layer = model.layers[l];
      const bool root_fits =
          layer.root.empty() || (layer.root.inputs() == layer.inputs() && layer.root.outputs() == layer.outputs());
      if (layer.inputs() != shapes[l].inputs || layer.outputs() != shapes[l].outputs || !root_fits) {
        reader_.refuse(fmt::format("layer {} goes from {} to {}, expected from {} to {}", l, layer.inputs(),
                                   layer.outputs(), shapes[l].inputs, shapes[l].outputs));
      }
    }
  }

  /// Of the features, without weights of its own.
  void take_batch_norm(Model& model) {
    for (const auto& [name, tensor] : file_.tensors) {
      if (name.ends_with(".running_mean") && name != "bn1.running_mean")
        reader_.refuse("'" + printable(name) + "': only the features may have a batch norm");
    }
    if (file_.tensors.contains("bn1.weight"))
      reader_.refuse("'bn1.weight': the batch norm must be without affine weights");
    const std::size_t d = model.num_features();
    model.input_mean = reader_.floats("bn1.running_mean", {d});
    const Buffer<float> variance = reader_.scales("bn1.running_var", {d});
    model.input_inverse_deviation = Buffer<float>(d);
    for (std::size_t j = 0; j < d; ++j) model.input_inverse_deviation[j] = 1 / std::sqrt(variance[j] + torch_epsilon);
  }

  const TensorFile& file_;
  const TensorReader& reader_;
  std::map<std::string, const ArchitectureTraits*, ByNumber> convolutions_;
  std::vector<std::string> linears_;
};

}  // namespace

Model model_of_state(const TensorFile& file, const TensorReader& reader) { return StateReader(file, reader).model(); }

}  // namespace bitgraph::nn
