// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/plan.hpp>

#include "core/names.hpp"
#include "io/file/file.hpp"
#include "io/text/nesting.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <utility>

namespace bitgraph::nn {

namespace {

using Json = nlohmann::json;

constexpr Names<FeatureStorage, 2> storages{{{FeatureStorage::dense, "dense"}, {FeatureStorage::sparse, "sparse"}}};
constexpr Names<GraphFormat, 4> formats{{{GraphFormat::automatic, "auto"},
                                         {GraphFormat::csr, "csr"},
                                         {GraphFormat::sell, "sell"},
                                         {GraphFormat::tiles, "tiles"}}};
constexpr Names<Sequence, 3> sequences{{{Sequence::automatic, "auto"},
                                        {Sequence::update_first, "update-first"},
                                        {Sequence::aggregate_first, "aggregate-first"}}};
constexpr Names<Fusion, 2> fusions{{{Fusion::automatic, "auto"}, {Fusion::none, "none"}}};
constexpr Names<Launching, 4> launchings{{{Launching::automatic, "auto"},
                                          {Launching::steps, "steps"},
                                          {Launching::graph, "graph"},
                                          {Launching::one, "one"}}};
constexpr Names<BatchesAt, 3> places_of_batches{
    {{BatchesAt::automatic, "auto"}, {BatchesAt::device, "device"}, {BatchesAt::host, "host"}}};
constexpr Names<SpmmStrategy, 5> strategies{{{SpmmStrategy::automatic, "auto"},
                                             {SpmmStrategy::carry_save, "carry-save"},
                                             {SpmmStrategy::each_bit, "each-bit"},
                                             {SpmmStrategy::difference, "difference"},
                                             {SpmmStrategy::twice_ones, "twice-ones"}}};
constexpr Names<LevelStrategy, 3> level_strategies{
    {{LevelStrategy::automatic, "auto"}, {LevelStrategy::planes, "planes"}, {LevelStrategy::bytes, "bytes"}}};

[[noreturn]] void refuse(const std::string& file, const std::string& what) {
  fail(ErrorCode::bad_input, file + ": " + what);
}

/// Options by name out of a JSON object; each is taken once, and what is left over is unknown.
class OptionReader {
 public:
  OptionReader(const std::string& file, Json object) : file_(file), object_(std::move(object)) {}

  template <class T, std::size_t N>
  void take(const char* key, T& into, const Names<T, N>& names) {
    const auto found = object_.find(key);
    if (found == object_.end()) return;
    const auto value = found->is_string() ? find_name(names, found->get<std::string>()) : std::nullopt;
    if (!value) refuse(file_, fmt::format("'{}' cannot be {}", key, printable(found->dump())));
    into = *value;
    object_.erase(found);
  }

  template <class Fn>
  void take(const char* key, Fn&& fn) {
    const auto found = object_.find(key);
    if (found == object_.end()) return;
    try {
      fn(*found);
    } catch (const std::exception&) {
      refuse(file_, fmt::format("'{}' cannot be {}", key, printable(found->dump())));
    }
    object_.erase(found);
  }

  void finish() const {
    if (!object_.empty()) refuse(file_, fmt::format("unknown option '{}'", printable(object_.begin().key())));
  }

