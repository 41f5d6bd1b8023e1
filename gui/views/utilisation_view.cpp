// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/utilisation_view.h"

#include "gui/paint/empty_stack.h"
#include "gui/paint/marks.h"
#include "gui/paint/metrics.h"
#include "gui/paint/number_format.h"
#include "gui/paint/plot_style.h"
#include "gui/views/words.h"

#include <qcustomplot.h>

#include <algorithm>
#include <cmath>

namespace inferoscope::gui {

namespace {

constexpr double kShortestSpanS = 5;
constexpr double kLongestSpanS = 3600;
constexpr int kValueTicks = 3;
constexpr int kTimeTicks = 6;

QVector<double> vector(const std::vector<double>& values, double scale = 1) {
  QVector<double> scaled(static_cast<qsizetype>(values.size()));
  std::ranges::transform(values, scaled.begin(), [scale](double value) { return value * scale; });
  return scaled;
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double value : values) {
    if (std::isfinite(value)) most = std::max(most, value);
  }
  return most;
}

double lastOf(const std::vector<double>& values) {
  return values.empty() ? std::nan("") : values.back();
}

QColor translucent(QColor color, int alpha) {
  color.setAlpha(alpha);
  return color;
}

}  // namespace

UtilisationView::UtilisationView(Selection& selection, QWidget* parent)
    : PlotView(selection, parent), m_margins(new QCPMarginGroup(m_plot)) {
  setAccessibleName(tr("Utilisation"));
  setAccessibleDescription(tr("Tokens per second, memory bandwidth, compute and KV blocks used over time"));
  m_plot->setMinimumSize(minimumSizeHint());
  setContent(m_plot);
  buildStrips();
  applyTheme();
}

void UtilisationView::buildStrips() {
  m_plot->plotLayout()->clear();
  m_plot->plotLayout()->setRowSpacing(0);
  for (const StripIndex index : {kTokens, kBandwidth, kCompute, kCache}) buildStrip(index);
  m_prefill_title = new QCPTextElement(m_plot);
  m_prefill_title->setTextFlags(Qt::AlignLeft | Qt::AlignVCenter);
  auto* titles = static_cast<QCPLayoutGrid*>(m_plot->plotLayout()->element(0, 0));
  titles->addElement(0, 1, m_prefill_title);
  const Strip& tokens = strip(kTokens);
  m_prefill = m_plot->addGraph(tokens.rect->axis(QCPAxis::atBottom), tokens.rect->axis(QCPAxis::atLeft));
  m_phase_bands = {addPhaseBand(kBandwidth), addPhaseBand(kCompute)};
  strip(kTokens).rect->axis(QCPAxis::atLeft)->setTicker(QSharedPointer<UnitTicker>::create(QString(), kValueTicks));
  strip(kCache).rect->axis(QCPAxis::atLeft)->setTicker(QSharedPointer<UnitTicker>::create(tr("%"), kValueTicks));
  strip(kCache).rect->axis(QCPAxis::atBottom)->setTicker(QSharedPointer<UnitTicker>::create(tr(" s"), kTimeTicks));
}

// A line of words above a plot.
void UtilisationView::buildStrip(StripIndex index) {
  Strip& made = strip(index);
  made.title = new QCPTextElement(m_plot);
  made.title->setTextFlags(Qt::AlignLeft | Qt::AlignVCenter);
  auto* titles = new QCPLayoutGrid;
  titles->setMargins(QMargins(kMargin, index == kTokens ? kMargin : kSpacing, kMargin, 0));
  titles->addElement(0, 0, made.title);
  made.rect = new QCPAxisRect(m_plot, false);
  made.rect->addAxes(QCPAxis::atLeft | QCPAxis::atBottom | QCPAxis::atRight);
  made.rect->setMarginGroup(QCP::msLeft | QCP::msRight, m_margins);
  made.rect->setMinimumMargins(QMargins(kMargin, fontMetrics().height() / 2, 2 * kMargin, kSpacing));
  m_plot->plotLayout()->addElement(2 * index, 0, titles);
  m_plot->plotLayout()->addElement(2 * index + 1, 0, made.rect);
  QCPAxis* x = made.rect->axis(QCPAxis::atBottom);
  QCPAxis* y = made.rect->axis(QCPAxis::atLeft);
  x->setTickLabels(index == kCache);
  x->grid()->setVisible(false);
  y->grid()->setVisible(true);
  made.rect->axis(QCPAxis::atRight)->setVisible(false);
  made.graph = m_plot->addGraph(x, y);
}

