// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/model.h"
#include "core/options.h"

#include <cstdint>

namespace inferoscope::core {

// What a model will take of the memory, told before it is loaded.
struct MemoryEstimate {
  std::int64_t weight_bytes = 0;      // as stored, and what another format takes beside them
  std::int64_t kv_bytes = 0;          // the KV budget
  std::int64_t activation_bytes = 0;  // of the largest step
  std::int64_t available_bytes = 0;   // now; 0: unknown

  std::int64_t bytes() const { return weight_bytes + kv_bytes + activation_bytes; }
  bool fits() const { return available_bytes == 0 || bytes() <= available_bytes; }
};

// The model may be described only. Throws Error where the options allow no KV cache for it.
MemoryEstimate estimateMemory(const Model& model, const EngineOptions& options);

}  // namespace inferoscope::core
