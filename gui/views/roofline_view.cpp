// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/roofline_view.h"

#include "gui/paint/empty_stack.h"
#include "gui/paint/marks.h"
#include "gui/paint/number_format.h"
#include "gui/paint/plot_style.h"
#include "gui/paint/tables.h"
#include "gui/views/lanes.h"
#include "gui/views/roofline_roof.h"
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

constexpr const char* kPointsLayer = "points";
constexpr double kNearPx = 6;
constexpr double kFullSizePx = 240;  // of a chart; a smaller one has smaller discs
constexpr double kLeastScale = 0.4;
constexpr double kArrowRoomPx = 6;  // no label is so small that it fits between

// The widest texts to expect, beside the headings.
constexpr std::array<const char*, RooflineTable::kNumColumns> kWidest = {
    "B", "KV append", "prefill", "overhead-bound", "99.9%", "999", "99.9 GFLOP/s", "99.9 GB/s", "999%", "99.9×"};

// Decades, written as people of the program's language write numbers.
class DecadeTicker : public QCPAxisTickerLog {
 public:
  DecadeTicker() { setSubTickCount(0); }

 protected:
  QString getTickLabel(double tick, const QLocale&, QChar, int) override {
    return displayLocale().toString(tick, 'g', 6);
  }
};

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

RooflineView::~RooflineView() = default;

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
  m_roof = std::make_unique<RooflineRoof>(*m_plot, QLatin1String(kPointsLayer));
  buildPoints();
  connect(m_plot, &QCustomPlot::afterLayout, this, &RooflineView::placeWords);
}

void RooflineView::buildPoints() {
  const QString layer = QLatin1String(kPointsLayer);
  for (auto& kinds : m_arrows) {
    for (QCPItemLine*& arrow : kinds) {
      arrow = new QCPItemLine(m_plot);
      arrow->setLayer(layer);
      arrow->setHead(QCPLineEnding(QCPLineEnding::esSpikeArrow, 8, 9));
      arrow->start->setType(QCPItemPosition::ptAbsolute);
      arrow->end->setType(QCPItemPosition::ptAbsolute);
      arrow->setSelectable(false);
      arrow->setVisible(false);
    }
  }
  for (Lane& lane : m_lanes) {
    for (auto& kinds : lane.marks) {
      for (Point& point : kinds) {
        for (QCPGraph** graph : {&point.trail, &point.disc}) {
          *graph = m_plot->addGraph();
          (*graph)->setLineStyle(QCPGraph::lsNone);
          (*graph)->setLayer(layer);
        }
        point.trail->setAntialiasedScatters(false);  // hundreds of dots
        point.words = addWords(*m_plot, layer);
      }
    }
  }
}

void RooflineView::buildTable() {
  m_table->setModel(m_table_model);
  m_table->setAccessibleName(tr("Roofline as a table"));
  setUpTable(*m_table);
  addCopyRows(*m_table);
  m_table->setColumnHidden(RooflineTable::kLane, true);  // until two lanes are compared
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
  m_roof->applyTheme(theme, smallFont(font()));
  for (const core::Phase phase : {core::Phase::kPrefill, core::Phase::kDecode}) {
    const QColor color = phaseColor(phase, theme);
    for (QCPItemLine* arrow : m_arrows[static_cast<std::size_t>(phase)]) arrow->setPen(QPen(theme.text, 1));
    for (const core::LaneId lane : kLanes) {
      // In a comparison: a ring is where it was, with A, a disc where it is with B.
      const bool ring = m_two && lane == core::LaneId::kA;
      for (Point& point : laneOf(lane).marks[static_cast<std::size_t>(phase)]) {
        point.trail->setPen(QPen(mix(theme.surface, color, 0.55), 1));
        point.trail->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssPlus, 3));
        point.words->setColor(readable(color, theme.surface, 7.0));
        point.words->setBrush(translucent(theme.surface, 150));
        point.words->setFont(smallFont(font()));
        const QPen edge(ring ? color : theme.surface, ring ? 2 : 1);
        point.disc->setPen(edge);
        point.disc->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssCircle, edge, ring ? theme.surface : color,
                                                    point.disc->scatterStyle().size()));
      }
    }
  }
}

void RooflineView::changeEvent(QEvent* event) {
  PlotView::changeEvent(event);
  if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) sizeColumns();
}

void RooflineView::Lane::add(const LaneFrame& frame) {
  const std::size_t num_old = frame.steps.size() - std::min(frame.steps.size(), 4 * RooflineTrail::kLength);
  for (std::size_t i = 0; i < frame.steps.size(); ++i) {
    prefill.add(frame.steps[i]);
    decode.add(frame.steps[i]);
    if (i >= num_old) trail.add(*frame.steps[i]);
  }
}

void RooflineView::Lane::clear() {
  prefill.clear();
  decode.clear();
  trail.clear();
}

