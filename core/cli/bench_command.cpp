// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/backend/module_backend.h"
#include "core/cli/arguments.h"
#include "core/cli/bench_run.h"
#include "core/cli/ceilings.h"
#include "core/cli/commands.h"
#include "core/cli/output.h"
#include "core/model/weight_variants.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace inferoscope::cli {
namespace {

struct Options {
  std::string model;
  std::string batches = "1";
  BenchCase wanted;
  core::EngineOptions engine;
  bool json = false;
};

nlohmann::ordered_json orNull(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json resultJson(const BenchResult& result) {
  return {{"batch", result.batch},
          {"prefill_tok_s", orNull(result.prefill_tok_s)},
          {"decode_tok_s", orNull(result.decode_tok_s)},
          {"prefill_mfu", orNull(result.prefill_mfu)},
          {"decode_mbu", orNull(result.decode_mbu)},
          {"decode_gb_s", orNull(result.decode_gb_s)},
          {"read_gb_s", result.read_gb_s},
          {"repeats", result.num_kept},
          {"dropped", result.num_dropped},
          {"unsteady", result.unsteady}};
}

std::string orDash(const std::optional<double>& value, std::string_view unit, double factor = 1) {
  return value ? fmt::format("{:.1f}{}", *value * factor, unit) : "-";
}

std::string resultText(const BenchResult& result) {
  std::string text = fmt::format(
      "batch {:<4} prefill {:>8} tok/s, {:>6} of the arithmetic; decode {:>8} tok/s, {} = {} of {:.1f} GB/s",
      result.batch, orDash(result.prefill_tok_s, ""), orDash(result.prefill_mfu, "%", 100),
      orDash(result.decode_tok_s, ""), orDash(result.decode_gb_s, " GB/s"), orDash(result.decode_mbu, "%", 100),
      result.read_gb_s);
  if (result.unsteady)
    return text + fmt::format(" (unsteady: the probes around all {} repeats differ by over 10%)", result.num_dropped);
  if (result.num_dropped > 0)
    text += fmt::format(" ({} of {} repeats dropped: the machine drifted)", result.num_dropped,
                        result.num_kept + result.num_dropped);
  return text;
}

void run(Options options, const std::stop_token& stop) {
  const std::vector<int> batches = parseList("--batch", options.batches, 1);
  const std::shared_ptr<core::Backend> backend = core::makeBackend(options.engine.device, options.engine.threads);
  Bench bench(core::loadModelAs(options.model, options.engine.weights, *backend, {}, stop), backend, options.engine);
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const int batch : batches) {
    options.wanted.batch = batch;
    const BenchResult result = bench.run(options.wanted, stop);
    results.push_back(resultJson(result));
    if (!options.json) print(resultText(result) + "\n");
  }
  if (options.json) {
    printJson(
        {{"results", results}, {"ceilings", ceilingsJson(bench.ceilings())}, {"peak_rss_bytes", bench.peakRssBytes()}});
  } else {
    print(fmt::format("ceilings, {}\npeak memory {:.0f} MB\n", ceilingsText(bench.ceilings()),
                      double(bench.peakRssBytes()) / 1e6));
  }
}

}  // namespace

void addBenchCommand(CLI::App& program, std::stop_token stop) {
  auto options = std::make_shared<Options>();
  CLI::App& command =
      *program.add_subcommand("bench", "How fast prompts and answers are, against the machine's ceilings");
  addModel(command, options->model);
  BenchCase& wanted = options->wanted;
  addCount(command, "--prompt-tokens", wanted.prompt_tokens, 1, "Tokens of each prompt");
  addCount(command, "--new-tokens", wanted.new_tokens, 1, "Tokens of each answer that are measured");
  command.add_option("--batch", options->batches, "Sequences at once, as 1,8,16")->capture_default_str();
  addCount(command, "--depth", wanted.depth, 0, "Tokens already in the cache");
  addCount(command, "--repeats", wanted.repeats, 1, "How often it is measured; the medians are printed");
  addKnobs(command, options->engine);
  addJson(command, options->json);
  command.callback([options, stop = std::move(stop)] { run(*options, stop); });
}

}  // namespace inferoscope::cli
