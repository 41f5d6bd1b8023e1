// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/paint/share_bar_delegate.h"

#include <QPainter>

#include <algorithm>

namespace inferoscope::gui {

void ShareBarDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  QStyledItemDelegate::paint(painter, option, index);
  const QVariant share = index.data(m_role);
  if (!share.isValid()) return;
  constexpr double kHeight = 2;
  const QRectF cell = QRectF(option.rect).adjusted(2, 0, -2, 0);
  const double width = cell.width() * std::clamp(share.toDouble(), 0.0, 1.0);
  painter->fillRect(QRectF(cell.left(), cell.bottom() - kHeight, width, kHeight), m_color);
}

}  // namespace inferoscope::gui
