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
  std::shared_ptr<const Model> m_model;
  std::set<SeqId> m_own;  // the workload's requests in flight
  std::vector<std::string> m_refusals;
  int m_refused_in_row = 0;
};

// Lane A, and lane B once two settings are compared: the lane whose clock is behind steps next.
class Experiment {
 public:
  explicit Experiment(Lane lane_a);

  Lane& lane(LaneId id);
  bool hasLane(LaneId id) const;
  // Which lane steps next.
  LaneId next() const;

 private:
  std::vector<Lane> m_lanes;  // [1..2]
};

}  // namespace inferoscope::core
