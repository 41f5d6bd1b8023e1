// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/waiting_view.h"

#include "gui/paint/marks.h"
#include "gui/paint/metrics.h"
#include "gui/paint/number_format.h"
#include "gui/paint/theme.h"
#include "gui/views/lane_marks.h"
#include "gui/views/words.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>

namespace inferoscope::gui {

namespace {

// Reasons whose two numbers are of one kind: how much of what it needs is there.
bool hasGauge(core::WaitReason reason) {
  return reason == core::WaitReason::kBlocks || reason == core::WaitReason::kStepTokens;
}

LaneKind laneKind(Stage stage) {
  switch (stage) {
    case Stage::kWaiting:
      return LaneKind::kWaiting;
    case Stage::kPrefill:
      return LaneKind::kPrefill;
    case Stage::kDecode:
      return LaneKind::kDecode;
    case Stage::kHeld:
      return LaneKind::kHeld;
  }
  return LaneKind::kIdle;
}

}  // namespace

WaitingView::WaitingView(Selection& selection, QWidget* parent) : View(selection, parent) {
  setAccessibleName(tr("Why is it waiting"));
  setAccessibleDescription(tr("What the scheduler recorded of a request: why it waits, and for how long"));
  connect(&selection, &Selection::changed, this, &WaitingView::follow);
}

void WaitingView::showModel(const ModelInfo&) {
  m_has_model = true;
  m_stories.clear();
  m_snapshot.reset();
  m_request = {};
  update();
}

void WaitingView::showLimits(const core::MachineLimits&) {}

void WaitingView::showFrame(const Frame& frame) {
  m_stories.add(frame);
  if (frame.snapshot) m_snapshot = frame.snapshot;
  follow();
}

void WaitingView::follow() {
  if (m_snapshot) m_request = whoWaits(*m_snapshot, m_selection.request(), m_request);
  if (m_request.valid() && inSight()) setAccessibleDescription(headerText() + QStringLiteral(". ") + sentence());
  update();
}

const StageSpan* WaitingView::waitNow() const {
  const core::RequestInfo* request = findRequest(m_snapshot.get(), m_request);
  const bool waits = request != nullptr &&
                     (request->state == core::SeqState::kWaiting || request->state == core::SeqState::kPreempted);
  return waits && !story().empty() && story().back().stage == Stage::kWaiting ? &story().back() : nullptr;
}

WaitingLayout WaitingView::layoutNow() const {
  const QFontMetrics metrics(smallFont(font()));
  const StageSpan* wait = waitNow();
  const int gauge = wait != nullptr && hasGauge(wait->wait.reason) ? gaugeHeight(metrics) : 0;
  const int width = std::max(1, this->width() - 2 * kMargin);
  const int sentence_height = fontMetrics().boundingRect(0, 0, width, 1000, Qt::TextWordWrap, sentence()).height();
  return layoutWaiting(size(), metrics.height(), sentence_height, gauge, story());
}

void WaitingView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = themeOf(palette());
  painter.fillRect(rect(), theme.surface);
  if (!m_snapshot || !m_request.valid()) {
    paintEmptyState(painter, rect(), m_has_model ? tr("No request yet") : noModelWords(), theme);
    return;
  }
  const WaitingLayout layout = layoutNow();
  paintNow(painter, layout, theme);
  painter.setFont(smallFont(font()));
  paintStrip(painter, layout, theme);
  paintRows(painter, layout, theme);
}

QString WaitingView::headerText() const {
  const core::RequestInfo* request = findRequest(m_snapshot.get(), m_request);
  QString text = requestName(m_snapshot.get(), m_request);
  if (request == nullptr) return text + QStringLiteral(" · ") + tr("no longer listed");
  text += QStringLiteral(" · ") + seqStateWord(request->state);
  if (request->num_preemptions > 0) text += tr(" · preempted ×%1").arg(request->num_preemptions);
  return text;
}

QString WaitingView::sentence() const {
  const core::RequestInfo* request = findRequest(m_snapshot.get(), m_request);
  if (request == nullptr) return {};
  if (request->state == core::SeqState::kRunning) return tr("It is in the batch.");
  if (request->state == core::SeqState::kFinished) return tr("It has ended: %1.").arg(finishWords(request->finish));
  const StageSpan* wait = waitNow();
  if (wait == nullptr) return tr("No step has looked at it yet.");
  QString text = waitSentence(wait->wait);
  text[0] = text[0].toUpper();
  const QString knobs = waitKnobs(wait->wait.reason);
  return knobs.isEmpty() ? text + QLatin1Char('.') : tr("%1. Knobs that decide: %2.").arg(text, knobs);
}

