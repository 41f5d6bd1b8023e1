// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/session/frame.h"
#include "gui/session/selection.h"

#include <QWidget>

namespace inferoscope::gui {

// A picture of the engine's frames. Gets values, never asks the engine; paints nothing while hidden.
class View : public QWidget {
  Q_OBJECT

 public:
  View(Selection& selection, QWidget* parent) : QWidget(parent), m_selection(selection) {}

  virtual void showModel(const ModelInfo& model) = 0;              // a new model: forget everything before
  virtual void showLimits(const core::MachineLimits& limits) = 0;  // measured (again)
  virtual void showFrame(const Frame& frame) = 0;                  // also while hidden: keep, don't paint

  // What the other lane of a comparison shows beside this one, for a common scale; null: there is none.
  virtual void showBeside(const LaneFrame* /*other*/) {}

  // Shows what came while it was out of sight.
  virtual void refresh() {}

 protected:
  // Behind the tab of another dock a widget still counts as visible to Qt; it lies beside the window then.
  bool inSight() const { return isVisible() && window()->rect().intersects(QRect(mapTo(window(), QPoint()), size())); }
  void showEvent(QShowEvent* event) override {
    QWidget::showEvent(event);
    refresh();
  }

  Selection& m_selection;
};

}  // namespace inferoscope::gui
