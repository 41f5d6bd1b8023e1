// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/backend/module_backend.h"
#include "core/cli/arguments.h"
#include "core/cli/commands.h"
#include "core/cli/output.h"
#include "core/engine/engine.h"
#include "core/error.h"
#include "core/model/weight_variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace inferoscope::cli {
namespace {

constexpr int kDefaultTokens = 128;

struct Options {
  std::string model;
  std::string prompt;
  bool chat = false;
  int max_tokens = 0;  // 0: kDefaultTokens, or what the context leaves
  std::vector<std::string> stops;
  core::SamplingParams sampling;
  core::EngineOptions engine;
  bool json = false;
};

struct Answer {
  std::vector<core::TokenId> ids;
  std::string text;
};

core::Request makeRequest(const core::Model& model, const Options& options) {
  const std::array<core::ChatMessage, 1> messages = {{{"user", options.prompt}}};
  core::Request request;
  request.label = "generate";
  request.prompt = model.tokenizer->encode(options.chat ? model.chat.render(messages) : options.prompt);
  request.sampling = options.sampling;
  request.stop = options.stops;
  const int room = model.config.context_length - static_cast<int>(request.prompt.size());
  request.max_new_tokens = options.max_tokens > 0 ? options.max_tokens : std::clamp(room, 1, kDefaultTokens);
  return request;
}

// Steps until the answer is there or a stop is requested; shows its text while it comes.
Answer generate(core::Engine& engine, bool show, const std::stop_token& stop) {
  Answer answer;
  while (!engine.idle() && !stop.stop_requested()) {
    const auto record = engine.step(stop);
    if (record && record->entries.front().sampled >= 0) answer.ids.push_back(record->entries.front().sampled);
    for (const core::TextDelta& delta : engine.takeText()) {
      answer.text += delta.text;
      if (show) print(delta.text);
    }
  }
  return answer;
}

nlohmann::ordered_json orNull(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

std::string orDash(const std::optional<double>& value) {
  return value ? fmt::format("{:.1f} ms", *value) : "-";
}

void run(const Options& options, const std::stop_token& stop) {
  const std::shared_ptr<core::Backend> backend = core::makeBackend(options.engine.device, options.engine.threads);
  const auto model = core::loadModelAs(options.model, options.engine.weights, *backend, {}, stop);
  core::Engine engine(model, backend, options.engine);
  const core::Submitted submitted = engine.submit(makeRequest(*model, options));
  if (!submitted.seq.valid()) throw core::Error("--prompt: " + submitted.refusal);

  const Answer answer = generate(engine, !options.json, stop);
  engine.cancel(submitted.seq);
  const core::RequestInfo info = engine.snapshot().requests.front();
  if (info.finish == core::FinishReason::kError) throw core::Error(fmt::format("{}: {}", options.model, info.error));
  const std::string_view reason = core::finishReasonName(info.finish);
  if (options.json) {
    printJson({{"ids", answer.ids},
               {"text", answer.text},
               {"finish_reason", reason},
               {"prompt_tokens", info.num_prompt_tokens},
               {"ttft_ms", orNull(info.ttft_ms)},
               {"tpot_ms", orNull(info.tpot_ms)},
               {"notices", model->notices}});
  } else {
    print(fmt::format("\n\n[{} prompt tokens, {} tokens, TTFT {}, TPOT {}, {}]\n", info.num_prompt_tokens,
                      info.num_output_tokens, orDash(info.ttft_ms), orDash(info.tpot_ms), reason));
    for (const std::string& notice : model->notices) print(fmt::format("[notice: {}]\n", notice));
  }
  if (info.finish == core::FinishReason::kCancelled) throw core::Cancelled();
}

}  // namespace

void addGenerateCommand(CLI::App& program, std::stop_token stop) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *program.add_subcommand("generate", "Answer a prompt");
  addModel(command, options->model);
  command.add_option("--prompt", options->prompt, "The text to go on from")->required();
  command.add_flag("--chat", options->chat, "Put the prompt into the model's chat template");
  addCount(command, "--max-tokens", options->max_tokens, 1, "Most tokens of the answer; 128 if the context has room")
      ->default_str("");
  command.add_option("--stop", options->stops, "Text that ends the answer; may be given again")
      ->allow_extra_args(false);
  addSampling(command, options->sampling);
  addKnobs(command, options->engine);
  addJson(command, options->json);
  command.callback([options, stop = std::move(stop)] { run(*options, stop); });
}

}  // namespace inferoscope::cli
