// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/utilisation_layout.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace inferoscope::gui {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

WorkSum& operator+=(WorkSum& sum, const WorkSum& bin) {
  sum.prefill_tokens += bin.prefill_tokens;
  sum.decode_tokens += bin.decode_tokens;
  sum.bytes += bin.bytes;
  sum.flops += bin.flops;
  sum.int8_ops += bin.int8_ops;
  sum.gpu_ns += bin.gpu_ns;
  sum.gpu_known_ns += bin.gpu_known_ns;
  sum.lost_ns += bin.lost_ns;
  if (bin.kv_share >= 0) sum.kv_share = bin.kv_share;
  return sum;
}

void addPoint(RateSeries& series, const WorkSum& sum, double start_s, double length_s) {
  const bool lost = sum.lost_ns > 0;
  const auto rate = [&](double amount) { return lost ? kUnknown : amount / length_s; };
  series.seconds.push_back(start_s + length_s / 2);
  series.prefill_per_s.push_back(rate(sum.prefill_tokens));
  series.decode_per_s.push_back(rate(sum.decode_tokens));
  series.bytes_per_s.push_back(rate(sum.bytes));
  series.flop_per_s.push_back(rate(sum.flops));
  series.int8_per_s.push_back(rate(sum.int8_ops));
  series.kv_share.push_back(sum.kv_share >= 0 ? sum.kv_share : kUnknown);
  series.gpu_share.push_back(sum.gpu_known_ns > 0 ? sum.gpu_ns / sum.gpu_known_ns : kUnknown);
  series.prefill_phase.push_back(sum.prefill_tokens > sum.decode_tokens ? 1 : 0);
}

}  // namespace

WorkHistory::WorkHistory(std::size_t max_bins) : m_max_bins(max_bins) {}

void WorkHistory::clear() {
  m_bins.clear();
  m_first_bin = 0;
  m_end_ns = 0;
  m_last_step = -1;
}

void WorkHistory::add(const core::StepRecord& step) {
  if (step.step_index <= m_last_step || step.start_ns < m_end_ns) clear();  // the engine was reset
  const std::int64_t end_ns = step.start_ns + std::max<std::int64_t>(step.duration_ns, 1);
  if (m_last_step >= 0 && step.step_index > m_last_step + 1) {
    spread(m_end_ns, step.start_ns, [](WorkSum& bin, double, double ns) { bin.lost_ns += ns; });
  }
  spread(step.start_ns, end_ns, [&](WorkSum& bin, double part, double ns) {
    bin.prefill_tokens += part * step.num_prefill_tokens;
    bin.decode_tokens += part * step.num_decode_tokens;
    bin.bytes += part * static_cast<double>(step.cost.bytes());
    bin.flops += part * static_cast<double>(step.cost.flops);
    bin.int8_ops += part * static_cast<double>(step.cost.int8_ops);
    bin.gpu_ns += ns * step.gpu_busy.value_or(0);
    bin.gpu_known_ns += step.gpu_busy ? ns : 0;
  });
  if (step.num_blocks > 0) m_bins.back().kv_share = static_cast<double>(step.num_blocks_used) / step.num_blocks;
  m_end_ns = end_ns;
  m_last_step = step.step_index;
}

// Makes the bins up to `bin`, forgetting the oldest. Time without steps gives empty ones, whose cache is as it was.
void WorkHistory::reach(std::int64_t bin) {
  if (m_bins.empty() || bin - m_first_bin >= static_cast<std::int64_t>(m_bins.size() + m_max_bins)) {
    m_bins.clear();
    m_first_bin = bin;
  }
  while (m_first_bin + static_cast<std::int64_t>(m_bins.size()) <= bin) {
    m_bins.push_back({.kv_share = m_bins.empty() ? -1 : m_bins.back().kv_share});
  }
  while (m_bins.size() > m_max_bins) {
    m_bins.pop_front();
    ++m_first_bin;
  }
}

// Calls put(bin, part of the stretch in the bin, nanoseconds of it).
template <class Put>
void WorkHistory::spread(std::int64_t from_ns, std::int64_t to_ns, Put put) {
  const auto whole = static_cast<double>(to_ns - from_ns);
  reach(from_ns / kBinNs);
  reach((to_ns - 1) / kBinNs);
  const std::int64_t first = std::max(from_ns / kBinNs, m_first_bin);
  for (std::int64_t bin = first; bin <= (to_ns - 1) / kBinNs; ++bin) {
    const std::int64_t start = std::max(from_ns, bin * kBinNs);
    const std::int64_t end = std::min(to_ns, (bin + 1) * kBinNs);
    const auto ns = static_cast<double>(end - start);
    put(m_bins[static_cast<std::size_t>(bin - m_first_bin)], ns / whole, ns);
  }
}

RateSeries ratesOf(const WorkHistory& history, double from_s, double to_s, int max_points) {
  RateSeries series;
  if (history.empty() || max_points <= 0 || to_s <= from_s) return series;
  constexpr double kBinS = WorkHistory::kBinNs / 1e9;
  const double bins_in_sight = (to_s - from_s) / kBinS;
  const auto per_point = static_cast<std::int64_t>(std::max(1.0, std::ceil(bins_in_sight / max_points)));
  const std::int64_t bins_end = history.firstBin() + static_cast<std::int64_t>(history.bins().size());
  const auto wanted = static_cast<std::int64_t>(std::floor(from_s / kBinS));
  // Windows start at multiples of their length, so that points stay where they are as time goes on.
  const std::int64_t aligned = (std::max(history.firstBin(), wanted) + per_point - 1) / per_point * per_point;
  for (std::int64_t bin = aligned; bin < bins_end; bin += per_point) {
    WorkSum sum;
    for (std::int64_t i = bin; i < std::min(bin + per_point, bins_end); ++i) {
      sum += history.bins()[static_cast<std::size_t>(i - history.firstBin())];
    }
    const std::int64_t start_ns = bin * WorkHistory::kBinNs;
    const std::int64_t end_ns = std::min((bin + per_point) * WorkHistory::kBinNs, history.endNs());
    const bool whole = end_ns == (bin + per_point) * WorkHistory::kBinNs;
    if (!whole && !series.seconds.empty()) break;  // a part of a window is too little to judge by
    if (static_cast<double>(start_ns) / 1e9 > to_s) break;
    addPoint(series, sum, static_cast<double>(start_ns) / 1e9, static_cast<double>(end_ns - start_ns) / 1e9);
  }
  return series;
}

double bandwidthShare(double bytes_per_s, const core::MachineLimits& limits) {
  return limits.measured() ? bytes_per_s / limits.read_bytes_per_s : kUnknown;
}

// The time that the work of a second needs at the ceilings, in seconds: the integer part has a ceiling of its own.
double computeShare(double flop_per_s, double int8_per_s, const core::MachineLimits& limits) {
  if (!limits.measured() || std::isnan(flop_per_s)) return kUnknown;
  kernels::OpCost second;
  second.flops = static_cast<std::uint64_t>(flop_per_s);
  second.int8_ops = std::min(second.flops, static_cast<std::uint64_t>(int8_per_s));
  return core::roofOf(second, limits).compute_ns / 1e9;
}

}  // namespace inferoscope::gui
