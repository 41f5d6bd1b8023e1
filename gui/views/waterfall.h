// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/views/step_time_layout.h"

#include <QWidget>

#include <vector>

namespace inferoscope::gui {

struct Theme;

// Paints the waterfall of a step: from the floor to the measured time, a row a part.
class Waterfall : public QWidget {
  Q_OBJECT

 public:
  explicit Waterfall(QWidget* parent = nullptr);

  // Bars are drawn on a scale of `scale_ns`, or of this step's own where that is longer.
  void showTime(const core::StepTime& time, const core::MachineLimits& limits, double scale_ns = 0);

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {160, sizeHint().height()}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  int rowHeight() const;
  std::vector<WaterfallRow> rows() const;
  QString name(const WaterfallPart& part) const;
  QString figure(const WaterfallPart& part) const;
  QColor color(const WaterfallPart& part, const Theme& theme) const;
  QString explain(const WaterfallPart& part) const;

  core::StepTime m_time;
  core::MachineLimits m_limits;
  std::vector<WaterfallPart> m_parts;
  double m_scale_ns = 0;
};

}  // namespace inferoscope::gui
