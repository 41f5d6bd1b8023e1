// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/op_work.h"

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

namespace inferoscope::gui {

using BytesByKind = std::array<double, core::kNumByteKinds>;

// What the steps that ended in a tenth of a second of lane time moved, and the tokens they gave.
struct TokenBytesBin {
  std::int64_t index = 0;
  BytesByKind bytes{};
  double tokens = 0;
};

// Bytes and tokens by lane time, a bounded number of bins; those without a step are left out.
class TokenBytesHistory {
 public:
  static constexpr std::int64_t kBinNs = 100'000'000;

  explicit TokenBytesHistory(std::size_t max_bins = 36'000) : m_max_bins(max_bins) {}

  void clear();
  void add(const core::StepRecord& step);

  bool empty() const { return m_bins.empty(); }
  std::int64_t endNs() const { return m_end_ns; }  // of the last step
  const std::deque<TokenBytesBin>& bins() const { return m_bins; }

 private:
  std::size_t m_max_bins;
  std::deque<TokenBytesBin> m_bins;
  std::int64_t m_end_ns = 0;
  std::int64_t m_last_step = -1;
};

// Bytes a generated token, a column at a time. What was moved while no token came, as in the prefill of a long prompt,
// is paid by the tokens that come next: the sum of the bytes is kept.
struct TokenBytesSeries {
  std::vector<double> seconds;                                     // where each column begins
  std::array<std::vector<double>, core::kNumByteKinds> per_token;  // by class
  double end_s = 0;                                                // of the last column

  bool empty() const { return seconds.empty(); }
  double total(std::size_t column) const;
};
TokenBytesSeries bytesPerToken(const TokenBytesHistory& history, double from_s, double to_s, int max_columns);

// The column at a time; -1 before the first.
int columnAt(const TokenBytesSeries& series, double seconds);

}  // namespace inferoscope::gui
