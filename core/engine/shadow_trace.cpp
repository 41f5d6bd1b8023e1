// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/shadow_trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace inferoscope::core {
namespace {

constexpr std::size_t kMostPoints = 400;  // of a curve

nlohmann::ordered_json curveJson(const std::vector<KvUse>& curve) {
  auto points = nlohmann::ordered_json::array();
  const std::size_t stride = std::max<std::size_t>(1, (curve.size() + kMostPoints - 1) / kMostPoints);
  for (std::size_t step = 0; step < curve.size(); step += stride) {
    const KvUse& use = curve[step];
    points.push_back({step, use.written, use.reserved, use.internal, use.external});
  }
  return points;
}

}  // namespace

void ShadowTrace::add(const Snapshot& after) {
  for (const RequestInfo& request : after.requests) {
    const auto [found, is_new] = m_requests.try_emplace(request.seq);
    if (is_new) found->second = {.arrival_step = m_num_steps, .prompt = request.num_prompt_tokens, .output = 0};
    found->second.output = request.num_output_tokens;
  }
  ++m_num_steps;
}

std::vector<ShadowRequest> ShadowTrace::requests() const {
  std::vector<ShadowRequest> trace;
  for (const auto& [seq, request] : m_requests) {
    if (request.output > 0) trace.push_back(request);
  }
  std::ranges::stable_sort(trace, {}, &ShadowRequest::arrival_step);
  return trace;
}

std::vector<ShadowRun> replayAll(std::span<const ShadowRequest> trace, int num_slots, int max_len, int max_sequences) {
  std::vector<ShadowRun> runs;
  for (const ShadowPolicy& policy : shadowPolicies()) {
    runs.push_back(replayTrace(trace, policy, num_slots, max_len, max_sequences));
  }
  return runs;
}

nlohmann::ordered_json shadowJson(std::span<const ShadowRun> runs) {
  auto list = nlohmann::ordered_json::array();
  for (const ShadowRun& run : runs) {
    list.push_back({{"allocator", run.policy.name()},
                    {"waste", run.mean.waste()},
                    {"reserved", run.mean.reservedShare()},
                    {"internal", run.mean.internalShare()},
                    {"external", run.mean.externalShare()},
                    {"max_concurrent", run.most_at_once},
                    {"mean_concurrent", run.mean_at_once},
                    {"preemptions", run.num_preempted},
                    {"refused", run.num_refused},
                    {"curve", curveJson(run.curve)}});
  }
  return list;
}

}  // namespace inferoscope::core
