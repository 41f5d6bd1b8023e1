// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/device_sampler.h"

#include <algorithm>
#include <map>

namespace inferoscope::core {

DeviceSampler::DeviceSampler(int vocab_size, int num_ids, Backend& backend)
    : m_vocab_size(vocab_size), m_num_ids(std::min(vocab_size, num_ids)), m_backend(backend) {}

kernels::SampleArgs DeviceSampler::argsOf(float* logits) const {
  return {.logits = logits,
          .params = m_params.data(),
          .changes = m_changes.data(),
          .out = m_ids ? reinterpret_cast<std::int32_t*>(m_ids->data()) : nullptr,
          .num_tokens = static_cast<int>(m_params.size()),
          .num_changes = static_cast<int>(m_changes.size()),
          .vocab_size = m_vocab_size,
          .num_ids = m_num_ids};
}

bool DeviceSampler::canSample(const OpRunner& ops) const {
  return ops.canRun(argsOf(nullptr));
}

// As Sampler::adjust(): biases first, then the penalty, once for an id.
void DeviceSampler::addChanges(int row, const Ask& ask) {
  const SamplingParams& params = *ask.params;
  const auto known = [&](TokenId id) { return id >= 0 && id < m_num_ids; };
  std::map<TokenId, kernels::LogitChange> changes;
  const auto changeOf = [&](TokenId id) -> kernels::LogitChange& {
    return changes.try_emplace(id, kernels::LogitChange{.row = row, .id = id, .bias = 0.0F, .penalty = 1.0F})
        .first->second;
  };
  for (const auto& [id, bias] : params.logit_bias) {
    if (known(id)) changeOf(id).bias += bias;
  }
  if (params.repeat_penalty != 1.0F && params.repeat_penalty > 0.0F && params.repeat_last_n > 0) {
    const std::size_t window = std::min(ask.history.size(), static_cast<std::size_t>(params.repeat_last_n));
    for (const TokenId id : ask.history.last(window)) {
      if (known(id)) changeOf(id).penalty = params.repeat_penalty;
    }
  }
  for (const auto& [id, change] : changes) m_changes.push_back(change);
}

std::vector<Sampler::Result> DeviceSampler::sample(float* logits, std::span<const Ask> asks, OpRunner& ops) {
  if (asks.empty()) return {};
  const std::size_t bytes = asks.size() * sizeof(TokenId);
  if (!m_ids || m_ids->bytes() < bytes) m_ids = m_backend.allocate(bytes, "sampled tokens");
  m_params.clear();
  m_changes.clear();
  for (std::size_t row = 0; row < asks.size(); ++row) {
    const SamplingParams& params = *asks[row].params;
    m_params.push_back({.temperature = params.temperature,
                        .top_k = params.top_k,
                        .top_p = params.top_p,
                        .min_p = params.min_p,
                        .seed = params.seed,
                        .position = asks[row].position});
    addChanges(static_cast<int>(row), asks[row]);
  }
  ops.run("sample", -1, argsOf(logits));

  std::vector<TokenId> ids(asks.size());
  m_backend.download(*m_ids, 0, std::as_writable_bytes(std::span(ids)));
  std::vector<Sampler::Result> results;
  for (std::size_t row = 0; row < ids.size(); ++row) {
    const SamplingParams& params = *asks[row].params;
    const bool changed = !params.logit_bias.empty() || params.repeat_penalty != 1.0F;
    if (ids[row] != kernels::kNoToken) {
      results.push_back({.token = ids[row]});
    } else {
      results.push_back({.error = std::string(changed ? kNothingToSample : kNonFiniteLogits)});
    }
  }
  return results;
}

}  // namespace inferoscope::core