// A thin band along the lower edge, on an axis of its own.
QCPGraph* UtilisationView::addPhaseBand(StripIndex index) {
  QCPAxisRect* rect = strip(index).rect;
  rect->axis(QCPAxis::atRight)->setRange(0, 20);
  QCPGraph* band = m_plot->addGraph(rect->axis(QCPAxis::atBottom), rect->axis(QCPAxis::atRight));
  band->setLineStyle(QCPGraph::lsStepCenter);
  return band;
}

void UtilisationView::applyTheme() {
  const Theme theme = themeOf(palette());
  stylePlot(*m_plot, theme, font());
  const std::array<QColor, kNumStrips> colors = {theme.decode, theme.bandwidth, theme.compute, theme.cache};
  for (std::size_t i = 0; i < m_strips.size(); ++i) {
    m_strips[i].title->setTextColor(readable(colors[i], theme.surface));
    m_strips[i].graph->setPen(QPen(colors[i], 1));
    m_strips[i].graph->setBrush(translucent(colors[i], 40));
  }
  m_prefill_title->setTextColor(readable(theme.prefill, theme.surface));
  m_prefill->setPen(QPen(theme.prefill, 1));
  for (QCPGraph* band : m_phase_bands) {
    band->setPen(Qt::NoPen);
    band->setBrush(theme.prefill);
  }
}

void UtilisationView::showModel(const ModelInfo&) {
  m_history.clear();
  m_stack->showWords(firstStepWords());
}

void UtilisationView::showFrame(const Frame& frame) {
  for (const auto& step : frame.steps) m_history.add(*step);
  if (!frame.steps.empty()) showSoon();
}

void UtilisationView::refresh() {
  if (!beginRefresh(!m_history.empty())) return;
  const double to_s = std::max(kShortestSpanS, static_cast<double>(m_history.endNs()) / 1e9);
  const double from_s = std::max(0.0, to_s - m_span_s);
  for (const Strip& each : m_strips) each.rect->axis(QCPAxis::atBottom)->setRange(from_s, to_s);
  const RateSeries rates = ratesOf(m_history, from_s, to_s, m_plot->width());
  setData(rates);
  setTitles(rates);
  setScales(rates);
  replotSoon();
}

