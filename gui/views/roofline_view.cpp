// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/roofline_view.h"

#include "gui/paint/empty_stack.h"
#include "gui/paint/marks.h"
#include "gui/paint/number_format.h"
#include "gui/paint/plot_style.h"
#include "gui/paint/tables.h"
#include "gui/views/roofline_table.h"
#include "gui/views/words.h"
#include "gui/views/work_words.h"

#include <qcustomplot.h>
#include <QSplitter>
#include <QStyle>
#include <QTableView>

#include <algorithm>
#include <cmath>

namespace inferoscope::gui {

namespace {

constexpr double kGiga = 1e9;
constexpr const char* kPointsLayer = "points";
constexpr double kNearPx = 6;
constexpr double kWordsGapPx = 4;

// The widest texts to expect, beside the headings.
constexpr std::array<const char*, RooflineTable::kNumColumns> kWidest = {
    "KV append", "prefill", "overhead-bound", "99.9%", "999", "99.9 GFLOP/s", "99.9 GB/s", "999%", "99.9×"};

// Decades, written as people of the program's language write numbers.
class DecadeTicker : public QCPAxisTickerLog {
 public:
  DecadeTicker() { setSubTickCount(0); }

 protected:
  QString getTickLabel(double tick, const QLocale&, QChar, int) override {
    return displayLocale().toString(tick, 'g', 6);
  }
};

void setData(QCPGraph& graph, const std::vector<QPointF>& points) {
  QVector<double> x, y;
  for (const QPointF& point : points) {
    x << point.x();
    y << point.y() / kGiga;
  }
  graph.setData(x, y, true);
}

QColor translucent(QColor color, int alpha) {
  color.setAlpha(alpha);
  return color;
}

}  // namespace

RooflineView::RooflineView(Selection& selection, QWidget* parent)
    : PlotView(selection, parent), m_table_model(new RooflineTable(this)), m_table(new QTableView) {
  setAccessibleName(tr("Roofline"));
  setAccessibleDescription(tr("How near each kind of op comes to the machine's bandwidth and compute ceilings"));
  buildPlot();
  buildTable();
  auto* content = new QSplitter(Qt::Vertical);
  content->setChildrenCollapsible(false);
  content->addWidget(m_plot);
  content->addWidget(m_table);
  content->setStretchFactor(0, 3);
  content->setStretchFactor(1, 2);
  content->setSizes({360, 240});
  setContent(content);
  applyTheme();
}

void RooflineView::buildPlot() {
  m_plot->setMinimumSize(160, 100);
  for (QCPAxis* axis : {m_plot->xAxis, m_plot->yAxis}) {
    axis->setScaleType(QCPAxis::stLogarithmic);
    axis->setTicker(QSharedPointer<DecadeTicker>::create());
  }
  m_plot->xAxis->setLabel(tr("FLOPs a byte moved"));
  m_plot->yAxis->setLabel(tr("GFLOP/s"));
  m_plot->axisRect()->setMinimumMargins(QMargins(kMargin, kMargin, 2 * kMargin, kSpacing));
  // What moves has a buffer of its own: the roof is drawn anew only when it changes.
  m_plot->addLayer(QLatin1String(kPointsLayer), m_plot->layer(QStringLiteral("axes")), QCustomPlot::limAbove);
  m_plot->layer(QLatin1String(kPointsLayer))->setMode(QCPLayer::lmBuffered);
  for (Zone& zone : m_zones) {
    zone.area = m_plot->addGraph();
    zone.area->setAntialiasedFill(false);  // a quarter of the time for areas of this size
    zone.area->setLayer(QStringLiteral("background"));
    zone.words = addWords("grid");
  }
  m_zones[kComputeZone].words->setLayer(QLatin1String(kPointsLayer));  // it makes way for discs
  for (Ceiling& ceiling : m_ceilings) {
    ceiling.line = m_plot->addGraph();
    ceiling.words = addWords("axes");
  }
  m_ceilings[kMemory].slope = m_ceilings[kCache].slope = true;
  for (auto& kinds : m_marks) {
    for (Point& point : kinds) {
      for (QCPGraph** graph : {&point.trail, &point.disc}) {
        *graph = m_plot->addGraph();
        (*graph)->setLineStyle(QCPGraph::lsNone);
        (*graph)->setLayer(QLatin1String(kPointsLayer));
      }
      point.trail->setAntialiasedScatters(false);  // hundreds of dots
      point.words = addWords(kPointsLayer);
    }
  }
  connect(m_plot, &QCustomPlot::afterLayout, this, &RooflineView::placeWords);
}

QCPItemText* RooflineView::addWords(const char* layer) {
  auto* words = new QCPItemText(m_plot);
  words->position->setType(QCPItemPosition::ptAbsolute);
  words->setLayer(QLatin1String(layer));
  words->setClipToAxisRect(true);
  words->setSelectable(false);
  words->setVisible(false);
  return words;
}

void RooflineView::buildTable() {
  m_table->setModel(m_table_model);
  m_table->setAccessibleName(tr("Roofline as a table"));
  setUpTable(*m_table);
  addCopyRows(*m_table);
  sizeColumns();
}

void RooflineView::sizeColumns() const {
  gui::sizeColumns(*m_table, font(), kWidest, [this](int column) {
    return column == RooflineTable::kPhase ? style()->pixelMetric(QStyle::PM_SmallIconSize) + 2 * kSpacing : 0;
  });
}

void RooflineView::applyTheme() {
  const Theme theme = themeOf(palette());
  m_table_model->setTheme(theme);
  stylePlot(*m_plot, theme, font());
  const std::array<QColor, kNumZones> zones = {theme.bandwidth, theme.compute, theme.quiet};
  for (std::size_t i = 0; i < m_zones.size(); ++i) {
    m_zones[i].area->setPen(Qt::NoPen);
    m_zones[i].area->setBrush(translucent(zones[i], theme.dark ? 46 : 38));
    m_zones[i].words->setColor(i == kOverheadZone ? theme.dim : readable(zones[i], theme.surface));
  }
  const std::array<QColor, kNumCeilings> ceilings = {theme.bandwidth, theme.cache, theme.compute, theme.compute};
  for (std::size_t i = 0; i < m_ceilings.size(); ++i) {
    m_ceilings[i].line->setPen(QPen(ceilings[i], 2, i == kCache || i == kFp32 ? Qt::DashLine : Qt::SolidLine));
    m_ceilings[i].words->setColor(readable(ceilings[i], theme.surface));
  }
  for (const core::Phase phase : {core::Phase::kPrefill, core::Phase::kDecode}) {
    const QColor color = phaseColor(phase, theme);
    for (Point& point : m_marks[static_cast<std::size_t>(phase)]) {
      point.trail->setPen(QPen(mix(theme.surface, color, 0.55), 1));
      point.trail->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssPlus, 3));
      point.words->setColor(readable(color, theme.surface, 7.0));
      point.words->setBrush(translucent(theme.surface, 150));
      point.disc->setPen(QPen(theme.surface, 1));
      point.disc->setScatterStyle(
          QCPScatterStyle(QCPScatterStyle::ssCircle, QPen(theme.surface, 1), color, point.disc->scatterStyle().size()));
    }
  }
  for (int i = 0; i < m_plot->itemCount(); ++i) {
    if (auto* words = qobject_cast<QCPItemText*>(m_plot->item(i))) words->setFont(smallFont(font()));
  }
}

