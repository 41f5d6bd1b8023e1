// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cli/arguments.h"
#include "core/cli/commands.h"
#include "core/cli/output.h"
#include "core/error.h"
#include "core/model/convert.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace inferoscope::cli {
namespace {

struct Options {
  std::string model;
  std::string out;
  std::string format;
  bool json = false;
};

std::vector<std::string_view> formatNames() {
  std::vector<std::string_view> names;
  for (const kernels::Format& format : kernels::formats()) names.push_back(format.name);
  return names;
}

const kernels::Format& formatNamed(const std::string& name) {
  const kernels::Format* format = kernels::findFormat(name);
  if (!format) {
    throw core::Error(
        fmt::format("--format: there is no format \"{}\"; there are {}", name, fmt::join(formatNames(), ", ")));
  }
  return *format;
}

// A line on the terminal that keeps changing; nothing where nobody looks.
core::LoadProgress progressOnTerminal() {
  if (::isatty(STDERR_FILENO) == 0) return {};
  return [](std::string_view stage, double fraction) {
    fmt::print(stderr, "\r{} {:3.0f}% {}", stage, fraction * 100, fraction < 1 ? "" : "\n");
  };
}

void run(const Options& options, const std::stop_token& stop) {
  const kernels::Format& format = formatNamed(options.format);
  const core::Conversion done = core::convertModel(options.model, options.out, format, progressOnTerminal(), stop);
  if (options.json) {
    printJson({{"model", options.model},
               {"file", options.out},
               {"format", options.format},
               {"file_bytes", done.file_bytes},
               {"formats", done.format_bytes},
               {"notices", done.notices}});
    return;
  }
  print(fmt::format("{}: {:.1f} MB\n", options.out, double(done.file_bytes) / 1e6));
  for (const auto& [name, bytes] : done.format_bytes)
    print(fmt::format("  {:<6} {:.1f} MB\n", name, double(bytes) / 1e6));
  for (const std::string& notice : done.notices) print(fmt::format("  notice: {}\n", notice));
}

}  // namespace

void addConvertCommand(CLI::App& program, std::stop_token stop) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *program.add_subcommand("convert", "Write a model as a GGUF file, in another format");
  addModel(command, options->model);
  command.add_option("OUT", options->out, "The GGUF file to write")->required();
  command.add_option("--format", options->format, fmt::format("{}", fmt::join(formatNames(), "|")))->required();
  addJson(command, options->json);
  command.callback([options, stop = std::move(stop)] { run(*options, stop); });
}

}  // namespace inferoscope::cli
