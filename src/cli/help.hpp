// SPDX-License-Identifier: Apache-2.0
// Help texts that fit a terminal, and what the program says to words it does not know.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace bitgraph::cli {

inline constexpr std::size_t help_width = 80;  ///< columns

/// CLI11's help with lines of at most 80 columns.
class HelpFormatter : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

/// A line cut into lines of at most 80 columns, each but the first indented; the last has no end of line.
[[nodiscard]] std::string wrapped(std::string line, std::size_t indent);

/// A word of a command as a shell takes it: in quotes where it has characters that mean something there.
[[nodiscard]] std::string shell_word(const std::string& word);

/// The arguments of the program, without its name, last first as CLI11 takes them: `help bench graph` is `bench graph
/// --help`.
[[nodiscard]] std::vector<std::string> arguments_of(int argc, char** argv);

/// What to say of arguments that no command takes, or where a command is missing; one line.
[[nodiscard]] std::string say_what_is_unknown(const CLI::App& app, const CLI::ParseError& error);

/// Whether help was asked for on a command that there is not.
[[nodiscard]] bool names_no_command(const CLI::App& app);

/// Insertions, deletions, replacements and swaps of neighbours that make one word of the other. O(|a| |b|).
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace bitgraph::cli
