// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/limits.h"

#include <span>

namespace inferoscope::core {

// Shared machines drift. A measurement between two probes of the ceilings that differ by more than this share does not
// say what it was measured against.
inline constexpr double kMostDrift = 0.1;

bool heldStill(const MachineLimits& before, const MachineLimits& after);

// Field by field, over at least one.
MachineLimits medianOf(std::span<const MachineLimits> probes);

}  // namespace inferoscope::core
