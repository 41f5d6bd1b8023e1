// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/kv_plan.h"

#include "core/error.h"
#include "core/model/model.h"

#include <fmt/format.h>

#include <algorithm>

namespace inferoscope::core {
namespace {

constexpr int kDefaultSequences = 8;
constexpr int kDefaultTokens = 2048;          // of each of them
constexpr std::int64_t kMaxBlocks = 1 << 24;  // their records alone take more than a gibibyte then

std::int64_t roundUp(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

// Tokens that the budget holds.
std::int64_t budgetTokens(const ModelConfig& config, const EngineOptions& options, std::int64_t token_bytes) {
  if (options.kv_budget_mib > 0) return (std::int64_t{options.kv_budget_mib} << 20) / token_bytes;
  const int tokens = std::min(kDefaultTokens, config.context_length);
  return kDefaultSequences * (options.kv_layout == KvLayout::kPaged ? roundUp(tokens, options.block_size) : tokens);
}

std::int64_t longestText(const ModelConfig& config, const EngineOptions& options) {
  return options.max_len > 0 ? std::min(options.max_len, config.context_length) : config.context_length;
}

}  // namespace

KvPlan planKv(const ModelConfig& config, const EngineOptions& options) {
  const std::int64_t token_bytes = kvBytesPerToken(config, options.kv_format);
  const std::int64_t tokens = budgetTokens(config, options, token_bytes);
  const std::int64_t longest_text = longestText(config, options);
  const auto longest = static_cast<int>(std::min(longest_text, tokens));
  const int block_size = options.kv_layout == KvLayout::kPaged ? options.block_size : std::max(1, longest);

  const std::int64_t num_blocks = tokens / block_size;
  if (num_blocks == 0) {
    throw Error(fmt::format("kv-budget: {} MiB hold {} tokens of {} bytes, less than one block of {}; raise it",
                            options.kv_budget_mib, tokens, token_bytes, block_size));
  }
  if (num_blocks > kMaxBlocks) {
    throw Error(
        fmt::format("kv-budget: {} MiB are {} blocks, more than the {} that can be managed; choose a larger block-size",
                    options.kv_budget_mib, num_blocks, kMaxBlocks));
  }
  return {.format = options.kv_format,
          .block_size = block_size,
          .num_blocks = static_cast<int>(num_blocks),
          .max_len = static_cast<int>(std::min(longest_text, num_blocks * block_size)),
          .bytes = num_blocks * block_size * token_bytes,
          .budget_tokens = tokens};
}

SchedulerConfig schedulerConfig(const EngineOptions& options, const KvPlan& plan) {
  return {.batching = options.batching,
          .policy = options.policy,
          .max_sequences = options.max_sequences,
          .step_tokens = options.step_tokens,
          .prefill_chunk = options.prefill_chunk,
          .block_size = plan.block_size,
          .num_blocks = plan.num_blocks,
          .max_len = plan.max_len,
          .prefix_cache = options.prefix_cache};
}

}  // namespace inferoscope::core
