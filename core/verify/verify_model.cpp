// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/verify/verify_model.h"

#include "core/engine/engine.h"
#include "core/error.h"
#include "core/verify/kernel_cases.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>

namespace inferoscope::core::verify {
namespace {

using Logits = std::vector<float>;  // [num_tokens]: of ids that exist

// A prompt of one token, one that fills no block, and one that takes several tiles.
constexpr std::array<int, 3> kPromptTokens = {1, 13, 97};

std::vector<TokenId> promptOf(int num_tokens, const ModelConfig& config) {
  Random random(static_cast<std::uint64_t>(num_tokens));
  std::vector<TokenId> ids;
  for (int i = 0; i < std::min(num_tokens, config.context_length - 1); ++i)
    ids.push_back(random.below(config.num_tokens));
  return ids;
}

// All prompts in one batch: the logits of the token that follows.
std::vector<Logits> logitsOf(Engine& engine, const std::stop_token& stop) {
  const ModelConfig& config = engine.model().config;
  std::vector<SeqId> seqs;
  engine.keepLogits(true);
  for (const int num_tokens : kPromptTokens) {
    Request request;
    request.prompt = promptOf(num_tokens, config);
    request.max_new_tokens = 1;
    const Submitted submitted = engine.submit(request);
    if (!submitted.seq.valid()) throw Error(submitted.refusal);
    seqs.push_back(submitted.seq);
  }
  while (!engine.idle()) {
    if (!engine.step(stop)) throw Cancelled();
  }
  for (const RequestInfo& info : engine.snapshot().requests) {
    if (info.finish == FinishReason::kError) throw Error(info.error);
  }
  std::vector<Logits> logits;
  for (const SeqId seq : seqs) {
    const std::span<const float> row = engine.lastLogits(seq);
    logits.emplace_back(row.begin(), row.begin() + config.num_tokens);
  }
  return logits;
}

double deviationOf(const Logits& logits) {
  double sum = 0, squares = 0;
  for (const double logit : logits) {
    sum += logit;
    squares += logit * logit;
  }
  const auto count = static_cast<double>(logits.size());
  return std::sqrt(std::max(0.0, squares / count - sum / count * sum / count));
}

double differenceOf(const Logits& a, const Logits& b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return std::sqrt(squares / static_cast<double>(a.size())) / (deviationOf(b) + 1e-30);
}

std::vector<double> logProbabilities(const Logits& logits) {
  const double most = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - most);
  std::vector<double> out;
  for (const float logit : logits) out.push_back(logit - most - std::log(sum));
  return out;
}

double divergenceOf(const Logits& a, const Logits& b) {
  const std::vector<double> p = logProbabilities(a), q = logProbabilities(b);
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += std::exp(p[i]) * (p[i] - q[i]);
  return sum;
}

// Where matrices are blocks of integers, fast kernels round activations to 8 bits, which adds up over the layers.
double toleranceFor(const Model& model) {
  const bool is_plain = std::ranges::all_of(
      model.format_bytes, [](const auto& format) { return kernels::findFormat(format.first)->block_elems == 1; });
  return is_plain ? 0.01 : 0.25;
}

}  // namespace

ModelCheck verifyModel(const std::shared_ptr<const Model>& model, const std::shared_ptr<Backend>& backend,
                       const std::stop_token& stop) {
  EngineOptions fast;
  fast.kv_format = "f32";
  EngineOptions plain = fast;
  plain.linear = "naive";
  plain.attention = "naive";
  Engine fast_engine(model, backend, fast);
  const std::vector<Logits> got = logitsOf(fast_engine, stop);
  Engine plain_engine(model, backend, plain);
  const std::vector<Logits> expected = logitsOf(plain_engine, stop);

  ModelCheck check;
  check.tolerance = toleranceFor(*model);
  check.num_prompts = static_cast<int>(got.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    check.difference = std::max(check.difference, differenceOf(got[i], expected[i]));
    check.mean_kl += divergenceOf(expected[i], got[i]) / check.num_prompts;
    check.num_same_choice += std::ranges::max_element(got[i]) - got[i].begin() ==
                             std::ranges::max_element(expected[i]) - expected[i].begin();
  }
  return check;
}

}  // namespace inferoscope::core::verify
