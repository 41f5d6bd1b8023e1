// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/paint/elided_label.h"

#include <QPainter>
#include <QStyle>

namespace inferoscope::gui {

void ElidedLabel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const QRect room = contentsRect();
  style()->drawItemText(&painter, room, static_cast<int>(alignment()), palette(), isEnabled(),
                        fontMetrics().elidedText(text(), Qt::ElideRight, room.width()), foregroundRole());
}

}  // namespace inferoscope::gui
