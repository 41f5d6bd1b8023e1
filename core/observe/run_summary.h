// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/byte_classes.h"
#include "core/observe/kv_use.h"
#include "core/observe/request_metrics.h"
#include "core/observe/snapshot.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

namespace inferoscope::core {

// What a request must keep to be called good.
struct ServiceGoal {
  double ttft_ms = 1000;
  double tpot_ms = 40;  // 25 tokens/s, as fast as people read
};

// What a run of a workload came to, all on the lane's clock.
struct RunSummary {
  EngineOptions options;
  ServiceGoal goal;
  std::int64_t num_steps = 0;
  std::int64_t num_finished = 0;  // requests, of any end but an error or a cancel
  std::int64_t num_good = 0;      // of those, the ones that kept the goal
  std::int64_t num_refused = 0;   // could never fit
  std::int64_t num_preemptions = 0;
  std::int64_t num_prefill_tokens = 0;  // computed; what the prefix cache held is not
  std::int64_t num_prompt_tokens = 0;   // of the finished requests
  std::int64_t num_output_tokens = 0;
  std::int64_t duration_ns = 0;  // first arrival to last token
  std::int64_t busy_ns = 0;      // sum of the steps
  int max_concurrent = 0;        // most sequences with KV blocks at once
  double mean_concurrent = 0;    // over the time of the steps
  // How many requests as long as the finished ones the KV blocks hold at once, each at its full length and sharing
  // nothing. None: nothing finished.
  std::optional<double> fitting_sequences;
  Percentiles ttft_ms;                             // over requests
  Percentiles tpot_ms;                             // over requests
  Percentiles itl_ms;                              // over all gaps between two tokens of a request
  std::optional<double> prefix_hit_rate;           // prompt tokens found in the prefix cache; none if it is off
  KvUse kv;                                        // mean over time
  kernels::OpCost cost;                            // sum over the steps
  std::uint64_t peak_scratch_bytes = 0;            // the most that one op asked for
  std::uint64_t peak_attention_scratch_bytes = 0;  // ... that attention asked for: naive, a score for every pair

  std::optional<double> outputTokensPerSecond() const { return perSecond(double(num_output_tokens), duration_ns); }
  std::optional<double> totalTokensPerSecond() const;
  std::optional<double> goodput() const { return perSecond(double(num_good), duration_ns); }  // good requests/s
  // Bytes that had to move, prompts included, by output token. None without output.
  std::optional<double> bytesPerToken(std::uint64_t kernels::OpCost::*byte_class) const;
};

// Adds up a run while it happens: one call a step, in order. Requests that ended before its first step are not of it.
class RunTally {
 public:
  explicit RunTally(const ServiceGoal& goal = {}) : m_goal(goal) {}

  // `after`: the state right after the step.
  void add(const StepRecord& step, const Snapshot& after);
  void addRefused(int num_requests) { m_summary.num_refused += num_requests; }

  RunSummary summary() const;
  const std::vector<double>& gapsMs() const { return m_gaps_ms; }    // of tokens, in order
  const std::vector<double>& ttftsMs() const { return m_ttfts_ms; }  // of requests, as they ended

 private:
  void noteEarlier(const StepRecord& step, const Snapshot& after);
  void addTokens(const StepRecord& step);
  void addEnded(const RequestInfo& request, int block_size);

  ServiceGoal m_goal;
  RunSummary m_summary;
  KvTally m_kv;
  std::map<SeqId, std::int64_t> m_last_token_ns;  // of requests that have one and have not ended
  std::set<SeqId> m_ended;
  std::set<SeqId> m_earlier;
  std::vector<double> m_gaps_ms;
  std::vector<double> m_ttfts_ms;
  std::vector<double> m_tpots_ms;
  double m_concurrent_time = 0;
  std::int64_t m_ended_blocks = 0;  // what the finished requests took at last
  std::optional<std::int64_t> m_first_arrival_ns;
  std::int64_t m_last_token_at_ns = 0;
};

}  // namespace inferoscope::core
