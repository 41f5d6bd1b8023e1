// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QColor>
#include <QRect>
#include <QString>
#include <QWidget>

#include <vector>

namespace inferoscope::gui {

// Boxes of these widths from left to right, on as many lines as they need.
std::vector<QRect> flow(const std::vector<int>& widths, int line_height, int gap, const QRect& area);

// What the colours of a chart mean, with a figure each; wraps where it is narrow.
class LegendBar : public QWidget {
  Q_OBJECT

 public:
  struct Item {
    QColor color;  // invalid: words alone
    QString words;
    QString explanation;
  };

  explicit LegendBar(QWidget* parent = nullptr);
  void setItems(std::vector<Item> items);

  QSize sizeHint() const override { return {300, heightForWidth(300)}; }
  QSize minimumSizeHint() const override { return {1, heightForWidth(width())}; }
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool event(QEvent* event) override;

 private:
  int swatch() const;
  std::vector<QRect> places(int width) const;

  std::vector<Item> m_items;
};

}  // namespace inferoscope::gui
