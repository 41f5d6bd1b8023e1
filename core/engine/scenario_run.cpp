// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/scenario_run.h"

#include "core/error.h"

namespace inferoscope::core {

Scenario withEnd(Scenario scenario, int num_requests) {
  if (endless(scenario)) scenario.arrivals.num_requests = num_requests;
  return scenario;
}

RunSummary runScenario(Lane& lane, const Scenario& scenario, const ServiceGoal& goal, const StepSink& sink,
                       const std::stop_token& stop) {
  RunTally tally(goal);
  lane.setWorkload(scenario);
  while (!lane.idle()) {
    const auto record = lane.step(stop);
    if (stop.stop_requested()) throw Cancelled();
    lane.engine().takeText();
    if (!record) continue;
    const Snapshot after = lane.engine().snapshot();
    tally.add(*record, after);
    if (sink) sink(*record, after);
  }
  tally.addRefused(static_cast<int>(lane.takeRefusals().size()));
  return tally.summary();
}

}  // namespace inferoscope::core
