// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QColor>
#include <QStyledItemDelegate>

namespace inferoscope::gui {

// A cell with a thin bar under its text, as long as the share that `role` gives; without one an ordinary cell.
class ShareBarDelegate : public QStyledItemDelegate {
  Q_OBJECT

 public:
  ShareBarDelegate(int role, QObject* parent) : QStyledItemDelegate(parent), m_role(role) {}
  void setColor(const QColor& color) { m_color = color; }

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 private:
  int m_role;
  QColor m_color;
};

}  // namespace inferoscope::gui
