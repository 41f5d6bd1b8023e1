// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/experiment.h"
#include "core/observe/run_summary.h"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <stop_token>

namespace inferoscope::core {

// One without end: with this many requests. Others as they are.
Scenario withEnd(Scenario scenario, int num_requests);

using StepSink = std::function<void(const StepRecord& step, const Snapshot& after)>;

// Gives the lane the workload, steps it to its end and sums it up. `sink` may be empty. Throws Error, Cancelled.
RunSummary runScenario(Lane& lane, const Scenario& scenario, const ServiceGoal& goal, const StepSink& sink,
                       const std::stop_token& stop);

// {"options", "requests", "refused", "ttft_ms", "tpot_ms", "itl_ms", "output_tok_s", "total_tok_s", "goodput", "goal",
// "kv_waste", ...}: the object `run` prints, and half of what `compare` does.
nlohmann::ordered_json runJson(const RunSummary& summary);
RunSummary runFromJson(const nlohmann::ordered_json& json);

// {"kv-layout": "paged", ...}: every knob of the table.
nlohmann::ordered_json optionsJson(const EngineOptions& options);
EngineOptions optionsFromJson(const nlohmann::ordered_json& json);  // throws Error; a knob left out has its default

}  // namespace inferoscope::core
