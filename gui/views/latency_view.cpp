// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/latency_view.h"

#include "gui/paint/empty_stack.h"
#include "gui/paint/marks.h"
#include "gui/paint/number_format.h"
#include "gui/paint/plot_style.h"
#include "gui/views/words.h"

#include <algorithm>

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
  chart.title = new QCPTextElement(m_plot);
  chart.title->setTextFlags(Qt::AlignLeft | Qt::AlignVCenter);
  chart.title->setMargins(QMargins(kMargin, kSpacing, kMargin, 0));
  chart.rect = new QCPAxisRect(m_plot, false);
  chart.rect->addAxes(QCPAxis::atLeft | QCPAxis::atBottom);
  chart.rect->setMarginGroup(QCP::msLeft | QCP::msRight | QCP::msTop | QCP::msBottom, m_margins);
  chart.rect->setMinimumMargins(QMargins(kMargin, fontMetrics().height() / 2, 2 * kMargin, kSpacing));
  QCPAxis* x = chart.rect->axis(QCPAxis::atBottom);
  QCPAxis* y = chart.rect->axis(QCPAxis::atLeft);
  y->setRange(0, 1.02);
  x->grid()->setVisible(false);
  y->grid()->setVisible(true);
  for (QCPGraph*& drop : chart.drops) drop = m_plot->addGraph(x, y);
  chart.curve = m_plot->addGraph(x, y);
  chart.curve->setLineStyle(QCPGraph::lsStepLeft);
}

// A title above each chart; the charts in a row or in a column.
void LatencyView::arrange(bool side_by_side) {
  m_side_by_side = side_by_side;
  QCPLayoutGrid* grid = m_plot->plotLayout();
  for (Chart& chart : m_charts) {
    for (QCPLayoutElement* element :
         {static_cast<QCPLayoutElement*>(chart.title), static_cast<QCPLayoutElement*>(chart.rect)}) {
      if (element->layout() != nullptr) grid->take(element);
    }
  }
  grid->simplify();
  for (std::size_t i = 0; i < m_charts.size(); ++i) {
    const int row = side_by_side ? 0 : 2 * static_cast<int>(i);
    const int column = side_by_side ? static_cast<int>(i) : 0;
    grid->addElement(row, column, m_charts[i].title);
    grid->addElement(row + 1, column, m_charts[i].rect);
  }
}

void LatencyView::applyTheme() {
  const Theme theme = themeOf(palette());
  stylePlot(*m_plot, theme, font());
  const std::array<QColor, 3> colors = {theme.prefill, theme.decode, theme.bandwidth};
  for (std::size_t i = 0; i < m_charts.size(); ++i) {
    const Chart& chart = m_charts[i];
    chart.title->setTextColor(readable(colors[i], theme.surface));
    chart.title->setFont(font());
    chart.curve->setPen(QPen(colors[i], 1));
    for (QCPGraph* drop : chart.drops) {
      drop->setPen(QPen(theme.dim, 1, Qt::DotLine));
      drop->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssDisc, theme.text, 5));
      drop->setScatterSkip(1);  // a dot at the curve, none on the axis
    }
  }
}

void LatencyView::showModel(const ModelInfo&) {
  m_samples.clear();
  m_stack->showWords(tr("No token yet"));
}

void LatencyView::showFrame(const Frame& frame) {
  m_samples.add(frame);
  showSoon();
}

void LatencyView::refresh() {
  if (!inSight()) return;
  if (m_samples.empty()) {
    if (m_stack->showsContent()) m_stack->showWords(tr("No token yet"));  // since the last reset
    return;
  }
  if (!beginRefresh(true)) return;
  if (const bool row = chartsSideBySide(size()); row != m_side_by_side) arrange(row);
  for (Chart& chart : m_charts) showSamples(chart, samplesOf(chart.metric));
  m_plot->replot();
}

const std::deque<double>& LatencyView::samplesOf(Metric metric) const {
  switch (metric) {
    case Metric::kTtft:
      return m_samples.ttft();
    case Metric::kTpot:
      return m_samples.tpot();
    default:
      return m_samples.itl();
  }
}

