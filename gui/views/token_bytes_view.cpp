// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/token_bytes_view.h"

#include "gui/paint/empty_stack.h"
#include "gui/paint/legend_bar.h"
#include "gui/paint/marks.h"
#include "gui/paint/number_format.h"
#include "gui/paint/plot_style.h"
#include "gui/views/lanes.h"
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
constexpr int kMostTicks = 5;
constexpr int kNarrow = 520;  // chart and tape below each other
constexpr double kMega = 1e6;

}  // namespace

TokenBytesView::TokenBytesView(Selection& selection, QWidget* parent)
    : PlotView(selection, parent),
      m_legend(new LegendBar),
      m_replay(new QToolButton),
      m_content(new QSplitter(Qt::Horizontal)),
      m_margins(new QCPMarginGroup(m_plot)) {
  setAccessibleName(tr("Bytes per token"));
  setAccessibleDescription(tr("Bytes moved for each generated token, by class, and the tensors that a step reads"));
  m_content->setChildrenCollapsible(false);
  m_content->addWidget(buildChart());
  m_content->addWidget(buildTapes());
  m_content->setStretchFactor(0, 1);
  m_content->setSizes({440, 280});
  setContent(m_content);
  arrange();
  applyTheme();
}

QWidget* TokenBytesView::buildChart() {
  m_plot->plotLayout()->clear();
  m_plot->plotLayout()->setRowSpacing(0);
  for (Lane& lane : m_lanes) buildLane(lane);
  auto* chart = new QWidget;
  auto* column = new QVBoxLayout(chart);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(m_legend);
  column->addWidget(m_plot, 1);
  return chart;
}

void TokenBytesView::buildLane(Lane& lane) {
  lane.title = new QCPTextElement(m_plot);
  lane.title->setTextFlags(Qt::AlignLeft | Qt::AlignVCenter);
  lane.title->setMargins(QMargins(kMargin, kSpacing, kMargin, 0));
  lane.rect = new QCPAxisRect(m_plot, false);
  lane.rect->setMinimumSize(1, 1);
  lane.rect->addAxes(QCPAxis::atLeft | QCPAxis::atBottom);
  lane.rect->setMarginGroup(QCP::msLeft | QCP::msRight, m_margins);
  lane.rect->setMinimumMargins(QMargins(kMargin, kMargin, 2 * kMargin, kSpacing));
  QCPAxis* x = lane.rect->axis(QCPAxis::atBottom);
  QCPAxis* y = lane.rect->axis(QCPAxis::atLeft);
  x->grid()->setVisible(false);
  y->grid()->setVisible(true);
  // The tallest first: each next one is painted over it.
  for (auto area = lane.areas.rbegin(); area != lane.areas.rend(); ++area) {
    *area = m_plot->addGraph(x, y);
    (*area)->setLineStyle(QCPGraph::lsStepLeft);
  }
}

QWidget* TokenBytesView::buildTapes() {
  m_replay->setText(tr("Replay in slow motion"));
  m_replay->setCheckable(true);
  m_replay->setToolTip(tr("Replays the recorded step and lights the tensor that is being read. The engine goes on."));
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
  for (Lane& lane : m_lanes) {
    lane.tape = new LayerTape;
    connect(m_replay, &QToolButton::toggled, lane.tape, &LayerTape::setReplay);
    column->addWidget(lane.tape, 1);
  }
  return side;
}

void TokenBytesView::resizeEvent(QResizeEvent* event) {
  PlotView::resizeEvent(event);
  const Qt::Orientation orientation = width() < kNarrow ? Qt::Vertical : Qt::Horizontal;
  if (orientation == m_content->orientation()) return;
  m_content->setOrientation(orientation);
  // When the splitter has its new size.
  QMetaObject::invokeMethod(
      this,
      [this] {
        m_content->setSizes({620, 380});
      },
      Qt::QueuedConnection);
}

