// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/comparison.h"
#include "core/engine/comparison_tally.h"
#include "core/engine/experiment.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>

namespace inferoscope::core {

// What a lane runs on. Two lanes have a backend each, and the weights in memory that both can read.
struct LaneSource {
  std::shared_ptr<const Model> model;
  std::shared_ptr<Backend> backend;
  EngineOptions options;
};

struct CompareSetup {
  Scenario scenario;  // with an end
  ServiceGoal goal;
  int repeats = 5;           // measured ones; one more before them warms up and is dropped
  bool probe = true;         // the machine, before and after every repeat
  int quality_tokens = 512;  // of A's answers, whose logits are compared; 0: none
  std::uint64_t seed = 1;    // of the bootstrap
  TimeSource time = steadyNow;
};

// What happens just now, for people; share of the whole, 0..1.
using CompareProgress = std::function<void(std::string_view what, double share)>;

// Runs the scenario in both lanes, step by step in turn, `repeats` times over; who begins alternates. Then reads A's
// answers with both settings and compares their logits. Throws Error, Cancelled.
Comparison compare(const LaneSource& a, const LaneSource& b, const CompareSetup& setup, const CompareProgress& progress,
                   const std::stop_token& stop);

// One run of both lanes at once, from fresh engines.
ComparisonTally runBothLanes(const LaneSource& a, const LaneSource& b, const CompareSetup& setup, LaneId first,
                             const std::stop_token& stop);

// Reads A's answers with both settings. Adds to `quality`.
void compareLogits(const LaneSource& a, const LaneSource& b, const CompareSetup& setup,
                   const std::map<std::string, std::vector<TokenId>>& answers, Quality& quality,
                   const std::stop_token& stop);

}  // namespace inferoscope::core
