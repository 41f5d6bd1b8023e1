// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/utilisation_view.h"

#include "gui/paint/empty_stack.h"
#include "gui/paint/marks.h"
#include "gui/paint/metrics.h"
#include "gui/paint/number_format.h"
#include "gui/paint/plot_style.h"
#include "gui/views/lanes.h"
#include "gui/views/words.h"

#include <qcustomplot.h>

#include <QRegularExpression>

#include <algorithm>
#include <cmath>

namespace inferoscope::gui {

namespace {

constexpr double kShortestSpanS = 5;
constexpr double kLongestSpanS = 3600;
constexpr int kNarrow = 560;  // two titles beside each other want more
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

QStringList withEach(QStringList texts, const QString& ending) {
  for (QString& text : texts) text += ending;
  return texts;
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
  arrangeTitles();
  for (QCPGraph*& graph : m_prefill) {
    graph = m_plot->addGraph(strip(kTokens).rect->axis(QCPAxis::atBottom), strip(kTokens).rect->axis(QCPAxis::atLeft));
  }
  m_plot->plotLayout()->setRowStretchFactor(2 * kCache + 1, 1.3);  // below it stand the times
  m_gpu = m_plot->addGraph(strip(kCompute).rect->axis(QCPAxis::atBottom), strip(kCompute).rect->axis(QCPAxis::atLeft));
  m_phase_bands = {addPhaseBand(kBandwidth), addPhaseBand(kCompute)};
  strip(kCache).rect->axis(QCPAxis::atBottom)->setTicker(QSharedPointer<UnitTicker>::create(tr(" s"), kTimeTicks));
}

// A line of words above a plot.
void UtilisationView::buildStrip(StripIndex index) {
  Strip& made = strip(index);
  made.titles = new QCPLayoutGrid;
  made.titles->setMargins(QMargins(kMargin, index == kTokens ? kMargin : kSpacing, kMargin, 0));
  for (QCPTextElement** title : {&made.title, &made.title_b}) {
    *title = new QCPTextElement(m_plot);
    (*title)->setTextFlags(Qt::AlignLeft | Qt::AlignVCenter);
  }
  made.rect = new QCPAxisRect(m_plot, false);
  made.rect->addAxes(QCPAxis::atLeft | QCPAxis::atBottom | QCPAxis::atRight);
  made.rect->setMinimumSize(1, 1);  // rather than that titles are cut
  made.rect->setMarginGroup(QCP::msLeft | QCP::msRight, m_margins);
  made.rect->setMinimumMargins(QMargins(kMargin, fontMetrics().height() / 2, 2 * kMargin, kSpacing));
  m_plot->plotLayout()->addElement(2 * index, 0, made.titles);
  m_plot->plotLayout()->addElement(2 * index + 1, 0, made.rect);
  QCPAxis* x = made.rect->axis(QCPAxis::atBottom);
  QCPAxis* y = made.rect->axis(QCPAxis::atLeft);
  x->setTickLabels(index == kCache);
  x->grid()->setVisible(false);
  y->grid()->setVisible(true);
  made.rect->axis(QCPAxis::atRight)->setVisible(false);
  made.graph = m_plot->addGraph(x, y);
  made.graph_b = m_plot->addGraph(x, y);
}

// The titles of a strip beside each other or, of two lanes where it is narrow, below each other.
void UtilisationView::arrangeTitles() {
  m_titles_in_rows = titlesNeedRows();
  for (const StripIndex index : {kTokens, kBandwidth, kCompute, kCache}) {
    const Strip& at = strip(index);
    QCPTextElement* second = m_two ? at.title_b : index == kTokens ? m_prefill_title : nullptr;
    for (QCPTextElement* title : {at.title, at.title_b, m_prefill_title}) {
      if (title->layout() == at.titles) at.titles->take(title);
    }
    at.titles->simplify();
    at.titles->addElement(0, 0, at.title);
    if (second != nullptr) at.titles->addElement(m_titles_in_rows ? 1 : 0, m_titles_in_rows ? 0 : 1, second);
    at.title_b->setVisible(m_two);
  }
  m_prefill_title->setVisible(!m_two);
}

bool UtilisationView::titlesNeedRows() const {
  return m_two && m_plot->width() < kNarrow;
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
    const QColor color = m_two ? theme.lane_a : colors[i];
    m_strips[i].title->setTextColor(readable(color, theme.surface));
    m_strips[i].title_b->setTextColor(readable(theme.lane_b, theme.surface));
    m_strips[i].graph->setPen(QPen(color, 1));
    m_strips[i].graph->setBrush(translucent(color, 40));
    m_strips[i].graph_b->setPen(QPen(theme.lane_b, 1, lanePen(core::LaneId::kB)));
  }
  m_prefill_title->setTextColor(readable(theme.prefill, theme.surface));
  m_prefill[0]->setPen(m_two ? QPen(theme.lane_a, 1, Qt::DotLine) : QPen(theme.prefill, 1));
  m_prefill[1]->setPen(QPen(theme.lane_b, 1, Qt::DotLine));
  m_gpu->setPen(QPen(theme.compute, 1, Qt::DotLine));
  for (QCPGraph* band : m_phase_bands) {
    band->setPen(Qt::NoPen);
    band->setBrush(theme.prefill);
  }
}

void UtilisationView::showModel(const ModelInfo&) {
  for (Lane& lane : m_lanes) lane = Lane();
  m_stack->showWords(firstStepWords());
}

void UtilisationView::showFrame(const Frame& frame) {
  if (frame.b.has_value() != m_two) {
    m_two = frame.b.has_value();
    m_lanes[1] = Lane();
    arrangeTitles();
    applyTheme();
  }
  for (const auto& step : frame.steps) m_lanes[0].history.add(*step);
  if (m_two) {
    for (const auto& step : frame.b->steps) m_lanes[1].history.add(*step);
  }
  if (!frame.steps.empty() || (m_two && !frame.b->steps.empty())) showSoon();
}

void UtilisationView::refresh() {
  const auto& [a, b] = m_lanes;
  if (!beginRefresh(!a.history.empty() || !b.history.empty())) return;
  if (titlesNeedRows() != m_titles_in_rows) {
    arrangeTitles();
    applyTheme();
  }
  const double to_s =
      std::max(kShortestSpanS, static_cast<double>(std::max(a.history.endNs(), b.history.endNs())) / 1e9);
  const double from_s = std::max(0.0, to_s - m_span_s);
  for (const Strip& each : m_strips) each.rect->axis(QCPAxis::atBottom)->setRange(from_s, to_s);
  for (Lane& lane : m_lanes) lane.rates = ratesOf(lane.history, from_s, to_s, m_plot->width());
  setData();
  setTitles();
  setScales();
  replotSoon();
}

void UtilisationView::setData() {
  for (std::size_t i = 0; i < m_lanes.size(); ++i) {
    const RateSeries& rates = m_lanes[i].rates;
    const QVector<double> seconds = vector(rates.seconds);
    const auto graph = [&](StripIndex index) { return i == 0 ? strip(index).graph : strip(index).graph_b; };
    graph(kTokens)->setData(seconds, vector(rates.decode_per_s), true);
    graph(kCache)->setData(seconds, vector(rates.kv_share, 100), true);
    m_prefill[i]->setData(seconds, vector(rates.prefill_per_s), true);
    setSharesOrRates(kBandwidth, m_lanes[i], *graph(kBandwidth));
    setSharesOrRates(kCompute, m_lanes[i], *graph(kCompute));
    // A line needs two points.
    const QCPScatterStyle dot(rates.seconds.size() == 1 ? QCPScatterStyle::ssDisc : QCPScatterStyle::ssNone, 4);
    for (const StripIndex index : {kTokens, kBandwidth, kCompute, kCache}) graph(index)->setScatterStyle(dot);
    m_prefill[i]->setScatterStyle(dot);
  }
  const RateSeries& alone = m_lanes[0].rates;
  m_gpu->setVisible(!m_two && m_limits.measured());  // where compute is a share, too
  m_gpu->setData(vector(alone.seconds), vector(alone.gpu_share, 100), true);
  for (QCPGraph* band : m_phase_bands) {
    band->setVisible(!m_two);
    band->setData(vector(alone.seconds), vector(alone.prefill_phase), true);
  }
}

// Of the probed ceilings, where they are measured.
void UtilisationView::setSharesOrRates(StripIndex index, const Lane& lane, QCPGraph& graph) const {
  const RateSeries& rates = lane.rates;
  QVector<double> values = vector(index == kBandwidth ? rates.bytes_per_s : rates.flop_per_s, 1e-9);
  for (qsizetype i = 0; m_limits.measured() && i < values.size(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    values[i] = 100 * (index == kBandwidth ? bandwidthShare(rates.bytes_per_s[k], m_limits)
                                           : computeShare(rates.flop_per_s[k], rates.int8_per_s[k], m_limits));
  }
  graph.setData(vector(rates.seconds), values, true);
}

// The latest window in figures, from long to short. A share always says of what, or the tool tip does.
QStringList UtilisationView::titlesOf(StripIndex index, const RateSeries& rates) const {
  const auto shares = [](const QString& name, const QString& rate, double share, const QString& ceiling) {
    return QStringList{tr("%1 %2 · %3 of %4").arg(name, rate, shareText(share), ceiling),
                       tr("%1 %2 of %3").arg(name, shareText(share), ceiling),
                       tr("%1 %2 · %3").arg(name, rate, shareText(share)), tr("%1 %2").arg(name, rate)};
  };
  const double bytes = lastOf(rates.bytes_per_s);
  const double flops = lastOf(rates.flop_per_s);
  const double int8_ops = lastOf(rates.int8_per_s);
  const QString decode = significantText(lastOf(rates.decode_per_s));
  switch (index) {
    case kTokens:
      if (!m_two) return {tr("Decode %1 tok/s").arg(decode), tr("Decode %1").arg(decode)};
      return {tr("Decode %1, prefill %2").arg(decode, tokenRateText(lastOf(rates.prefill_per_s))),
              tr("Decode %1 tok/s").arg(decode), tr("Decode %1").arg(decode)};
    case kBandwidth:
      if (!m_limits.measured()) return {tr("Bandwidth %1").arg(byteRateText(bytes))};
      return shares(tr("Bandwidth"), byteRateText(bytes), bandwidthShare(bytes, m_limits),
                    byteRateText(m_limits.read_bytes_per_s));
    case kCompute: {
      QStringList titles{tr("Compute %1").arg(flopRateText(flops))};
      if (m_limits.measured()) {
        titles = shares(tr("Compute"), flopRateText(flops), computeShare(flops, int8_ops, m_limits),
                        peakText(m_limits, 2 * int8_ops > flops));
      }
      const QString gpu = gpuText(lastOf(rates.gpu_share));
      return gpu.isEmpty() ? titles : withEach(titles, gpu) + titles;
    }
    case kCache:
      return {tr("KV blocks used %1").arg(shareText(lastOf(rates.kv_share))),
              tr("KV used %1").arg(shareText(lastOf(rates.kv_share)))};
    case kNumStrips:
      break;
  }
  return {};
}

void UtilisationView::setTitles() {
  const int all = m_plot->width() - 2 * kMargin;
  const auto fitting = [&](StripIndex index, std::size_t lane) {
    QStringList titles = titlesOf(index, m_lanes[lane].rates);
    if (m_lanes[lane].rates.seconds.empty()) titles = {tr("no step in this time"), nothing()};
    if (m_two)
      titles.replaceInStrings(QRegularExpression(QStringLiteral("^")), laneName(kLanes[lane]) + QStringLiteral("  "));
    const bool shares_line = m_two ? !m_titles_in_rows : index == kTokens;
    return fittingText(titles, shares_line ? all / 2 - kMargin : all, font());
  };
  for (const StripIndex index : {kTokens, kBandwidth, kCompute, kCache}) {
    strip(index).title->setText(fitting(index, 0));
    strip(index).title_b->setText(m_two ? fitting(index, 1) : QString());
  }
  const QString prefill = significantText(lastOf(m_lanes[0].rates.prefill_per_s));
  m_prefill_title->setText(
      fittingText({tr("Prefill %1 tok/s").arg(prefill), tr("Prefill %1").arg(prefill)}, all / 2 - kMargin, font()));
}

void UtilisationView::setScales() {
  const auto top = [this](StripIndex index, double most) {
    strip(index).rect->axis(QCPAxis::atLeft)->setRange(0, most > 0 ? most * 1.1 : 1.0);
  };
  const auto mostOf = [this](std::vector<double> RateSeries::*values) {
    return std::max(largest(m_lanes[0].rates.*values), largest(m_lanes[1].rates.*values));
  };
  // Up to the ceiling, and above it where caches made it faster than memory.
  const auto shareTop = [this](StripIndex index) {
    double most = 0;
    for (const QCPGraph* graph : {strip(index).graph, strip(index).graph_b}) {
      bool found = false;
      const QCPRange range = graph->getValueRange(found);
      if (found) most = std::max(most, range.upper);
    }
    strip(index).rect->axis(QCPAxis::atLeft)->setRange(0, std::max(100.0, most * 1.05));
  };
  top(kTokens, std::max(mostOf(&RateSeries::decode_per_s), mostOf(&RateSeries::prefill_per_s)));
  shareTop(kCache);
  const bool shares = m_limits.measured();
  if (shares) {
    shareTop(kBandwidth);
    shareTop(kCompute);
  } else {
    top(kBandwidth, mostOf(&RateSeries::bytes_per_s) / 1e9);
    top(kCompute, mostOf(&RateSeries::flop_per_s) / 1e9);
  }
  const int line = QFontMetrics(smallFont(font())).height();
  const int num_ticks =
      tickCount(m_plot->height() / kNumStrips - (m_titles_in_rows ? 4 : 3) * line, kLineShare * line, kValueTicks);
  const auto setUnit = [&](StripIndex index, const QString& unit) {
    strip(index).rect->axis(QCPAxis::atLeft)->setTicker(QSharedPointer<UnitTicker>::create(unit, num_ticks));
  };
  setUnit(kTokens, QString());
  setUnit(kCache, tr("%"));
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
    return point.y() >= each.titles->outerRect().top() && point.y() <= each.rect->outerRect().bottom();
  });
  if (at == m_strips.end() || (at->graph->dataCount() == 0 && at->graph_b->dataCount() == 0)) return {};
  const QString over = tr("Averaged over windows of at least %1 of lane time (pauses don't count). The band marks "
                          "windows of mostly prefill. The wheel shows more or less time.")
                           .arg(durationText(WorkHistory::kBinNs));
  const auto index = static_cast<StripIndex>(at - m_strips.begin());
  return explainMetric(metricOf(index), valuesAt(index, point.x())) + QStringLiteral("\n") + over;
}

