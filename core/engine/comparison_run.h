// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/comparison.h"
#include "core/engine/comparison_tally.h"
#include "core/engine/experiment.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace inferoscope::core {

class PerplexityRun;

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
  std::string text;          // whose perplexity is measured with both settings; empty: none
  std::string text_name;
  std::uint64_t seed = 1;  // of the bootstrap
  TimeSource time = steadyNow;
};

// What loading the lanes' models told, since it belongs to what the figures are worth, and of which lane where it is
// not of both: "A: weights as f16 are made of ...".
std::vector<std::string> loadNotices(const Model& a, const Model& b);

// Both lanes through the workload once, from fresh engines.
class Round {
 public:
  // A step of one lane and what came of it. No record: the lane had nothing to do.
  struct Step {
    LaneId lane{};
    std::shared_ptr<const StepRecord> record;
    std::shared_ptr<const Snapshot> after;
    std::vector<TextDelta> texts;
  };

  Round(const LaneSource& a, const LaneSource& b, const CompareSetup& setup, LaneId first);

  Step advance(const std::stop_token& stop);  // throws Error, Cancelled
  bool done() const { return m_experiment.idle(); }

  const Experiment& experiment() const { return m_experiment; }
  const ComparisonTally& tally() const { return m_tally; }

 private:
  Experiment m_experiment;
  ComparisonTally m_tally;
};

// A comparison in small pieces, so that whoever drives it can look, show and stop in between: a round to warm up, the
// measured rounds with a probe of the machine between them, and at last A's answers, and a text if there is one, read
// with both settings.
class ComparisonRun {
 public:
  // Throws Error: the text has too little to score.
  ComparisonRun(LaneSource a, LaneSource b, CompareSetup setup);
  ~ComparisonRun();

  // The next piece: a step of a lane, a probe, or the logits of a few tokens. None of the first: nothing to show.
  // Throws Error, Cancelled.
  std::optional<Round::Step> advance(const std::stop_token& stop);
  bool done() const { return m_stage == Stage::kDone; }

  const LaneSource& source(LaneId lane) const { return lane == LaneId::kA ? m_a : m_b; }
  const CompareSetup& setup() const { return m_setup; }
  // The lanes of now; those of the last round stay. `roundIndex` tells when they are other ones.
  const Round& round() const { return *m_round; }
  int roundIndex() const { return m_round_index; }  // 0 warms up

  std::string doing() const;  // "repeat 2 of 5"
  double share() const;       // of the whole, 0..1

  // What may be said by now, and at the end the answer.
  Comparison result() const;

 private:
  enum class Stage { kRound, kProbe, kLogits, kText, kDone };
  struct Repeat {
    ComparisonTally tally;
    bool steady = true;
  };
  class Logits;

  void startRound();
  void endRound();
  void probe(const std::stop_token& stop);
  void startLogits();
  void startText();
  void endText();
  Comparison described() const;
  std::vector<const Repeat*> counted() const;  // the steady ones, or all if there are none

  LaneSource m_a;
  LaneSource m_b;
  CompareSetup m_setup;
  Stage m_stage = Stage::kRound;
  int m_round_index = -1;
  std::unique_ptr<Round> m_round;
  std::vector<Repeat> m_repeats;
  std::vector<MachineLimits> m_probes;
  std::unique_ptr<Logits> m_logits;
  std::unique_ptr<PerplexityRun> m_text;
  Quality m_quality;  // once the logits are compared
};

}  // namespace inferoscope::core
