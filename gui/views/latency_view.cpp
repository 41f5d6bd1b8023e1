// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/latency_view.h"

#include "gui/paint/empty_stack.h"
#include "gui/paint/marks.h"
#include "gui/paint/number_format.h"
#include "gui/paint/plot_style.h"
#include "gui/views/lanes.h"
#include "gui/views/words.h"

#include <algorithm>
#include <cmath>

namespace inferoscope::gui {

namespace {

constexpr std::size_t kMaxPoints = 400;  // of a curve: about one a pixel
constexpr double kSecondsFromMs = 3000;  // longer axes are in seconds
constexpr int kMostTicks = 4;
constexpr int kMostShareTicks = 3;
constexpr std::array kPercents = {"p50", "p90", "p99"};

std::array<std::optional<double>, 3> inOrder(const core::Percentiles& marks) {
  return {marks.p50, marks.p90, marks.p99};
}

}  // namespace

LatencyView::LatencyView(Selection& selection, QWidget* parent)
    : PlotView(selection, parent),
      m_margins(new QCPMarginGroup(m_plot)),
      m_charts({Chart{Metric::kTtft}, Chart{Metric::kTpot}, Chart{Metric::kItl}}) {
  setAccessibleName(tr("Latency"));
  setAccessibleDescription(tr("Distributions of the times to the first token and between tokens"));
  m_plot->setMinimumSize(minimumSizeHint());
  setContent(m_plot);
  m_plot->plotLayout()->clear();
  m_plot->plotLayout()->setRowSpacing(0);
  for (Chart& chart : m_charts) buildChart(chart);
  arrange(false);
  applyTheme();
}

void LatencyView::buildChart(Chart& chart) {
  chart.rect = new QCPAxisRect(m_plot, false);
  chart.rect->setMinimumSize(1, 1);  // rather than that titles are cut
  chart.rect->addAxes(QCPAxis::atLeft | QCPAxis::atBottom);
  chart.rect->setMarginGroup(QCP::msLeft | QCP::msRight | QCP::msTop | QCP::msBottom, m_margins);
  chart.rect->setMinimumMargins(QMargins(kMargin, fontMetrics().height() / 2, 2 * kMargin, kSpacing));
  QCPAxis* x = chart.rect->axis(QCPAxis::atBottom);
  QCPAxis* y = chart.rect->axis(QCPAxis::atLeft);
  y->setRange(0, 1.02);
  x->grid()->setVisible(false);
  y->grid()->setVisible(true);
  for (Lane& lane : chart.lanes) {
    lane.title = new QCPTextElement(m_plot);
    lane.title->setTextFlags(Qt::AlignLeft | Qt::AlignVCenter);
    for (QCPGraph*& drop : lane.drops) drop = m_plot->addGraph(x, y);
    lane.curve = m_plot->addGraph(x, y);
    lane.curve->setLineStyle(QCPGraph::lsStepLeft);
  }
  chart.lanes[0].title->setMargins(QMargins(kMargin, kSpacing, kMargin, 0));
  chart.lanes[1].title->setMargins(QMargins(kMargin, 0, kMargin, 0));
}

// A title for each lane above each chart; the charts in a row or in a column.
void LatencyView::arrange(bool side_by_side) {
  m_side_by_side = side_by_side;
  QCPLayoutGrid* grid = m_plot->plotLayout();
  const auto elements = [](const Chart& chart) {
    return std::array<QCPLayoutElement*, 3>{chart.lanes[0].title, chart.lanes[1].title, chart.rect};
  };
  for (const Chart& chart : m_charts) {
    for (QCPLayoutElement* element : elements(chart)) {
      if (element->layout() != nullptr) grid->take(element);
    }
  }
  grid->simplify();
  for (std::size_t i = 0; i < m_charts.size(); ++i) {
    int row = side_by_side ? 0 : (m_two ? 3 : 2) * static_cast<int>(i);
    const int column = side_by_side ? static_cast<int>(i) : 0;
    for (QCPLayoutElement* element : elements(m_charts[i])) {
      if (element == m_charts[i].lanes[1].title && !m_two) continue;
      grid->addElement(row++, column, element);
    }
  }
  for (const Chart& chart : m_charts) chart.lanes[1].title->setVisible(m_two);
}

void LatencyView::applyTheme() {
  const Theme theme = themeOf(palette());
  stylePlot(*m_plot, theme, font());
  const std::array<QColor, 3> colors = {theme.prefill, theme.decode, theme.bandwidth};
  for (std::size_t i = 0; i < m_charts.size(); ++i) {
    for (const core::LaneId id : kLanes) {
      const Lane& lane = m_charts[i].lanes[static_cast<std::size_t>(id)];
      const QColor color = m_two ? laneColor(id, theme) : colors[i];
      lane.title->setTextColor(readable(color, theme.surface));
      lane.title->setFont(m_two ? smallFont(font()) : font());
      lane.curve->setPen(QPen(color, 1, lanePen(id)));
      for (QCPGraph* drop : lane.drops) {
        drop->setPen(QPen(m_two ? color : theme.dim, 1, Qt::DotLine));
        drop->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssDisc, m_two ? color : theme.text, 5));
        drop->setScatterSkip(1);  // a dot at the curve, none on the axis
      }
    }
  }
}

