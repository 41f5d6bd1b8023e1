// SPDX-License-Identifier: GPL-3.0-or-later
// inferoscope-cli: the engine without a window, for scripts and measurements.
#include "core/cli/commands.h"
#include "core/cli/stop_on_signal.h"
#include "core/error.h"

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/Config.hpp>
#include <CLI/Error.hpp>
#include <CLI/Formatter.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitInterrupted = 130;

// One line, whatever file names and libraries put into it.
int fail(std::string message, int code) {
  std::ranges::replace(message, '\n', ' ');
  fmt::print(stderr, "inferoscope-cli: {}\n", message);
  return code;
}

int run(int argc, char** argv) {
  const inferoscope::cli::StopOnSignal signals;
  CLI::App program("Runs language models and measures what their inference asks of the machine.", "inferoscope-cli");
  program.set_version_flag("--version", "inferoscope " INFEROSCOPE_VERSION);
  program.require_subcommand(0, 1);  // none is refused later, so that an unknown one is named
  program.get_formatter()->column_width(34);
  inferoscope::cli::addInfoCommand(program);
  inferoscope::cli::addTokenizeCommand(program);
  inferoscope::cli::addGenerateCommand(program, signals.token());
  inferoscope::cli::addLogitsCommand(program, signals.token());
  inferoscope::cli::addVerifyCommand(program, signals.token());
  inferoscope::cli::addConvertCommand(program, signals.token());
  inferoscope::cli::addBenchCommand(program, signals.token());
  inferoscope::cli::addCompareCommand(program, signals.token());
  inferoscope::cli::addAdviseCommand(program, signals.token());
  inferoscope::cli::addRunCommand(program, signals.token());
  inferoscope::cli::addPerplexityCommand(program, signals.token());
  inferoscope::cli::addDevicesCommand(program, signals.token());
  inferoscope::cli::addExplainCommand(program, signals.token());
  try {
    program.parse(argc, argv);
    if (program.get_subcommands().empty()) throw CLI::RequiredError("A command");
    return 0;
  } catch (const CLI::Success& asked) {  // --help, --version
    const int code = program.exit(asked);
    return std::fflush(stdout) == 0 ? code : fail("standard output cannot be written", kExitFailed);
  } catch (const CLI::ParseError& error) {
    return fail(std::string(error.what()) + " (see --help)", kExitUsage);
  } catch (const inferoscope::core::Cancelled&) {
    return fail("stopped", kExitInterrupted);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that went away is an error message, not a silent death
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    return fail(error.what(), kExitFailed);
  }
}
