// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/model.h"
#include "core/observe/records.h"
#include "core/options.h"
#include "core/schedule/batch.h"

#include <vector>

namespace inferoscope::core {

// A forward pass that computes nothing: the ops of a batch as the engine would run them on this machine with these
// options, each with its kernel and its cost, all of them in no time. The model may be one that is only described.
// Throws Error where no kernel can run an op, or the KV format does not fit the model.
std::vector<OpRecord> dryRun(const Model& model, const Batch& batch, const EngineOptions& options);

// num_seqs sequences with kv_len tokens in the cache each compute num_tokens more and want their next token.
Batch uniformBatch(int num_seqs, int num_tokens, int kv_len, bool wants_logits = true);

}  // namespace inferoscope::core
