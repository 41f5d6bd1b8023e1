// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QScrollArea>

namespace inferoscope::gui {

// A column of widgets that scrolls up and down where there is too little room, and is never cut at its side.
inline QScrollArea* makeScrollColumn(QWidget* inner) {
  auto* scroll = new QScrollArea;
  scroll->setWidget(inner);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setMinimumWidth(inner->minimumSizeHint().width() + 20);
  return scroll;
}

}  // namespace inferoscope::gui
