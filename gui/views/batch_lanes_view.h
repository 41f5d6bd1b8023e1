// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/experiment.h"
#include "gui/views/batch_lanes_layout.h"
#include "gui/views/view.h"

#include <array>
#include <memory>
#include <optional>
#include <vector>

namespace inferoscope::gui {

struct Theme;

// Who ran in each step: a lane for each place in the batch and in the queue, a column for each step. Of a comparison
// both engines' lanes, above each other on one axis of lane time.
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
  struct Track {
    LaneHistory history = LaneHistory();
    std::shared_ptr<const core::Snapshot> snapshot;
    const std::deque<LaneColumn>& columns() const { return history.columns(); }
  };
  struct Drag {
    int x = 0;  // where the mouse took hold
    bool moved = false;
  };
  struct Place {
    const Track& track;
    const LanesLayout& layout;
  };
  // Where everything is; by steps there is one lane.
  struct Layout {
    std::array<LanesLayout, 2> lanes;
    QRect live;
    std::optional<TwoLanesLayout> two;
  };

  bool two() const { return m_tracks[1].snapshot != nullptr; }
  Layout layoutNow() const;
  std::vector<Place> placesIn(const Layout& layout) const;
  int numSeen() const;
  void goBack(int num_columns);
  void moveTime(int pixels);
  void goLive();
  void zoom(int x, bool nearer);
  QString liveWords() const;
  core::SeqId requestAt(const QPoint& point) const;
  QString explain(const QPoint& point) const;
  QString useText(const Place& place) const;
  QString summaryText(const Place& place) const;
  static QString columnText(const LaneColumn& column);
  static QString cellText(const LaneCell& cell, const core::Snapshot* snapshot);
  void paintAll(QPainter& painter, const Layout& layout, const Theme& theme) const;
  void paintSummary(QPainter& painter, const Place& place, const Theme& theme) const;
  void paintLaneSummary(QPainter& painter, core::LaneId id, const Place& place, const Theme& theme) const;
  void paintLive(QPainter& painter, const QRect& button, const Theme& theme) const;

  bool m_has_model = false;
  int m_column_width = 10;
  LaneWindow m_window;            // by steps
  TimeWindow m_time;              // by time
  std::optional<Drag> m_drag;     // while the button is down
  std::array<Track, 2> m_tracks;  // by lane; the second only in a comparison
};

}  // namespace inferoscope::gui
