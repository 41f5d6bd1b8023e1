// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/records.h"
#include "core/schedule/batch.h"
#include "core/schedule/scheduler.h"

#include <span>
#include <vector>

namespace inferoscope::core {

// What a step decided and did, from its parts. Times of the step as a whole are left to the caller.
StepRecord makeStepRecord(const Batch& batch, std::span<const SampledToken> sampled, std::span<const SeqId> finished,
                          std::vector<OpRecord> ops);

}  // namespace inferoscope::core