// One chart or, below each other, one of each lane under its title.
void TokenBytesView::arrange() {
  QCPLayoutGrid* grid = m_plot->plotLayout();
  for (const Lane& lane : m_lanes) {
    for (QCPLayoutElement* element :
         {static_cast<QCPLayoutElement*>(lane.title), static_cast<QCPLayoutElement*>(lane.rect)}) {
      if (element->layout() != nullptr) grid->take(element);
    }
  }
  grid->simplify();
  m_plot->setMinimumSize(120, m_two ? 150 : 80);
  int row = 0;
  for (std::size_t i = 0; i < m_lanes.size(); ++i) {
    const Lane& lane = m_lanes[i];
    const bool shown = m_two || i == 0;
    if (m_two) grid->addElement(row++, 0, lane.title);
    if (shown) grid->addElement(row++, 0, lane.rect);
    lane.title->setVisible(m_two);
    lane.rect->setVisible(shown);
    for (QCPGraph* area : lane.areas) area->setVisible(shown);
    for (QCPAxis* axis : lane.rect->axes()) axis->setVisible(shown);
    lane.tape->setVisible(shown);
  }
}

void TokenBytesView::applyTheme() {
  const Theme theme = themeOf(palette());
  stylePlot(*m_plot, theme, font());
  for (const core::LaneId id : kLanes) {
    const Lane& lane = m_lanes[static_cast<std::size_t>(id)];
    lane.title->setFont(font());
    lane.title->setTextColor(readable(laneColor(id, theme), theme.surface));
    for (std::size_t i = 0; i < lane.areas.size(); ++i) {
      const QColor color = byteKindColor(static_cast<core::ByteKind>(i), theme);
      lane.areas[i]->setPen(QPen(color, 0));
      lane.areas[i]->setBrush(mix(theme.surface, color, 0.75));
    }
  }
  showLegend();
}

void TokenBytesView::showModel(const ModelInfo&) {
  for (Lane& lane : m_lanes) {
    lane.history.clear();
    lane.series = {};
    lane.latest.reset();
    lane.tape->showStep(nullptr);
  }
  m_replay->setChecked(false);
  m_stack->showWords(firstStepWords());
}

void TokenBytesView::showFrame(const Frame& frame) {
  if (frame.b.has_value() != m_two) {
    m_two = frame.b.has_value();
    m_lanes[1].history.clear();
    m_lanes[1].series = {};
    m_lanes[1].latest.reset();
    arrange();
    applyTheme();  // also of the axes that came
  }
  const auto add = [](Lane& lane, const LaneFrame& of) {
    for (const auto& step : of.steps) lane.history.add(*step);
    if (!of.steps.empty()) lane.latest = of.steps.back();
  };
  add(m_lanes[0], frame);
  if (m_two) add(m_lanes[1], *frame.b);
  showSoon();
}

// Both lanes on the same axes: of time, and of bytes.
void TokenBytesView::refresh() {
  const auto& [a, b] = m_lanes;
  if (!beginRefresh(a.latest != nullptr || b.latest != nullptr)) return;
  const std::int64_t end_ns = std::max(a.history.endNs(), b.history.endNs());
  const double to_s = std::max(kShortestSpanS, static_cast<double>(end_ns) / 1e9);
  const double from_s = std::max(0.0, to_s - m_span_s);
  double most = 0;
  for (Lane& lane : m_lanes) {
    lane.series = bytesPerToken(lane.history, from_s, to_s, std::max(8, m_plot->width() / kPixelsAColumn));
    for (std::size_t i = 0; i < lane.series.seconds.size(); ++i) most = std::max(most, lane.series.total(i));
  }
  const QFontMetrics metrics(smallFont(font()));
  const int num_ticks = tickCount(m_plot->width() - metrics.horizontalAdvance(QStringLiteral("99,999 MB")),
                                  metrics.horizontalAdvance(QStringLiteral("9,999 s")), kMostTicks);
  const int num_values =
      tickCount(m_plot->height() / (m_two ? 2 : 1) - 3 * metrics.height(), kLineShare * metrics.height(), kMostTicks);
  for (Lane& lane : m_lanes) {
    lane.rect->axis(QCPAxis::atBottom)->setTicker(QSharedPointer<UnitTicker>::create(tr(" s"), num_ticks));
    lane.rect->axis(QCPAxis::atLeft)->setTicker(QSharedPointer<UnitTicker>::create(tr(" MB"), num_values));
    lane.rect->axis(QCPAxis::atBottom)->setRange(from_s, to_s);
    lane.rect->axis(QCPAxis::atLeft)->setRange(0, most > 0 ? 1.1 * most / kMega : 1.0);
    showStack(lane);
  }
  for (const core::LaneId id : kLanes) {
    const Lane& lane = m_lanes[static_cast<std::size_t>(id)];
    lane.title->setText(tr("%1  %2 a token").arg(laneName(id), movedText(lane.lastTotal())));
  }
  showLegend();
  showTapes();
  replotSoon();
}