void LatencyView::showSamples(Chart& chart, const std::deque<double>& samples) {
  const std::vector<double> values(samples.begin(), samples.end());
  const core::Percentiles marks = core::percentiles(values);
  setTitle(chart, samples.size(), marks);
  const Ecdf ecdf = ecdfOf(values, kMaxPoints);
  const double longest = ecdf.values.empty() ? 1 : std::max(ecdf.values.back(), 1e-3);
  chart.ms_per_unit = longest > kSecondsFromMs ? 1000 : 1;
  QCPAxis* x = chart.rect->axis(QCPAxis::atBottom);
  setTicks(chart);
  x->setRange(0, longest * 1.05 / chart.ms_per_unit);
  QVector<double> keys;
  for (const double value : ecdf.values) keys.push_back(value / chart.ms_per_unit);
  chart.curve->setData(keys, QVector<double>(ecdf.shares.begin(), ecdf.shares.end()), true);
  for (std::size_t i = 0; i < kNumPercentiles; ++i) {
    const std::optional<double> mark = inOrder(marks)[i];
    if (!mark) {
      chart.drops[i]->data()->clear();
      continue;
    }
    const double share = std::array{0.5, 0.9, 0.99}[i];
    chart.drops[i]->setData({*mark / chart.ms_per_unit, *mark / chart.ms_per_unit}, {share, 0}, true);
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
void LatencyView::setTitle(Chart& chart, std::size_t num_samples, const core::Percentiles& marks) {
  const QStringList short_names = {tr("TTFT"), tr("TPOT"), tr("ITL")};
  const auto index = static_cast<qsizetype>(&chart - m_charts.data());
  const QString head = short_names[index] + QStringLiteral(" · ") + countOf(chart.metric, num_samples);
  QStringList parts = {head};
  for (std::size_t i = 0; i < kNumPercentiles; ++i) {
    parts << QLatin1String(kPercents[i]) + QLatin1Char(' ') + millisecondsText(inOrder(marks)[i]);
  }
  const QFontMetrics metrics(chart.title->font());
  chart.title->setText(inLines(parts, QStringLiteral("   "), chartWidth() - 3 * kMargin,
                               [&](const QString& words) { return metrics.horizontalAdvance(words); }));
}

int LatencyView::chartWidth() const {
  return m_plot->width() / (m_side_by_side ? static_cast<int>(m_charts.size()) : 1);
}

// As many ticks as their labels have room for.
void LatencyView::setTicks(Chart& chart) {
  const QFontMetrics metrics(smallFont(font()));
  const double width = chartWidth() - metrics.horizontalAdvance(QStringLiteral("100%")) - 5 * kMargin;
  const QString unit = chart.ms_per_unit > 1 ? tr(" s") : tr(" ms");
  const double label = metrics.horizontalAdvance(QStringLiteral("1,000") + unit);
  chart.rect->axis(QCPAxis::atBottom)
      ->setTicker(QSharedPointer<UnitTicker>::create(unit, tickCount(width, label, kMostTicks)));
  const double height = 1.0 * m_plot->height() / (m_side_by_side ? 1 : m_charts.size()) - 4 * metrics.height();
  chart.rect->axis(QCPAxis::atLeft)
      ->setTicker(QSharedPointer<ShareTicker>::create(tickCount(height, metrics.height(), kMostShareTicks)));
}

bool LatencyView::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize) QMetaObject::invokeMethod(this, &LatencyView::refresh, Qt::QueuedConnection);
  return PlotView::eventFilter(watched, event);
}

QString LatencyView::explain(const QPoint& point) const {
  const auto at = std::ranges::find_if(m_charts, [&](const Chart& each) {
    return each.title->outerRect().united(each.rect->outerRect()).contains(point);
  });
  if (at == m_charts.end()) return {};
  const std::deque<double>& samples = samplesOf(at->metric);
  QString live;
  if (!samples.empty() && at->rect->rect().contains(point)) {
    const double ms = std::max(0.0, at->rect->axis(QCPAxis::atBottom)->pixelToCoord(point.x())) * at->ms_per_unit;
    const double share = shareBelow(samples, ms);
    live =
        tr("%1 or less for %2 of %3").arg(millisecondsText(ms), shareText(share), countOf(at->metric, samples.size()));
  }
  return explainMetric(at->metric) + (live.isEmpty() ? QString() : QStringLiteral("\n") + live) +
         tr("\nThe curve is the share of values that are not above a time. Samples since the last reset or change of a "
            "knob, the latest 8,192 at most.");
}

}  // namespace inferoscope::gui
