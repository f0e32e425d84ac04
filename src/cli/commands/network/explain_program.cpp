// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/network/explain_program.hpp"

#include "io/file/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace bitgraph::cli {

namespace {

Json microseconds(double seconds) { return seconds > 0 ? Json(seconds * 1e6) : Json(); }

std::string rounded(const Json& number) { return number.is_null() ? "-" : fmt::format("{:.1f}", number.get<double>()); }

}  // namespace

Json list_of(const std::vector<nn::ExplainedOperator>& operators) {
  Json program = Json::array();
  for (const nn::ExplainedOperator& op : operators) {
    program.push_back({{"layer", op.layer},
                       {"operator", op.name},
                       {"columns", op.columns},
                       {"format", op.format},
                       {"bytes", op.bytes},
                       {"kernel", op.kernel.empty() ? Json() : Json(op.kernel)},
                       {"predicted_us", microseconds(op.predicted_seconds)},
                       {"measured_us", microseconds(op.seconds)}});
  }
  return program;
}

Json explain_program(nn::InferencePlan& plan) {
  return {{"executor", plan.executor()}, {"program", list_of(plan.explain())}};
}

void write_drawing(const std::string& path, const std::string& drawing) {
  AtomicFile file{std::filesystem::path(path)};
  file.write(drawing);
  file.commit();
}

void print_program(const std::string& form, const Json& explained) {
  std::size_t longest = 8;
  for (const Json& op : explained["program"]) longest = std::max(longest, op["operator"].get<std::string>().size());
  fmt::print("  {} as a program, run by: {}\n", form, explained["executor"].get<std::string>());
  fmt::print("  {:>5}  {:<{}}  {:<18}{:>12}{:>14}{:>13}  {}\n", "layer", "operator", longest, "makes", "bytes",
             "predicted us", "measured us", "kernel");
  for (const Json& op : explained["program"]) {
    const std::string makes = fmt::format("{} x {}", op["columns"].get<std::size_t>(), op["format"].get<std::string>());
    fmt::print("  {:>5}  {:<{}}  {:<18}{:>12}{:>14}{:>13}  {}\n", op["layer"].get<std::size_t>(),
               op["operator"].get<std::string>(), longest, makes, human_bytes(op["bytes"].get<double>()),
               rounded(op["predicted_us"]), rounded(op["measured_us"]),
               op["kernel"].is_null() ? "-" : op["kernel"].get<std::string>());
  }
}

}  // namespace bitgraph::cli
