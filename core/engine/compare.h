// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/comparison_run.h"

#include <functional>
#include <stop_token>
#include <string_view>

namespace inferoscope::core {

// What happens just now, for people; share of the whole, 0..1.
using CompareProgress = std::function<void(std::string_view what, double share)>;

// Runs the scenario in both lanes, step by step in turn, `repeats` times over; who begins alternates. Then reads A's
// answers with both settings and compares their logits. Throws Error, Cancelled.
Comparison compare(const LaneSource& a, const LaneSource& b, const CompareSetup& setup, const CompareProgress& progress,
                   const std::stop_token& stop);

// One run of both lanes at once, from fresh engines.
ComparisonTally runBothLanes(const LaneSource& a, const LaneSource& b, const CompareSetup& setup, LaneId first,
                             const std::stop_token& stop);

}  // namespace inferoscope::core
