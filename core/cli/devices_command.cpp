// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/backend/backend.h"
#include "core/cli/arguments.h"
#include "core/cli/ceilings.h"
#include "core/cli/commands.h"
#include "core/cli/output.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

namespace inferoscope::cli {
namespace {

constexpr const char* kNoCuda = "this program was built without its CUDA module";

struct Options {
  core::EngineOptions engine;
  bool json = false;
};

void run(const Options& options, const std::stop_token& stop) {
  const std::unique_ptr<core::Backend> cpu = core::makeCpuBackend(options.engine.threads);
  const core::MachineLimits limits = cpu->probe(stop);
  if (options.json) {
    nlohmann::ordered_json devices = nlohmann::ordered_json::array();
    devices.push_back({{"id", "cpu"},
                       {"available", true},
                       {"ceilings", ceilingsJson(limits)},
                       {"measured_at_unix_s", limits.measured_at_unix_s}});
    devices.push_back({{"id", "cuda"}, {"available", false}, {"reason", kNoCuda}});
    printJson({{"devices", devices}});
  } else {
    print(fmt::format("cpu   {} (measured just now)\n", ceilingsText(limits)));
    print(fmt::format("cuda  not available: {}\n", kNoCuda));
  }
}

}  // namespace

void addDevicesCommand(CLI::App& program, std::stop_token stop) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *program.add_subcommand("devices", "What can run here, and its measured ceilings");
  addKnob(command, options->engine, "threads");
  addJson(command, options->json);
  command.callback([options, stop = std::move(stop)] { run(*options, stop); });
}

}  // namespace inferoscope::cli
