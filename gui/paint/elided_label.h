// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>

namespace inferoscope::gui {

// One line of plain text that ends in dots where there is no room for all of it. text() stays whole.
class ElidedLabel : public QLabel {
  Q_OBJECT

 public:
  using QLabel::QLabel;

 protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace inferoscope::gui
