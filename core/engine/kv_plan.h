// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/model_config.h"
#include "core/options.h"
#include "core/schedule/scheduler.h"

#include <cstdint>
#include <string>

namespace inferoscope::core {

// How the KV budget is cut into blocks. Contiguous layout is one block of max_len slots a sequence.
struct KvPlan {
  std::string format;
  int block_size = 0;
  int num_blocks = 0;
  int max_len = 0;  // most tokens of a sequence: the model's context length or what the budget holds
  std::int64_t bytes = 0;
  std::int64_t budget_tokens = 0;  // what the budget holds, whole blocks or not

  friend bool operator==(const KvPlan&, const KvPlan&) = default;
};

// Throws Error if the budget holds no block, or the format does not fit the model's heads.
KvPlan planKv(const ModelConfig& config, const EngineOptions& options);

SchedulerConfig schedulerConfig(const EngineOptions& options, const KvPlan& plan);

}  // namespace inferoscope::core
