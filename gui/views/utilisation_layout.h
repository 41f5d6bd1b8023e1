// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/limits.h"
#include "core/observe/records.h"

#include <cstdint>
#include <deque>
#include <vector>

namespace inferoscope::gui {

// What was done in a stretch of lane time, summed up.
struct WorkSum {
  double prefill_tokens = 0;
  double decode_tokens = 0;
  double bytes = 0;
  double flops = 0;     // all arithmetic
  double int8_ops = 0;  // the part of it that has the integer ceiling
  double gpu_ns = 0;    // busy by the GPU's driver, of the time that it told of
  double gpu_known_ns = 0;
  double lost_ns = 0;    // no record is left of this much of it
  double kv_share = -1;  // blocks used at its end; negative: no step here
};

// Work by lane time in bins of a quarter of a second, a bounded number of them, however fast the engine steps. A step's
// work is spread evenly over its time, since a long step may cross several bins.
class WorkHistory {
 public:
  static constexpr std::int64_t kBinNs = 250'000'000;

  explicit WorkHistory(std::size_t max_bins = 4 * 3600);

  void clear();
  void add(const core::StepRecord& step);

  bool empty() const { return m_bins.empty(); }
  std::int64_t firstBin() const { return m_first_bin; }
  std::int64_t endNs() const { return m_end_ns; }  // of the last step
  const std::deque<WorkSum>& bins() const { return m_bins; }

 private:
  void reach(std::int64_t bin);
  template <class Put>
  void spread(std::int64_t from_ns, std::int64_t to_ns, Put put);

  std::size_t m_max_bins;
  std::deque<WorkSum> m_bins;
  std::int64_t m_first_bin = 0;
  std::int64_t m_end_ns = 0;
  std::int64_t m_last_step = -1;
};

// Rates over windows of one or more bins, one point a window, at its middle. NaN where records were lost.
// The window that is under way is left out, unless it is the only one.
struct RateSeries {
  std::vector<double> seconds;
  std::vector<double> prefill_per_s;
  std::vector<double> decode_per_s;
  std::vector<double> bytes_per_s;
  std::vector<double> flop_per_s;
  std::vector<double> int8_per_s;
  std::vector<double> kv_share;
  std::vector<double> gpu_share;      // as the GPU's driver reports it; NaN where it told nothing
  std::vector<double> prefill_phase;  // 1: most tokens of the window were prefill, 0: not
};
RateSeries ratesOf(const WorkHistory& history, double from_s, double to_s, int max_points);

// Shares of the probed ceilings; NaN where they are not measured.
double bandwidthShare(double bytes_per_s, const core::MachineLimits& limits);
double computeShare(double flop_per_s, double int8_per_s, const core::MachineLimits& limits);

}  // namespace inferoscope::gui
