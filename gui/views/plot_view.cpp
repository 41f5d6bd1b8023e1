// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/plot_view.h"

#include "gui/paint/empty_stack.h"
#include "gui/paint/metrics.h"
#include "gui/views/words.h"

#include <qcustomplot.h>
#include <QHelpEvent>
#include <QToolTip>
#include <QVBoxLayout>

namespace inferoscope::gui {

namespace {
constexpr int kPauseMs = 200;
}

PlotView::PlotView(Selection& selection, QWidget* parent) : View(selection, parent), m_plot(new QCustomPlot) {
  m_plot->installEventFilter(this);
  connect(m_plot, &QCustomPlot::mouseWheel, this, [this](QWheelEvent* event) {
    if (event->angleDelta().y() != 0) zoom(event->angleDelta().y());
  });
  m_pause.setSingleShot(true);
  m_pause.setInterval(kPauseMs);
  connect(&m_pause, &QTimer::timeout, this, &PlotView::refresh);
}

void PlotView::setContent(QWidget* content) {
  m_stack = new EmptyStack(content, noModelWords(), this);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(m_stack);
}

void PlotView::showLimits(const core::MachineLimits& limits) {
  m_limits = limits;
  refresh();
}

void PlotView::showSoon() {
  if (!m_pause.isActive()) refresh();
}

bool PlotView::beginRefresh(bool has_data) {
  if (!inSight() || !has_data) return false;
  m_stack->showContent();
  m_pause.start();
  return true;
}

void PlotView::replotSoon() {
  m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void PlotView::changeEvent(QEvent* event) {
  View::changeEvent(event);
  const QEvent::Type type = event->type();
  if (type != QEvent::PaletteChange && type != QEvent::FontChange && type != QEvent::StyleChange) return;
  applyTheme();
  m_plot->replot();  // at once: half of it would be drawn in the old colours
}

bool PlotView::eventFilter(QObject* watched, QEvent* event) {
  if (watched != m_plot) return View::eventFilter(watched, event);
  // Another size has room for other words and ticks.
  if (event->type() == QEvent::Resize)
    QMetaObject::invokeMethod(
        this, [this] { refresh(); }, Qt::QueuedConnection);
  if (event->type() != QEvent::ToolTip) return View::eventFilter(watched, event);
  const auto* help = static_cast<QHelpEvent*>(event);
  QToolTip::showText(help->globalPos(), tipText(explain(help->pos())), m_plot);
  return true;
}

}  // namespace inferoscope::gui
