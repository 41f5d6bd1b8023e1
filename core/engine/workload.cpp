// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/workload.h"

#include "core/engine/random.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

namespace inferoscope::core {
namespace {

constexpr double kNsPerSecond = 1e9;

// What a stream of random numbers is for: request i draws each of its properties from a stream of its own.
enum Stream : std::uint64_t { kGap = 1, kPromptLength, kPromptIds, kOutputLength, kOrder, kSampling };

std::int64_t toNs(double seconds) {
  return static_cast<std::int64_t>(std::llround(seconds * kNsPerSecond));
}

double gapSeconds(const Arrivals& arrivals, Random random) {
  const double mean = 1.0 / arrivals.requests_per_s;
  switch (arrivals.kind) {
    case ArrivalKind::kPoisson:
      return mean * -std::log(random.uniform());
    case ArrivalKind::kGamma:
      return mean * random.gamma(arrivals.burstiness) / arrivals.burstiness;
    case ArrivalKind::kConstant:
    case ArrivalKind::kClosedLoop:
    case ArrivalKind::kTrace:
      break;
  }
  return mean;
}

int drawLength(const Lengths& lengths, Random random) {
  const int max = std::max(lengths.min, lengths.max);
  switch (lengths.kind) {
    case LengthKind::kUniform:
      return lengths.min + static_cast<int>(random.below(static_cast<std::uint64_t>(max - lengths.min) + 1));
    case LengthKind::kLognormal: {
      const double drawn = lengths.mean * std::exp(lengths.sigma * random.normal());
      return static_cast<int>(std::clamp(std::round(drawn), double(lengths.min), double(max)));
    }
    case LengthKind::kEither:
      return random.uniform() < lengths.share ? max : lengths.min;
    case LengthKind::kFixed:
      break;
  }
  return std::max(1, static_cast<int>(std::lround(lengths.mean)));
}

// Ids that a prompt may be made of where there is no text: all but those that end a turn.
std::vector<TokenId> plainIds(const Tokenizer& tokenizer) {
  std::vector<TokenId> ids;
  for (TokenId id = 0; id < tokenizer.numTokens(); ++id) {
    if (!tokenizer.isEndOfTurn(id)) ids.push_back(id);
  }
  return ids;
}

}  // namespace

struct Workload::Impl {
  Scenario scenario;
  std::shared_ptr<const Model> model;
  std::int64_t num_taken = 0;
  // When the next requests are due: in a closed loop one for each user who is ready to ask, else the next one alone.
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> due;
  std::vector<TokenId> ids;   // plainIds; made when first needed
  double next_gap_end_s = 0;  // open loop: the next arrival, seconds after the start
  std::int64_t start_ns = 0;

  bool closedLoop() const { return scenario.arrivals.kind == ArrivalKind::kClosedLoop; }
  bool traced() const { return scenario.arrivals.kind == ArrivalKind::kTrace; }
  bool finished() const {
    if (traced() && num_taken >= std::ssize(scenario.trace)) return true;
    return scenario.arrivals.num_requests > 0 && num_taken >= scenario.arrivals.num_requests;
  }

  // The arrival after the latest one, which was request `index`.
  void pushArrival(std::int64_t index) {
    if (traced()) {
      const auto next = static_cast<std::size_t>(index + 1);
      if (next < scenario.trace.size()) due.push(traceTime(next));
      return;
    }
    next_gap_end_s += gapSeconds(scenario.arrivals, Random(scenario.seed, kGap, std::uint64_t(index)));
    due.push(start_ns + toNs(next_gap_end_s));
  }

  std::int64_t traceTime(std::size_t index) const {
    return start_ns + toNs(scenario.trace[index].arrival_s * scenario.arrivals.time_scale);
  }

