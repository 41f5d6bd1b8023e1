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

// The table, in one translator's context.
class Metrics {
  Q_DECLARE_TR_FUNCTIONS(Metrics)

  // What several rows say.
  static constexpr const char* kPercent = "%";
  static constexpr const char* kMilliseconds = QT_TR_NOOP("milliseconds");
  static constexpr const char* kTokens = QT_TR_NOOP("tokens");
  static constexpr const char* kCounted = QT_TR_NOOP("Counted.");
  static constexpr const char* kOfTheCache = QT_TR_NOOP("Counted from the cache's own tables after a step.");
  static constexpr const char* kOnTheLanesClock = QT_TR_NOOP("Measured on the lane's clock.");
  static constexpr const char* kOfCeilings =
      QT_TR_NOOP("Bytes and operations counted from the shapes, time measured, ceilings probed.");

 public:
  static constexpr std::array kRows = {
      Row{Metric::kBound, QT_TR_NOOP("Verdict"),
          QT_TR_NOOP("bandwidth-bound or compute-bound by the larger sum over the ops of bytes ÷ bandwidth and "
                     "operations ÷ peak; overhead-bound if the floor is under half of the measured time; fits in "
                     "cache if weights and KV of a step are within the probed reach of the cache"),
          QT_TR_NOOP("a word, over the last second of steps"), kOfCeilings},
      Row{Metric::kFloor, QT_TR_NOOP("Floor"),
          QT_TR_NOOP("sum over the ops of the larger of bytes ÷ bandwidth and operations ÷ peak, of the measured time"),
          kPercent, kOfCeilings},
      Row{Metric::kBandwidth, QT_TR_NOOP("Bandwidth use"),
          QT_TR_NOOP("bytes that the ops must move at least once (weights, KV, activations, scores) ÷ time ÷ read "
                     "bandwidth that the probe reached on this machine with as many threads"),
          QT_TR_NOOP("GB/s, 10⁹ bytes per second; %"), kOfCeilings},
      Row{Metric::kCompute, QT_TR_NOOP("Compute use"),
          QT_TR_NOOP("operations of the ops (a multiply-add is two) ÷ time ÷ the rate that the probe reached on this "
                     "machine: int8 block dots and fp32 multiply-adds each against their own"),
          QT_TR_NOOP("GFLOP/s, 10⁹ operations per second; %"), kOfCeilings},
      Row{Metric::kTokenRate, QT_TR_NOOP("Token rate"),
          QT_TR_NOOP("tokens of the phase (prompt tokens computed, or output tokens) ÷ time of its steps"),
          QT_TR_NOOP("tokens per second"), QT_TR_NOOP("Tokens counted, time measured on the lane's clock.")},
      Row{Metric::kProcessBusy, QT_TR_NOOP("Process busy"),
          QT_TR_NOOP("CPU time of the process ÷ (time of the steps × threads)"), kPercent,
          QT_TR_NOOP("Measured by the system. Busy is not computing: a thread that waits for memory counts as busy.")},
      Row{Metric::kGpuBusy, QT_TR_NOOP("GPU busy, by NVML"),
          QT_TR_NOOP("time in which any kernel ran ÷ time, over the driver's last moments; averaged over the steps"),
          kPercent,
          QT_TR_NOOP("Measured by NVIDIA's driver (NVML), as nvidia-smi shows it. Busy is not computing: one small "
                     "kernel that waits for memory makes it 100%.")},
      Row{Metric::kBlockUse, QT_TR_NOOP("Block use"),
          QT_TR_NOOP("blocks held by a request ÷ all blocks; a shared block counts once"), kPercent, kOfTheCache},
      Row{Metric::kSlotUse, QT_TR_NOOP("Slot use"),
          QT_TR_NOOP("token slots that hold a computed token ÷ all slots; a shared slot counts once"), kPercent,
          kOfTheCache},
      Row{Metric::kStepBlockUse, QT_TR_NOOP("KV blocks used"),
          QT_TR_NOOP("blocks held by a request ÷ all blocks, while a step runs"), kPercent, kCounted},
      Row{Metric::kIdlePlaces, QT_TR_NOOP("Idle place-steps"),
          QT_TR_NOOP("places of the batch in which nobody was computed ÷ all places, summed over the steps in sight"),
          QT_TR_NOOP("places × steps; %"), QT_TR_NOOP("Counted from the records of the scheduler.")},
      Row{Metric::kTtft, QT_TR_NOOP("Time to first token (TTFT)"), QT_TR_NOOP("first token − arrival"), kMilliseconds,
          QT_TR_NOOP("Measured on the lane's clock, the queue included.")},
      Row{Metric::kTpot, QT_TR_NOOP("Time per output token (TPOT)"),
          QT_TR_NOOP("(last token − first token) ÷ (output tokens − 1), one value a request"), kMilliseconds,
          kOnTheLanesClock},
      Row{Metric::kItl, QT_TR_NOOP("Inter-token latency (ITL)"),
          QT_TR_NOOP("a token − the token before it, one value a gap"), kMilliseconds,
          QT_TR_NOOP("Measured on the lane's clock, from the ends of the steps.")},
      Row{Metric::kPromptTokens, QT_TR_NOOP("Prompt"), QT_TR_NOOP("tokens of the prompt"), kTokens, kCounted},
      Row{Metric::kComputedTokens, QT_TR_NOOP("Computed"), QT_TR_NOOP("tokens whose keys and values are in the cache"),
          kTokens, kCounted},
      Row{Metric::kOutputTokens, QT_TR_NOOP("Output"), QT_TR_NOOP("tokens sampled so far"), kTokens, kCounted},
      Row{Metric::kBlocksHeld, QT_TR_NOOP("Blocks"),
          QT_TR_NOOP("KV blocks that the request holds now, shared ones included"), QT_TR_NOOP("blocks"), kCounted},
      Row{Metric::kPrefixHits, QT_TR_NOOP("Prefix hits"),
          QT_TR_NOOP("prompt tokens taken from the prefix cache instead of computed"), kTokens,
          QT_TR_NOOP("Counted at the request's first admission.")},
      Row{Metric::kPreemptions, QT_TR_NOOP("Preemptions"),
          QT_TR_NOOP("how often its blocks were taken away, to be computed again"), QT_TR_NOOP("times"), kCounted},
  };
};

constexpr bool inOrder() {
  for (std::size_t i = 0; i < Metrics::kRows.size(); ++i) {
    if (Metrics::kRows[i].metric != static_cast<Metric>(i)) return false;
  }
  return Metrics::kRows.size() == static_cast<std::size_t>(Metric::kNumMetrics);
}
static_assert(inOrder(), "a row for each metric, in their order");

const Row& rowOf(Metric metric) {
  return Metrics::kRows[static_cast<std::size_t>(metric)];
}

}  // namespace

QString metricName(Metric metric) {
  return Metrics::tr(rowOf(metric).name);
}

QString explainMetric(Metric metric, const QString& live) {
  const Row& row = rowOf(metric);
  QString text = Metrics::tr(row.name) + QStringLiteral("\n= ") + Metrics::tr(row.formula);
  if (!live.isEmpty()) text += QStringLiteral("\n= ") + live;
  return text + Metrics::tr("\nUnit: %1. %2").arg(Metrics::tr(row.unit), Metrics::tr(row.source));
}

QString tipText(const QString& words) {
  if (words.isEmpty()) return {};
  return QStringLiteral("<p style='white-space:pre-wrap'>") + words.toHtmlEscaped() + QStringLiteral("</p>");
}

}  // namespace inferoscope::gui