void LatencyView::showModel(const ModelInfo&) {
  for (LatencySamples& samples : m_samples) samples.clear();
  m_stack->showWords(tr("No token yet"));
}

void LatencyView::showFrame(const Frame& frame) {
  if (frame.b.has_value() != m_two) {
    m_two = frame.b.has_value();
    m_samples[1].clear();
    arrange(m_side_by_side);
    applyTheme();
  }
  m_samples[0].add(frame);
  if (m_two) m_samples[1].add(*frame.b);
  showSoon();
}

void LatencyView::refresh() {
  if (!inSight()) return;
  if (m_samples[0].empty() && m_samples[1].empty()) {
    if (m_stack->showsContent()) m_stack->showWords(tr("No token yet"));  // since the last reset
    return;
  }
  if (!beginRefresh(true)) return;
  if (const bool row = chartsSideBySide(size()); row != m_side_by_side) arrange(row);
  for (Chart& chart : m_charts) showSamples(chart);
  m_plot->replot();
}

const std::deque<double>& LatencyView::samplesOf(Metric metric, std::size_t lane) const {
  switch (metric) {
    case Metric::kTtft:
      return m_samples[lane].ttft();
    case Metric::kTpot:
      return m_samples[lane].tpot();
    default:
      return m_samples[lane].itl();
  }
}

// Both lanes on one axis.
void LatencyView::showSamples(Chart& chart) {
  double longest = 0;
  for (std::size_t lane = 0; lane < chart.lanes.size(); ++lane) {
    for (const double value : samplesOf(chart.metric, lane)) longest = std::max(longest, value);
  }
  if (longest <= 0) longest = 1;  // of nothing
  chart.ms_per_unit = longest > kSecondsFromMs ? 1000 : 1;
  setTicks(chart, longest / chart.ms_per_unit);
  chart.rect->axis(QCPAxis::atBottom)->setRange(0, longest * 1.05 / chart.ms_per_unit);
  for (std::size_t lane = 0; lane < chart.lanes.size(); ++lane) showLane(chart, lane);
}

void LatencyView::showLane(Chart& chart, std::size_t lane) {
  const std::deque<double>& samples = samplesOf(chart.metric, lane);
  const std::vector<double> values(samples.begin(), samples.end());
  const core::Percentiles marks = core::percentiles(values);
  const Lane& shown = chart.lanes[lane];
  shown.title->setText(titleOf(chart.metric, lane, samples.size(), marks));
  const Ecdf ecdf = ecdfOf(values, kMaxPoints);
  QVector<double> keys;
  for (const double value : ecdf.values) keys.push_back(value / chart.ms_per_unit);
  shown.curve->setData(keys, QVector<double>(ecdf.shares.begin(), ecdf.shares.end()), true);
  for (std::size_t i = 0; i < kNumPercentiles; ++i) {
    const std::optional<double> mark = inOrder(marks)[i];
    if (!mark) {
      shown.drops[i]->data()->clear();
      continue;
    }
    const double share = std::array{0.5, 0.9, 0.99}[i];
    shown.drops[i]->setData({*mark / chart.ms_per_unit, *mark / chart.ms_per_unit}, {share, 0}, true);
  }
}