QString UtilisationView::valuesAt(StripIndex index, int x) const {
  const Strip& at = m_strips[index];
  const double seconds = at.rect->axis(QCPAxis::atBottom)->pixelToCoord(x);
  QStringList lanes;
  for (std::size_t i = 0; i < m_lanes.size(); ++i) {
    const QCPGraph* graph = i == 0 ? at.graph : at.graph_b;
    if (graph->dataCount() == 0) continue;
    const auto valueOf = [seconds](const QCPGraph* of) { return of->data()->at(of->findBegin(seconds))->value; };
    const QString words =
        index == kTokens
            ? tr("decode %1, prefill %2").arg(tokenRateText(valueOf(graph)), tokenRateText(valueOf(m_prefill[i])))
            : valueText(index, valueOf(graph)) +
                  (index == kCompute && m_gpu->visible() ? gpuText(valueOf(m_gpu) / 100) : QString());
    lanes << (m_two ? laneName(kLanes[i]) + QStringLiteral(": ") + words : words);
  }
  return tr("%1 at %2 s").arg(lanes.join(QStringLiteral("; ")), significantText(std::max(0.0, seconds)));
}

// Whose number it is stands with it; empty where the driver tells nothing.
QString UtilisationView::gpuText(double share) const {
  return std::isnan(share) ? QString() : tr(" · GPU %1 busy by NVML").arg(shareText(share));
}

// Of a value as it is drawn.
QString UtilisationView::valueText(StripIndex index, double value) const {
  if (index == kCache || m_limits.measured()) return shareText(value / 100);
  return index == kBandwidth ? byteRateText(value * 1e9) : flopRateText(value * 1e9);
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
