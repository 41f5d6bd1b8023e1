// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/experiment.h"

#include "core/model/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace inferoscope::core {

Lane::Lane(std::shared_ptr<const Model> model, std::shared_ptr<Backend> backend, const EngineOptions& options,
           TimeSource time_source)
    : m_engine(std::make_unique<Engine>(model, std::move(backend), options, std::move(time_source))),
      m_model(withoutWeights(*model)) {}

void Lane::setWorkload(std::optional<Scenario> scenario) {
  m_workload.reset();
  m_own.clear();
  m_refused_in_row = 0;
  if (scenario) m_workload.emplace(std::move(*scenario), m_model, m_engine->laneNow());
}

std::shared_ptr<const StepRecord> Lane::step(std::stop_token stop) {
  feed();
  while (m_engine->idle() && m_workload && m_workload->nextArrival()) {
    m_engine->jumpTo(*m_workload->nextArrival());
    feed();
  }
  auto record = m_engine->step(std::move(stop));
  hearAnswers();
  return record;
}

// Submits what is due by now.
void Lane::feed() {
  hearAnswers();
  while (m_workload) {
    auto request = m_workload->take(m_engine->laneNow());
    if (!request) return;
    std::string label = request->label;
    const Submitted submitted = m_engine->submit(std::move(*request));
    if (submitted.seq.valid()) {
      m_own.insert(submitted.seq);
      m_refused_in_row = 0;
    } else {
      m_refusals.push_back(fmt::format("{}: {}", label, submitted.refusal));
      m_workload->answered(m_engine->laneNow());  // its user asks something else
      ++m_refused_in_row;
      // Nothing they ask can be served, and they would ask for ever.
      if (m_refused_in_row >= kMaxRefusedInRow && endless(m_workload->scenario())) setWorkload(std::nullopt);
    }
  }
}

// However a request ended (answered, failed, cancelled), its user is free to ask again.
void Lane::hearAnswers() {
  std::erase_if(m_own, [&](SeqId seq) {
    if (m_engine->active(seq)) return false;
    m_workload->answered(m_engine->laneNow());
    return true;
  });
}

bool Lane::idle() const {
  return m_engine->idle() && m_own.empty() && !(m_workload && m_workload->nextArrival());
}

std::vector<std::string> Lane::takeRefusals() {
  return std::exchange(m_refusals, {});
}

Experiment::Experiment(Lane lane_a) {
  m_lanes.push_back(std::move(lane_a));
}

void Experiment::setLaneB(std::optional<Lane> lane_b) {
  m_lanes.erase(m_lanes.begin() + 1, m_lanes.end());
  if (lane_b) m_lanes.push_back(std::move(*lane_b));
}

bool Experiment::hasLane(LaneId id) const {
  return static_cast<std::size_t>(id) < m_lanes.size();
}

Lane& Experiment::lane(LaneId id) {
  return m_lanes.at(static_cast<std::size_t>(id));
}

const Lane& Experiment::lane(LaneId id) const {
  return m_lanes.at(static_cast<std::size_t>(id));
}

void Experiment::start(const std::optional<Scenario>& scenario) {
  std::int64_t latest = 0;
  for (Lane& each : m_lanes) {
    each.engine().reset();
    latest = std::max(latest, each.engine().laneNow());
  }
  for (Lane& each : m_lanes) {
    each.engine().jumpTo(latest);
    each.setWorkload(scenario);
  }
}

LaneId Experiment::next() const {
  if (!hasLane(LaneId::kB) || m_lanes[1].idle()) return LaneId::kA;
  if (m_lanes[0].idle()) return LaneId::kB;
  const std::int64_t a_ns = m_lanes[0].engine().laneNow();
  const std::int64_t b_ns = m_lanes[1].engine().laneNow();
  if (a_ns == b_ns) return m_first;
  return b_ns < a_ns ? LaneId::kB : LaneId::kA;
}

bool Experiment::idle() const {
  return std::ranges::all_of(m_lanes, &Lane::idle);
}

Experiment::Stepped Experiment::step(std::stop_token stop) {
  const LaneId id = next();
  return {id, lane(id).step(std::move(stop))};
}

}  // namespace inferoscope::core
