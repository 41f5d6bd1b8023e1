// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/model.h"
#include "core/observe/op_work.h"
#include "core/options.h"

#include <string_view>
#include <vector>

namespace inferoscope::core {

// The least time that a phase of a model needs on a machine, op by op, from a dry run: nothing is computed.
struct PhaseFloor {
  struct OfOp {
    std::string_view name;  // "ffn_down": of all layers together
    OpWork work = {};
    Bound bound = Bound::kUnknown;  // at its floor: bandwidth or compute
  };

  Phase phase{};
  int num_tokens = 0;  // that it gives: one a sequence in decode, those of the prompt in prefill
  int num_passes = 0;  // decode: one; prefill: one a chunk
  OpWork work = {};    // not measured
  Bound bound = Bound::kUnknown;
  bool stays_in_cache = false;  // its weights and keys, as far as that was probed: then memory is no floor
  std::vector<OfOp> ops = {};   // the largest floor first, by bytes where no ceilings are known

  double tokensPerSecond() const;  // at the floor; 0 without ceilings
  double bytesPerToken(ByteKind kind) const;
};

// Each of num_seqs sequences with kv_len tokens in the cache gets its next token.
PhaseFloor decodeFloor(const Model& model, const EngineOptions& options, const MachineLimits& limits, int num_seqs,
                       int kv_len);

// One prompt, in chunks as the engine's options cut it.
PhaseFloor prefillFloor(const Model& model, const EngineOptions& options, const MachineLimits& limits, int num_tokens);

}  // namespace inferoscope::core