  std::string promptText(std::int64_t index) const;
  int promptLength(std::int64_t index) const;
  std::vector<TokenId> promptIds(std::int64_t index);
  std::vector<TokenId> randomIds(std::int64_t index);
  Request makeRequest(std::int64_t index);
};

// All prompts in a shuffled order, then all of them again in another, with a variation added.
std::string Workload::Impl::promptText(std::int64_t index) const {
  const auto count = static_cast<std::int64_t>(scenario.prompts.size());
  const std::int64_t round = index / count;
  std::vector<std::size_t> order(scenario.prompts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random(scenario.seed, kOrder, std::uint64_t(round));
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);

  const std::size_t chosen = order[static_cast<std::size_t>(index % count)];
  std::string text = scenario.prompts[chosen];
  if (round > 0 && !scenario.variations.empty()) {
    text += scenario.variations[(static_cast<std::size_t>(round - 1) + chosen) % scenario.variations.size()];
  }
  return text;
}

std::vector<TokenId> Workload::Impl::promptIds(std::int64_t index) {
  const Tokenizer& tokenizer = *model->tokenizer;
  if (!scenario.prompts.empty()) {
    const std::string text = promptText(index);
    if (!scenario.chat) {
      return tokenizer.encode(scenario.system_prompt.empty() ? text : scenario.system_prompt + "\n\n" + text);
    }
    std::vector<ChatMessage> messages;
    if (!scenario.system_prompt.empty()) messages.push_back({"system", scenario.system_prompt});
    messages.push_back({"user", text});
    return tokenizer.encode(model->chat.render(messages));
  }

  return randomIds(index);
}

// Of the request by itself, without the turns before it.
int Workload::Impl::promptLength(std::int64_t index) const {
  if (traced()) return scenario.trace[static_cast<std::size_t>(index)].prompt_tokens;
  return drawLength(scenario.prompt_tokens, Random(scenario.seed, kPromptLength, std::uint64_t(index)));
}

// A conversation is one stream of ids, and each turn shows more of it. As many conversations go on at once as there
// are users.
std::vector<TokenId> Workload::Impl::randomIds(std::int64_t index) {
  if (ids.empty()) ids = plainIds(*model->tokenizer);
  const std::int64_t num_users = closedLoop() ? scenario.arrivals.concurrency : 1;
  const std::int64_t turn = index / num_users % scenario.turns;
  const std::int64_t first = index - turn * num_users;
  int length = 0;
  for (std::int64_t i = first; i <= index; i += num_users) length += promptLength(i);

  Random random(scenario.seed, kPromptIds, std::uint64_t(first));
  std::vector<TokenId> prompt(static_cast<std::size_t>(length));
  for (TokenId& id : prompt) id = ids[random.below(ids.size())];
  return prompt;
}

Request Workload::Impl::makeRequest(std::int64_t index) {
  Request request;
  request.label = fmt::format("{} {}", scenario.id, index + 1);
  request.prompt = promptIds(index);
  request.max_new_tokens =
      traced() ? scenario.trace[static_cast<std::size_t>(index)].output_tokens
               : drawLength(scenario.output_tokens, Random(scenario.seed, kOutputLength, std::uint64_t(index)));
  request.sampling = scenario.sampling;
  request.sampling.seed = Random(scenario.seed, kSampling, std::uint64_t(index)).bits();
  request.ignore_end_of_turn = scenario.ignore_end_of_turn;
  return request;
}

bool endless(const Scenario& scenario) {
  return scenario.arrivals.num_requests == 0 && scenario.arrivals.kind != ArrivalKind::kTrace;
}

Workload::Workload(Scenario scenario, std::shared_ptr<const Model> model, std::int64_t start_ns)
    : m_impl(std::make_shared<Impl>()) {
  m_impl->scenario = std::move(scenario);
  m_impl->model = std::move(model);
  m_impl->start_ns = start_ns;
  if (m_impl->closedLoop()) {
    for (int user = 0; user < m_impl->scenario.arrivals.concurrency; ++user) m_impl->due.push(start_ns);
  } else if (!m_impl->traced()) {
    m_impl->due.push(start_ns);
  } else if (!m_impl->scenario.trace.empty()) {
    m_impl->due.push(m_impl->traceTime(0));
  }
}

std::optional<Request> Workload::take(std::int64_t lane_ns) {
  Impl& w = *m_impl;
  const std::optional<std::int64_t> next = nextArrival();
  if (!next || *next > lane_ns) return std::nullopt;
  w.due.pop();
  const std::int64_t index = w.num_taken++;
  if (!w.closedLoop()) w.pushArrival(index);
  Request request = w.makeRequest(index);
  request.arrival_ns = next;
  return request;
}

std::optional<std::int64_t> Workload::nextArrival() const {
  if (m_impl->finished() || m_impl->due.empty()) return std::nullopt;
  return m_impl->due.top();
}

void Workload::answered(std::int64_t lane_ns) {
  if (m_impl->closedLoop()) m_impl->due.push(lane_ns + toNs(m_impl->scenario.arrivals.think_time_s));
}

bool Workload::finished() const {
  return m_impl->finished();
}

const Scenario& Workload::scenario() const {
  return m_impl->scenario;
}

}  // namespace inferoscope::core
