// SPDX-License-Identifier: Apache-2.0
// Test accuracy over many seeds: models trained at once, each by a thread of its own, in one process, since on a small
// graph one training leaves most of a GPU idle. What scripts/accuracy.py does run by run; the figures are the same.
//
// Usage: train_many --datasets amazon_photo.npz,planted:flickr:8 --seeds 10-19 [--models inductive-gcn,sage,saint]
//                   [--hidden N] [--epochs N] [--device cuda] [--workers 14] [--limit SECONDS] [--out FILE]
// A data set is a file or planted:PRESET:SCALE. Each seed draws a split of its own (halves and quarters); gcn keeps the
// data set's. The float model of a seed is trained once: full and bin learn from it. A line of JSON a model goes to
// FILE, behind what is there; models that are there are not trained again, so a run that was stopped goes on.
#include <bitgraph/core/error.hpp>
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/train.hpp>
#include <bitgraph/ops/log_softmax.hpp>

#include "cli/ranges.hpp"
#include "nn/model/architectures.hpp"
#include "program.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace bitgraph::bench {
namespace {

using cli::number_of;
using nn::Architecture;
using nn::Precision;

struct Settings {
  std::vector<std::string> datasets;
  std::vector<std::string> models{"inductive-gcn", "sage", "saint"};
  std::string seeds = "0-9", device = "cpu", out = "train_many.jsonl";
  std::size_t hidden = 0, epochs = 0, workers = 14;
  double limit = 1e9;
};

/// One model to be trained. `teacher` is null where it is a float model, which then teaches the two others.
struct Task {
  std::string dataset;
  Architecture architecture = Architecture::sage;
  std::uint64_t seed = 0;
  Precision precision = Precision::real;
  std::shared_ptr<const nn::Model> teacher;

  [[nodiscard]] std::string key() const {
    return fmt::format("{} {} {} {}", dataset, to_string(architecture), to_string(precision), seed);
  }
};

std::vector<std::string> fields(const std::string& text, char separator) {
  std::vector<std::string> all;
  std::size_t from = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (at < text.size() && text[at] != separator) continue;
    all.push_back(text.substr(from, at - from));
    from = at + 1;
  }
  return all;
}

/// Of "10-19", or "7".
std::vector<std::uint64_t> seeds_of(const std::string& text) {
  const std::vector<std::string> ends = fields(text, '-');
  const auto first = number_of<std::uint64_t>(ends.front());
  const auto last = number_of<std::uint64_t>(ends.back());
  constexpr std::uint64_t most = 1000000;
  if (ends.size() > 2 || !first || !last || *first > *last || *last - *first >= most)
    fail(ErrorCode::usage, fmt::format("--seeds: '{}' is no range of seeds: use 10-19, or 7", text));
  std::vector<std::uint64_t> seeds(*last - *first + 1);
  std::iota(seeds.begin(), seeds.end(), *first);
  return seeds;
}

Dataset load(const std::string& name) {
  const std::vector<std::string> parts = fields(name, ':');
  if (parts[0] != "planted") return load_dataset(name);
  const auto scale = parts.size() == 2 ? 1.0 : number_of<double>(parts.back());
  if (parts.size() < 2 || parts.size() > 3 || !scale)
    fail(ErrorCode::usage, fmt::format("--datasets: '{}' is no planted graph: use planted:flickr:8", name));
  return generate_planted_graph(planted_graph_preset(parts[1], *scale));
}

/// A data set of its own for each training: the split is the seed's.
Dataset copy(const Dataset& from) {
  Dataset to;
  to.name = from.name;
  to.graph = from.graph.clone();
  to.features = {from.features.pattern.clone(), from.features.values.clone()};
  to.dense_features = from.dense_features.clone();
  to.labels = from.labels;
  to.num_classes = from.num_classes;
  to.train = from.train;
  to.validation = from.validation;
  to.test = from.test;
  return to;
}

/// The tasks that are left and what is known of those that are done.
class Board {
 public:
  Board(const Settings& settings, std::span<const std::uint64_t> seeds) : settings_(settings) {
    std::ifstream before(settings.out);
    for (std::string line; std::getline(before, line);) {
      const nlohmann::json row = nlohmann::json::parse(line, nullptr, false);
      if (!row.is_discarded()) keep(row);
    }
    for (const std::uint64_t seed : seeds) {
      for (const std::string& dataset : settings.datasets) {
        for (const std::string& model : settings.models) {
          const Task task{dataset, nn::architecture_from_string(model), seed, Precision::real, nullptr};
          if (!all_done(task)) tasks_.push_back(task);
        }
      }
    }
    out_.open(settings.out, std::ios::app);
    if (!out_) fail(ErrorCode::internal, settings.out + ": cannot write");
  }

