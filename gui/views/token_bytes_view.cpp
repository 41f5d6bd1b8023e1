// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/token_bytes_view.h"

#include "gui/paint/empty_stack.h"
#include "gui/paint/legend_bar.h"
#include "gui/paint/marks.h"
#include "gui/paint/number_format.h"
#include "gui/paint/plot_style.h"
#include "gui/views/layer_tape.h"
#include "gui/views/words.h"
#include "gui/views/work_words.h"

#include <qcustomplot.h>
#include <QSplitter>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace inferoscope::gui {

namespace {

constexpr double kShortestSpanS = 5;
constexpr double kLongestSpanS = 3600;
constexpr int kPixelsAColumn = 4;
constexpr double kMega = 1e6;

}  // namespace

TokenBytesView::TokenBytesView(Selection& selection, QWidget* parent)
    : PlotView(selection, parent), m_legend(new LegendBar), m_tape(new LayerTape), m_replay(new QToolButton) {
  setAccessibleName(tr("Bytes per token"));
  setAccessibleDescription(tr("Bytes moved for each generated token, by class, and the tensors that a step reads"));
  auto* content = new QSplitter(Qt::Horizontal);
  content->setChildrenCollapsible(false);
  content->addWidget(buildChart());
  content->addWidget(buildTape());
  content->setStretchFactor(0, 1);
  content->setSizes({440, 280});
  setContent(content);
  applyTheme();
}

QWidget* TokenBytesView::buildChart() {
  m_plot->setMinimumSize(120, 80);
  // The tallest first: each next one is painted over it.
  for (auto area = m_areas.rbegin(); area != m_areas.rend(); ++area) {
    *area = m_plot->addGraph();
    (*area)->setLineStyle(QCPGraph::lsStepLeft);
  }
  m_plot->xAxis->setTicker(QSharedPointer<UnitTicker>::create(tr(" s"), 4));
  m_plot->yAxis->setTicker(QSharedPointer<UnitTicker>::create(tr(" MB"), 4));
  m_plot->xAxis->grid()->setVisible(false);
  m_plot->axisRect()->setMinimumMargins(QMargins(kMargin, kMargin, 2 * kMargin, kSpacing));
  auto* chart = new QWidget;
  auto* column = new QVBoxLayout(chart);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(m_legend);
  column->addWidget(m_plot, 1);
  return chart;
}

QWidget* TokenBytesView::buildTape() {
  m_replay->setText(tr("Replay in slow motion"));
  m_replay->setCheckable(true);
  m_replay->setToolTip(tr("Replays the recorded step and lights the tensor that is being read. The engine goes on."));
  connect(m_replay, &QToolButton::toggled, m_tape, &LayerTape::setReplay);
  auto* side = new QWidget;
  side->setBackgroundRole(QPalette::Base);
  side->setAutoFillBackground(true);
  auto* column = new QVBoxLayout(side);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* row = new QHBoxLayout;
  row->setContentsMargins(kMargin, kSpacing, kMargin, kSpacing);
  row->addWidget(m_replay);
  row->addStretch(1);
  column->addLayout(row);
  column->addWidget(m_tape, 1);
  return side;
}

void TokenBytesView::applyTheme() {
  const Theme theme = themeOf(palette());
  stylePlot(*m_plot, theme, font());
  for (std::size_t i = 0; i < m_areas.size(); ++i) {
    const QColor color = byteKindColor(static_cast<core::ByteKind>(i), theme);
    m_areas[i]->setPen(QPen(color, 0));
    m_areas[i]->setBrush(mix(theme.surface, color, 0.75));
  }
  showLegend();
}

void TokenBytesView::showModel(const ModelInfo&) {
  m_history.clear();
  m_series = {};
  m_latest.reset();
  m_replay->setChecked(false);
  m_tape->showStep(nullptr);
  m_stack->showWords(firstStepWords());
}

void TokenBytesView::showFrame(const Frame& frame) {
  if (frame.steps.empty()) return;
  for (const auto& step : frame.steps) m_history.add(*step);
  m_latest = frame.steps.back();
  showSoon();
}

