// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cli/arguments.h"
#include "core/cli/commands.h"
#include "core/cli/load_lane.h"
#include "core/cli/output.h"
#include "core/engine/perplexity.h"
#include "core/error.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace inferoscope::cli {
namespace {

struct Options {
  std::string model;
  std::string file;
  std::string vs;
  int window = core::kTextWindow;
  core::EngineOptions engine;
  bool json = false;
};

// The notices say what the weights were made of: a figure is of those.
nlohmann::ordered_json toJson(const core::Perplexity& result, const core::LaneSource& lane,
                              const std::optional<core::LaneSource>& vs) {
  nlohmann::ordered_json json = {
      {"perplexity", result.perplexity}, {"tokens", result.num_tokens}, {"notices", lane.model->notices}};
  if (result.vs) {
    json["vs"] = {{"perplexity", result.vs->perplexity},
                  {"kl_mean", result.vs->kl_mean},
                  {"kl_p99", result.vs->kl_p99},
                  {"top1_agreement", result.vs->top1_agreement},
                  {"notices", vs->model->notices}};
  }
  return json;
}

std::string noticesText(const core::LaneSource& lane) {
  std::string text;
  for (const std::string& notice : lane.model->notices) text += fmt::format("  notice: {}\n", notice);
  return text;
}

std::string toText(const core::Perplexity& result, const core::LaneSource& lane,
                   const std::optional<core::LaneSource>& vs) {
  std::string text =
      fmt::format("perplexity {:.4f} over {} tokens\n", result.perplexity, result.num_tokens) + noticesText(lane);
  if (result.vs) {
    text +=
        fmt::format("against it: perplexity {:.4f}, KL mean {:.4g}, p99 {:.4g} nats, same likeliest token {:.2f}%\n",
                    result.vs->perplexity, result.vs->kl_mean, result.vs->kl_p99, 100 * result.vs->top1_agreement) +
        noticesText(*vs);
  }
  return text;
}

void run(const Options& options, const std::stop_token& stop) {
  const core::LaneSource lane = loadLane(options.model, options.engine, stop);
  std::optional<core::LaneSource> vs;
  if (!options.vs.empty()) vs = loadLane(options.model, withKnobs(options.engine, "--vs", options.vs), stop, &lane);
  const auto windows = core::windowsOf(readFile("--file", options.file), *lane.model, options.window);
  if (windows.empty()) throw core::Error(fmt::format("--file: {} has too few tokens to be scored", options.file));
  const core::Perplexity result = core::measurePerplexity(lane, vs, windows, {}, stop);
  if (options.json) {
    printJson(toJson(result, lane, vs));
  } else {
    print(toText(result, lane, vs));
  }
}

}  // namespace

void addPerplexityCommand(CLI::App& program, std::stop_token stop) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *program.add_subcommand(
      "perplexity", "How well a model predicts a text, and how far another setting is from it on the same tokens");
  addModel(command, options->model);
  command.add_option("--file", options->file, "The text")->required();
  command.add_option("--vs", options->vs,
                     "Knobs of the other setting, on top of the flags: kv-format=q8_0,weights=q4_0");
  addCount(command, "--window", options->window, 4,
           "Tokens of a window; the second half of each is scored, of a text that fits one all");
  addKnobs(command, options->engine);
  addJson(command, options->json);
  command.callback([options, stop = std::move(stop)] { run(*options, stop); });
}

}  // namespace inferoscope::cli
