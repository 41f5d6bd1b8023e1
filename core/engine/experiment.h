// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/engine.h"
#include "core/engine/workload.h"

#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

namespace inferoscope::core {

enum class LaneId : std::uint8_t { kA, kB };

// One engine and the workload that feeds it.
class Lane {
 public:
  Lane(std::shared_ptr<const Model> model, std::shared_ptr<Backend> backend, const EngineOptions& options,
       TimeSource time_source = steadyNow);

  Engine& engine() { return *m_engine; }
  const Engine& engine() const { return *m_engine; }

  void setWorkload(std::optional<Scenario> scenario);  // none: only what people submit
  const Workload* workload() const { return m_workload ? &*m_workload : nullptr; }

  // Feeds due requests, jumps over idle time to the next arrival, and does one step. None: nothing to do now.
  std::shared_ptr<const StepRecord> step(std::stop_token stop);
  bool idle() const;  // nothing running, waiting or still to come

  // Requests of the workload that could never fit, since the last call: label and reason.
  std::vector<std::string> takeRefusals();

 private:
  static constexpr int kMaxRefusedInRow = 64;

  void feed();
  void hearAnswers();

  std::unique_ptr<Engine> m_engine;
  std::optional<Workload> m_workload;
  std::shared_ptr<const Model> m_model;  // without weights: for the workload
  std::set<SeqId> m_own;                 // the workload's requests in flight
  std::vector<std::string> m_refusals;
  int m_refused_in_row = 0;
};

// Lane A, and lane B once two settings are compared. One thread steps them in turn, never at once, so that they don't
// take bandwidth from each other and a drift of the machine meets both: the lane whose clock is behind steps next, and
// the faster one is visibly ahead.
class Experiment {
 public:
  explicit Experiment(Lane lane_a);

  // None: A goes on alone. Each lane has a backend of its own, so that each keeps its threads.
  void setLaneB(std::optional<Lane> lane_b);
  bool hasLane(LaneId id) const;
  Lane& lane(LaneId id);
  const Lane& lane(LaneId id) const;

  // Starts both lanes anew with the same workload at the same time of their clocks. None: only what people submit.
  void start(const std::optional<Scenario>& scenario);
  // Who begins where the clocks are equal; repeats alternate it.
  void setFirst(LaneId id) { m_first = id; }

  // Which lane steps next: of those with something to do, the one whose clock is behind.
  LaneId next() const;
  bool idle() const;  // all lanes are

  struct Stepped {
    LaneId lane{};
    std::shared_ptr<const StepRecord> record;  // null: nothing to do now, or stopped
  };
  Stepped step(std::stop_token stop);

 private:
  std::vector<Lane> m_lanes;  // [1..2]
  LaneId m_first = LaneId::kA;
};

}  // namespace inferoscope::core
