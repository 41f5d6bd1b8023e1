// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/views/batch_lanes_layout.h"
#include "gui/views/view.h"

#include <memory>
#include <optional>

namespace inferoscope::gui {

struct Theme;

// Who ran in each step: a lane for each place in the batch and in the queue, a column for each step.
class BatchLanesView : public View {
  Q_OBJECT

 public:
  BatchLanesView(Selection& selection, QWidget* parent);

  void showModel(const ModelInfo& model) override;
  void showLimits(const core::MachineLimits& limits) override;
  void showFrame(const Frame& frame) override;

  QSize sizeHint() const override { return {640, 420}; }
  QSize minimumSizeHint() const override { return {220, 160}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void leaveEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Drag {
    int x = 0;  // where the mouse took hold
    bool moved = false;
  };

  LanesLayout layoutNow() const;
  void goBack(int num_columns);
  void goLive();
  static QString liveWords();
  core::SeqId requestAt(const QPoint& point) const;
  QString explain(const QPoint& point) const;
  QString columnText(const LaneColumn& column) const;
  QString cellText(const LaneCell& cell) const;
  void paintSummary(QPainter& painter, const LanesLayout& layout, const Theme& theme) const;
  void paintStrips(QPainter& painter, const LanesLayout& layout, const Theme& theme) const;
  void paintLanes(QPainter& painter, const LanesLayout& layout, const Theme& theme) const;
  void paintNames(QPainter& painter, const LanesLayout& layout, const Theme& theme) const;
  void paintAxis(QPainter& painter, const LanesLayout& layout, const Theme& theme) const;
  void paintLive(QPainter& painter, const LanesLayout& layout, const Theme& theme) const;
  void paintLegend(QPainter& painter, const LanesLayout& layout, const Theme& theme) const;

  bool m_has_model = false;
  int m_column_width = 10;
  LaneWindow m_window;
  std::optional<Drag> m_drag;  // while the button is down
  LaneHistory m_history;
  std::shared_ptr<const core::Snapshot> m_snapshot;
};

}  // namespace inferoscope::gui