void RooflineView::changeEvent(QEvent* event) {
  PlotView::changeEvent(event);
  if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) sizeColumns();
}

void RooflineView::showModel(const ModelInfo&) {
  m_prefill.clear();
  m_decode.clear();
  m_trail.clear();
  m_points.clear();
  m_stack->showWords(firstStepWords());
}

void RooflineView::showLimits(const core::MachineLimits& limits) {
  m_drawn.reset();
  PlotView::showLimits(limits);
}

void RooflineView::showFrame(const Frame& frame) {
  const std::size_t num_old = frame.steps.size() - std::min(frame.steps.size(), 4 * RooflineTrail::kLength);
  for (std::size_t i = 0; i < frame.steps.size(); ++i) {
    m_prefill.add(frame.steps[i]);
    m_decode.add(frame.steps[i]);
    if (i >= num_old) m_trail.add(*frame.steps[i]);
  }
  if (!frame.steps.empty()) showSoon();
}

void RooflineView::refresh() {
  if (!inSight()) return;
  std::vector<std::shared_ptr<const core::StepRecord>> steps = m_prefill.steps();
  for (auto& step : m_decode.steps()) steps.push_back(std::move(step));
  m_points = core::rooflinePoints(steps, m_limits);
  if (!beginRefresh(!m_points.empty())) return;
  m_table_model->setPoints(m_points, m_limits);
  showPoints();
  const RooflineAxes axes = axesFor(m_points, m_limits);
  if (m_drawn == axes) {
    placePointWords();
    m_plot->layer(QLatin1String(kPointsLayer))->replot();
    return;
  }
  m_drawn = axes;
  showRoof(axes);
  replotSoon();
}

