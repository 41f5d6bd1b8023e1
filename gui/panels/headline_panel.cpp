// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/panels/headline_panel.h"

#include "gui/paint/metrics.h"
#include "gui/paint/number_format.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QStringList>
#include <QVBoxLayout>

#include <algorithm>

namespace inferoscope::gui {
namespace {

constexpr std::int64_t kRecentNs = 10'000'000'000;  // the other phase is worth a word for so long
constexpr double kValueScale = 2.4;                 // of the window's font
constexpr double kVerdictScale = 2.7;

QString phaseName(core::Phase phase) {
  return phase == core::Phase::kPrefill ? HeadlinePanel::tr("PREFILL") : HeadlinePanel::tr("DECODE");
}

QString words(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

QString computeCeiling(const core::Verdict& verdict, const core::MachineLimits& limits) {
  const bool integer = 2 * verdict.cost.int8_ops > verdict.cost.flops;
  return integer && limits.int8_op_per_s > 0
             ? HeadlinePanel::tr("of %1 GOP/s, int8 compute").arg(significantText(limits.int8_op_per_s * 1e-9))
             : HeadlinePanel::tr("of %1, compute").arg(peakText(limits, false));
}

// "PREFILL: compute-bound, 71.5 tok/s".
QString inBrief(const core::Verdict& verdict, const core::MachineLimits& limits) {
  const QString rate = tokenRateText(verdict.tokensPerSecond());
  return limits.measured() ? HeadlinePanel::tr("%1: %2, %3")
                                 .arg(phaseName(verdict.phase), words(core::boundName(verdict.bound)), rate)
                           : HeadlinePanel::tr("%1: %2").arg(phaseName(verdict.phase), rate);
}

// The formulas of the tool tips with their numbers.
QString liveBound(const core::Verdict& verdict, const core::MachineLimits& limits) {
  const QString measured = durationText(verdict.measured_ns);
  if (!limits.measured()) return HeadlinePanel::tr("measured %1; no ceilings yet").arg(measured);
  const auto ns = [](double value) { return durationText(static_cast<std::int64_t>(value)); };
  return HeadlinePanel::tr("bytes need %1, operations %2, the floor is %3 of %4 measured")
      .arg(ns(verdict.roof.memory_ns), ns(verdict.roof.compute_ns), ns(verdict.floor_ns), measured);
}

QString liveBandwidth(const core::Verdict& verdict, const core::MachineLimits& limits) {
  const QString rate = HeadlinePanel::tr("%1 ÷ %2 = %3")
                           .arg(movedBytesText(static_cast<double>(verdict.cost.bytes())),
                                durationText(verdict.measured_ns), byteRateText(verdict.bytesPerSecond()));
  if (!limits.measured()) return rate;
  return rate +
         HeadlinePanel::tr(" ÷ %1 = %2").arg(byteRateText(limits.read_bytes_per_s), shareText(*verdict.bandwidthUse()));
}

QString liveCompute(const core::Verdict& verdict, const core::MachineLimits& limits) {
  const auto flops = static_cast<double>(verdict.cost.flops);
  const QString rate =
      HeadlinePanel::tr("%1 operations ÷ %2 = %3")
          .arg(operationsText(flops), durationText(verdict.measured_ns), flopRateText(verdict.flopPerSecond()));
  if (!limits.measured()) return rate;
  return rate + HeadlinePanel::tr("; at the ceilings %1 (%2 int8, the rest floats): %3")
                    .arg(durationText(static_cast<std::int64_t>(verdict.roof.compute_ns)),
                         operationsText(static_cast<double>(verdict.cost.int8_ops)),
                         shareText(verdict.computeUse().value_or(0)));
}

QString liveRate(const core::Verdict& verdict) {
  return HeadlinePanel::tr("%1 tokens ÷ %2 = %3")
      .arg(countText(verdict.num_tokens), durationText(verdict.measured_ns), tokenRateText(verdict.tokensPerSecond()));
}

QString liveBusy(const core::Verdict& verdict) {
  return HeadlinePanel::tr("%1 ÷ (%2 × %3) = %4")
      .arg(durationText(static_cast<std::int64_t>(verdict.process_cpu_s * 1e9)), durationText(verdict.measured_ns),
           countText(verdict.num_threads), shareText(verdict.processBusy()));
}

QString liveGpu(const core::Verdict& verdict) {
  if (!verdict.gpuBusy()) return {};
  return HeadlinePanel::tr("%1 over %2 of steps")
      .arg(shareText(*verdict.gpuBusy()), durationText(verdict.gpu_known_ns));
}

}  // namespace

HeadlinePanel::HeadlinePanel(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("headline"));
  setAccessibleName(tr("Headline"));
  buildUi();
  refresh();
}

HeadlinePanel::Figure HeadlinePanel::makeFigure() {
  const Figure figure{new QLabel(this), new QLabel(this)};
  for (QLabel* label : {figure.value, figure.caption}) label->setTextFormat(Qt::PlainText);
  return figure;
}

// Tool tips: the formulas, with the numbers of the verdict that is shown.
void HeadlinePanel::explain(const core::Verdict* verdict) {
  const auto set = [](const Figure& figure, Metric metric, const QString& live) {
    for (QLabel* label : {figure.value, figure.caption}) label->setToolTip(tipText(explainMetric(metric, live)));
  };
  set(m_verdict, Metric::kBound, verdict == nullptr ? QString() : liveBound(*verdict, m_limits));
  set(m_bandwidth, Metric::kBandwidth, verdict == nullptr ? QString() : liveBandwidth(*verdict, m_limits));
  set(m_compute, Metric::kCompute, verdict == nullptr ? QString() : liveCompute(*verdict, m_limits));
  set(m_gpu, Metric::kGpuBusy, verdict == nullptr ? QString() : liveGpu(*verdict));
  set(m_rate, Metric::kTokenRate, verdict == nullptr ? QString() : liveRate(*verdict));
  set(m_busy, Metric::kProcessBusy, verdict == nullptr ? QString() : liveBusy(*verdict));
}

void HeadlinePanel::buildUi() {
  for (Figure* figure : {&m_verdict, &m_bandwidth, &m_compute, &m_gpu, &m_rate, &m_busy}) *figure = makeFigure();
  explain(nullptr);
  scaleFonts();
  for (QLabel* label : {m_verdict.value, m_verdict.caption}) {
    label->setMinimumWidth(1);  // may be cut rather than widen the window
  }

  auto* row = new QHBoxLayout;
  row->setSpacing(28);
  for (const Figure& figure : {m_verdict, m_bandwidth, m_compute, m_gpu, m_rate, m_busy}) {
    auto* column = new QVBoxLayout;
    column->setSpacing(0);
    column->addWidget(figure.value);
    column->addWidget(figure.caption);
    row->addLayout(column, figure.value == m_verdict.value ? 1 : 0);
  }
  m_progress = new QProgressBar(this);
  m_progress->setRange(0, 1000);
  m_progress->setTextVisible(false);
  m_progress->setFixedHeight(4);
  m_progress->setToolTip(tr("Ops done of the step in progress"));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(12, 6, 12, 4);
  layout->setSpacing(4);
  layout->addLayout(row);
  layout->addWidget(m_progress);
}

void HeadlinePanel::scaleFonts() {
  for (const Figure& figure : {m_verdict, m_bandwidth, m_compute, m_gpu, m_rate, m_busy}) {
    QFont large = font();
    large.setBold(true);
    large.setPointSizeF(large.pointSizeF() * (figure.value == m_verdict.value ? kVerdictScale : kValueScale));
    figure.value->setFont(large);
  }
}

void HeadlinePanel::changeEvent(QEvent* event) {
  if (event->type() == QEvent::FontChange) scaleFonts();
  QWidget::changeEvent(event);
}

void HeadlinePanel::showRunState(RunState state) {
  m_state = state;
  refresh();
}

void HeadlinePanel::showModel(const ModelInfo& model) {
  m_prefill.clear();
  m_decode.clear();
  m_random_weights = model.config.random_weights;
  refresh();
}

void HeadlinePanel::showLimits(const core::MachineLimits& limits) {
  m_limits = limits;
  refresh();
}

void HeadlinePanel::showFrame(const Frame& frame) {
  m_two_lanes = frame.b.has_value();
  m_b_steps = frame.b && !frame.b->steps.empty() && frame.steps.empty();
  if (frame.steps.empty()) return refresh();
  for (const auto& step : frame.steps) {
    m_prefill.add(step);
    m_decode.add(step);
  }
  refresh();
}

void HeadlinePanel::showComparing(const QString& doing) {
  m_comparing = doing;
  refresh();
}

void HeadlinePanel::showProgress(double share) {
  m_progress->setValue(static_cast<int>(share * 1000));
}

void HeadlinePanel::refresh() {
  const bool prefill_last = m_prefill.latestNs() > m_decode.latestNs();
  const RecentSteps& now = prefill_last ? m_prefill : m_decode;
  const RecentSteps& before = prefill_last ? m_decode : m_prefill;
  const auto latest = now.verdict(m_limits);
  if (m_state == RunState::kNoModel)
    return showWords(tr("No model loaded"), tr("File > Open model, or drop a GGUF file here"));
  if (m_state == RunState::kLoading) return showWords(tr("Loading"), tr("The weights are read and copied"));
  if (!latest && !m_comparing.isEmpty()) {
    return showWords(tr("Comparing"), m_b_steps ? tr("%1, lane B").arg(m_comparing) : m_comparing);
  }
  if (!latest) return showWords(tr("Ready"), tr("Press Run, or ask something"));
  const auto other = now.latestNs() - before.latestNs() < kRecentNs ? before.verdict(m_limits) : std::nullopt;
  showVerdict(*latest, other ? inBrief(*other, m_limits) : QString());
}

void HeadlinePanel::showWords(const QString& words, const QString& caption) {
  m_verdict.value->setText(words);
  m_verdict.caption->setText(caption);
  for (const Figure& figure : {m_bandwidth, m_compute, m_rate, m_busy}) {
    figure.value->clear();
    figure.caption->clear();
  }
  showGpu(std::nullopt);
  explain(nullptr);
  setAccessibleDescription(words + QStringLiteral(". ") + caption);
}

void HeadlinePanel::showVerdict(const core::Verdict& verdict, const QString& other_phase) {
  const bool measured = m_limits.measured();
  m_verdict.value->setText(measured ? tr("%1: %2").arg(phaseName(verdict.phase), words(core::boundName(verdict.bound)))
                                    : phaseName(verdict.phase));
  QStringList notes;
  if (m_two_lanes) notes << (m_comparing.isEmpty() ? tr("Lane A") : tr("Lane A, %1").arg(m_comparing));
  if (m_state == RunState::kPaused) notes << tr("Paused");
  if (m_random_weights) notes << tr("Random weights");
  if (!measured) {
    notes << tr("The machine's ceilings are not measured yet");
  } else {
    notes << tr("Floor: %1 of the time").arg(shareText(verdict.floor_ns / static_cast<double>(verdict.measured_ns)));
  }
  if (!other_phase.isEmpty()) notes << other_phase;
  m_verdict.caption->setText(notes.join(QStringLiteral("  ·  ")));

  m_bandwidth.value->setText(measured ? shareText(*verdict.bandwidthUse()) : byteRateText(verdict.bytesPerSecond()));
  m_bandwidth.caption->setText(measured ? tr("of %1, bandwidth").arg(byteRateText(m_limits.read_bytes_per_s))
                                        : tr("moved"));
  m_compute.value->setText(measured ? shareText(verdict.computeUse().value_or(0))
                                    : flopRateText(verdict.flopPerSecond()));
  m_compute.caption->setText(measured ? computeCeiling(verdict, m_limits) : tr("computed"));
  showGpu(verdict.gpuBusy());
  m_rate.value->setText(significantText(verdict.tokensPerSecond()));
  m_rate.caption->setText(verdict.phase == core::Phase::kPrefill ? tr("prompt tokens/s") : tr("tokens/s"));
  m_busy.value->setText(shareText(verdict.processBusy()));
  m_busy.caption->setText(verdict.num_threads == 1 ? tr("busy, 1 thread")
                                                   : tr("busy, %1 threads").arg(verdict.num_threads));
  explain(&verdict);
  setAccessibleDescription(QString::fromStdString(core::headline(verdict, m_limits)));
}

void HeadlinePanel::showGpu(std::optional<double> busy) {
  m_gpu.value->setText(busy ? shareText(*busy) : QString());
  m_gpu.caption->setText(busy ? tr("GPU busy, by NVML") : QString());
  for (QLabel* label : {m_gpu.value, m_gpu.caption}) label->setVisible(busy.has_value());
}

}  // namespace inferoscope::gui
