// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/views/view.h"

#include <QTimer>

class QCustomPlot;

namespace inferoscope::gui {

class EmptyStack;

// A view that is a QCustomPlot, alone or among other widgets. It follows palette and font, explains what is under the
// mouse, and is drawn anew at most five times a second: as often as eyes can read.
class PlotView : public View {
  Q_OBJECT

 public:
  PlotView(Selection& selection, QWidget* parent);

  void showLimits(const core::MachineLimits& limits) override;

 protected:
  // What holds the plot, or the plot itself, with words in its place as long as there is nothing to draw.
  void setContent(QWidget* content);

  virtual void applyTheme() = 0;
  virtual QString explain(const QPoint& point) const = 0;  // a tool tip, for a point of the plot
  virtual void zoom(int /*direction*/) {}                  // the wheel over the plot, up: positive

  // Draws what came, now or when the pause is over.
  void showSoon();
  // To begin a refresh with. False: nothing to do, nobody sees it.
  bool beginRefresh(bool has_data);
  void replotSoon();

  void changeEvent(QEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

  QCustomPlot* m_plot;
  EmptyStack* m_stack = nullptr;
  core::MachineLimits m_limits;

 private:
  QTimer m_pause;  // while it runs, the picture stays as it is
};

}  // namespace inferoscope::gui