RooflineView::Point& RooflineView::pointOf(const core::RooflinePoint& point) {
  return m_marks[static_cast<std::size_t>(point.phase)][static_cast<std::size_t>(point.kind)];
}

void RooflineView::showRoof(const RooflineAxes& axes) {
  m_plot->xAxis->setRange(axes.intensity.lower, axes.intensity.upper);
  m_plot->yAxis->setRange(axes.flop_per_s.lower / kGiga, axes.flop_per_s.upper / kGiga);
  const double peak = highestPeak(m_limits);
  const double bandwidth = m_limits.measured() ? m_limits.read_bytes_per_s : 0;
  const std::array<double, kNumCeilings> per_s = {bandwidth, peak > 0 ? m_limits.cache_read_bytes_per_s : 0,
                                                  peak > 0 ? m_limits.fp32_flop_per_s : 0,
                                                  peak > 0 ? m_limits.int8_op_per_s : 0};
  for (std::size_t i = 0; i < m_ceilings.size(); ++i) {
    Ceiling& ceiling = m_ceilings[i];
    ceiling.per_s = per_s[i];
    ceiling.line->setVisible(ceiling.per_s > 0);
    // A slope ends at the highest peak, a level begins at the memory's slope.
    const LogRange levels{core::ridge(bandwidth, ceiling.per_s), axes.intensity.upper};
    const LogRange slopes{axes.intensity.lower, core::ridge(ceiling.per_s, peak)};
    if (ceiling.per_s > 0) {
      setData(*ceiling.line,
              ceiling.slope ? roofCorners(ceiling.per_s, peak, slopes) : roofCorners(bandwidth, ceiling.per_s, levels));
    }
  }
  for (Zone& zone : m_zones) zone.area->setVisible(peak > 0);
  if (peak <= 0) return;
  const double ridge = core::ridge(bandwidth, peak);
  setData(*m_zones[kMemoryZone].area, roofCorners(bandwidth, peak, {axes.intensity.lower, ridge}));
  setData(*m_zones[kComputeZone].area, roofCorners(bandwidth, peak, {ridge, axes.intensity.upper}));
  setData(*m_zones[kOverheadZone].area, roofCorners(bandwidth / 2, peak / 2, axes.intensity));
}

void RooflineView::showPoints() {
  for (auto& kinds : m_marks) {
    for (Point& mark : kinds) {
      mark.disc->setVisible(false);
      mark.trail->setVisible(false);
      mark.words->setText({});
    }
  }
  for (const core::RooflinePoint& point : m_points) {
    if (!point.onChart() || !point.work.intensity()) continue;
    Point& mark = pointOf(point);
    mark.disc->setVisible(true);
    mark.trail->setVisible(true);
    setData(*mark.disc, {{*point.work.intensity(), *point.work.flopPerSecond()}});
    QCPScatterStyle style = mark.disc->scatterStyle();
    style.setSize(discDiameter(point.time_share));
    mark.disc->setScatterStyle(style);
    const std::deque<QPointF>& trail = m_trail.of(point.phase, point.kind);
    QVector<double> keys, values;
    for (const QPointF& at : trail) {
      keys << at.x();
      values << at.y() / kGiga;
    }
    mark.trail->setData(keys, values);
    mark.words->setText(opKindWord(point.kind));
  }
}

// Called when the axes have their places for this replot. What matters most comes first: words that find their place
// taken are left out.
void RooflineView::placeWords() {
  m_taken.clear();
  hideWords();
  placeCeilingWords();
  placeZoneWords();
  placePointWords();
}

void RooflineView::hideWords() {
  for (Ceiling& ceiling : m_ceilings) ceiling.words->setVisible(false);
  for (Zone& zone : m_zones) zone.words->setVisible(false);
  for (auto& kinds : m_marks) {
    for (Point& mark : kinds) mark.words->setVisible(false);
  }
}

QPointF RooflineView::pixelAt(double intensity, double flop_per_s) const {
  return {m_plot->xAxis->coordToPixel(intensity), m_plot->yAxis->coordToPixel(flop_per_s / kGiga)};
}

bool RooflineView::isFree(const QRectF& place) const {
  return QRectF(m_plot->axisRect()->rect()).contains(place) &&
         std::ranges::none_of(m_taken, [&](const QRectF& other) { return place.intersects(other); });
}

