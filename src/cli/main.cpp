// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>
#include <bitgraph/core/version.hpp>

#include "cli/command.hpp"
#include "cli/help.hpp"
#include "core/devices/isa.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>

namespace {

int report(int code, const char* message) {
  fmt::print(stderr, "bitgraph: {}\n", message);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace bitgraph;
  CLI::App app("Graphs whose edges are one bit: formats, analytics and binary graph neural networks.");
  std::signal(SIGXFSZ, SIG_IGN);  // a write past the limit of a file's size is an error like others
  app.formatter(std::make_shared<cli::HelpFormatter>());
  app.name("bitgraph");
  app.require_subcommand(1);
  app.set_version_flag("--version", fmt::format("bitgraph {}", version()));
  app.footer(
      "\nHelp on a command: bitgraph help COMMAND, or bitgraph COMMAND --help\n"
      "Exit codes: 0 success, 2 wrong usage, 3 bad input file, 4 not possible here,\n1 anything else.");
  try {
    check_isa_environment();
    cli::add_info(app);
    cli::add_convert(app);
    cli::add_generate(app);
    cli::add_train(app);
    cli::add_infer(app);
    cli::add_tune(app);
    cli::add_quantize(app);
    cli::add_datasets(app);
    cli::add_doctor(app);
    cli::add_bfs(app);
    cli::add_sssp(app);
    cli::add_pagerank(app);
    cli::add_cc(app);
    cli::add_tc(app);
    cli::add_mis(app);
    cli::add_color(app);
    cli::add_partition(app);
    cli::add_diameter(app);
    cli::add_betweenness(app);
    cli::add_closeness(app);
    cli::add_msbfs(app);
    cli::add_bench(app);
    app.parse(cli::arguments_of(argc, argv));
  } catch (const CLI::Success& success) {
    if (cli::names_no_command(app))
      return report(static_cast<int>(ErrorCode::usage), cli::say_what_is_unknown(app, success).c_str());
    return app.exit(success);
  } catch (const CLI::RequiredError& error) {
    return report(static_cast<int>(ErrorCode::usage), cli::say_what_is_unknown(app, error).c_str());
  } catch (const CLI::ExtrasError& error) {
    return report(static_cast<int>(ErrorCode::usage), cli::say_what_is_unknown(app, error).c_str());
  } catch (const CLI::ParseError& error) {
    return report(static_cast<int>(ErrorCode::usage), error.what());
  } catch (const Error& error) {
    return report(static_cast<int>(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return report(static_cast<int>(ErrorCode::not_possible), "not enough memory");
  } catch (const std::length_error&) {  // more elements than any memory has
    return report(static_cast<int>(ErrorCode::not_possible), "not enough memory");
  } catch (const std::exception& error) {
    return report(1, error.what());
  }
  return std::fflush(stdout) == 0 ? 0 : report(1, "cannot write the result");
}
