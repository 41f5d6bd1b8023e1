// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/compare.h"

#include <string>
#include <utility>

namespace inferoscope::core {

ComparisonTally runBothLanes(const LaneSource& a, const LaneSource& b, const CompareSetup& setup, LaneId first,
                             const std::stop_token& stop) {
  Round round(a, b, setup, first);
  while (!round.done()) round.advance(stop);
  return round.tally();
}

Comparison compare(const LaneSource& a, const LaneSource& b, const CompareSetup& setup, const CompareProgress& progress,
                   const std::stop_token& stop) {
  ComparisonRun run(a, b, setup);
  std::string told;
  while (!run.done()) {
    if (std::string doing = run.doing(); progress && doing != told) {
      progress(doing, run.share());
      told = std::move(doing);
    }
    run.advance(stop);
  }
  return run.result();
}

}  // namespace inferoscope::core
