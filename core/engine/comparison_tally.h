// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/comparison.h"
#include "core/engine/experiment.h"

#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace inferoscope::core {

// Adds up both lanes of one run of an Experiment while it happens: one call a step, in the order the steps were made.
class ComparisonTally {
 public:
  explicit ComparisonTally(const ServiceGoal& goal = {});

  // `after`: the lane's state right after the step.
  void add(LaneId lane, const StepRecord& step, const Snapshot& after);
  void addRefused(LaneId lane, int num_requests);

  RunSummary summary(LaneId lane) const { return side(lane).tally.summary(); }
  ComparedLane lane(LaneId lane) const;  // with its series
  // Answers so far, by label of the request. [num_tokens] each
  const std::map<std::string, std::vector<TokenId>>& answers(LaneId lane) const { return side(lane).answers; }

  // Mean milliseconds of the steps that both lanes made of the same batch. None: there was none.
  std::optional<Pair> sameBatchMs() const;
  int numSameBatches() const { return static_cast<int>(m_same_batch_ms.size()); }

  // What may be said already, of the one run: steps of the same batch and requests that both lanes have answered are
  // the pairs. A finished comparison goes by repeats instead.
  std::vector<Difference> differencesSoFar(std::uint64_t seed) const;
  // The answers' part of it.
  Quality answersCompared() const;

 private:
  struct Ended {
    std::optional<double> ttft_ms;
    std::optional<double> tpot_ms;
  };
  struct Side {
    RunTally tally;
    std::map<std::string, std::vector<TokenId>> answers;
    std::map<std::string, Ended> ended;
    std::unordered_map<std::uint64_t, std::int64_t> steps;  // duration by what was computed
    std::vector<SeriesPoint> series;
    double num_tokens = 0;
    int stride = 1;  // of the steps that go into the series
  };

  const Side& side(LaneId lane) const { return m_sides[static_cast<std::size_t>(lane)]; }
  static void addToSeries(Side& side, const StepRecord& step, const Snapshot& after);
  void pairStep(LaneId lane, std::uint64_t key, std::int64_t duration_ns);

  std::array<Side, 2> m_sides;
  std::vector<Pair> m_same_batch_ms;
};

}  // namespace inferoscope::core
