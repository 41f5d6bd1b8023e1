// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/backend/probe_cache.h"
#include "core/cli/arguments.h"
#include "core/cli/commands.h"
#include "core/cli/output.h"
#include "core/engine/prediction.h"
#include "core/engine/scenario_run.h"
#include "core/error.h"
#include "core/model/weight_variants.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

namespace inferoscope::cli {
namespace {

struct Options {
  std::string scenario;
  std::string model;
  int num_requests = 8;
  GivenKnobs knobs;  // as given, on top of the scenario's
  bool json = false;
};

std::string timesText(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.2f}x", *ratio) : "-";
}

std::string adviceText(const core::Advice& advice) {
  return fmt::format("{:<15} {:<14} {:>7} {:>7} {:>7}{}\n", advice.knob, advice.value,
                     timesText(advice.throughput_ratio), timesText(advice.ttft_ratio), timesText(advice.itl_p99_ratio),
                     advice.guessed ? "  (a guess: not measured)" : "");
}

nlohmann::ordered_json numberJson(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

nlohmann::ordered_json adviceJson(const core::Advice& advice) {
  return {{"knob", advice.knob},
          {"value", advice.value},
          {"throughput_ratio", advice.throughput_ratio},
          {"ttft_ratio", numberJson(advice.ttft_ratio)},
          {"itl_p99_ratio", numberJson(advice.itl_p99_ratio)},
          {"guessed", advice.guessed}};
}

// The scenario is run once as it is, so that the kernels in use are known; all else is predicted.
void run(const Options& options, const std::stop_token& stop) {
  const core::Scenario scenario = core::withEnd(core::findScenario(options.scenario), options.num_requests);
  const core::EngineOptions engine = withFlags(core::optionsOf(scenario, {}), options.knobs);
  if (engine.device != "cpu") {
    throw core::Error(fmt::format("advise: predicts for the CPU alone, not for {}; leave out --device", engine.device));
  }
  const std::shared_ptr<core::Backend> backend = core::makeCpuBackend(engine.threads);
  const std::string source = !options.model.empty()    ? options.model
                             : !scenario.model.empty() ? scenario.model
                                                       : "default";
  const auto model = core::loadModelAs(source, engine.weights, *backend, {}, stop);

  std::map<int, core::MachineLimits> probed;
  const core::LimitsOf limits_of = [&](int num_threads) {
    const auto [found, is_new] = probed.try_emplace(num_threads);
    if (is_new) {
      backend->setThreads(num_threads);
      found->second = core::probeAndKeep(*backend, stop);  // one judged by others of another hour would mislead
    }
    return found->second;
  };
  const core::MachineLimits limits = limits_of(backend->numThreads());
  core::Calibration calibration;
  core::Lane lane(model, backend, engine);
  const core::RunSummary measured = core::runScenario(
      lane, scenario, {}, [&](const core::StepRecord& step, const core::Snapshot&) { calibration.add(step, limits); },
      stop);

  const auto advice = core::whatWouldHelp(model, scenario, engine, limits_of, calibration, stop);
  const core::RunSummary predicted = core::predictRun(model, scenario, engine, limits_of, calibration, stop);
  if (options.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const core::Advice& each : advice) list.push_back(adviceJson(each));
    printJson({{"measured", core::runJson(measured)}, {"predicted", core::runJson(predicted)}, {"advice", list}});
    return;
  }
  print(fmt::format("as it is: measured {:.1f}, predicted {:.1f} output tokens/s\n",
                    measured.outputTokensPerSecond().value_or(0), predicted.outputTokensPerSecond().value_or(0)));
  print(fmt::format("\n{:<15} {:<14} {:>7} {:>7} {:>7}\n", "of computing:", "", "tok/s", "TTFT", "ITL p99"));
  for (const core::Advice& each : advice) print(adviceText(each));
}

}  // namespace

void addAdviseCommand(CLI::App& program, std::stop_token stop) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *program.add_subcommand("advise", "Which switch would help a scenario most, as predicted");
  command.add_option("SCENARIO", options->scenario, "A file, or the id of one that comes with the program")->required();
  command.add_option("--model", options->model, "A GGUF file, \"default\", or \"synthetic:NAME[:FORMAT]\"");
  addCount(command, "--requests", options->num_requests, 1, "Requests of a scenario without end");
  addKnobs(command, options->knobs);
  addJson(command, options->json);
  command.callback([options, stop = std::move(stop)] { run(*options, stop); });
}

}  // namespace inferoscope::cli