std::vector<std::shared_ptr<const core::StepRecord>> RooflineView::Lane::steps() const {
  std::vector<std::shared_ptr<const core::StepRecord>> steps = prefill.steps();
  for (auto& step : decode.steps()) steps.push_back(std::move(step));
  return steps;
}

void RooflineView::showModel(const ModelInfo&) {
  for (Lane& lane : m_lanes) lane.clear();
  m_points.clear();
  m_stack->showWords(firstStepWords());
}

void RooflineView::showLimits(const core::MachineLimits& limits) {
  m_drawn.reset();
  PlotView::showLimits(limits);
}

void RooflineView::showFrame(const Frame& frame) {
  if (frame.b.has_value() != m_two) {
    m_two = frame.b.has_value();
    m_lanes[1].clear();
    m_drawn.reset();
    m_table->setColumnHidden(RooflineTable::kLane, !m_two);
    applyTheme();
  }
  m_lanes[0].add(frame);
  if (m_two) m_lanes[1].add(*frame.b);
  if (!frame.steps.empty() || (m_two && !frame.b->steps.empty())) showSoon();
}

void RooflineView::refresh() {
  if (!inSight()) return;
  collectPoints();
  if (!beginRefresh(!m_points.empty())) return;
  m_table_model->setPoints(m_points, m_limits);
  showPoints();
  const RooflineAxes axes = axesFor(m_points, m_limits);
  if (m_drawn == axes && m_roof->wordsAreFree(discs())) {
    placePointWords();
    m_plot->layer(QLatin1String(kPointsLayer))->replot();
    return;
  }
  m_drawn = axes;
  m_roof->show(axes, m_limits);
  replotSoon();
}

// What is to be compared stands together: by phase, kind and lane.
void RooflineView::collectPoints() {
  m_points.clear();
  for (const core::LaneId lane : kLanes) {
    for (const core::RooflinePoint& point : core::rooflinePoints(laneOf(lane).steps(), m_limits)) {
      m_points.push_back({lane, point});
    }
  }
  std::ranges::stable_sort(m_points, {}, [](const LanePoint& of) { return std::pair(of.point.phase, of.point.kind); });
}

RooflineView::Point& RooflineView::markOf(const LanePoint& of) {
  return laneOf(of.lane).marks[static_cast<std::size_t>(of.point.phase)][static_cast<std::size_t>(of.point.kind)];
}

void RooflineView::showPoints() {
  for (Lane& lane : m_lanes) {
    for (auto& kinds : lane.marks) {
      for (Point& mark : kinds) {
        mark.disc->setVisible(false);
        mark.trail->setVisible(false);
        mark.words->setText({});
        mark.words->setVisible(false);
      }
    }
  }
  for (const LanePoint& point : m_points) {
    if (point.onChart()) showPoint(point);
  }
}

void RooflineView::showPoint(const LanePoint& point) {
  Point& mark = markOf(point);
  mark.disc->setVisible(true);
  setRooflineData(*mark.disc, {point.place()});
  const bool named_by_b = point.lane == core::LaneId::kA && std::ranges::any_of(m_points, [&](const LanePoint& other) {
                            return other.lane == core::LaneId::kB && other.onChart() &&
                                   other.point.phase == point.point.phase && other.point.kind == point.point.kind;
                          });
  mark.words->setText(named_by_b ? QString() : opKindWord(point.point.kind));
  mark.trail->setVisible(!m_two);  // arrows say enough
  const std::deque<QPointF>& trail = laneOf(point.lane).trail.of(point.point.phase, point.point.kind);
  setRooflineData(*mark.trail, {trail.begin(), trail.end()});
}

// Called when the axes have their places for this replot.
void RooflineView::placeWords() {
  m_roof->placeWords(discs());
  placePointWords();
}

std::vector<QRectF> RooflineView::discs() const {
  std::vector<QRectF> discs;
  for (const LanePoint& point : m_points) discs.push_back(discOf(point));
  return discs;
}

// Smaller on a small chart.
double RooflineView::diameterOf(const LanePoint& point) const {
  const QSize chart = m_plot->axisRect()->size();
  const double scale = std::clamp(std::min(chart.width(), chart.height()) / kFullSizePx, kLeastScale, 1.0);
  return scale * discDiameter(point.point.time_share);
}

// Null where it has no place on the chart.
QRectF RooflineView::discOf(const LanePoint& point) const {
  if (!point.onChart()) return {};
  const double diameter = diameterOf(point);
  return {m_roof->pixelAt(point.place()) - QPointF(diameter, diameter) / 2, QSizeF(diameter, diameter)};
}

