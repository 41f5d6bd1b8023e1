// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/session/recent_steps.h"
#include "gui/views/plot_view.h"
#include "gui/views/roofline_layout.h"

#include <array>
#include <optional>
#include <vector>

class QCPGraph;
class QCPItemText;
class QTableView;

namespace inferoscope::gui {

class RooflineTable;

// How near each kind of op comes to what this machine can do: intensity against FLOP/s under the probed ceilings, and
// the same numbers as a table.
class RooflineView : public PlotView {
  Q_OBJECT

 public:
  RooflineView(Selection& selection, QWidget* parent);

  void showModel(const ModelInfo& model) override;
  void showLimits(const core::MachineLimits& limits) override;
  void showFrame(const Frame& frame) override;
  void refresh() override;

  QSize sizeHint() const override { return {640, 560}; }
  QSize minimumSizeHint() const override { return {240, 200}; }

 protected:
  void applyTheme() override;
  QString explain(const QPoint& point) const override;
  void changeEvent(QEvent* event) override;

 private:
  struct Ceiling {
    QCPGraph* line = nullptr;
    QCPItemText* words = nullptr;
    double per_s = 0;  // bytes or FLOPs; 0: not measured
    bool slope = false;
  };
  enum CeilingIndex { kMemory, kCache, kFp32, kInt8, kNumCeilings };
  enum ZoneIndex { kMemoryZone, kComputeZone, kOverheadZone, kNumZones };
  struct Zone {
    QCPGraph* area = nullptr;
    QCPItemText* words = nullptr;
  };
  struct Point {
    QCPGraph* disc = nullptr;
    QCPGraph* trail = nullptr;
    QCPItemText* words = nullptr;
  };

  void buildPlot();
  void buildTable();
  void sizeColumns() const;
  QCPItemText* addWords(const char* layer);
  void showRoof(const RooflineAxes& axes);
  void showPoints();
  void placeWords();  // what depends on pixels
  void hideWords();
  void placeCeilingWords();
  void placeZoneWords();
  void placePointWords();
  QString explainCeilings() const;
  QPointF pixelAt(double intensity, double flop_per_s) const;
  void writeAlong(QCPItemText& words, const QString& text, double bytes_per_s, double lines);
  bool isFree(const QRectF& place) const;
  QRectF levelPlace(const QString& text, double bottom) const;
  QRectF computePlace(const QString& text) const;
  void writeLevel(QCPItemText& words, const QString& text, const QRectF& place);
  static void write(QCPItemText& words, const QString& text, const QPointF& centre);
  QRectF discOf(const core::RooflinePoint& point) const;
  Point& pointOf(const core::RooflinePoint& point);

  RooflineTable* m_table_model;
  QTableView* m_table;
  std::array<Ceiling, kNumCeilings> m_ceilings;
  std::array<Zone, kNumZones> m_zones;
  std::array<std::array<Point, kernels::kNumOpKinds>, 2> m_marks;  // by phase and kind
  RecentSteps m_prefill{core::Phase::kPrefill};
  RecentSteps m_decode{core::Phase::kDecode};
  RooflineTrail m_trail;
  std::optional<RooflineAxes> m_drawn;  // the axes of the roof as it is drawn; none: draw it
  std::vector<core::RooflinePoint> m_points;
  std::vector<QRectF> m_taken;  // by words of ceilings and zones, in pixels
};

}  // namespace inferoscope::gui
