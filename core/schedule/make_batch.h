// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/schedule/batch.h"
#include "core/schedule/sequence.h"

#include <span>

namespace inferoscope::core {

// What a step computes of one sequence: num_tokens of its tokens, the first num_computed being in the cache already.
struct Share {
  const Sequence* seq = nullptr;
  int num_tokens = 0;
  int num_hit_tokens = 0;  // of num_computed, taken from the prefix cache in this step
};

// Prefill computes tokens that are given; decode computes the one that the step before has made.
Phase phaseOf(const Sequence& sequence);

// The entries and arrays of a batch. The blocks of all its tokens must be in the sequences' tables.
Batch makeBatch(std::span<const Share> shares);

}  // namespace inferoscope::core
