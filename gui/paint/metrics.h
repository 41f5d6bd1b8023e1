// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

#include <cstdint>

namespace inferoscope::gui {

// The figures that views and panels show. What each one means is written once, in the table of metrics.cpp.
enum class Metric : std::uint8_t {
  kBound,
  kFloor,
  kBandwidth,
  kCompute,
  kTokenRate,
  kProcessBusy,
  kGpuBusy,
  kBlockUse,
  kSlotUse,
  kStepBlockUse,
  kIdlePlaces,
  kTtft,
  kTpot,
  kItl,
  kPromptTokens,
  kComputedTokens,
  kOutputTokens,
  kBlocksHeld,
  kPrefixHits,
  kPreemptions,
  kNumMetrics
};

QString metricName(Metric metric);

// For a tool tip: name, formula, the formula with its numbers (where `live` gives them, "512 ÷ 1,024 = 50%"), unit,
// and whether it is measured, counted, or both.
QString explainMetric(Metric metric, const QString& live = {});

// For QToolTip, which wraps long lines only of rich text: the words with their own line breaks.
QString tipText(const QString& words);

}  // namespace inferoscope::gui