// In the middle of the part of a bandwidth's slope that can be seen, `lines` of text above it; nothing where the slope
// is too short. On log axes all slopes are as steep as each other.
void RooflineView::writeAlong(QCPItemText& words, const QString& text, double bytes_per_s, double lines) {
  const double left = std::max(m_plot->xAxis->range().lower, m_plot->yAxis->range().lower * kGiga / bytes_per_s);
  const double right = core::ridge(bytes_per_s, highestPeak(m_limits));
  const QPointF slope = pixelAt(right, right * bytes_per_s) - pixelAt(left, left * bytes_per_s);
  const QFontMetricsF metrics(words.font());
  const double length = metrics.horizontalAdvance(text);
  if (right <= left || length > 0.8 * std::hypot(slope.x(), slope.y())) return;
  const double angle = std::atan2(slope.y(), slope.x());
  const double middle = std::sqrt(left * right);
  const QPointF centre =
      pixelAt(middle, middle * bytes_per_s) + lines * metrics.height() * QPointF(std::sin(angle), -std::cos(angle));
  std::vector<QRectF> places;  // small ones, along the words
  const double side = 0.8 * metrics.height();
  for (double at = -length / 2; at <= length / 2; at += side / 2) {
    const QPointF along = centre + at * QPointF(std::cos(angle), std::sin(angle));
    places.emplace_back(along - QPointF(side, side) / 2, QSizeF(side, side));
  }
  if (!std::ranges::all_of(places, [this](const QRectF& place) { return isFree(place); })) return;
  m_taken.insert(m_taken.end(), places.begin(), places.end());
  words.setRotation(angle * 180 / M_PI);
  write(words, text, centre);
}

// At the right edge, level; its lower edge at `bottom`.
QRectF RooflineView::levelPlace(const QString& text, double bottom) const {
  const QFontMetricsF metrics(smallFont(font()));
  const QSizeF size(metrics.horizontalAdvance(text), metrics.height());
  return {QPointF(m_plot->axisRect()->right() - kWordsGapPx - size.width(), bottom - size.height()), size};
}

void RooflineView::writeLevel(QCPItemText& words, const QString& text, const QRectF& place) {
  if (!isFree(place)) return;
  m_taken.push_back(place);
  write(words, text, place.center());
}

void RooflineView::write(QCPItemText& words, const QString& text, const QPointF& centre) {
  words.setVisible(true);
  words.setText(text);
  words.setPositionAlignment(Qt::AlignCenter);
  words.position->setPixelPosition(centre);
}

void RooflineView::placeCeilingWords() {
  const Ceiling& memory = m_ceilings[kMemory];
  if (memory.per_s <= 0) return;
  writeAlong(*memory.words, tr("memory %1").arg(byteRateText(memory.per_s)), memory.per_s, 0.65);
  const double line = QFontMetricsF(smallFont(font())).height();
  const auto level = [&](const Ceiling& ceiling, const QString& text) {
    if (ceiling.per_s <= 0) return;
    // The higher one above its line, the lower one below: apart even where the lines are close.
    const double y = pixelAt(m_plot->xAxis->range().upper, ceiling.per_s).y();
    const double bottom = ceiling.per_s >= highestPeak(m_limits) ? y - 1 : y + 1 + line;
    writeLevel(*ceiling.words, text, levelPlace(text, bottom));
  };
  level(m_ceilings[kInt8], tr("int8 %1").arg(opRateText(m_ceilings[kInt8].per_s)));
  level(m_ceilings[kFp32], tr("fp32 %1").arg(flopRateText(m_ceilings[kFp32].per_s)));
  const Ceiling& cache = m_ceilings[kCache];
  if (cache.per_s > 0) writeAlong(*cache.words, tr("in cache %1").arg(byteRateText(cache.per_s)), cache.per_s, 0.65);
}

void RooflineView::placeZoneWords() {
  if (highestPeak(m_limits) <= 0) return;
  writeAlong(*m_zones[kMemoryZone].words, tr("bandwidth-bound: waits for memory"), m_limits.read_bytes_per_s, -0.65);
  const QString under_half = tr("under half of the roof: overhead-bound");
  writeLevel(*m_zones[kOverheadZone].words, under_half,
             levelPlace(under_half, m_plot->axisRect()->bottom() - kWordsGapPx));
}

