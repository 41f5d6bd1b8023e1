// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cli/arguments.h"
#include "core/cli/ceilings.h"
#include "core/cli/commands.h"
#include "core/cli/load_lane.h"
#include "core/cli/output.h"
#include "core/engine/compare.h"
#include "core/engine/knobs.h"
#include "core/engine/preset.h"
#include "core/engine/scenario_run.h"
#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace inferoscope::cli {
namespace {

constexpr const char* kDefaultModel = "default";

struct Options {
  std::string scenario;
  std::string preset;
  std::string open;
  std::string model;
  std::string a;
  std::string b;
  std::string text;
  std::vector<std::string> outputs;
  core::CompareSetup setup;
  int num_requests = 0;  // 0: the preset's
  bool no_probe = false;
  GivenKnobs knobs;  // of both lanes, on top of the scenario's
  bool json = false;
};

std::string orDash(const std::optional<double>& value) {
  return value ? fmt::format("{:.4g}", *value) : "-";
}

std::string rowText(const core::Difference& difference) {
  const std::string interval =
      difference.ci95 ? fmt::format("{:.3g}..{:.3g}", difference.ci95->low, difference.ci95->high) : "-";
  return fmt::format("{:<30} {:<7} {:>10} {:>10} {:>8} {:>15} {:>4}  {}\n", difference.label, difference.unit,
                     orDash(difference.a), orDash(difference.b), orDash(difference.ratio), interval,
                     difference.num_pairs, difference.verdict);
}

std::string qualityText(const core::Quality& quality) {
  std::string text = fmt::format("answers: {} of {} equal", quality.num_equal_answers, quality.num_answers);
  if (quality.first_divergent_token) text += fmt::format(", first other token at {}", *quality.first_divergent_token);
  if (quality.kl_mean) {
    text += fmt::format("\nlogits of {} contexts: KL mean {:.4g}, p99 {:.4g} nats; same likeliest token {:.2f}%",
                        quality.num_rows, *quality.kl_mean, quality.kl_p99.value_or(0),
                        100 * quality.top1_agreement.value_or(0));
  }
  if (const auto& read = quality.text) {
    text += fmt::format(
        "\n{}, {} tokens: perplexity A {:.4f}, B {:.4f}; KL mean {:.4g}, p99 {:.4g} nats; same likeliest token {:.2f}%",
        read->name, read->num_tokens, read->perplexity_a, read->perplexity_b, read->kl_mean, read->kl_p99,
        100 * read->top1_agreement);
  }
  return text + "\n";
}

std::string comparisonText(const core::Comparison& comparison) {
  std::string text = fmt::format("{}, {}: A against B: {}\n", comparison.title, comparison.model,
                                 core::whatDiffers(comparison.a.run.options, comparison.b.run.options));
  for (const std::string& notice : comparison.notices) text += fmt::format("note: {}\n", notice);
  text +=
      fmt::format("\n{:<30} {:<7} {:>10} {:>10} {:>8} {:>15} {:>4}\n", "", "", "A", "B", "B / A", "95% interval", "n");
  for (const core::Difference& difference : comparison.differences) text += rowText(difference);
  text += "\n" + qualityText(comparison.quality) + core::repeatsWords(comparison) + "\n";
  if (comparison.limits.measured()) text += fmt::format("ceilings, {}\n", ceilingsText(comparison.limits));
  return text;
}

// The preset, or one that only says what the flags say.
core::Preset presetOf(const Options& options) {
  core::Preset preset = options.preset.empty() ? core::Preset{} : core::findPreset(options.preset);
  if (!options.scenario.empty()) preset.scenario = options.scenario;
  if (!options.model.empty()) preset.model = options.model;
  if (options.num_requests > 0) preset.num_requests = options.num_requests;
  return preset;
}

core::Comparison measure(Options& options, const std::stop_token& stop) {
  const core::Preset preset = presetOf(options);
  core::CompareSetup& setup = options.setup;
  setup.scenario = core::withEnd(core::findScenario(preset.scenario), preset.num_requests);
  setup.probe = !options.no_probe;
  if (!options.text.empty()) {
    setup.text = readFile("--text", options.text);
    setup.text_name = options.text;
  }
  const core::EngineOptions common = withFlags(core::optionsOf(setup.scenario, {}), options.knobs);
  const core::EngineOptions options_a = withKnobs(core::withKnobs(common, preset.a), "--a", options.a);
  const core::EngineOptions options_b = withKnobs(core::withKnobs(common, preset.b), "--b", options.b);

  std::string source = preset.model.empty() ? setup.scenario.model : preset.model;
  if (source.empty()) source = kDefaultModel;
  const core::LaneSource a = loadLane(source, options_a, stop);
  const core::LaneSource b = loadLane(source, options_b, stop, &a);
  const auto show = [&](std::string_view what, double) {
    if (!options.json) print(fmt::format("[{}]\n", what));
  };
  core::Comparison comparison = core::compare(a, b, setup, show, stop);
  for (auto& notices : {core::presetNotices(preset, a.model, setup.scenario, comparison.limits),
                        core::loadNotices(*a.model, *b.model)}) {
    comparison.notices.insert(comparison.notices.end(), notices.begin(), notices.end());
  }
  return comparison;
}

void run(Options options, const std::stop_token& stop) {
  if ((options.scenario.empty() && options.preset.empty()) == options.open.empty()) {
    throw core::Error("compare: name a SCENARIO or a --preset to run, or --open FILE");
  }
  const core::Comparison comparison =
      options.open.empty() ? measure(options, stop) : core::openComparison(options.open);
  if (options.json) {
    printJson(core::comparisonJson(comparison));
  } else {
    print(comparisonText(comparison));
  }
  // Last: minutes of measuring are not lost where a file can't be written.
  for (const std::string& file : options.outputs) core::saveComparison(comparison, file);
}

}  // namespace

void addCompareCommand(CLI::App& program, std::stop_token stop) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *program.add_subcommand("compare", "Two settings on the same work: what the difference is worth");
  command.add_option("SCENARIO", options->scenario, "A file, or the id of one that comes with the program");
  command.add_option("--preset", options->preset, "Two settings with the work that shows the difference");
  command.add_option("--open", options->open, "Show a comparison that --out wrote, without the model");
  command.add_option("--a", options->a, "Knobs of lane A on top of the scenario's: block-size=8,kv-layout=paged");
  command.add_option("--b", options->b, "Knobs of lane B");
  command.add_option("--model", options->model, "A GGUF file, \"default\", or \"synthetic:NAME[:FORMAT]\"");
  core::CompareSetup& setup = options->setup;
  addCount(command, "--repeats", setup.repeats, 1, "Measured runs of both lanes; one more warms up and is dropped");
  addCount(command, "--requests", options->num_requests, 1, "Requests of a scenario without end; 16")->default_str("");
  addCount(command, "--quality-tokens", setup.quality_tokens, 0, "Tokens whose logits are compared; 0: none");
  command.add_option("--text", options->text, "A text whose perplexity is measured with both settings");
  command.add_flag("--no-probe", options->no_probe, "Don't probe the machine around every repeat");
  command.add_option("--out", options->outputs, "Write it to FILE.json, FILE.csv or FILE.html; may be given again")
      ->allow_extra_args(false);
  addKnobs(command, options->knobs);
  addJson(command, options->json);
  command.callback([options, stop = std::move(stop)] { run(*options, stop); });
}

}  // namespace inferoscope::cli
