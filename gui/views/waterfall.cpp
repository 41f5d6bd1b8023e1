// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/waterfall.h"

#include "gui/paint/marks.h"
#include "gui/paint/number_format.h"
#include "gui/paint/theme.h"
#include "gui/views/work_words.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace inferoscope::gui {

namespace {

constexpr int kMostRows = 12;  // the floor, eight kinds of ops, two of software, the whole

QString nsText(double ns) {
  return durationText(std::llround(std::abs(ns)));
}

}  // namespace

Waterfall::Waterfall(QWidget* parent) : QWidget(parent) {
  setAccessibleName(tr("Waterfall of a step"));
}

void Waterfall::showTime(const core::StepTime& time, const core::MachineLimits& limits, double scale_ns) {
  const std::size_t num_parts = m_parts.size();
  m_time = time;
  m_limits = limits;
  m_scale_ns = scale_ns;
  m_parts = waterfallOf(time);
  QStringList words;
  for (const WaterfallPart& part : m_parts) words << name(part) + QStringLiteral(" ") + figure(part);
  setAccessibleDescription(words.join(QStringLiteral(", ")));
  if (m_parts.size() != num_parts) updateGeometry();
  update();
}

int Waterfall::rowHeight() const {
  return fontMetrics().height() + 4;
}

QSize Waterfall::sizeHint() const {
  const int num_rows = std::clamp(static_cast<int>(m_parts.size()), 4, kMostRows);
  return {420, num_rows * rowHeight() + 2 * kMargin};
}

std::vector<WaterfallRow> Waterfall::rows() const {
  int name_width = 0;
  int figure_width = 0;
  for (const WaterfallPart& part : m_parts) {
    name_width = std::max(name_width, fontMetrics().horizontalAdvance(name(part)));
    figure_width = std::max(figure_width, fontMetrics().horizontalAdvance(figure(part)));
  }
  // The figures' places stay where they are while they change a little.
  figure_width = std::max(figure_width, fontMetrics().horizontalAdvance(QStringLiteral("+99.9 ms · 99.9%")));
  const QRect area = rect().adjusted(kMargin, kMargin, -kMargin, -kMargin);
  return layoutWaterfall(m_parts, area, rowHeight(), name_width, figure_width, m_scale_ns);
}

QString Waterfall::name(const WaterfallPart& part) const {
  switch (part.part) {
    case TimePart::kFloor:
      return tr("floor");
    case TimePart::kExcess:
      return opKindWord(part.kind);
    case TimePart::kOtherExcess:
      return tr("other ops");
    case TimePart::kBetweenOps:
      return tr("between ops");
    case TimePart::kAroundOps:
      return tr("schedule, sample");
    case TimePart::kMeasured:
      return tr("measured");
  }
  return {};
}

QString Waterfall::figure(const WaterfallPart& part) const {
  const bool whole = part.part == TimePart::kFloor || part.part == TimePart::kMeasured;
  const QString sign = whole ? QString() : part.ns() < 0 ? QStringLiteral("−") : QStringLiteral("+");
  return tr("%1%2 · %3").arg(sign, nsText(part.ns()), shareText(std::abs(m_time.share(part.ns()))));
}

QColor Waterfall::color(const WaterfallPart& part, const Theme& theme) const {
  switch (part.part) {
    case TimePart::kFloor:
      return theme.bandwidth;
    case TimePart::kExcess:
    case TimePart::kOtherExcess:
      return part.ns() < 0 ? theme.cache : theme.prefill;
    case TimePart::kBetweenOps:
    case TimePart::kAroundOps:
      return theme.quiet;
    case TimePart::kMeasured:
      return theme.decode;
  }
  return theme.quiet;
}

void Waterfall::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = themeOf(palette());
  painter.fillRect(rect(), theme.surface);
  const std::vector<WaterfallRow> places = rows();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const WaterfallPart& part = m_parts[i];
    const bool last = part.part == TimePart::kMeasured;
    painter.setPen(last ? theme.text : theme.dim);
    painter.drawText(places[i].name, Qt::AlignRight | Qt::AlignVCenter, name(part));
    painter.setPen(theme.text);
    painter.drawText(places[i].figure, Qt::AlignRight | Qt::AlignVCenter, figure(part));
    painter.fillRect(places[i].bar, color(part, theme));
    if (last || i + 1 >= places.size()) continue;
    // From where this part ends to where the next one begins.
    const double x = part.ns() < 0 ? places[i].bar.left() : places[i].bar.right();
    painter.setPen(QPen(theme.line, 1));
    painter.drawLine(QPointF(x, places[i].bar.bottom()), QPointF(x, places[i + 1].bar.top()));
  }
}

void Waterfall::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange) updateGeometry();
}

bool Waterfall::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int row = rowAt(rows(), help->pos());
  if (row < 0) {
    QToolTip::hideText();
  } else {
    QToolTip::showText(help->globalPos(), explain(m_parts[static_cast<std::size_t>(row)]), this);
  }
  return true;
}

QString Waterfall::explain(const WaterfallPart& part) const {
  switch (part.part) {
    case TimePart::kFloor:
      return tr("The least time this machine needs for the step: for each op the larger of bytes ÷ bandwidth and "
                "FLOPs ÷ peak, summed. Counted from the shapes, ceilings measured.\n%1")
          .arg(explainWork(part.work, m_limits));
    case TimePart::kExcess:
      return tr("%1: measured time − floor = %2 − %3. Below zero: faster than memory, from a cache.\n%4\n%5")
          .arg(opKindWord(part.kind), nsText(static_cast<double>(part.work.measured_ns)), nsText(part.work.floor_ns),
               opKindExplanation(part.kind), explainWork(part.work, m_limits));
    case TimePart::kOtherExcess:
      return tr("Kinds of ops under 1% of the step each: measured time − floor, summed.\n%1")
          .arg(explainWork(part.work, m_limits));
    case TimePart::kBetweenOps:
      return tr("Software between the end of one op and the start of the next. Measured: %1.").arg(nsText(part.ns()));
    case TimePart::kAroundOps:
      return tr("Software before the first op and after the last: scheduling, sampling, book-keeping. Measured time of "
                "the step − ops − between them = %1.")
          .arg(nsText(part.ns()));
    case TimePart::kMeasured:
      return tr("The step as a whole, measured: %1. Ops %2 + software %3.")
          .arg(nsText(part.ns()), durationText(m_time.ops.measured_ns), durationText(m_time.softwareNs()));
  }
  return {};
}

}  // namespace inferoscope::gui
