// SPDX-License-Identifier: Apache-2.0
#include "cli/help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <sstream>

namespace bitgraph::cli {

namespace {

/// Where to break a line so that its first part has at most `most` characters: at the last blank, else behind the last
/// comma, after `least`. Words that are longer stay whole, paths too.
std::size_t break_in(std::string_view line, std::size_t least, std::size_t most) {
  const std::size_t blank = line.rfind(' ', most);
  if (blank != std::string_view::npos && blank > least) return blank;
  const std::size_t comma = line.rfind(',', most - 1);
  if (comma != std::string_view::npos && comma > least) return comma + 1;
  return std::min(line.find(' ', most), line.size());
}

/// How far continuation lines are indented: to the column of descriptions, or as far as the line itself; commands and
/// long names further.
std::size_t indent_of(const std::string& line, std::size_t column) {
  const std::size_t own = std::min(line.find_first_not_of(' '), line.size());
  if (own == 2 && line.size() > column && line[column - 1] == ' ' && line[column] != ' ') return column;
  return own == 2 ? 6 : own;
}

/// `stop` ends each line that is cut.
std::string cut(std::string line, std::size_t indent, std::string_view stop) {
  const std::size_t most = help_width - stop.size();
  std::string text;
  while (line.size() > help_width) {
    const std::size_t at = break_in(line, std::max(line.find_first_not_of(' '), indent), most);
    if (at == line.size()) break;
    text += line.substr(0, at);
    text += stop;
    text += '\n';
    line = std::string(indent, ' ') + line.substr(std::min(line.find_first_not_of(' ', at), line.size()));
  }
  return text + line;
}

/// The nearest of `names`, if it is near: a third of the letters may differ.
std::string nearest(const std::string& word, const std::vector<std::string>& names) {
  std::string best;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(word, name);
    if (distance < least) {
      least = distance;
      best = name;
    }
  }
  return least <= std::max<std::size_t>(1, word.size() / 3) ? best : "";
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

/// The last of the commands that were named, or the program.
const CLI::App* deepest(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return command;
}

/// "bitgraph bench".
std::string called_as(const CLI::App& app) {
  std::string called = "bitgraph";
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    called += ' ' + at->get_name();
  }
  return called;
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  std::istringstream lines(CLI::Formatter::make_help(app, std::move(name), mode));
  std::string help;
  for (std::string line; std::getline(lines, line);) {
    const bool is_command = line.starts_with("  bitgraph ");
    help += is_command ? cut(line, 6, " \\") : cut(line, indent_of(line, column_width_), "");
    help += '\n';
  }
  return help;
}

std::string wrapped(std::string line, std::size_t indent) { return cut(std::move(line), indent, ""); }

std::string shell_word(const std::string& word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,=+@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  std::reverse(arguments.begin(), arguments.end());
  return arguments;
}

std::string say_what_is_unknown(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = deepest(app);
  const std::string called = called_as(app);
  const std::vector<std::string> unknown = command->remaining();
  const std::vector<std::string> commands = command_names(*command);
  for (const std::string& word : unknown) {
    const bool is_option = word.size() > 1 && word[0] == '-';
    if (!is_option && commands.empty()) continue;
    const std::string name = is_option ? word.substr(0, word.find('=')) : word;
    const std::string near = nearest(name, is_option ? option_names(*command) : commands);
    const std::string what = is_option         ? fmt::format("unknown option {}", name)
                             : command == &app ? fmt::format("there is no command '{}'", name)
                                               : fmt::format("there is no command '{} {}'", called.substr(9), name);
    if (near.empty()) return fmt::format("{}: see {} --help", what, called);
    return is_option ? fmt::format("{}: did you mean {}?", what, near)
                     : fmt::format("{}: did you mean '{}'?", what, near);
  }
  if (!commands.empty()) return fmt::format("a command is missing: see {} --help", called);
  return error.what();
}

bool names_no_command(const CLI::App& app) {
  const CLI::App* command = deepest(app);
  const std::vector<std::string> unknown = command->remaining();
  return !command_names(*command).empty() && !unknown.empty() && !unknown.front().starts_with('-');
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Row i: from the first i letters of a to the first j of b.
  std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace bitgraph::cli
