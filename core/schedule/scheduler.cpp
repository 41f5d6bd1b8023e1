// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/scheduler.h"

#include <fmt/format.h>
#include <cassert>

namespace inferoscope::core {
namespace {

constexpr std::size_t kMaxFinished = 256;

// Why a request can never be served: the whole of it must fit, even if it is preempted just before its end.
std::string misfit(std::int64_t num_prompt, std::int64_t num_new, const SchedulerConfig& config) {
  if (num_prompt == 0) return "empty prompt";
  if (num_new < 1) return fmt::format("{} new tokens asked for; ask for at least 1", num_new);
  const std::int64_t num_tokens = num_prompt + num_new;
  const std::string sum = fmt::format("prompt {} + new {} = {} tokens", num_prompt, num_new, num_tokens);
  if (num_tokens > config.max_len) {
    return fmt::format("{}, but a sequence can have at most {}; shorten the prompt or ask for fewer", sum,
                       config.max_len);
  }
  const std::int64_t num_blocks = (num_tokens + config.block_size - 1) / config.block_size;
  if (num_blocks > config.num_blocks) {
    return fmt::format("{} need {} KV blocks, but there are {} of {} tokens; ask for fewer or raise kv-budget", sum,
                       num_blocks, config.num_blocks, config.block_size);
  }
  return {};
}

}  // namespace

Scheduler::Scheduler(const SchedulerConfig& config) : m_config(config), m_pool(config.num_blocks, config.prefix_cache) {
  assert(config.max_sequences > 0 && config.step_tokens > 0 && config.prefill_chunk >= 0 && config.block_size > 0);
}

std::string Scheduler::refusal(const Request& request) const {
  return misfit(std::ssize(request.prompt), request.max_new_tokens, m_config);
}

SeqId Scheduler::submit(Request request, std::int64_t arrival_ns) {
  assert(refusal(request).empty());
  auto seq = std::make_unique<Sequence>();
  seq->id = m_next_id;
  seq->tokens = request.prompt;
  seq->num_prompt_tokens = seq->numTokens();
  seq->request = std::move(request);
  seq->arrival_ns = arrival_ns;
  m_waiting.push_back(seq.get());
  m_sequences.emplace(m_next_id, std::move(seq));
  ++m_next_id.value;
  return m_waiting.back()->id;
}

std::vector<SeqId> Scheduler::commit(const Batch& batch, std::span<const SampledToken> sampled, std::int64_t now_ns) {
  assert(sampled.size() == batch.entries.size());
  std::vector<SeqId> ended;
  for (std::size_t i = 0; i < batch.entries.size(); ++i) {
    Sequence* found = findRunning(batch.entries[i].seq);
    if (!found) continue;  // cancelled meanwhile
    Sequence& seq = *found;
    seq.num_computed += batch.entries[i].num_tokens;
    publishKeys(seq);
    if (sampled[i].token >= 0) {
      seq.tokens.push_back(sampled[i].token);
      if (!seq.first_token_ns) seq.first_token_ns = now_ns;
      seq.last_token_ns = now_ns;
    }
    const bool is_full = seq.numOutputTokens() >= seq.request.max_new_tokens;
    if (sampled[i].finish == FinishReason::kNone && !is_full) continue;
    ended.push_back(seq.id);
    finish(seq.id, sampled[i].finish == FinishReason::kNone ? FinishReason::kLength : sampled[i].finish,
           sampled[i].error);
  }
  return ended;
}

void Scheduler::abandon(const Batch& batch) {
  for (const BatchEntry& entry : batch.entries) {
    if (Sequence* seq = findRunning(entry.seq)) shrink(*seq);
  }
}

void Scheduler::finish(SeqId id, FinishReason reason, std::string error) {
  const auto found = m_sequences.find(id);
  if (found == m_sequences.end() || found->second->state == SeqState::kFinished) return;
  Sequence& seq = *found->second;
  releaseBlocks(seq);
  std::erase(m_running, &seq);
  std::erase(m_waiting, &seq);
  seq.state = SeqState::kFinished;
  seq.finish = reason;
  seq.error = std::move(error);
  seq.wait_reason = WaitReason::kNone;
  m_finished.push_front(&seq);
  if (m_finished.size() <= kMaxFinished) return;
  m_sequences.erase(m_finished.back()->id);
  m_finished.pop_back();
}

void Scheduler::finishAll(FinishReason reason, const std::string& error) {
  while (!m_running.empty()) finish(m_running.back()->id, reason, error);
  while (!m_waiting.empty()) finish(m_waiting.front()->id, reason, error);
}

std::string Scheduler::reconfigure(const SchedulerConfig& config, bool reset_cache) {
  for (const auto& line : {running(), waiting()}) {
    for (const Sequence* seq : line) {
      const std::string why = misfit(seq->num_prompt_tokens, seq->request.max_new_tokens, config);
      if (!why.empty()) return fmt::format("request {} ({}) would not fit: {}", seq->id.value, seq->request.label, why);
    }
  }
  const bool is_new_pool = config.block_size != m_config.block_size || config.num_blocks != m_config.num_blocks;
  const int num_kept = is_new_pool || reset_cache ? 0 : config.max_sequences;
  while (std::ssize(m_running) > num_kept) preemptLast();
  if (is_new_pool) {
    m_pool = BlockPool(config.num_blocks, config.prefix_cache);
  } else if (reset_cache) {
    m_pool.resetPrefixCache();
  }
  m_pool.setPrefixCache(config.prefix_cache);
  m_config = config;
  for (Sequence* seq : m_running) {
    if (!config.prefix_cache) seq->block_keys.clear();
    publishKeys(*seq);  // turned on, what is computed already can be hit
  }
  return {};
}

const Sequence* Scheduler::find(SeqId seq) const {
  const auto found = m_sequences.find(seq);
  return found == m_sequences.end() ? nullptr : found->second.get();
}

Sequence* Scheduler::findRunning(SeqId seq) {
  const auto found = m_sequences.find(seq);
  return found != m_sequences.end() && found->second->state == SeqState::kRunning ? found->second.get() : nullptr;
}

std::vector<const Sequence*> Scheduler::running() const {
  return {m_running.begin(), m_running.end()};
}

std::vector<const Sequence*> Scheduler::waiting() const {
  return {m_waiting.begin(), m_waiting.end()};
}

std::vector<const Sequence*> Scheduler::finished() const {
  return {m_finished.begin(), m_finished.end()};
}

}  // namespace inferoscope::core