std::vector<QLineF> RooflineView::placeArrows() {
  std::vector<QLineF> lines;
  for (auto& kinds : m_arrows) {
    for (QCPItemLine* arrow : kinds) arrow->setVisible(false);
  }
  const auto diameter = [this](core::LaneId lane, const RooflineArrow& arrow) {
    const auto at = std::ranges::find_if(m_points, [&](const LanePoint& of) {
      return of.lane == lane && of.point.phase == arrow.phase && of.point.kind == arrow.kind;
    });
    return at == m_points.end() ? 0.0 : diameterOf(*at);
  };
  for (const RooflineArrow& arrow : arrowsOf(m_points)) {
    const auto line = betweenDiscs(m_roof->pixelAt(arrow.from), diameter(core::LaneId::kA, arrow),
                                   m_roof->pixelAt(arrow.to), diameter(core::LaneId::kB, arrow));
    if (!line) continue;
    QCPItemLine* item = m_arrows[static_cast<std::size_t>(arrow.phase)][static_cast<std::size_t>(arrow.kind)];
    item->start->setPixelPosition(line->p1());
    item->end->setPixelPosition(line->p2());
    item->setVisible(true);
    lines.push_back(*line);
  }
  return lines;
}

// The words that discs push around.
void RooflineView::placePointWords() {
  const QFontMetricsF metrics(smallFont(font()));
  m_roof->placeComputeWords(discs());
  std::vector<QRectF> taken = m_roof->taken();
  for (const QLineF& arrow : placeArrows()) {
    for (double at = 0; at <= arrow.length(); at += kArrowRoomPx) {
      taken.emplace_back(arrow.pointAt(at / arrow.length()) - QPointF(1, 1), QSizeF(2, 2));
    }
  }
  std::vector<PlotMark> marks;
  std::vector<QCPItemText*> words;
  for (const LanePoint& point : m_points) {
    const QRectF disc = discOf(point);
    if (disc.isNull()) continue;
    words.push_back(markOf(point).words);
    QCPScatterStyle style = markOf(point).disc->scatterStyle();
    style.setSize(disc.width());
    markOf(point).disc->setScatterStyle(style);
    marks.push_back(
        {disc.center(), disc.width(), QSizeF(metrics.horizontalAdvance(words.back()->text()) + 2, metrics.height())});
  }
  const std::vector<QRectF> places = placeLabels(marks, m_plot->axisRect()->rect(), taken);
  for (std::size_t i = 0; i < places.size(); ++i) {
    words[i]->setVisible(!places[i].isNull() && !words[i]->text().isEmpty());
    words[i]->setPositionAlignment(Qt::AlignCenter);
    words[i]->position->setPixelPosition(places[i].center());
  }
}

// The nearest disc under the mouse, else what the chart means.
QString RooflineView::explain(const QPoint& point) const {
  const LanePoint* nearest = nullptr;
  double least = kNearPx;
  for (const LanePoint& each : m_points) {
    const QRectF disc = discOf(each);
    if (disc.isNull()) continue;
    const QPointF away = disc.center() - point;
    const double beside = std::hypot(away.x(), away.y()) - disc.width() / 2;
    if (beside >= least) continue;
    least = beside;
    nearest = &each;
  }
  if (nearest == nullptr) return explainCeilings();
  const QString lane = m_two ? tr("Lane %1. ").arg(laneName(nearest->lane)) : QString();
  return lane + explainPoint(nearest->point, m_limits);
}

QString RooflineView::explainCeilings() const {
  QString text =
      tr("Each disc is all ops of one kind in the recent steps of a phase (at most a second of each): "
         "FLOPs ÷ bytes against FLOPs ÷ measured time. Its area is its share of the steps' time, the dots "
         "are the last steps. Copies without arithmetic stand in the table alone.\n");
  if (m_two) text += tr("Two lanes: a ring is lane A, a disc lane B, an arrow leads from the one to the other.\n");
  if (!m_limits.measured()) return text + tr("The machine's ceilings are not measured yet.");
  text +=
      tr("The roof = the smaller of intensity × bandwidth and peak. Measured on this machine with %1 threads: "
         "memory %2, in cache %3, %4, int8 %5.\n")
          .arg(QString::number(m_limits.num_threads), byteRateText(m_limits.read_bytes_per_s),
               m_limits.cache_read_bytes_per_s > 0 ? byteRateText(m_limits.cache_read_bytes_per_s) : nothing(),
               floatPeakText(m_limits), m_limits.int8_op_per_s > 0 ? opRateText(m_limits.int8_op_per_s) : nothing());
  return text + tr("The slope meets the peak at the ridge: %1 FLOP/byte (%2), %3 (int8). Left of it more arithmetic "
                   "costs nothing, right of it more bytes cost nothing.")
                    .arg(significantText(core::ridge(m_limits.read_bytes_per_s, m_limits.floatPeak())),
                         QString::fromLatin1(m_limits.floatPeakName()),
                         significantText(core::ridge(m_limits.read_bytes_per_s, m_limits.intPeak())));
}

}  // namespace inferoscope::gui
