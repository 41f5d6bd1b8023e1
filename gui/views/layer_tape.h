// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/experiment.h"
#include "gui/views/layer_tape_layout.h"

#include <QElapsedTimer>
#include <QTimer>
#include <QWidget>

#include <memory>
#include <optional>

namespace inferoscope::gui {

struct Theme;

// The tensors of a step in the order in which they are read. A replay lights the one that is being read, in slow
// motion.
class LayerTape : public QWidget {
  Q_OBJECT

 public:
  explicit LayerTape(QWidget* parent = nullptr);

  // While a replay runs, it takes the next step when it begins again. Null: nothing to show.
  void showStep(std::shared_ptr<const core::StepRecord> step);
  void setReplay(bool on);
  // In a comparison: whose step it is, and the bytes that fill the tape of either lane.
  void setLane(std::optional<core::LaneId> lane, double whole_bytes);
  void showTime(std::int64_t ns);  // of the replay, since the first op began
  int litOp() const { return m_lit; }

  QSize sizeHint() const override { return {260, 300}; }
  QSize minimumSizeHint() const override { return {100, 60}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  void showEvent(QShowEvent* event) override;
  bool event(QEvent* event) override;

 private:
  Tape tape() const;
  void advance();
  double slowness() const;
  void paintPiece(QPainter& painter, const TapePiece& piece, const Theme& theme) const;
  QString caption() const;
  QString opName(const core::OpRecord& op) const;
  QString explain(const core::OpRecord& op) const;

  std::optional<core::LaneId> m_lane;
  double m_whole_bytes = 0;
  std::shared_ptr<const core::StepRecord> m_step;
  std::shared_ptr<const core::StepRecord> m_next;
  QTimer m_tick;
  QElapsedTimer m_since;  // the replay began
  bool m_replay = false;
  std::int64_t m_at_ns = 0;
  int m_lit = -1;
};

}  // namespace inferoscope::gui
