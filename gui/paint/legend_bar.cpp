// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/paint/legend_bar.h"

#include "gui/paint/marks.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <utility>

namespace inferoscope::gui {

namespace {
constexpr int kSwatchGap = 5;
}

std::vector<QRect> flow(const std::vector<int>& widths, int line_height, int gap, const QRect& area) {
  std::vector<QRect> boxes;
  int x = area.left();
  int y = area.top();
  for (const int width : widths) {
    if (x > area.left() && x + width > area.right() + 1) {
      x = area.left();
      y += line_height;
    }
    boxes.emplace_back(x, y, width, line_height);
    x += width + gap;
  }
  return boxes;
}

LegendBar::LegendBar(QWidget* parent) : QWidget(parent) {
  QSizePolicy policy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
}

void LegendBar::setItems(std::vector<Item> items) {
  m_items = std::move(items);
  QString words;
  for (const Item& item : m_items) words += (words.isEmpty() ? QString() : QStringLiteral(", ")) + item.words;
  setAccessibleDescription(words);
  updateGeometry();
  update();
}

int LegendBar::swatch() const {
  return std::max(9, fontMetrics().ascent());
}

std::vector<QRect> LegendBar::places(int width) const {
  std::vector<int> widths;
  for (const Item& item : m_items) {
    const int mark = item.color.isValid() ? swatch() + kSwatchGap : 0;
    widths.push_back(mark + fontMetrics().horizontalAdvance(item.words));
  }
  return flow(widths, fontMetrics().height() + 2, 2 * kMargin, QRect(kMargin, kSpacing, width - 2 * kMargin, 0));
}

int LegendBar::heightForWidth(int width) const {
  const std::vector<QRect> boxes = places(width);
  return boxes.empty() ? 0 : boxes.back().bottom() + 1 + kSpacing;
}

void LegendBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = themeOf(palette());
  painter.fillRect(rect(), theme.surface);
  const std::vector<QRect> boxes = places(width());
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    QRect words = boxes[i];
    if (m_items[i].color.isValid()) {
      const int side = swatch();
      painter.fillRect(QRect(words.left(), words.center().y() - side / 2 + 1, side, side), m_items[i].color);
      words.setLeft(words.left() + side + kSwatchGap);
    }
    painter.setPen(theme.text);
    painter.drawText(words, Qt::AlignLeft | Qt::AlignVCenter, m_items[i].words);
  }
}

void LegendBar::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  updateGeometry();  // another width may need another number of lines
}

bool LegendBar::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const std::vector<QRect> boxes = places(width());
  const auto at = std::ranges::find_if(boxes, [&](const QRect& box) { return box.contains(help->pos()); });
  if (at == boxes.end()) {
    QToolTip::hideText();
  } else {
    QToolTip::showText(help->globalPos(), m_items[static_cast<std::size_t>(at - boxes.begin())].explanation, this);
  }
  return true;
}

}  // namespace inferoscope::gui