// Below the ceilings, on the first line where no disc and nothing else is.
QRectF RooflineView::computePlace(const QString& text) const {
  const double peak = highestPeak(m_limits);
  if (peak <= 0) return {};
  const double line = QFontMetricsF(smallFont(font())).height();
  const double half = pixelAt(m_plot->xAxis->range().upper, peak / 2).y();
  const auto isOnDisc = [&](const QRectF& place) {
    return std::ranges::any_of(m_points, [&](const auto& point) { return discOf(point).intersects(place); });
  };
  QRectF place = levelPlace(text, half + 2 * line + kWordsGapPx);
  while (place.bottom() < m_plot->axisRect()->bottom() && (isOnDisc(place) || !isFree(place))) {
    place.translate(0, line / 2);
  }
  return isFree(place) ? place : QRectF();
}

// Null where it has no place on the chart.
QRectF RooflineView::discOf(const core::RooflinePoint& point) const {
  if (!point.onChart() || !point.work.intensity()) return {};
  const double diameter = discDiameter(point.time_share);
  const QPointF centre = pixelAt(*point.work.intensity(), *point.work.flopPerSecond());
  return {centre - QPointF(diameter, diameter) / 2, QSizeF(diameter, diameter)};
}

// The words that discs push around.
void RooflineView::placePointWords() {
  const QFontMetricsF metrics(smallFont(font()));
  std::vector<QRectF> taken = m_taken;
  QCPItemText& compute = *m_zones[kComputeZone].words;
  const QString compute_bound = tr("compute-bound: waits for arithmetic");
  if (const QRectF place = computePlace(compute_bound); place.isNull()) {
    compute.setVisible(false);
  } else {
    write(compute, compute_bound, place.center());
    taken.push_back(place);
  }
  std::vector<PlotMark> marks;
  std::vector<QCPItemText*> words;
  for (const core::RooflinePoint& point : m_points) {
    const QRectF disc = discOf(point);
    if (disc.isNull()) continue;
    words.push_back(pointOf(point).words);
    marks.push_back(
        {disc.center(), disc.width(), QSizeF(metrics.horizontalAdvance(words.back()->text()) + 2, metrics.height())});
  }
  const std::vector<QRectF> places = placeLabels(marks, m_plot->axisRect()->rect(), taken);
  for (std::size_t i = 0; i < places.size(); ++i) {
    words[i]->setVisible(!places[i].isNull());
    words[i]->setPositionAlignment(Qt::AlignCenter);
    words[i]->position->setPixelPosition(places[i].center());
  }
}

// The nearest disc under the mouse, else what the chart means.
QString RooflineView::explain(const QPoint& point) const {
  const core::RooflinePoint* nearest = nullptr;
  double least = kNearPx;
  for (const core::RooflinePoint& each : m_points) {
    const QRectF disc = discOf(each);
    if (disc.isNull()) continue;
    const QPointF away = disc.center() - point;
    const double beside = std::hypot(away.x(), away.y()) - disc.width() / 2;
    if (beside >= least) continue;
    least = beside;
    nearest = &each;
  }
  return nearest != nullptr ? explainPoint(*nearest, m_limits) : explainCeilings();
}

QString RooflineView::explainCeilings() const {
  QString text =
      tr("Each disc is all ops of one kind in the recent steps of a phase (at most a second of each): "
         "FLOPs ÷ bytes against FLOPs ÷ measured time. Its area is its share of the steps' time, the dots "
         "are the last steps. Copies without arithmetic stand in the table alone.\n");
  if (!m_limits.measured()) return text + tr("The machine's ceilings are not measured yet.");
  text += tr("The roof = the smaller of intensity × bandwidth and peak. Measured on this machine with %1 threads: "
             "memory %2, in cache %3, fp32 %4, int8 %5.\n")
              .arg(QString::number(m_limits.num_threads), byteRateText(m_limits.read_bytes_per_s),
                   m_limits.cache_read_bytes_per_s > 0 ? byteRateText(m_limits.cache_read_bytes_per_s) : nothing(),
                   flopRateText(m_limits.fp32_flop_per_s),
                   m_limits.int8_op_per_s > 0 ? opRateText(m_limits.int8_op_per_s) : nothing());
  return text + tr("The slope meets the peak at the ridge: %1 FLOP/byte (fp32), %2 (int8). Left of it more arithmetic "
                   "costs nothing, right of it more bytes cost nothing.")
                    .arg(significantText(core::ridge(m_limits.read_bytes_per_s, m_limits.fp32_flop_per_s)),
                         significantText(core::ridge(m_limits.read_bytes_per_s, m_limits.int8_op_per_s)));
}

}  // namespace inferoscope::gui
