// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/memory_estimate.h"

#include "core/backend/huge_memory.h"
#include "core/engine/kv_plan.h"
#include "core/model/weight_variants.h"
#include "core/run/forward.h"

#include <algorithm>

namespace inferoscope::core {

MemoryEstimate estimateMemory(const Model& model, const EngineOptions& options) {
  const KvPlan plan = planKv(model.config, options);
  // A whole prompt may be longer than the step's budget.
  const int step_tokens = options.prefill_chunk > 0 ? options.step_tokens : std::max(options.step_tokens, plan.max_len);
  const int num_sequences = std::min(options.max_sequences, step_tokens);
  return {.weight_bytes = model.weight_bytes + variantBytes(model, options.weights),
          .kv_bytes = plan.bytes,
          .activation_bytes = Workspace::bytesFor(model.config, step_tokens, num_sequences),
          .available_bytes = static_cast<std::int64_t>(availableMemory())};
}

}  // namespace inferoscope::core
