// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/token_bytes_layout.h"

#include <algorithm>
#include <cmath>

namespace inferoscope::gui {

void TokenBytesHistory::clear() {
  m_bins.clear();
  m_end_ns = 0;
  m_last_step = -1;
}

void TokenBytesHistory::add(const core::StepRecord& step) {
  const std::int64_t end_ns = step.start_ns + step.duration_ns;
  if (step.step_index <= m_last_step || end_ns < m_end_ns) clear();  // the engine was reset
  const std::int64_t index = end_ns / kBinNs;
  if (m_bins.empty() || m_bins.back().index != index) m_bins.push_back({.index = index});
  TokenBytesBin& bin = m_bins.back();
  for (std::size_t i = 0; i < bin.bytes.size(); ++i) {
    bin.bytes[i] += static_cast<double>(core::bytesOf(step.cost, static_cast<core::ByteKind>(i)));
  }
  bin.tokens += step.num_sampled;
  if (m_bins.size() > m_max_bins) m_bins.pop_front();
  m_end_ns = end_ns;
  m_last_step = step.step_index;
}

double TokenBytesSeries::total(std::size_t column) const {
  double sum = 0;
  for (const std::vector<double>& of_class : per_token) sum += of_class[column];
  return sum;
}

TokenBytesSeries bytesPerToken(const TokenBytesHistory& history, double from_s, double to_s, int max_columns) {
  TokenBytesSeries series;
  if (history.empty() || max_columns <= 0 || to_s <= from_s) return series;
  constexpr double kBinS = TokenBytesHistory::kBinNs / 1e9;
  // Columns begin at multiples of their length, so that they stay where they are as time goes on.
  const auto bins_a_column = static_cast<std::int64_t>(std::max(1.0, std::ceil((to_s - from_s) / kBinS / max_columns)));
  TokenBytesBin sum{.index = -1};
  const auto finish = [&] {
    if (sum.index < 0 || sum.tokens <= 0) return;  // its bytes are carried on
    series.seconds.push_back(static_cast<double>(sum.index * bins_a_column) * kBinS);
    for (std::size_t i = 0; i < sum.bytes.size(); ++i) series.per_token[i].push_back(sum.bytes[i] / sum.tokens);
    sum = {.index = -1};
  };
  for (const TokenBytesBin& bin : history.bins()) {
    if (static_cast<double>(bin.index + 1) * kBinS <= from_s) continue;
    const std::int64_t column = bin.index / bins_a_column;
    if (column != sum.index) finish();
    if (sum.index < 0) sum.index = column;
    for (std::size_t i = 0; i < bin.bytes.size(); ++i) sum.bytes[i] += bin.bytes[i];
    sum.tokens += bin.tokens;
    series.end_s = static_cast<double>((column + 1) * bins_a_column) * kBinS;
  }
  finish();
  return series;
}

int columnAt(const TokenBytesSeries& series, double seconds) {
  const auto after = std::ranges::upper_bound(series.seconds, seconds);
  return static_cast<int>(after - series.seconds.begin()) - 1;
}

}  // namespace inferoscope::gui