void TokenBytesView::refresh() {
  if (!beginRefresh(m_latest != nullptr)) return;
  m_tape->showStep(m_latest);
  const double to_s = std::max(kShortestSpanS, static_cast<double>(m_history.endNs()) / 1e9);
  const double from_s = std::max(0.0, to_s - m_span_s);
  m_series = bytesPerToken(m_history, from_s, to_s, std::max(8, m_plot->width() / kPixelsAColumn));
  m_plot->xAxis->setRange(from_s, to_s);
  showLegend();
  showStack();
  replotSoon();
}

void TokenBytesView::showLegend() {
  const Theme theme = themeOf(palette());
  if (m_series.empty()) {
    m_legend->setItems({{{}, tr("No token generated yet"), explainTotal(0)}});
    return;
  }
  const std::size_t last = m_series.seconds.size() - 1;
  const double total = m_series.total(last);
  std::vector<LegendBar::Item> items = {{{}, tr("%1 a token").arg(movedText(total)), explainTotal(total)}};
  for (std::size_t i = 0; i < m_areas.size(); ++i) {
    const auto byte_kind = static_cast<core::ByteKind>(i);
    const double bytes = m_series.per_token[i][last];
    items.push_back({mix(theme.surface, byteKindColor(byte_kind, theme), 0.75),
                     tr("%1 %2").arg(byteKindWord(byte_kind), movedText(bytes)),
                     byteKindExplanation(byte_kind) +
                         tr("\n%1 = bytes of the latest steps ÷ tokens that they generated. Counted from the shapes.")
                             .arg(movedText(bytes))});
  }
  m_legend->setItems(std::move(items));
}

void TokenBytesView::showStack() {
  std::vector<double> sums(m_series.seconds.size());
  double most = 0;
  for (std::size_t i = 0; i < m_areas.size(); ++i) {
    QVector<double> keys, values;
    for (std::size_t column = 0; column < sums.size(); ++column) {
      sums[column] += m_series.per_token[i][column];
      most = std::max(most, sums[column]);
      keys << m_series.seconds[column];
      values << sums[column] / kMega;
    }
    if (!keys.empty()) {  // the last column has a width too
      keys << m_series.end_s;
      values << values.back();
    }
    m_areas[i]->setData(keys, values, true);
  }
  m_plot->yAxis->setRange(0, most > 0 ? 1.1 * most / kMega : 1.0);
}

// The wheel: more or less time at once.
void TokenBytesView::zoom(int direction) {
  m_span_s = std::clamp(m_span_s * (direction > 0 ? 0.8 : 1.25), kShortestSpanS, kLongestSpanS);
  refresh();
}

QString TokenBytesView::explain(const QPoint& point) const {
  const int column = columnAt(m_series, m_plot->xAxis->pixelToCoord(point.x()));
  if (column < 0) return explainTotal(0);
  const auto at = static_cast<std::size_t>(column);
  QString text = tr("From %1 s on").arg(significantText(m_series.seconds[at]));
  for (std::size_t i = m_areas.size(); i-- > 0;) {
    text += QStringLiteral("\n%1 %2").arg(byteKindWord(static_cast<core::ByteKind>(i)),
                                          movedText(m_series.per_token[i][at]));
  }
  return text + QLatin1Char('\n') + explainTotal(m_series.total(at));
}

QString TokenBytesView::explainTotal(double bytes) const {
  QString text =
      tr("Bytes a token = bytes that the steps moved ÷ tokens that they generated, all requests together. "
         "Counted from the shapes of the ops. What a prefill moves is paid by the tokens after it.");
  if (m_limits.measured() && bytes > 0) {
    text += tr("\n%1 ÷ %2 a token: memory allows at most %3, however fast the processor.")
                .arg(byteRateText(m_limits.read_bytes_per_s), movedText(bytes),
                     tokenRateText(m_limits.read_bytes_per_s / bytes));
  }
  return text + tr("\nThe wheel shows more or less time.");
}

}  // namespace inferoscope::gui
