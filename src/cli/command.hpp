// SPDX-License-Identifier: Apache-2.0
// What the commands share. Each command is one file: it adds itself to the parser and returns what to run.
#pragma once

#include <bitgraph/core/device.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace bitgraph::cli {

/// Keys keep the order in which they are written.
using Json = nlohmann::ordered_json;

/// The files that a command reads and writes, as its options name them. They are checked when its options are parsed,
/// before any work begins.
class Files {
 public:
  using Names = std::function<std::vector<std::string>()>;

  void reads(const std::string& option, Names names) { inputs_.push_back({option, std::move(names)}); }
  void writes(const std::string& option, Names names) { outputs_.push_back({option, std::move(names)}); }

  /// `check` runs before it is seen whether outputs can be written; it throws usage for a name that cannot be.
  void checks(std::function<void()> check) { checks_.push_back(std::move(check)); }

  /// Throws usage where an output is an input or another output; internal where an output cannot be written. Empty
  /// names and "-" (standard input, standard output) are passed over.
  void check() const;

 private:
  struct Use {
    std::string option;
    Names names;
  };
  std::vector<Use> inputs_, outputs_;
  std::vector<std::function<void()>> checks_;
};

/// Options of every command.
struct Common {
  Files files;
  bool json = false;
  bool quiet = false;
  std::string device = "cpu";
  int threads = 0;
  std::uint64_t seed = 0;
  std::string data_on_stdout;  ///< the option whose file is "-": nothing else is printed there

  /// Throws usage or not_possible.
  [[nodiscard]] Device make_device() const;

  /// The host, for a command without kernels for a GPU. Throws not_possible where --device asks for one.
  [[nodiscard]] Device make_host(const char* command) const;
};

/// Adds --json, --device, --threads, --seed, --quiet, and has common.files checked.
void add_common(CLI::App& app, Common& common);

/// An option, or a place where no dash leads the name, for a file that is read; `path` outlives the parser.
CLI::Option* add_input(CLI::App& app, Common& common, const std::string& name, std::string& path,
                       const std::string& help);
/// The same for a data set: a name or a path.
CLI::Option* add_dataset(CLI::App& app, Common& common, const std::string& name, std::string& dataset,
                         const std::string& help);
/// The same for a file that is written.
CLI::Option* add_output(CLI::App& app, Common& common, const std::string& name, std::string& path,
                        const std::string& help);

/// Adds the text under a command's options.
void add_examples(CLI::App& app, const std::string& examples);

void add_info(CLI::App& app);
void add_convert(CLI::App& app);
void add_generate(CLI::App& app);
void add_train(CLI::App& app);
void add_infer(CLI::App& app);
void add_tune(CLI::App& app);
void add_quantize(CLI::App& app);
void add_datasets(CLI::App& app);
void add_doctor(CLI::App& app);
void add_bfs(CLI::App& app);
void add_sssp(CLI::App& app);
void add_pagerank(CLI::App& app);
void add_cc(CLI::App& app);
void add_tc(CLI::App& app);
void add_mis(CLI::App& app);
void add_color(CLI::App& app);
void add_partition(CLI::App& app);
void add_diameter(CLI::App& app);
void add_betweenness(CLI::App& app);
void add_closeness(CLI::App& app);
void add_msbfs(CLI::App& app);
void add_bench(CLI::App& app);

/// The file or folder of a data set given by name or path: what a path names; else name.npz, or a folder with
/// name_edges.csv, under $BITGRAPH_DATA (also in npz/, musae/ and graph_level/), then under the cache. Empty where
/// there is none.
[[nodiscard]] std::optional<std::filesystem::path> find_dataset(const std::string& name);

/// The same, downloading it where it is one that can be had. Throws bad_input where it cannot.
[[nodiscard]] std::filesystem::path require_dataset(const std::string& name);

/// The files that a data set is read from: find_dataset()'s file, or all files of its folder. Empty where there is
/// none.
[[nodiscard]] std::vector<std::string> files_of_dataset(const std::string& name);

/// A line of progress on stderr, only on a terminal; with the time left.
class Progress {
 public:
  Progress(std::string what, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void update(std::size_t done, std::size_t total, const std::string& note = "");

 private:
  std::string what_;
  bool shown_;
  double started_ = 0;
  double last_ = 0;
  bool dirty_ = false;
};

/// "1 thread", "2 threads".
[[nodiscard]] std::string counted(std::size_t n, const std::string& noun);

/// "1.2 MB".
[[nodiscard]] std::string human_bytes(double bytes);

/// "2G", "500M", "64K" (powers of 1000) or a plain number. Throws usage.
[[nodiscard]] std::size_t bytes_from(const std::string& text);

}  // namespace bitgraph::cli