void WaitingView::paintNow(QPainter& painter, const WaitingLayout& layout, const Theme& theme) const {
  painter.setFont(smallFont(font()));
  painter.setPen(theme.dim);
  const QFontMetrics metrics = painter.fontMetrics();
  painter.drawText(layout.header, Qt::AlignLeft | Qt::AlignVCenter,
                   metrics.elidedText(headerText(), Qt::ElideRight, layout.header.width()));
  painter.drawText(layout.totals, Qt::AlignLeft | Qt::AlignVCenter,
                   metrics.elidedText(waitTotals(story()), Qt::ElideRight, layout.totals.width()));
  painter.setFont(font());
  painter.setPen(theme.text);
  painter.drawText(layout.sentence, Qt::AlignLeft | Qt::TextWordWrap, sentence());
  const StageSpan* now = waitNow();
  if (now == nullptr || !hasGauge(now->wait.reason)) return;
  const core::WaitEntry& wait = now->wait;
  const bool blocks = wait.reason == core::WaitReason::kBlocks;
  painter.setFont(smallFont(font()));
  paintGauge(painter, layout.gauge,
             {blocks ? tr("Blocks there") : tr("Tokens left in the step"),
              tr("%1 of %2 needed").arg(countText(wait.available), countText(wait.needed)),
              wait.needed > 0 ? static_cast<double>(wait.available) / wait.needed : 0, theme.cache},
             theme);
}

// In the same hand as the batch lanes; waiting is filled besides, so that short waits are seen on a long strip.
void WaitingView::paintMark(QPainter& painter, const QRect& place, Stage stage, const Theme& theme) const {
  if (stage == Stage::kWaiting) painter.fillRect(place, mix(ownerColor(m_request, theme), theme.surface, 0.7));
  paintLaneCell(painter, place, {.seq = m_request, .kind = laneKind(stage)}, false, theme);
}

void WaitingView::paintStrip(QPainter& painter, const WaitingLayout& layout, const Theme& theme) const {
  painter.fillRect(layout.strip, theme.well);
  for (std::size_t i = 0; i < layout.spans.size(); ++i) {
    paintMark(painter, layout.spans[i], story()[i].stage, theme);
  }
  if (story().empty()) return;
  painter.setPen(theme.dim);
  painter.drawText(layout.axis, Qt::AlignLeft, durationText(story().front().from_ns));
  painter.drawText(layout.axis, Qt::AlignRight, durationText(story().back().to_ns));
}

void WaitingView::paintRows(QPainter& painter, const WaitingLayout& layout, const Theme& theme) const {
  const QFontMetrics metrics = painter.fontMetrics();
  for (std::size_t i = 0; i < layout.rows.size(); ++i) {
    const QRect& row = layout.rows[i];
    const StageSpan& span = story()[story().size() - 1 - i];
    const int side = metrics.ascent();
    paintMark(painter, QRect(row.left(), row.center().y() - side / 2, side + 1, side), span.stage, theme);
    const QRect words = row.adjusted(side + kSpacing, 0, 0, 0);
    painter.setPen(span.stage == Stage::kWaiting ? theme.text : theme.dim);
    painter.drawText(words, Qt::AlignLeft | Qt::AlignVCenter,
                     metrics.elidedText(spanText(span), Qt::ElideRight, words.width()));
  }
  if (layout.more.isEmpty()) return;
  painter.setPen(theme.dim);
  painter.drawText(layout.more, Qt::AlignLeft | Qt::AlignVCenter,
                   tr("and %1 before").arg(countText(layout.num_hidden)));
}

// "steps 12 – 40 · 1.23 s · waited: ...".
QString WaitingView::spanText(const StageSpan& span) const {
  const QString steps = span.numSteps() == 1
                            ? tr("step %1").arg(countText(span.first_step))
                            : tr("steps %1 – %2").arg(countText(span.first_step), countText(span.last_step));
  return steps + QStringLiteral(" · ") + durationText(span.busy_ns) + QStringLiteral(" · ") + stageSentence(span);
}

bool WaitingView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return View::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const QString words = explain(help->pos());
  words.isEmpty() ? QToolTip::hideText() : QToolTip::showText(help->globalPos(), tipText(words), this);
  return true;
}

QString WaitingView::explain(const QPoint& point) const {
  if (!m_snapshot || !m_request.valid()) return {};
  const WaitingLayout layout = layoutNow();
  for (std::size_t i = 0; i < layout.rows.size(); ++i) {
    if (layout.rows[i].contains(point)) return spanText(story()[story().size() - 1 - i]);
  }
  for (std::size_t i = layout.spans.size(); i-- > 0;) {
    if (layout.spans[i].contains(point)) return spanText(story()[i]);
  }
  return tr(
      "Recorded by the scheduler in each step: why the request was not taken, and the two numbers that decided "
      "it. Times are sums of the durations of those steps, on the lane's clock (measured).");
}

}  // namespace inferoscope::gui
