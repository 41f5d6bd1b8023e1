// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/experiment.h"
#include "tests/support/engines.h"

#include <memory>
#include <string>

namespace inferoscope::tests {

// A lane of its own backend whose clock moves 1 ms a reading, so that a run is the same every time.
inline core::Lane clockedLane(const core::EngineOptions& options = {}, const std::string& source = "synthetic:tiny") {
  const std::shared_ptr<core::Backend> backend = core::makeCpuBackend(1);
  auto now = std::make_shared<std::int64_t>(0);
  return {loadOn(*backend, source), backend, options, [now] { return *now += 1'000'000; }};
}

// Twelve requests of random ids, three at a time.
inline core::Scenario twelveRequests(core::ArrivalKind kind = core::ArrivalKind::kClosedLoop) {
  core::Scenario made;
  made.id = "test";
  made.arrivals.kind = kind;
  made.arrivals.concurrency = 3;
  made.arrivals.num_requests = 12;
  made.prompt_tokens = {.kind = core::LengthKind::kUniform, .min = 3, .max = 30};
  made.output_tokens = {.kind = core::LengthKind::kUniform, .min = 1, .max = 8};
  made.ignore_end_of_turn = true;
  return made;
}

}  // namespace inferoscope::tests