void UtilisationView::setData(const RateSeries& rates) {
  const QVector<double> seconds = vector(rates.seconds);
  const bool shares = m_limits.measured();
  QVector<double> compute = vector(rates.flop_per_s, 1e-9);
  for (qsizetype i = 0; shares && i < compute.size(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    compute[i] = 100 * computeShare(rates.flop_per_s[k], rates.int8_per_s[k], m_limits);
  }
  strip(kTokens).graph->setData(seconds, vector(rates.decode_per_s), true);
  m_prefill->setData(seconds, vector(rates.prefill_per_s), true);
  strip(kBandwidth)
      .graph->setData(seconds, vector(rates.bytes_per_s, shares ? 100 / m_limits.read_bytes_per_s : 1e-9), true);
  strip(kCompute).graph->setData(seconds, compute, true);
  strip(kCache).graph->setData(seconds, vector(rates.kv_share, 100), true);
  for (QCPGraph* band : m_phase_bands) band->setData(seconds, vector(rates.prefill_phase), true);
  // A line needs two points.
  const QCPScatterStyle dot(rates.seconds.size() == 1 ? QCPScatterStyle::ssDisc : QCPScatterStyle::ssNone, 4);
  for (const Strip& each : m_strips) each.graph->setScatterStyle(dot);
  m_prefill->setScatterStyle(dot);
}

// The latest window in figures. A share always says of what.
void UtilisationView::setTitles(const RateSeries& rates) {
  const double bytes = lastOf(rates.bytes_per_s);
  const double flops = lastOf(rates.flop_per_s);
  const double int8_ops = lastOf(rates.int8_per_s);
  QString bandwidth = tr("Bandwidth %1").arg(byteRateText(bytes));
  QString compute = tr("Compute %1").arg(flopRateText(flops));
  if (m_limits.measured()) {
    const QString ceiling = 2 * int8_ops > flops ? tr("%1 int8").arg(opRateText(m_limits.int8_op_per_s))
                                                 : flopRateText(m_limits.fp32_flop_per_s);
    bandwidth +=
        tr(" · %1 of %2").arg(shareText(bandwidthShare(bytes, m_limits)), byteRateText(m_limits.read_bytes_per_s));
    compute += tr(" · %1 of %2").arg(shareText(computeShare(flops, int8_ops, m_limits)), ceiling);
  }
  strip(kTokens).title->setText(tr("Decode %1").arg(tokenRateText(lastOf(rates.decode_per_s))));
  m_prefill_title->setText(tr("Prefill %1").arg(tokenRateText(lastOf(rates.prefill_per_s))));
  strip(kBandwidth).title->setText(bandwidth);
  strip(kCompute).title->setText(compute);
  strip(kCache).title->setText(tr("KV blocks used %1").arg(shareText(lastOf(rates.kv_share))));
}

void UtilisationView::setScales(const RateSeries& rates) {
  const bool shares = m_limits.measured();
  const auto top = [this](StripIndex index, double most) {
    strip(index).rect->axis(QCPAxis::atLeft)->setRange(0, most > 0 ? most * 1.1 : 1.0);
  };
  // Up to the ceiling, and above it where caches made it faster than memory.
  const auto shareTop = [this](StripIndex index) {
    bool found = false;
    const double most = strip(index).graph->getValueRange(found).upper;
    strip(index).rect->axis(QCPAxis::atLeft)->setRange(0, found ? std::max(100.0, most * 1.05) : 100.0);
  };
  top(kTokens, std::max(largest(rates.decode_per_s), largest(rates.prefill_per_s)));
  shareTop(kCache);
  if (shares) {
    shareTop(kBandwidth);
    shareTop(kCompute);
  } else {
    top(kBandwidth, largest(rates.bytes_per_s) / 1e9);
    top(kCompute, largest(rates.flop_per_s) / 1e9);
  }
  const auto setUnit = [this](StripIndex index, const QString& unit) {
    strip(index).rect->axis(QCPAxis::atLeft)->setTicker(QSharedPointer<UnitTicker>::create(unit, kValueTicks));
  };
  setUnit(kBandwidth, shares ? tr("%") : tr(" GB/s"));
  setUnit(kCompute, shares ? tr("%") : tr(" GFLOP/s"));
}

// The wheel: more or less time at once.
void UtilisationView::zoom(int direction) {
  m_span_s = std::clamp(m_span_s * (direction > 0 ? 0.8 : 1.25), kShortestSpanS, kLongestSpanS);
  refresh();
}

QString UtilisationView::explain(const QPoint& point) const {
  const auto at = std::ranges::find_if(m_strips, [&](const Strip& each) {
    return point.y() >= each.title->outerRect().top() && point.y() <= each.rect->outerRect().bottom();
  });
  if (at == m_strips.end() || at->graph->dataCount() == 0) return {};
  const QString over = tr("Averaged over windows of at least %1 of lane time (pauses don't count). The band marks "
                          "windows of mostly prefill. The wheel shows more or less time.")
                           .arg(durationText(WorkHistory::kBinNs));
  const auto index = static_cast<StripIndex>(at - m_strips.begin());
  return explainMetric(metricOf(index), valuesAt(index, point.x())) + QStringLiteral("\n") + over;
}

QString UtilisationView::valuesAt(StripIndex index, int x) const {
  const Strip& at = m_strips[index];
  const double seconds = at.rect->axis(QCPAxis::atBottom)->pixelToCoord(x);
  const auto valueOf = [seconds](const QCPGraph* graph) { return graph->data()->at(graph->findBegin(seconds))->value; };
  const double value = valueOf(at.graph);
  const QString words = index == kTokens
                            ? tr("decode %1, prefill %2").arg(tokenRateText(value), tokenRateText(valueOf(m_prefill)))
                        : index == kCache || m_limits.measured() ? shareText(value / 100)
                        : index == kBandwidth                    ? byteRateText(value * 1e9)
                                                                 : flopRateText(value * 1e9);
  return tr("%1 at %2 s").arg(words, significantText(std::max(0.0, seconds)));
}

Metric UtilisationView::metricOf(StripIndex index) {
  switch (index) {
    case kBandwidth:
      return Metric::kBandwidth;
    case kCompute:
      return Metric::kCompute;
    case kCache:
      return Metric::kStepBlockUse;
    case kTokens:
    case kNumStrips:
      break;
  }
  return Metric::kTokenRate;
}

}  // namespace inferoscope::gui
