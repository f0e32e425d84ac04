// SPDX-License-Identifier: Apache-2.0
// What the programs of this folder share.
#pragma once

#include <bitgraph/core/error.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <exception>

namespace bitgraph::bench {

/// Parses the words and calls run(); errors are one line and an exit code, those of bitgraph.
template <class Run>
int run_program(CLI::App& app, int argc, char** argv, const Run& run) {
  const auto report = [&](int code, const char* message) {
    fmt::print(stderr, "{}: {}\n", app.get_name(), message);
    return code;
  };
  try {
    app.parse(argc, argv);
    run();
    return 0;
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return report(static_cast<int>(ErrorCode::usage), error.what());
  } catch (const Error& error) {
    return report(static_cast<int>(error.code()), error.what());
  } catch (const std::exception& error) {
    return report(1, error.what());
  }
}

}  // namespace bitgraph::bench
