// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/roofline_roof.h"

#include "gui/paint/number_format.h"
#include "gui/paint/plot_style.h"

#include <qcustomplot.h>

#include <algorithm>
#include <cmath>

namespace inferoscope::gui {

namespace {

constexpr double kWordsGapPx = 4;

QColor translucent(QColor color, int alpha) {
  color.setAlpha(alpha);
  return color;
}

}  // namespace

void setRooflineData(QCPGraph& graph, const std::vector<QPointF>& points) {
  QVector<double> x, y;
  for (const QPointF& point : points) {
    x << point.x();
    y << point.y() / kFlopsPerUnit;
  }
  graph.setData(x, y);
}

RooflineRoof::RooflineRoof(QCustomPlot& plot, const QString& moving_layer) : m_plot(plot) {
  for (Zone& zone : m_zones) {
    zone.area = m_plot.addGraph();
    zone.area->setAntialiasedFill(false);  // a quarter of the time for areas of this size
    zone.area->setLayer(QStringLiteral("background"));
    zone.words = addWords(m_plot, QStringLiteral("grid"));
  }
  m_zones[kComputeZone].words->setLayer(moving_layer);
  for (Ceiling& ceiling : m_ceilings) {
    ceiling.line = m_plot.addGraph();
    ceiling.words = addWords(m_plot, QStringLiteral("axes"));
  }
  m_ceilings[kMemory].slope = m_ceilings[kCache].slope = true;
}

void RooflineRoof::applyTheme(const Theme& theme, const QFont& font) {
  m_font = font;
  const std::array<QColor, kNumZones> zones = {theme.bandwidth, theme.compute, theme.quiet};
  for (std::size_t i = 0; i < m_zones.size(); ++i) {
    m_zones[i].area->setPen(Qt::NoPen);
    m_zones[i].area->setBrush(translucent(zones[i], theme.dark ? 46 : 38));
    m_zones[i].words->setColor(i == kOverheadZone ? theme.dim : readable(zones[i], theme.surface));
    m_zones[i].words->setFont(font);
  }
  const std::array<QColor, kNumCeilings> ceilings = {theme.bandwidth, theme.cache, theme.compute, theme.compute};
  for (std::size_t i = 0; i < m_ceilings.size(); ++i) {
    m_ceilings[i].line->setPen(QPen(ceilings[i], 2, i == kCache || i == kFp32 ? Qt::DashLine : Qt::SolidLine));
    m_ceilings[i].words->setColor(readable(ceilings[i], theme.surface));
    m_ceilings[i].words->setFont(font);
  }
}

void RooflineRoof::show(const RooflineAxes& axes, const core::MachineLimits& limits) {
  m_limits = limits;
  m_plot.xAxis->setRange(axes.intensity.lower, axes.intensity.upper);
  m_plot.yAxis->setRange(axes.flop_per_s.lower / kFlopsPerUnit, axes.flop_per_s.upper / kFlopsPerUnit);
  const double peak = highestPeak(m_limits);
  const double bandwidth = m_limits.measured() ? m_limits.read_bytes_per_s : 0;
  const std::array<double, kNumCeilings> per_s = {bandwidth, peak > 0 ? m_limits.cache_read_bytes_per_s : 0,
                                                  peak > 0 ? m_limits.floatPeak() : 0,
                                                  peak > 0 ? m_limits.int8_op_per_s : 0};
  for (std::size_t i = 0; i < m_ceilings.size(); ++i) {
    Ceiling& ceiling = m_ceilings[i];
    ceiling.per_s = per_s[i];
    ceiling.line->setVisible(ceiling.per_s > 0);
    // A slope ends at the highest peak, a level begins at the memory's slope.
    const LogRange levels{core::ridge(bandwidth, ceiling.per_s), axes.intensity.upper};
    const LogRange slopes{axes.intensity.lower, core::ridge(ceiling.per_s, peak)};
    if (ceiling.per_s > 0) {
      setRooflineData(*ceiling.line, ceiling.slope ? roofCorners(ceiling.per_s, peak, slopes)
                                                   : roofCorners(bandwidth, ceiling.per_s, levels));
    }
  }
  for (Zone& zone : m_zones) zone.area->setVisible(peak > 0);
  if (peak <= 0) return;
  const double ridge = core::ridge(bandwidth, peak);
  setRooflineData(*m_zones[kMemoryZone].area, roofCorners(bandwidth, peak, {axes.intensity.lower, ridge}));
  setRooflineData(*m_zones[kComputeZone].area, roofCorners(bandwidth, peak, {ridge, axes.intensity.upper}));
  setRooflineData(*m_zones[kOverheadZone].area, roofCorners(bandwidth / 2, peak / 2, axes.intensity));
}

void RooflineRoof::placeWords(const std::vector<QRectF>& discs) {
  m_discs = discs;
  m_taken.clear();
  for (const Ceiling& ceiling : m_ceilings) ceiling.words->setVisible(false);
  for (const Zone& zone : m_zones) zone.words->setVisible(false);
  placeCeilingWords();
  placeZoneWords();
  m_num_taken = m_taken.size();
}

bool RooflineRoof::wordsAreFree(const std::vector<QRectF>& discs) const {
  return std::ranges::none_of(discs, [this](const QRectF& disc) {
    return std::any_of(m_taken.begin(), m_taken.begin() + static_cast<std::ptrdiff_t>(m_num_taken),
                       [&](const QRectF& words) { return words.intersects(disc); });
  });
}

QPointF RooflineRoof::pixelAt(const QPointF& place) const {
  return {m_plot.xAxis->coordToPixel(place.x()), m_plot.yAxis->coordToPixel(place.y() / kFlopsPerUnit)};
}

bool RooflineRoof::isFree(const QRectF& place) const {
  return QRectF(m_plot.axisRect()->rect()).contains(place) &&
         std::ranges::none_of(m_taken, [&](const QRectF& other) { return place.intersects(other); }) &&
         std::ranges::none_of(m_discs, [&](const QRectF& disc) { return place.intersects(disc); });
}

// Along the part of a bandwidth's slope that can be seen, `lines` of text above it, as near to its middle as there is
// room; nothing where the slope is too short. On log axes all slopes are as steep as each other.
void RooflineRoof::writeAlong(QCPItemText& words, const QString& text, double bytes_per_s, double lines) {
  const double left = std::max(m_plot.xAxis->range().lower, m_plot.yAxis->range().lower * kFlopsPerUnit / bytes_per_s);
  const double right = core::ridge(bytes_per_s, highestPeak(m_limits));
  if (right <= left) return;
  const QLineF slope(pixelAt({left, left * bytes_per_s}), pixelAt({right, right * bytes_per_s}));
  const QFontMetricsF metrics(m_font);
  const double length = metrics.horizontalAdvance(text);
  const double angle = std::atan2(slope.dy(), slope.dx());
  const QPointF along(std::cos(angle), std::sin(angle));
  const QPointF above = lines * metrics.height() * QPointF(std::sin(angle), -std::cos(angle));
  const double side = 0.8 * metrics.height();
  for (const double share : {0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8}) {
    if (length > 1.6 * std::min(share, 1 - share) * slope.length()) continue;
    const QPointF centre = slope.pointAt(share) + above;
    std::vector<QRectF> places;  // small ones, along the words
    for (double at = -length / 2; at <= length / 2; at += side / 2) {
      places.emplace_back(centre + at * along - QPointF(side, side) / 2, QSizeF(side, side));
    }
    if (!std::ranges::all_of(places, [this](const QRectF& place) { return isFree(place); })) continue;
    m_taken.insert(m_taken.end(), places.begin(), places.end());
    words.setRotation(angle * 180 / M_PI);
    return write(words, text, centre);
  }
}

// At the right edge, level; its lower edge at `bottom`.
QRectF RooflineRoof::levelPlace(const QString& text, double bottom) const {
  const QFontMetricsF metrics(m_font);
  const QSizeF size(metrics.horizontalAdvance(text), metrics.height());
  return {QPointF(m_plot.axisRect()->right() - kWordsGapPx - size.width(), bottom - size.height()), size};
}

void RooflineRoof::writeLevel(QCPItemText& words, const QString& text, const QRectF& place) {
  if (!isFree(place)) return;
  m_taken.push_back(place);
  write(words, text, place.center());
}

void RooflineRoof::write(QCPItemText& words, const QString& text, const QPointF& centre) {
  words.setVisible(true);
  words.setText(text);
  words.setPositionAlignment(Qt::AlignCenter);
  words.position->setPixelPosition(centre);
}

void RooflineRoof::placeCeilingWords() {
  const Ceiling& memory = m_ceilings[kMemory];
  if (memory.per_s <= 0) return;
  writeAlong(*memory.words, tr("memory %1").arg(byteRateText(memory.per_s)), memory.per_s, 0.65);
  const double line = QFontMetricsF(m_font).height();
  const auto level = [&](const Ceiling& ceiling, const QString& text) {
    if (ceiling.per_s <= 0) return;
    // The higher one above its line, the lower one below: apart even where the lines are close.
    const double y = pixelAt({m_plot.xAxis->range().upper, ceiling.per_s}).y();
    const double bottom = ceiling.per_s >= highestPeak(m_limits) ? y - 1 : y + 1 + line;
    QRectF place = levelPlace(text, bottom);
    const double ridge = pixelAt({core::ridge(m_limits.read_bytes_per_s, ceiling.per_s), ceiling.per_s}).x();
    while (!isFree(place) && place.left() - line > ridge) place.translate(-line, 0);
    writeLevel(*ceiling.words, text, place);
  };
  level(m_ceilings[kInt8], tr("int8 %1").arg(opRateText(m_ceilings[kInt8].per_s)));
  level(m_ceilings[kFp32], floatPeakText(m_limits));
  const Ceiling& cache = m_ceilings[kCache];
  if (cache.per_s > 0) writeAlong(*cache.words, tr("in cache %1").arg(byteRateText(cache.per_s)), cache.per_s, 0.65);
}

void RooflineRoof::placeZoneWords() {
  if (highestPeak(m_limits) <= 0) return;
  writeAlong(*m_zones[kMemoryZone].words, tr("bandwidth-bound: waits for memory"), m_limits.read_bytes_per_s, -0.65);
  const QString under_half = tr("under half of the roof: overhead-bound");
  writeLevel(*m_zones[kOverheadZone].words, under_half,
             levelPlace(under_half, m_plot.axisRect()->bottom() - kWordsGapPx));
}

// Below the ceilings, on the first line where there is room.
void RooflineRoof::placeComputeWords(const std::vector<QRectF>& discs) {
  m_discs = discs;
  m_taken.resize(m_num_taken);
  QCPItemText& words = *m_zones[kComputeZone].words;
  words.setVisible(false);
  const double peak = highestPeak(m_limits);
  if (peak <= 0) return;
  const QString text = tr("compute-bound: waits for arithmetic");
  const double line = QFontMetricsF(m_font).height();
  QRectF place = levelPlace(text, pixelAt({m_plot.xAxis->range().upper, peak / 2}).y() + 2 * line + kWordsGapPx);
  const double ridge = pixelAt({core::ridge(m_limits.read_bytes_per_s, peak), peak}).x();
  if (place.left() < ridge) return;  // it would reach into the other zone
  while (place.bottom() < m_plot.axisRect()->bottom() && !isFree(place)) place.translate(0, line / 2);
  writeLevel(words, text, place);
}

}  // namespace inferoscope::gui
