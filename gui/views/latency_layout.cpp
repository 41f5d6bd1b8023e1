// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/latency_layout.h"

#include <algorithm>

namespace inferoscope::gui {

LatencySamples::LatencySamples(std::size_t max_samples) : m_max_samples(max_samples) {}

void LatencySamples::clear() {
  *this = LatencySamples(m_max_samples);
}

void LatencySamples::add(const LaneFrame& frame) {
  if (!frame.snapshot) return;
  const core::Snapshot& snapshot = *frame.snapshot;
  const bool reset = snapshot.totals.num_steps < m_num_steps;
  if (reset || !(snapshot.options == m_options)) {
    const bool first = m_last_step < 0;
    clear();
    m_options = snapshot.options;
    if (!first) m_since_ns = snapshot.lane_ns;
  }
  m_num_steps = snapshot.totals.num_steps;
  for (const auto& step : frame.steps) {
    if (step->start_ns >= m_since_ns) addStep(*step);
  }
  std::unordered_set<core::SeqId> listed;
  for (const core::RequestInfo& request : snapshot.requests) {
    listed.insert(request.seq);
    if (request.arrival_ns >= m_since_ns) addRequest(request);
  }
  const auto gone = [&listed](core::SeqId seq) { return !listed.contains(seq); };
  std::erase_if(m_begun, gone);
  std::erase_if(m_ended, gone);
}

// A lost record may have held a token: no gap is measured across it.
void LatencySamples::addStep(const core::StepRecord& step) {
  if (step.step_index != m_last_step + 1) m_last_token_ns.clear();
  m_last_step = step.step_index;
  const std::int64_t end_ns = step.start_ns + step.duration_ns;
  for (const core::StepEntry& entry : step.entries) {
    if (entry.sampled < 0) continue;
    const auto [last, first_one] = m_last_token_ns.try_emplace(entry.seq, end_ns);
    if (!first_one) put(m_itl, static_cast<double>(end_ns - last->second) / 1e6);
    last->second = end_ns;
    if (entry.finished) m_last_token_ns.erase(last);
  }
}

void LatencySamples::addRequest(const core::RequestInfo& request) {
  if (request.ttft_ms && m_begun.insert(request.seq).second) put(m_ttft, *request.ttft_ms);
  if (request.state != core::SeqState::kFinished || !request.tpot_ms) return;
  if (m_ended.insert(request.seq).second) put(m_tpot, *request.tpot_ms);
}

void LatencySamples::put(std::deque<double>& samples, double value) const {
  samples.push_back(value);
  if (samples.size() > m_max_samples) samples.pop_front();
}

Ecdf ecdfOf(std::vector<double> values, std::size_t max_points) {
  Ecdf ecdf;
  if (values.empty() || max_points < 2) return ecdf;
  std::ranges::sort(values);
  ecdf.values = {0};
  ecdf.shares = {0};
  const std::size_t num_points = std::min(values.size(), max_points - 1);
  for (std::size_t i = 1; i <= num_points; ++i) {
    const std::size_t rank = values.size() * i / num_points;  // how many are not above it
    ecdf.values.push_back(values[rank - 1]);
    ecdf.shares.push_back(static_cast<double>(rank) / static_cast<double>(values.size()));
  }
  return ecdf;
}

QString inLines(const QStringList& parts, const QString& between, int room,
                const std::function<int(const QString&)>& widthOf) {
  QStringList lines;
  for (const QString& part : parts) {
    const QString longer = lines.isEmpty() ? part : lines.back() + between + part;
    if (lines.isEmpty() || widthOf(longer) > room) {
      lines << part;
    } else {
      lines.back() = longer;
    }
  }
  return lines.join(QLatin1Char('\n'));
}

bool chartsSideBySide(const QSize& size) {
  return !size.isEmpty() && size.width() > 2 * size.height();
}

double shareBelow(const std::deque<double>& samples, double value) {
  if (samples.empty()) return 0;
  const auto below = std::ranges::count_if(samples, [value](double sample) { return sample <= value; });
  return static_cast<double>(below) / static_cast<double>(samples.size());
}

}  // namespace inferoscope::gui
