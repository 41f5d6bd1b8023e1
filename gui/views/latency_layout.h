// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/request_metrics.h"
#include "gui/session/frame.h"

#include <QSize>
#include <QStringList>

#include <cstddef>
#include <deque>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace inferoscope::gui {

// What the requests since the last reset or change of a knob had to wait for, in milliseconds of the lane's clock.
class LatencySamples {
 public:
  explicit LatencySamples(std::size_t max_samples = 8192);  // of each kind, the latest

  void clear();
  void add(const LaneFrame& frame);

  const std::deque<double>& ttft() const { return m_ttft; }  // of requests that have a token
  const std::deque<double>& tpot() const { return m_tpot; }  // of requests that have ended
  const std::deque<double>& itl() const { return m_itl; }    // of gaps between tokens
  bool empty() const { return m_ttft.empty() && m_itl.empty(); }

 private:
  void addStep(const core::StepRecord& step);
  void addRequest(const core::RequestInfo& request);
  void put(std::deque<double>& samples, double value) const;

  std::size_t m_max_samples;
  std::deque<double> m_ttft;
  std::deque<double> m_tpot;
  std::deque<double> m_itl;
  std::unordered_map<core::SeqId, std::int64_t> m_last_token_ns;
  std::unordered_set<core::SeqId> m_begun;  // whose TTFT is taken
  std::unordered_set<core::SeqId> m_ended;  // whose TPOT is taken
  core::EngineOptions m_options;            // in force while the samples were taken
  std::int64_t m_since_ns = 0;              // requests that came before are another run's
  std::int64_t m_last_step = -1;
  std::int64_t m_num_steps = 0;  // of Totals
};

// The share of values that are not above each value: points of a staircase, from (0, 0) to (largest, 1), at most
// max_points of them.
struct Ecdf {
  std::vector<double> values;
  std::vector<double> shares;
};
Ecdf ecdfOf(std::vector<double> values, std::size_t max_points);
double shareBelow(const std::deque<double>& samples, double value);  // <= value; 0 of none

// The parts one after the other, on as many lines as it takes for each line to fit; a part too wide has one of its own.
QString inLines(const QStringList& parts, const QString& between, int room,
                const std::function<int(const QString&)>& widthOf);

// Whether the charts stand beside each other rather than one above the other.
bool chartsSideBySide(const QSize& size);

}  // namespace inferoscope::gui
