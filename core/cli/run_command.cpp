// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/backend/module_backend.h"
#include "core/cli/arguments.h"
#include "core/cli/commands.h"
#include "core/cli/output.h"
#include "core/engine/kv_plan.h"
#include "core/engine/scenario_run.h"
#include "core/engine/shadow_trace.h"
#include "core/error.h"
#include "core/model/weight_variants.h"
#include "core/observe/step_json.h"

#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace inferoscope::cli {
namespace {

constexpr const char* kDefaultModel = "default";

struct Options {
  std::string scenario;
  std::string model;
  std::string steps_file;
  int num_requests = 16;
  core::ServiceGoal goal;
  bool shadow = false;
  GivenKnobs knobs;  // as given, on top of the scenario's
  bool json = false;
};

// One JSON object a line, for each step.
class StepFile {
 public:
  explicit StepFile(const std::string& path) : m_path(path), m_stream(path, std::ios::binary | std::ios::trunc) {
    check();
  }

  void add(const core::StepRecord& step) {
    m_stream << core::stepJson(step).dump() << '\n';
    check();
  }

  void close() {
    m_stream.close();
    check();
  }

 private:
  void check() const {
    if (!m_stream) throw core::Error(fmt::format("--steps: {} cannot be written", m_path));
  }

  std::string m_path;
  std::ofstream m_stream;
};

std::string percentilesText(std::string_view name, const core::Percentiles& values) {
  if (!values.p50) return fmt::format("{:<24}-\n", name);
  return fmt::format("{:<24}{:.1f} / {:.1f} / {:.1f} ms\n", name, *values.p50, values.p90.value_or(0),
                     values.p99.value_or(0));
}

std::string numberText(std::string_view name, const std::optional<double>& value, std::string_view unit) {
  return value ? fmt::format("{:<24}{:.4g} {}\n", name, *value, unit) : fmt::format("{:<24}-\n", name);
}

std::string summaryText(const core::RunSummary& run) {
  std::string text = fmt::format("{:<24}{} finished, {} refused, {} preemptions, at most {} at once\n", "requests",
                                 run.num_finished, run.num_refused, run.num_preemptions, run.max_concurrent);
  text += percentilesText("TTFT p50 / p90 / p99", run.ttft_ms);
  text += percentilesText("TPOT p50 / p90 / p99", run.tpot_ms);
  text += percentilesText("ITL p50 / p90 / p99", run.itl_ms);
  text += numberText("output", run.outputTokensPerSecond(), "tokens/s");
  text += numberText("prompts and output", run.totalTokensPerSecond(), "tokens/s");
  text += numberText("goodput", run.goodput(),
                     fmt::format("requests/s with TTFT up to {:g} ms and TPOT up to {:g} ms ({} of {})",
                                 run.goal.ttft_ms, run.goal.tpot_ms, run.num_good, run.num_finished));
  text += fmt::format("{:<24}{:.1f}% reserved, {:.1f}% internal of held slots, {:.1f}% external of all\n", "KV waste",
                      100 * run.kv.reservedShare(), 100 * run.kv.internalShare(), 100 * run.kv.externalShare());
  if (run.prefix_hit_rate)
    text += fmt::format("{:<24}{:.1f}% of prompt tokens\n", "prefix cache", 100 * *run.prefix_hit_rate);
  for (const core::ByteClass& bytes : core::byteClasses())
    text += numberText(fmt::format("bytes/token {}", bytes.name), run.bytesPerToken(bytes.field), "");
  return text;
}

std::string shadowText(const std::vector<core::ShadowRun>& runs) {
  std::string text = fmt::format("\n{:<16}{:>8}{:>10}{:>10}{:>10}{:>9}{:>9}{:>13}{:>9}\n", "allocator", "waste",
                                 "reserved", "internal", "external", "at most", "on mean", "preemptions", "refused");
  for (const core::ShadowRun& run : runs) {
    text += fmt::format("{:<16}{:>7.1f}%{:>9.1f}%{:>9.1f}%{:>9.1f}%{:>9}{:>9.1f}{:>13}{:>9}\n", run.policy.name(),
                        100 * run.mean.waste(), 100 * run.mean.reservedShare(), 100 * run.mean.internalShare(),
                        100 * run.mean.externalShare(), run.most_at_once, run.mean_at_once, run.num_preempted,
                        run.num_refused);
  }
  return text;
}

void run(const Options& options, const std::stop_token& stop) {
  const core::Scenario scenario = core::withEnd(core::findScenario(options.scenario), options.num_requests);
  const core::EngineOptions engine = withFlags(core::optionsOf(scenario, {}), options.knobs);
  std::string source = options.model.empty() ? scenario.model : options.model;
  if (source.empty()) source = kDefaultModel;
  std::optional<StepFile> steps;
  if (!options.steps_file.empty()) steps.emplace(options.steps_file);

  const std::shared_ptr<core::Backend> backend = core::makeBackend(engine.device, engine.threads);
  const auto model = core::loadModelAs(source, engine.weights, *backend, {}, stop);
  core::Lane lane(model, backend, engine);
  core::ShadowTrace trace;
  int num_slots = 0;
  const auto keep = [&](const core::StepRecord& step, const core::Snapshot& after) {
    if (steps) steps->add(step);
    if (options.shadow) trace.add(after);
    num_slots = static_cast<int>(after.blocks.size()) * after.block_size;
  };
  const core::RunSummary summary = core::runScenario(lane, scenario, options.goal, keep, stop);
  if (steps) steps->close();
  std::vector<core::ShadowRun> shadows;
  if (options.shadow) {
    const int max_len = core::planKv(model->config, engine).max_len;
    shadows = core::replayAll(trace.requests(), num_slots, max_len, engine.max_sequences);
  }
  if (options.json) {
    nlohmann::ordered_json json = core::runJson(summary);
    if (options.shadow) json["shadow"] = core::shadowJson(shadows);
    printJson(json);
  } else {
    print(summaryText(summary) + (options.shadow ? shadowText(shadows) : ""));
  }
}

}  // namespace

void addRunCommand(CLI::App& program, std::stop_token stop) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *program.add_subcommand("run", "Run a scenario to its end: latency, throughput, KV waste, bytes");
  command.add_option("SCENARIO", options->scenario, "A file, or the id of one that comes with the program")->required();
  command.add_option("--model", options->model, "A GGUF file, \"default\", or \"synthetic:NAME[:FORMAT]\"");
  command.add_option("--steps", options->steps_file, "Write every step as a line of JSON to this file");
  addCount(command, "--requests", options->num_requests, 1, "Requests of a scenario without end");
  command
      .add_option("--goal-ttft", options->goal.ttft_ms, "Most ms to the first token of a request that counts as good")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--goal-tpot", options->goal.tpot_ms, "Most ms a token of a request that counts as good")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_flag("--shadow", options->shadow,
                   "Replay its requests through other KV allocators, and show their waste");
  addKnobs(command, options->knobs);
  addJson(command, options->json);
  command.callback([options, stop = std::move(stop)] { run(*options, stop); });
}

}  // namespace inferoscope::cli