  /// The next task, or null: none is left, none will come, or time is over.
  std::unique_ptr<Task> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !tasks_.empty() || teaching_ == 0 || over(); });
    if (tasks_.empty() || over()) return nullptr;
    auto task = std::make_unique<Task>(std::move(tasks_.front()));
    tasks_.pop_front();
    if (!task->precision.multiplies_signs()) ++teaching_;
    return task;
  }

  void finish(const Task& task, const nlohmann::json& row, std::shared_ptr<const nn::Model> model) {
    const std::lock_guard lock(mutex_);
    if (!done_.contains(task.key())) {
      keep(row);
      out_ << row.dump() << std::endl;  // NOLINT(performance-avoid-endl): a run may be killed
    }
    if (!task.precision.multiplies_signs()) {
      --teaching_;
      for (const Precision form : {Precision::bin, Precision::full}) {
        Task next{task.dataset, task.architecture, task.seed, form, model};
        if (!done_.contains(next.key())) tasks_.push_front(std::move(next));
      }
    }
    changed_.notify_all();
  }

  void print() const {
    fmt::print("| data set | model | form | seeds | test accuracy | less than float |\n|---|---|---|---|---|---|\n");
    for (const auto& [name, by_seed] : accuracies_) {
      double sum = 0, squares = 0, behind = 0;
      std::size_t pairs = 0;
      const std::string model = name.substr(0, name.rfind(' '));
      const auto real = accuracies_.find(model + " float");
      for (const auto& [seed, accuracy] : by_seed) {
        sum += accuracy;
        if (real == accuracies_.end() || !real->second.contains(seed)) continue;
        behind += real->second.at(seed) - accuracy;
        ++pairs;
      }
      const auto n = static_cast<double>(by_seed.size());
      for (const auto& [seed, accuracy] : by_seed) squares += (accuracy - sum / n) * (accuracy - sum / n);
      const std::vector<std::string> parts = fields(name, ' ');
      fmt::print("| {} | {} | {} | {} | {:.2f} +- {:.2f} | {:.2f} |\n", parts[0], parts[1], parts[2], by_seed.size(),
                 100 * sum / n, n > 1 ? 100 * std::sqrt(squares / (n - 1)) : 0,
                 pairs != 0 ? 100 * behind / static_cast<double>(pairs) : 0);
    }
  }

 private:
  [[nodiscard]] bool over() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count() > settings_.limit;
  }

  [[nodiscard]] bool all_done(Task task) const {
    for (const Precision form : {Precision::real, Precision::full, Precision::bin}) {
      task.precision = form;
      if (!done_.contains(task.key())) return false;
    }
    return true;
  }

  void keep(const nlohmann::json& row) {
    const std::string name = fmt::format("{} {} {}", row.at("dataset").get<std::string>(),
                                         row.at("model").get<std::string>(), row.at("precision").get<std::string>());
    const std::uint64_t seed = row.at("seed");
    done_.insert(fmt::format("{} {}", name, seed));
    accuracies_[name][seed] = row.at("test");
  }

  const Settings& settings_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::set<std::string> done_;
  std::map<std::string, std::map<std::uint64_t, double>> accuracies_;
  std::ofstream out_;
  int teaching_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void train_one(const Settings& settings, const Task& task, const Dataset& loaded, const Device& device, Board& board) {
  const auto start = std::chrono::steady_clock::now();
  Dataset dataset = copy(loaded);
  if (task.architecture != Architecture::gcn) inductive_split(dataset, {}, task.seed);
  nn::TrainOptions options{
      .precision = task.precision,
      .architecture = task.architecture,
      .hidden = settings.hidden != 0 ? settings.hidden : nn::preset_hidden(task.architecture, dataset.name),
      .seed = task.seed,
      .teacher = task.teacher.get()};
  if (settings.epochs != 0) options.epochs = settings.epochs;
  nn::TrainResult trained = nn::train(dataset, options, device);
  nn::InferencePlan plan(trained.model, dataset, {.forms = trained.model.layer_forms(task.precision)}, device);
  const DenseMatrix<float> logits = plan.run().to(Device{});
  const double test = score(logits, dataset.labels, dataset.test).accuracy();
  const nlohmann::json row{
      {"dataset", task.dataset},
      {"model", to_string(task.architecture)},
      {"precision", to_string(task.precision)},
      {"seed", task.seed},
      {"test", test},
      {"validation", score(logits, dataset.labels, dataset.validation).accuracy()},
      {"best_epoch", trained.best_epoch},
      {"epoch_ms", trained.seconds_per_epoch * 1e3},
      {"seconds", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()}};
  board.finish(task, row, std::make_shared<const nn::Model>(std::move(trained.model)));
}

void run(const Settings& settings) {
  const std::vector<std::uint64_t> seeds = seeds_of(settings.seeds);
  std::map<std::string, Dataset> sets;
  for (const std::string& name : settings.datasets) sets[name] = load(name);
  Board board(settings, seeds);
  const auto work = [&] {
    try {
      const Device device = settings.device == "cuda" ? Device::cuda() : Device::host(1);
      while (const std::unique_ptr<Task> task = board.take())
        train_one(settings, *task, sets.at(task->dataset), device, board);
    } catch (const std::exception& error) {
      fmt::print(stderr, "train_many: {}\n", error.what());
      std::quick_exit(1);
    }
  };
  std::vector<std::jthread> workers;
  for (std::size_t w = 0; w < settings.workers; ++w) workers.emplace_back(work);
  workers.clear();
  board.print();
}

}  // namespace
}  // namespace bitgraph::bench

int main(int argc, char** argv) {
  using namespace bitgraph;
  bench::Settings settings;
  CLI::App app{"Test accuracy over many seeds", "train_many"};
  app.add_option("--datasets", settings.datasets, "files, or planted:PRESET:SCALE")->delimiter(',')->required();
  app.add_option("--models", settings.models, "architectures")
      ->delimiter(',')
      ->check(CLI::IsMember(nn::architecture_names()));
  app.add_option("--seeds", settings.seeds, "first-last");
  app.add_option("--device", settings.device, "cpu or cuda")->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_option("--hidden", settings.hidden, "width; default: the papers'")->check(cli::whole_number(1, 1 << 20));
  app.add_option("--epochs", settings.epochs, "default: the recipe's")->check(cli::whole_number(1, 1000000000));
  app.add_option("--workers", settings.workers, "trainings at once")->check(cli::whole_number(1, 4096));
  app.add_option("--limit", settings.limit, "seconds after which none is begun")->check(cli::not_negative());
  app.add_option("--out", settings.out, "what is done, a line of JSON a model");
  return bench::run_program(app, argc, argv, [&] { bench::run(settings); });
}
