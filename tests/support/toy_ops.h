// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/records.h"

namespace inferoscope::tests {

inline constexpr int kToyLayers = 12;

// The ops of a toy model for the entries of a step: costs as the shapes ask for, times that a machine of toyLimits()
// might take, the same ones every time. Sets what sums up of them, the step's duration too.
void addToyOps(core::StepRecord& step);

}  // namespace inferoscope::tests