QString LatencyView::countOf(Metric metric, std::size_t num_samples) {
  const QString count = countText(static_cast<std::int64_t>(num_samples));
  const bool one = num_samples == 1;
  switch (metric) {
    case Metric::kTtft:
      return one ? tr("1 request") : tr("%1 requests").arg(count);
    case Metric::kTpot:
      return one ? tr("1 ended request") : tr("%1 ended requests").arg(count);
    default:
      return one ? tr("1 gap") : tr("%1 gaps").arg(count);
  }
}

// The sample size stands beside the percentiles: a p99 of seven requests is the slowest one.
QString LatencyView::titleOf(Metric metric, std::size_t lane, std::size_t num_samples,
                             const core::Percentiles& marks) const {
  const QString name = metric == Metric::kTtft ? tr("TTFT") : metric == Metric::kTpot ? tr("TPOT") : tr("ITL");
  const QString letter = m_two ? laneName(kLanes[lane]) + QStringLiteral("  ") : QString();
  QStringList parts = {letter + name + QStringLiteral(" · ") + countOf(metric, num_samples)};
  for (std::size_t i = 0; i < kNumPercentiles; ++i) {
    parts << QLatin1String(kPercents[i]) + QLatin1Char(' ') + millisecondsText(inOrder(marks)[i]);
  }
  const QFontMetrics metrics(m_two ? smallFont(font()) : font());
  return inLines(parts, QStringLiteral("   "), chartWidth() - 3 * kMargin,
                 [&](const QString& words) { return metrics.horizontalAdvance(words); });
}

int LatencyView::chartWidth() const {
  return m_plot->width() / (m_side_by_side ? static_cast<int>(m_charts.size()) : 1);
}

// As many ticks as their labels have room for.
void LatencyView::setTicks(Chart& chart, double longest) {
  const QFontMetrics metrics(smallFont(font()));
  const double width = chartWidth() - metrics.horizontalAdvance(QStringLiteral("100%")) - 5 * kMargin;
  const QString unit = chart.ms_per_unit > 1 ? tr(" s") : tr(" ms");
  const double label = metrics.horizontalAdvance(countText(std::llround(longest)) + unit);
  chart.rect->axis(QCPAxis::atBottom)
      ->setTicker(QSharedPointer<UnitTicker>::create(unit, tickCount(width, label, kMostTicks)));
  const int num_rows = m_side_by_side ? 1 : static_cast<int>(m_charts.size());
  const int title_lines = m_two ? 6 : 4;
  const double height = m_plot->height() / num_rows - title_lines * metrics.height();
  chart.rect->axis(QCPAxis::atLeft)
      ->setTicker(
          QSharedPointer<ShareTicker>::create(tickCount(height, kLineShare * metrics.height(), kMostShareTicks)));
}

QString LatencyView::explain(const QPoint& point) const {
  const auto at = std::ranges::find_if(m_charts, [&](const Chart& each) {
    return each.lanes[0].title->outerRect().united(each.rect->outerRect()).contains(point);
  });
  if (at == m_charts.end()) return {};
  QString text = explainMetric(at->metric);
  for (std::size_t lane = 0; lane < at->lanes.size(); ++lane) {
    const std::deque<double>& samples = samplesOf(at->metric, lane);
    if (samples.empty() || !at->rect->rect().contains(point)) continue;
    const double ms = std::max(0.0, at->rect->axis(QCPAxis::atBottom)->pixelToCoord(point.x())) * at->ms_per_unit;
    text += QLatin1Char('\n') + (m_two ? laneName(kLanes[lane]) + QStringLiteral(": ") : QString());
    text += tr("%1 or less for %2 of %3")
                .arg(millisecondsText(ms), shareText(shareBelow(samples, ms)), countOf(at->metric, samples.size()));
  }
  return text +
         tr("\nThe curve is the share of values that are not above a time. Samples since the last reset or change "
            "of a knob, the latest 8,192 at most.");
}

}  // namespace inferoscope::gui
