// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"
#include "cli/ranges.hpp"
#include "io/file/file.hpp"

#include <bitgraph/core/error.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>

namespace bitgraph::cli {

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

Device Common::make_device() const {
  if (device == "cpu") return Device::host(threads);
  if (!device.starts_with("cuda")) fail(ErrorCode::usage, "unknown device '" + device + "': use cpu, cuda or cuda:N");
  int index = 0;
  if (device.size() > 4) {
    const auto [stop, error] = std::from_chars(device.data() + 5, device.data() + device.size(), index);
    if (device[4] != ':' || index < 0 || error != std::errc() || stop != device.data() + device.size()) {
      fail(ErrorCode::usage, "unknown device '" + device + "': use cpu, cuda or cuda:N");
    }
  }
  return Device::cuda(index);
}

Device Common::make_host(const char* command) const {
  if (device != "cpu") {
    static_cast<void>(make_device());  // a name that is no device is another error
    fail(ErrorCode::not_possible, std::string(command) + " runs on the CPU alone: use --device cpu");
  }
  return Device::host(threads);
}

void add_common(CLI::App& app, Common& common) {
  app.parse_complete_callback([&common] { common.files.check(); });
  app.add_flag("--json", common.json, "print one JSON object");
  app.add_flag("--quiet", common.quiet, "no progress");
  app.add_option("--device", common.device, "cpu or cuda")->capture_default_str();
  app.add_option("--threads", common.threads, "host threads; 0: all")
      ->check(whole_number(0, 4096))
      ->capture_default_str();
  app.add_option("--seed", common.seed, "seed of all random numbers")->check(whole_number(0))->capture_default_str();
}

void add_examples(CLI::App& app, const std::string& examples) { app.footer("\nExamples:\n" + examples); }

CLI::Option* add_input(CLI::App& app, Common& common, const std::string& name, std::string& path,
                       const std::string& help) {
  CLI::Option* option = app.add_option(name, path, help);
  common.files.reads(option->get_name(), [&path] { return std::vector{path}; });
  return option;
}

CLI::Option* add_dataset(CLI::App& app, Common& common, const std::string& name, std::string& dataset,
                         const std::string& help) {
  CLI::Option* option = app.add_option(name, dataset, help);
  common.files.reads(option->get_name(), [&dataset] { return files_of_dataset(dataset); });
  return option;
}

CLI::Option* add_output(CLI::App& app, Common& common, const std::string& name, std::string& path,
                        const std::string& help) {
  CLI::Option* option = app.add_option(name, path, help);
  common.files.writes(option->get_name(), [&path] { return std::vector{path}; });
  return option;
}

void Files::check() const {
  struct Named {
    const std::string* option;
    std::string file;
  };
  const auto named = [](const std::vector<Use>& uses) {
    std::vector<Named> all;
    for (const Use& use : uses) {
      for (std::string& file : use.names()) {
        if (!file.empty() && file != "-") all.push_back({&use.option, std::move(file)});
      }
    }
    return all;
  };
  const std::vector<Named> outputs = named(outputs_);
  const std::vector<Named> inputs = named(inputs_);
  for (std::size_t n = 0; n < outputs.size(); ++n) {
    const auto refuse_if_same = [&](const Named& other, const char* what) {
      if (!same_file(outputs[n].file, other.file)) return;
      fail(ErrorCode::usage, fmt::format("{} '{}' is the same file as the {} {} '{}': nothing was written",
                                         *outputs[n].option, outputs[n].file, what, *other.option, other.file));
    };
    for (const Named& input : inputs) refuse_if_same(input, "input");
    for (std::size_t m = 0; m < n; ++m) refuse_if_same(outputs[m], "output");
  }
  for (const auto& check : checks_) check();
  for (const Named& output : outputs) {
    std::error_code none;
    // A pipe would take what is opened and closed for the whole of it.
    if (!std::filesystem::is_other(output.file, none)) AtomicFile probe{std::filesystem::path(output.file)};
  }
}

Progress::Progress(std::string what, bool quiet)
    : what_(std::move(what)), shown_(!quiet && ::isatty(2) == 1), started_(now()) {}

Progress::~Progress() {
  if (dirty_) std::fputs("\r\x1B[K", stderr);
}

void Progress::update(std::size_t done, std::size_t total, const std::string& note) {
  const double time = now();
  if (!shown_ || total == 0 || (time - last_ < 0.1 && done != total)) return;
  last_ = time;
  dirty_ = true;
  constexpr std::size_t width = 24;
  const std::size_t filled = std::min(width, width * done / total);
  const double left = done == 0 ? 0 : (time - started_) / static_cast<double>(done) * static_cast<double>(total - done);
  fmt::print(stderr, "\r\x1B[K{} [{}{}] {}/{}  {:.0f} s left  {}", what_, std::string(filled, '='),
             std::string(width - filled, ' '), done, total, left, note);
  std::fflush(stderr);
}

std::string human_bytes(double bytes) {
  constexpr std::array<const char*, 5> units{"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < units.size()) {
    bytes /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.2f} {}", bytes, units[unit]);
}

std::string counted(std::size_t n, const std::string& noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

std::size_t bytes_from(const std::string& text) {
  const auto refuse = [&] { fail(ErrorCode::usage, "'" + text + "' is not a number of bytes: write 2G, 500M or 64K"); };
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(stop, static_cast<std::size_t>(text.data() + text.size() - stop));
  double factor = 1;
  if (unit == "K" || unit == "k")
    factor = 1e3;
  else if (unit == "M")
    factor = 1e6;
  else if (unit == "G")
    factor = 1e9;
  else if (unit == "T")
    factor = 1e12;
  else if (!unit.empty())
    refuse();
  if (error != std::errc() || !(number > 0) || number * factor > 1e15) refuse();
  return static_cast<std::size_t>(number * factor);
}

}  // namespace bitgraph::cli