 private:
  const std::string& file_;
  Json object_;
};

}  // namespace

std::string_view to_string(FeatureStorage storage) noexcept { return name_of(storages, storage); }
std::string_view to_string(GraphFormat format) noexcept { return name_of(formats, format); }
std::string_view to_string(Sequence sequence) noexcept { return name_of(sequences, sequence); }
std::string_view to_string(Fusion fusion) noexcept { return name_of(fusions, fusion); }
std::string_view to_string(Launching launching) noexcept { return name_of(launchings, launching); }
std::string_view to_string(BatchesAt batches_at) noexcept { return name_of(places_of_batches, batches_at); }

void InferenceOptions::save(const std::filesystem::path& path) const {
  Json forms_by_name = Json::array();
  for (const Precision form : forms) forms_by_name.push_back(to_string(form));
  Json object{{"forms", forms_by_name},
              {"features", to_string(features)},
              {"graph", to_string(graph)},
              {"tile_dim", tile_dim},
              {"strategy", name_of(strategies, strategy)},
              {"levels", name_of(level_strategies, levels)},
              {"order", to_string(order)},
              {"sequence", to_string(sequence)},
              {"fusion", to_string(fusion)},
              {"launching", to_string(launching)}};
  if (!model_file.empty()) object["model"] = model_file;
  if (!model_fingerprint.empty()) object["fingerprint"] = model_fingerprint;
  if (memory != 0) object["memory"] = memory;
  if (!partition_file.empty()) {
    object["partition"] = partition_file;
    object["batch_parts"] = batch_parts;
    object["batches_at"] = to_string(batches_at);
  }
  AtomicFile file(path);
  file.write(object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  file.commit();
}

InferenceOptions InferenceOptions::load(const std::filesystem::path& path) {
  const std::string name = path.string();
  const auto mapped = MappedFile::open(path);
  constexpr int deepest = 8;  // more than any plan needs
  if (nested_deeper(mapped->text(), deepest)) refuse(name, "not a plan: it is nested too deep");
  Json object = Json::parse(mapped->text(), nullptr, false);
  if (!object.is_object()) refuse(name, "not a plan: no JSON object");
  InferenceOptions options;
  OptionReader reader(name, std::move(object));
  reader.take("forms", [&](const Json& list) {
    require(list.is_array(), "no list");
    for (const Json& form : list) options.forms.push_back(precision_from_string(form.get<std::string>()));
  });
  reader.take("features", options.features, storages);
  reader.take("graph", options.graph, formats);
  reader.take("tile_dim", [&](const Json& side) {
    const auto k = side.get<std::int64_t>();
    require(side.is_number_integer() && (k == 4 || k == 8 || k == 16 || k == 32 || k == 64), "no side of a tile");
    options.tile_dim = static_cast<int>(k);
  });
  reader.take("strategy", options.strategy, strategies);
  reader.take("levels", options.levels, level_strategies);
  reader.take("order",
              [&](const Json& name_of_order) { options.order = order_from_string(name_of_order.get<std::string>()); });
  reader.take("sequence", options.sequence, sequences);
  reader.take("fusion", options.fusion, fusions);
  reader.take("launching", options.launching, launchings);
  reader.take("model", [&](const Json& file) { options.model_file = file.get<std::string>(); });
  reader.take("fingerprint", [&](const Json& text) { options.model_fingerprint = text.get<std::string>(); });
  reader.take("memory", [&](const Json& bytes) {
    require(bytes.is_number_unsigned(), "no number of bytes");
    options.memory = bytes.get<std::size_t>();
  });
  reader.take("partition", [&](const Json& file) { options.partition_file = file.get<std::string>(); });
  reader.take("batch_parts", [&](const Json& parts) {
    require(parts.is_number_unsigned(), "no number of parts");
    options.batch_parts = parts.get<std::size_t>();
  });
  reader.take("batches_at", options.batches_at, places_of_batches);
  reader.finish();
  const bool any_format = options.strategy == SpmmStrategy::automatic || options.strategy == SpmmStrategy::carry_save;
  if (!any_format && options.graph != GraphFormat::tiles) {
    refuse(name, fmt::format("'strategy' cannot be \"{}\" where 'graph' is \"{}\": that is for tiles",
                             name_of(strategies, options.strategy), to_string(options.graph)));
  }
  return options;
}

std::string InferenceOptions::describe() const {
  std::vector<std::string> parts;
  std::string form_names;
  for (const Precision form : forms) form_names += (form_names.empty() ? "" : "+") + std::string(to_string(form));
  if (!form_names.empty()) parts.push_back(form_names);
  if (features == FeatureStorage::dense) parts.emplace_back("dense features");
  if (graph == GraphFormat::tiles) {
    parts.push_back(fmt::format("B2SR-{} {}", tile_dim, name_of(strategies, strategy)));
  } else if (graph != GraphFormat::automatic) {
    parts.emplace_back(to_string(graph));
  }
  if (levels != LevelStrategy::automatic)
    parts.push_back(fmt::format("levels by {}", name_of(level_strategies, levels)));
  if (order != Order::original) parts.emplace_back(to_string(order));
  if (sequence != Sequence::automatic) parts.emplace_back(to_string(sequence));
  if (fusion != Fusion::automatic) parts.emplace_back("not fused");
  if (launching != Launching::automatic) parts.push_back(fmt::format("launching {}", to_string(launching)));
  if (partition != nullptr || !partition_file.empty()) {
    parts.push_back(batch_parts == 0
                        ? "batches of parts"
                        : fmt::format("batches of {} {}", batch_parts, batch_parts == 1 ? "part" : "parts"));
    if (batches_at != BatchesAt::automatic) parts.push_back(fmt::format("batches at the {}", to_string(batches_at)));
  }
  return parts.empty() ? "as it is" : fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace bitgraph::nn
