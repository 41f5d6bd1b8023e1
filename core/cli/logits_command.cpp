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
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace inferoscope::cli {
namespace {

struct Options {
  std::string model;
  std::string ids;
  int top = 10;
  core::EngineOptions engine;
  bool json = false;
};

// Of the last of the ids; those of tokens alone, since the rows beyond them are never sampled.
std::vector<float> lastLogits(const Options& options, const std::stop_token& stop) {
  core::Request request;
  request.prompt = parseList("--ids", options.ids, 0);
  request.max_new_tokens = 1;

  const std::shared_ptr<core::Backend> backend = core::makeBackend(options.engine.device, options.engine.threads);
  const auto model = core::loadModelAs(options.model, options.engine.weights, *backend, {}, stop);
  core::Engine engine(model, backend, options.engine);
  engine.keepLogits(true);
  const core::Submitted submitted = engine.submit(request);
  if (!submitted.seq.valid()) throw core::Error("--ids: " + submitted.refusal);
  while (!engine.idle()) {
    if (!engine.step(stop)) throw core::Cancelled();
  }
  const core::RequestInfo info = engine.snapshot().requests.front();
  if (info.finish == core::FinishReason::kError) throw core::Error(fmt::format("{}: {}", options.model, info.error));
  const std::span<const float> row = engine.lastLogits(submitted.seq);
  return {row.begin(), row.begin() + model->config.num_tokens};
}

double logSumExp(const std::vector<float>& logits) {
  const double most = *std::ranges::max_element(logits);
  const auto add = [&](double sum, float logit) { return sum + std::exp(double(logit) - most); };
  return most + std::log(std::accumulate(logits.begin(), logits.end(), 0.0, add));
}

// The ids of the `count` largest, the largest first; the lower id first on a tie.
std::vector<core::TokenId> largest(const std::vector<float>& logits, int count) {
  std::vector<core::TokenId> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto before = [&](core::TokenId a, core::TokenId b) {
    const float x = logits[std::size_t(a)];
    const float y = logits[std::size_t(b)];
    return x != y ? x > y : a < b;
  };
  const auto end = ids.begin() + std::min<std::ptrdiff_t>(count, std::ssize(ids));
  std::partial_sort(ids.begin(), end, ids.end(), before);
  ids.erase(end, ids.end());
  return ids;
}

void run(const Options& options, const std::stop_token& stop) {
  const std::vector<float> logits = lastLogits(options, stop);
  const double normalizer = logSumExp(logits);
  nlohmann::ordered_json top = nlohmann::ordered_json::array();
  std::string lines = fmt::format("{:>8} {:>12} {:>12}\n", "id", "logit", "logprob");
  const std::vector<core::TokenId> ids = largest(logits, options.top);
  for (const core::TokenId id : ids) {
    const double logit = logits[std::size_t(id)];
    top.push_back({{"id", id}, {"logit", logit}, {"logprob", logit - normalizer}});
    lines += fmt::format("{:>8} {:>12.5f} {:>12.5f}\n", id, logit, logit - normalizer);
  }
  if (options.json) {
    printJson({{"top", top}, {"argmax", ids.front()}});
  } else {
    print(lines);
  }
}

}  // namespace

void addLogitsCommand(CLI::App& program, std::stop_token stop) {
  auto options = std::make_shared<Options>();
  CLI::App& command =
      *program.add_subcommand("logits", "What a model makes of token ids: the logits of the next token");
  addModel(command, options->model);
  command.add_option("--ids", options->ids, "Token ids, as 1,2,3")->required();
  addCount(command, "--top", options->top, 1, "How many of the largest");
  addKnobs(command, options->engine);
  addJson(command, options->json);
  command.callback([options, stop = std::move(stop)] { run(*options, stop); });
}

}  // namespace inferoscope::cli
