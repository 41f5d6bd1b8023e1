// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/backend/module_backend.h"
#include "core/cli/arguments.h"
#include "core/cli/ceilings.h"
#include "core/cli/commands.h"
#include "core/cli/output.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace inferoscope::cli {
namespace {

struct Options {
  core::EngineOptions engine;
  bool json = false;
};

struct Listed {
  std::string id;
  std::string name;
  core::MachineLimits limits;
};

Listed probed(std::string id, std::string name, int num_threads, const std::stop_token& stop) {
  const std::unique_ptr<core::Backend> backend = core::makeBackend(id, num_threads);
  return {std::move(id), std::move(name), backend->probe(stop)};
}

void run(const Options& options, const std::stop_token& stop) {
  std::vector<Listed> usable = {probed("cpu", "", options.engine.threads, stop)};
  const core::GpuListing gpus = core::listGpus();
  for (const auto& gpu : gpus.gpus) usable.push_back(probed(gpu.id, gpu.name, options.engine.threads, stop));
  if (options.json) {
    nlohmann::ordered_json devices = nlohmann::ordered_json::array();
    for (const Listed& device : usable) {
      devices.push_back({{"id", device.id},
                         {"available", true},
                         {"ceilings", ceilingsJson(device.limits)},
                         {"measured_at_unix_s", device.limits.measured_at_unix_s}});
      if (!device.name.empty()) devices.back()["name"] = device.name;
    }
    if (!gpus.why_none.empty()) devices.push_back({{"id", "cuda"}, {"available", false}, {"reason", gpus.why_none}});
    printJson({{"devices", devices}});
  } else {
    for (const Listed& device : usable) {
      print(fmt::format("{:<6} {}{}{} (measured just now)\n", device.id, device.name, device.name.empty() ? "" : ": ",
                        ceilingsText(device.limits)));
    }
    if (!gpus.why_none.empty()) print(fmt::format("cuda   not available: {}\n", gpus.why_none));
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
