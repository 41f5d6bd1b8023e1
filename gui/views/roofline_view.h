// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/session/recent_steps.h"
#include "gui/views/roofline_layout.h"
#include "gui/views/view.h"

#include <QPointer>
#include <QTimer>

#include <array>
#include <vector>

class QCPGraph;
class QCPItemText;
class QCustomPlot;
class QSplitter;
class QTableView;

namespace inferoscope::gui {

class EmptyStack;
class RooflineTable;

// How near each kind of op comes to what this machine can do: intensity against FLOP/s under the probed ceilings, and
// the same numbers as a table.
class RooflineView : public View {
  Q_OBJECT

 public:
  RooflineView(Selection& selection, QWidget* parent);

  void showModel(const ModelInfo& model) override;
  void showLimits(const core::MachineLimits& limits) override;
  void showFrame(const Frame& frame) override;

  QSize sizeHint() const override { return {640, 560}; }
  QSize minimumSizeHint() const override { return {240, 200}; }

 protected:
  void showEvent(QShowEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

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
  void sizeColumns();
  QCPItemText* addWords(const char* layer);
  void applyTheme();
  void refresh();
  void showRoof();
  void showPoints();
  void placeWords();  // what depends on pixels
  void hideWords();
  void placeCeilingWords();
  void placeZoneWords();
  void placePointWords();
  QString explain(const QPoint& point) const;
  QString explainCeilings() const;
  QPointF pixelAt(double intensity, double flop_per_s) const;
  void writeAlong(QCPItemText& words, const QString& text, double bytes_per_s, double lines);
  QRectF levelPlace(const QString& text, double bottom) const;
  void writeLevel(QCPItemText& words, const QString& text, const QRectF& place);
  QRectF discOf(const core::RooflinePoint& point) const;
  Point& pointOf(const core::RooflinePoint& point);

  QCustomPlot* m_plot;
  RooflineTable* m_table_model;
  QTableView* m_table;
  QSplitter* m_content;
  EmptyStack* m_stack;
  QTimer m_pause;  // while it runs, the picture stays as it is
  std::array<Ceiling, kNumCeilings> m_ceilings;
  std::array<Zone, kNumZones> m_zones;
  std::array<std::array<Point, kernels::kNumOpKinds>, 2> m_marks;  // by phase and kind
  RecentSteps m_prefill{core::Phase::kPrefill};
  RecentSteps m_decode{core::Phase::kDecode};
  RooflineTrail m_trail;
  std::vector<core::RooflinePoint> m_points;
  std::vector<QRectF> m_taken;  // by words of ceilings and zones, in pixels
  core::MachineLimits m_limits;
};

}  // namespace inferoscope::gui
