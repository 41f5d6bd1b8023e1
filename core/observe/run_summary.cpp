// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/observe/run_summary.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace inferoscope::core {

std::optional<double> RunSummary::totalTokensPerSecond() const {
  return perSecond(static_cast<double>(num_prompt_tokens + num_output_tokens), duration_ns);
}

std::optional<double> RunSummary::bytesPerToken(std::uint64_t kernels::OpCost::*byte_class) const {
  if (num_output_tokens == 0) return std::nullopt;
  return static_cast<double>(cost.*byte_class) / static_cast<double>(num_output_tokens);
}

namespace {

// Some end with the step, and some hold blocks without a share of it.
int numConcurrent(const StepRecord& step, const Snapshot& after) {
  const auto runs = [](const RequestInfo& request) { return request.state == SeqState::kRunning; };
  return static_cast<int>(std::max(std::ssize(step.entries), std::ranges::count_if(after.requests, runs)));
}

}  // namespace

void RunTally::add(const StepRecord& step, const Snapshot& after) {
  if (m_summary.num_steps == 0) noteEarlier(step, after);
  ++m_summary.num_steps;
  m_summary.options = after.options;
  m_summary.num_preemptions += static_cast<std::int64_t>(step.preempted.size());
  m_summary.num_prefill_tokens += step.num_prefill_tokens;
  m_summary.busy_ns += step.duration_ns;
  m_summary.cost += step.cost;
  for (const OpRecord& op : step.ops) {
    m_summary.peak_scratch_bytes = std::max(m_summary.peak_scratch_bytes, op.scratch_bytes);
    if (op.kind != kernels::OpKind::kAttention) continue;
    m_summary.peak_attention_scratch_bytes = std::max(m_summary.peak_attention_scratch_bytes, op.scratch_bytes);
  }
  const int concurrent = numConcurrent(step, after);
  m_summary.max_concurrent = std::max(m_summary.max_concurrent, concurrent);
  m_concurrent_time += static_cast<double>(concurrent) * static_cast<double>(step.duration_ns);
  if (after.totals.prefix_tokens_asked > 0) {
    m_summary.prefix_hit_rate =
        static_cast<double>(after.totals.prefix_tokens_hit) / static_cast<double>(after.totals.prefix_tokens_asked);
  }
  m_kv.add(after, step.duration_ns);
  addTokens(step);
  for (const RequestInfo& request : after.requests) {
    if (m_earlier.contains(request.seq)) continue;
    m_first_arrival_ns = std::min(m_first_arrival_ns.value_or(request.arrival_ns), request.arrival_ns);
    if (request.state == SeqState::kFinished) addEnded(request, after.block_size);
  }
  if (m_ended_blocks > 0) {
    m_summary.fitting_sequences =
        std::floor(static_cast<double>(after.blocks.size()) * static_cast<double>(m_summary.num_finished) /
                   static_cast<double>(m_ended_blocks));
  }
}

void RunTally::noteEarlier(const StepRecord& step, const Snapshot& after) {
  for (const RequestInfo& request : after.requests) {
    const bool of_this = std::ranges::find(step.entries, request.seq, &StepEntry::seq) != step.entries.end();
    if (request.state == SeqState::kFinished && !of_this) m_earlier.insert(request.seq);
  }
}

void RunTally::addTokens(const StepRecord& step) {
  const std::int64_t now = step.start_ns + step.duration_ns;
  for (const StepEntry& entry : step.entries) {
    if (entry.sampled < 0) continue;
    ++m_summary.num_output_tokens;
    m_last_token_at_ns = now;
    const auto [last, is_first] = m_last_token_ns.try_emplace(entry.seq, now);
    if (is_first) continue;
    m_gaps_ms.push_back(static_cast<double>(now - last->second) * 1e-6);
    last->second = now;
  }
}

// A request stays among the finished ones for many steps, and counts once.
void RunTally::addEnded(const RequestInfo& request, int block_size) {
  if (!m_ended.insert(request.seq).second) return;
  m_last_token_ns.erase(request.seq);
  if (request.finish == FinishReason::kError || request.finish == FinishReason::kCancelled) return;
  ++m_summary.num_finished;
  m_summary.num_prompt_tokens += request.num_prompt_tokens;
  m_ended_blocks += (request.num_computed_tokens + block_size - 1) / std::max(1, block_size);
  if (request.ttft_ms) m_ttfts_ms.push_back(*request.ttft_ms);
  if (request.tpot_ms) m_tpots_ms.push_back(*request.tpot_ms);
  if (request.ttft_ms.value_or(0) <= m_goal.ttft_ms && request.tpot_ms.value_or(0) <= m_goal.tpot_ms) {
    ++m_summary.num_good;
  }
}

RunSummary RunTally::summary() const {
  RunSummary summary = m_summary;
  summary.goal = m_goal;
  summary.duration_ns = std::max<std::int64_t>(0, m_last_token_at_ns - m_first_arrival_ns.value_or(0));
  summary.mean_concurrent = m_summary.busy_ns > 0 ? m_concurrent_time / static_cast<double>(m_summary.busy_ns) : 0;
  summary.ttft_ms = percentiles(m_ttfts_ms);
  summary.tpot_ms = percentiles(m_tpots_ms);
  summary.itl_ms = percentiles(m_gaps_ms);
  summary.kv = m_kv.mean();
  return summary;
}

}  // namespace inferoscope::core