void TokenBytesView::showTapes() {
  double most = 0;
  for (const Lane& lane : m_lanes) {
    if (lane.latest) most = std::max(most, static_cast<double>(lane.latest->cost.weights + lane.latest->cost.kv_read));
  }
  for (const core::LaneId id : kLanes) {
    const Lane& lane = m_lanes[static_cast<std::size_t>(id)];
    lane.tape->setLane(m_two ? std::optional(id) : std::nullopt, m_two ? most : 0.0);
    lane.tape->showStep(lane.latest);
  }
}

void TokenBytesView::showLegend() {
  const Theme theme = themeOf(palette());
  const auto& [a, b] = m_lanes;
  if (a.series.empty() && b.series.empty()) {
    m_legend->setItems({{{}, tr("No token generated yet"), explainTotal(0)}});
    return;
  }
  const auto figure = [this](double of_a, double of_b) {
    return m_two ? tr("A %1, B %2").arg(movedText(of_a), movedText(of_b)) : movedText(of_a);
  };
  std::vector<LegendBar::Item> items = {
      {{}, tr("%1 a token").arg(figure(a.lastTotal(), b.lastTotal())), explainTotal(a.lastTotal())}};
  for (std::size_t i = 0; i < core::kNumByteKinds; ++i) {
    const auto byte_kind = static_cast<core::ByteKind>(i);
    const QString bytes = figure(a.lastOf(i), b.lastOf(i));
    items.push_back(
        {mix(theme.surface, byteKindColor(byte_kind, theme), 0.75), tr("%1 %2").arg(byteKindWord(byte_kind), bytes),
         byteKindExplanation(byte_kind) +
             tr("\n%1 = bytes of the latest steps ÷ tokens that they generated. Counted from the shapes.").arg(bytes)});
  }
  m_legend->setItems(std::move(items));
}

void TokenBytesView::showStack(Lane& lane) const {
  const TokenBytesSeries& series = lane.series;
  std::vector<double> sums(series.seconds.size());
  for (std::size_t i = 0; i < lane.areas.size(); ++i) {
    QVector<double> keys, values;
    for (std::size_t column = 0; column < sums.size(); ++column) {
      sums[column] += series.per_token[i][column];
      keys << series.seconds[column];
      values << sums[column] / kMega;
    }
    if (!keys.empty()) {  // the last column has a width too
      keys << series.end_s;
      values << values.back();
    }
    lane.areas[i]->setData(keys, values, true);
  }
}

// The wheel: more or less time at once.
void TokenBytesView::zoom(int direction) {
  m_span_s = std::clamp(m_span_s * (direction > 0 ? 0.8 : 1.25), kShortestSpanS, kLongestSpanS);
  refresh();
}

QString TokenBytesView::explain(const QPoint& point) const {
  const auto at = std::ranges::find_if(
      m_lanes, [&](const Lane& lane) { return lane.rect->visible() && lane.rect->outerRect().contains(point); });
  const Lane& lane = at == m_lanes.end() ? m_lanes[0] : *at;
  const int column = columnAt(lane.series, lane.rect->axis(QCPAxis::atBottom)->pixelToCoord(point.x()));
  if (column < 0) return explainTotal(0);
  const auto index = static_cast<std::size_t>(column);
  QString text = tr("From %1 s on").arg(significantText(lane.series.seconds[index]));
  for (std::size_t i = core::kNumByteKinds; i-- > 0;) {
    text += QStringLiteral("\n%1 %2").arg(byteKindWord(static_cast<core::ByteKind>(i)),
                                          movedText(lane.series.per_token[i][index]));
  }
  return text + QLatin1Char('\n') + explainTotal(lane.series.total(index));
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
