// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/panels/headline_panel.h"

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
  return integer ? HeadlinePanel::tr("of %1 GOP/s, int8 compute").arg(significantText(limits.int8_op_per_s * 1e-9))
                 : HeadlinePanel::tr("of %1, compute").arg(flopRateText(limits.fp32_flop_per_s));
}

// "PREFILL: compute-bound, 71.5 tok/s".
QString inBrief(const core::Verdict& verdict, const core::MachineLimits& limits) {
  const QString rate = tokenRateText(verdict.tokensPerSecond());
  return limits.measured() ? HeadlinePanel::tr("%1: %2, %3")
                                 .arg(phaseName(verdict.phase), words(core::boundName(verdict.bound)), rate)
                           : HeadlinePanel::tr("%1: %2").arg(phaseName(verdict.phase), rate);
}

}  // namespace

HeadlinePanel::HeadlinePanel(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("headline"));
  setAccessibleName(tr("Headline"));
  buildUi();
  refresh();
}

HeadlinePanel::Figure HeadlinePanel::makeFigure(const QString& tool_tip) {
  const Figure figure{new QLabel(this), new QLabel(this)};
  for (QLabel* label : {figure.value, figure.caption}) {
    label->setToolTip(tool_tip);
    label->setTextFormat(Qt::PlainText);
  }
  return figure;
}

void HeadlinePanel::buildUi() {
  m_verdict = makeFigure(
      tr("What the steps of the last second were bound by. Floor: for each op the larger of bytes / bandwidth and "
         "operations / peak, summed. Overhead-bound: the floor is under half of the measured time. Fits in cache: "
         "the weights and keys of a step are few enough to stay in the cache, as far as that was probed to reach."));
  m_bandwidth = makeFigure(
      tr("Bytes that the ops must move (counted from their shapes) / measured time, as a share of the read bandwidth "
         "that was probed on this machine with as many threads."));
  m_compute = makeFigure(
      tr("Operations of the ops (counted, a multiply-add is two) / measured time, as a share of the rate that was "
         "probed on this machine: int8 block dots and fp32 multiply-adds each against their own."));
  m_rate = makeFigure(tr("Tokens of this phase / measured time of its steps, over the last second of steps."));
  m_busy = makeFigure(
      tr("CPU time of the process / (measured time x threads), as the system reports it. Busy is not computing: a "
         "thread that waits for memory counts as busy."));
  scaleFonts();
  for (QLabel* label : {m_verdict.value, m_verdict.caption}) {
    label->setMinimumWidth(1);  // may be cut rather than widen the window
  }

  auto* row = new QHBoxLayout;
  row->setSpacing(28);
  for (const Figure& figure : {m_verdict, m_bandwidth, m_compute, m_rate, m_busy}) {
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
  for (const Figure& figure : {m_verdict, m_bandwidth, m_compute, m_rate, m_busy}) {
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
  if (frame.steps.empty()) return;
  for (const auto& step : frame.steps) {
    m_prefill.add(step);
    m_decode.add(step);
  }
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
  setAccessibleDescription(words + QStringLiteral(". ") + caption);
}

void HeadlinePanel::showVerdict(const core::Verdict& verdict, const QString& other_phase) {
  const bool measured = m_limits.measured();
  m_verdict.value->setText(measured ? tr("%1: %2").arg(phaseName(verdict.phase), words(core::boundName(verdict.bound)))
                                    : phaseName(verdict.phase));
  QStringList notes;
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
  m_rate.value->setText(significantText(verdict.tokensPerSecond()));
  m_rate.caption->setText(verdict.phase == core::Phase::kPrefill ? tr("prompt tokens/s") : tr("tokens/s"));
  m_busy.value->setText(shareText(verdict.processBusy()));
  m_busy.caption->setText(verdict.num_threads == 1 ? tr("busy, 1 thread")
                                                   : tr("busy, %1 threads").arg(verdict.num_threads));
  setAccessibleDescription(QString::fromStdString(core::headline(verdict, m_limits)));
}

}  // namespace inferoscope::gui
