// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/paint/theme.h"
#include "gui/views/roofline_layout.h"

#include <QCoreApplication>
#include <QFont>

#include <array>
#include <vector>

class QCPGraph;
class QCPItemText;
class QCustomPlot;

namespace inferoscope::gui {

inline constexpr double kFlopsPerUnit = 1e9;  // of the y axis

// Points in FLOPs a byte and FLOP/s.
void setRooflineData(QCPGraph& graph, const std::vector<QPointF>& points);

// What the points of a roofline are under: the lines of the ceilings, the zones below them, and what they are called.
class RooflineRoof {
  Q_DECLARE_TR_FUNCTIONS(RooflineRoof)

 public:
  // moving_layer: of words that make way for discs.
  RooflineRoof(QCustomPlot& plot, const QString& moving_layer);

  void applyTheme(const Theme& theme, const QFont& font);
  void show(const RooflineAxes& axes, const core::MachineLimits& limits);

  // Once the axes have their places. What matters most comes first: words that find their place taken are left out.
  void placeWords(const std::vector<QRectF>& discs);
  bool wordsAreFree(const std::vector<QRectF>& discs) const;  // still, after discs moved
  // The one that has to be placed again when discs move.
  void placeComputeWords(const std::vector<QRectF>& discs);

  const std::vector<QRectF>& taken() const { return m_taken; }  // by words, in pixels
  QPointF pixelAt(const QPointF& place) const;

 private:
  enum CeilingIndex { kMemory, kCache, kFp32, kInt8, kNumCeilings };
  enum ZoneIndex { kMemoryZone, kComputeZone, kOverheadZone, kNumZones };
  struct Ceiling {
    QCPGraph* line = nullptr;
    QCPItemText* words = nullptr;
    double per_s = 0;  // bytes or FLOPs; 0: not measured
    bool slope = false;
  };
  struct Zone {
    QCPGraph* area = nullptr;
    QCPItemText* words = nullptr;
  };

  void placeCeilingWords();
  void placeZoneWords();
  bool isFree(const QRectF& place) const;
  void writeAlong(QCPItemText& words, const QString& text, double bytes_per_s, double lines);
  QRectF levelPlace(const QString& text, double bottom) const;
  void writeLevel(QCPItemText& words, const QString& text, const QRectF& place);
  static void write(QCPItemText& words, const QString& text, const QPointF& centre);

  QCustomPlot& m_plot;
  QFont m_font;
  core::MachineLimits m_limits;
  std::array<Ceiling, kNumCeilings> m_ceilings;
  std::array<Zone, kNumZones> m_zones;
  std::vector<QRectF> m_discs;
  std::vector<QRectF> m_taken;
  std::size_t m_num_taken = 0;  // by words that stay when discs move
};

}  // namespace inferoscope::gui
