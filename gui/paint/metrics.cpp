// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/paint/metrics.h"

#include <QCoreApplication>

#include <array>
#include <cstddef>

namespace inferoscope::gui {

namespace {

struct Row {
  Metric metric;
  const char* name;
  const char* formula;
  const char* unit;
  const char* source;
};

// A translator's context for all texts of the table.
QString words(const char* text) {
  return QCoreApplication::translate("Metrics", text);
}

constexpr std::array kRows = {
    Row{Metric::kBound, QT_TRANSLATE_NOOP("Metrics", "Verdict"),
        QT_TRANSLATE_NOOP("Metrics",
                          "bandwidth-bound or compute-bound by the larger sum over the ops of bytes ÷ bandwidth and "
                          "operations ÷ peak; overhead-bound if the floor is under half of the measured time; fits in "
                          "cache if weights and KV of a step are within the probed reach of the cache"),
        QT_TRANSLATE_NOOP("Metrics", "a word, over the last second of steps"),
        QT_TRANSLATE_NOOP("Metrics", "Bytes and operations counted from the shapes, time measured, ceilings probed.")},
    Row{Metric::kFloor, QT_TRANSLATE_NOOP("Metrics", "Floor"),
        QT_TRANSLATE_NOOP("Metrics",
                          "sum over the ops of the larger of bytes ÷ bandwidth and operations ÷ peak, of the measured "
                          "time"),
        QT_TRANSLATE_NOOP("Metrics", "%"),
        QT_TRANSLATE_NOOP("Metrics", "Bytes and operations counted from the shapes, time measured, ceilings probed.")},
    Row{Metric::kBandwidth, QT_TRANSLATE_NOOP("Metrics", "Bandwidth use"),
        QT_TRANSLATE_NOOP("Metrics",
                          "bytes that the ops must move at least once (weights, KV, activations, scores) ÷ time ÷ read "
                          "bandwidth that the probe reached on this machine with as many threads"),
        QT_TRANSLATE_NOOP("Metrics", "GB/s, 10⁹ bytes per second; %"),
        QT_TRANSLATE_NOOP("Metrics", "Bytes counted from the shapes, time measured, the ceiling probed.")},
    Row{Metric::kCompute, QT_TRANSLATE_NOOP("Metrics", "Compute use"),
        QT_TRANSLATE_NOOP("Metrics",
                          "operations of the ops (a multiply-add is two) ÷ time ÷ the rate that the probe reached on "
                          "this machine: int8 block dots and fp32 multiply-adds each against their own"),
        QT_TRANSLATE_NOOP("Metrics", "GFLOP/s, 10⁹ operations per second; %"),
        QT_TRANSLATE_NOOP("Metrics", "Operations counted from the shapes, time measured, the ceilings probed.")},
    Row{Metric::kTokenRate, QT_TRANSLATE_NOOP("Metrics", "Token rate"),
        QT_TRANSLATE_NOOP("Metrics",
                          "tokens of the phase (prompt tokens computed, or output tokens) ÷ time of its steps"),
        QT_TRANSLATE_NOOP("Metrics", "tokens per second"),
        QT_TRANSLATE_NOOP("Metrics", "Tokens counted, time measured on the lane's clock.")},
    Row{Metric::kProcessBusy, QT_TRANSLATE_NOOP("Metrics", "Process busy"),
        QT_TRANSLATE_NOOP("Metrics", "CPU time of the process ÷ (time of the steps × threads)"),
        QT_TRANSLATE_NOOP("Metrics", "%"),
        QT_TRANSLATE_NOOP("Metrics",
                          "Measured by the system. Busy is not computing: a thread that waits for memory counts as "
                          "busy.")},
    Row{Metric::kBlockUse, QT_TRANSLATE_NOOP("Metrics", "Block use"),
        QT_TRANSLATE_NOOP("Metrics", "blocks held by a request ÷ all blocks; a shared block counts once"),
        QT_TRANSLATE_NOOP("Metrics", "%"),
        QT_TRANSLATE_NOOP("Metrics", "Counted from the cache's own tables after a step.")},
    Row{Metric::kSlotUse, QT_TRANSLATE_NOOP("Metrics", "Slot use"),
        QT_TRANSLATE_NOOP("Metrics", "token slots that hold a computed token ÷ all slots; a shared slot counts once"),
        QT_TRANSLATE_NOOP("Metrics", "%"),
        QT_TRANSLATE_NOOP("Metrics", "Counted from the cache's own tables after a step.")},
    Row{Metric::kStepBlockUse, QT_TRANSLATE_NOOP("Metrics", "KV blocks used"),
        QT_TRANSLATE_NOOP("Metrics", "blocks held by a request ÷ all blocks, while a step runs"),
        QT_TRANSLATE_NOOP("Metrics", "%"), QT_TRANSLATE_NOOP("Metrics", "Counted.")},
    Row{Metric::kIdlePlaces, QT_TRANSLATE_NOOP("Metrics", "Idle place-steps"),
        QT_TRANSLATE_NOOP("Metrics",
                          "places of the batch in which nobody was computed ÷ all places, summed over the steps in "
                          "sight"),
        QT_TRANSLATE_NOOP("Metrics", "places × steps; %"),
        QT_TRANSLATE_NOOP("Metrics", "Counted from the records of the scheduler.")},
    Row{Metric::kTtft, QT_TRANSLATE_NOOP("Metrics", "Time to first token (TTFT)"),
        QT_TRANSLATE_NOOP("Metrics", "first token − arrival"), QT_TRANSLATE_NOOP("Metrics", "milliseconds"),
        QT_TRANSLATE_NOOP("Metrics", "Measured on the lane's clock, the queue included.")},
    Row{Metric::kTpot, QT_TRANSLATE_NOOP("Metrics", "Time per output token (TPOT)"),
        QT_TRANSLATE_NOOP("Metrics", "(last token − first token) ÷ (output tokens − 1), one value a request"),
        QT_TRANSLATE_NOOP("Metrics", "milliseconds"), QT_TRANSLATE_NOOP("Metrics", "Measured on the lane's clock.")},
    Row{Metric::kItl, QT_TRANSLATE_NOOP("Metrics", "Inter-token latency (ITL)"),
        QT_TRANSLATE_NOOP("Metrics", "a token − the token before it, one value a gap"),
        QT_TRANSLATE_NOOP("Metrics", "milliseconds"),
        QT_TRANSLATE_NOOP("Metrics", "Measured on the lane's clock, from the ends of the steps.")},
    Row{Metric::kPromptTokens, QT_TRANSLATE_NOOP("Metrics", "Prompt"),
        QT_TRANSLATE_NOOP("Metrics", "tokens of the prompt"), QT_TRANSLATE_NOOP("Metrics", "tokens"),
        QT_TRANSLATE_NOOP("Metrics", "Counted.")},
    Row{Metric::kComputedTokens, QT_TRANSLATE_NOOP("Metrics", "Computed"),
        QT_TRANSLATE_NOOP("Metrics", "tokens whose keys and values are in the cache"),
        QT_TRANSLATE_NOOP("Metrics", "tokens"), QT_TRANSLATE_NOOP("Metrics", "Counted.")},
    Row{Metric::kOutputTokens, QT_TRANSLATE_NOOP("Metrics", "Output"),
        QT_TRANSLATE_NOOP("Metrics", "tokens sampled so far"), QT_TRANSLATE_NOOP("Metrics", "tokens"),
        QT_TRANSLATE_NOOP("Metrics", "Counted.")},
    Row{Metric::kBlocksHeld, QT_TRANSLATE_NOOP("Metrics", "Blocks"),
        QT_TRANSLATE_NOOP("Metrics", "KV blocks that the request holds now, shared ones included"),
        QT_TRANSLATE_NOOP("Metrics", "blocks"), QT_TRANSLATE_NOOP("Metrics", "Counted.")},
    Row{Metric::kPrefixHits, QT_TRANSLATE_NOOP("Metrics", "Prefix hits"),
        QT_TRANSLATE_NOOP("Metrics", "prompt tokens taken from the prefix cache instead of computed"),
        QT_TRANSLATE_NOOP("Metrics", "tokens"),
        QT_TRANSLATE_NOOP("Metrics", "Counted at the request's first admission.")},
    Row{Metric::kPreemptions, QT_TRANSLATE_NOOP("Metrics", "Preemptions"),
        QT_TRANSLATE_NOOP("Metrics", "how often its blocks were taken away, to be computed again"),
        QT_TRANSLATE_NOOP("Metrics", "times"), QT_TRANSLATE_NOOP("Metrics", "Counted.")},
};

constexpr bool inOrder() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].metric != static_cast<Metric>(i)) return false;
  }
  return kRows.size() == static_cast<std::size_t>(Metric::kNumMetrics);
}
static_assert(inOrder(), "a row for each metric, in their order");

const Row& rowOf(Metric metric) {
  return kRows[static_cast<std::size_t>(metric)];
}

}  // namespace

QString metricName(Metric metric) {
  return words(rowOf(metric).name);
}

QString explainMetric(Metric metric, const QString& live) {
  const Row& row = rowOf(metric);
  QString text = words(row.name) + QStringLiteral("\n= ") + words(row.formula);
  if (!live.isEmpty()) text += QStringLiteral("\n= ") + live;
  return text + QCoreApplication::translate("Metrics", "\nUnit: %1. %2").arg(words(row.unit), words(row.source));
}

QString tipText(const QString& words) {
  if (words.isEmpty()) return {};
  return QStringLiteral("<p style='white-space:pre-wrap'>") + words.toHtmlEscaped() + QStringLiteral("</p>");
}

}  // namespace inferoscope::gui
