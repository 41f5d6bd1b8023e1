// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/session/recent_steps.h"
#include "gui/views/plot_view.h"
#include "gui/views/roofline_layout.h"

#include <array>
#include <memory>
#include <optional>
#include <vector>

class QCPGraph;
class QCPItemLine;
class QCPItemText;
class QTableView;

namespace inferoscope::gui {

class RooflineRoof;
class RooflineTable;

// How near each kind of op comes to what this machine can do: intensity against FLOP/s under the probed ceilings, and
// the same numbers as a table.
class RooflineView : public PlotView {
  Q_OBJECT

 public:
  RooflineView(Selection& selection, QWidget* parent);
  ~RooflineView() override;

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
  struct Point {
    QCPGraph* disc = nullptr;
    QCPGraph* trail = nullptr;
    QCPItemText* words = nullptr;
  };
  template <class T>
  using ByKind = std::array<std::array<T, kernels::kNumOpKinds>, 2>;  // by phase and kind
  struct Lane {
    RecentSteps prefill{core::Phase::kPrefill};
    RecentSteps decode{core::Phase::kDecode};
    RooflineTrail trail;
    ByKind<Point> marks;

    void add(const LaneFrame& frame);
    void clear();
    std::vector<std::shared_ptr<const core::StepRecord>> steps() const;
  };

  void buildPlot();
  void buildPoints();
  void buildTable();
  void sizeColumns() const;
  void collectPoints();
  void showPoints();
  void showPoint(const LanePoint& point);
  void placeWords();  // what depends on pixels
  void placePointWords();
  std::vector<QLineF> placeArrows();  // in pixels
  QString explainCeilings() const;
  double diameterOf(const LanePoint& point) const;
  QRectF discOf(const LanePoint& point) const;
  std::vector<QRectF> discs() const;
  Lane& laneOf(core::LaneId lane) { return m_lanes[static_cast<std::size_t>(lane)]; }
  Point& markOf(const LanePoint& point);

  RooflineTable* m_table_model;
  QTableView* m_table;
  std::unique_ptr<RooflineRoof> m_roof;
  std::array<Lane, 2> m_lanes;
  bool m_two = false;                   // lanes
  ByKind<QCPItemLine*> m_arrows{};      // from lane A to lane B
  std::optional<RooflineAxes> m_drawn;  // the axes of the roof as it is drawn; none: draw it
  std::vector<LanePoint> m_points;
};

}  // namespace inferoscope::gui
