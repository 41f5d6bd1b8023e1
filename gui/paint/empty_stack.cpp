// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/paint/empty_stack.h"

#include "gui/paint/marks.h"
#include "gui/paint/theme.h"

#include <QPainter>

namespace inferoscope::gui {

class EmptyPage : public QWidget {
 public:
  EmptyPage(const QString& words, QWidget* parent) : QWidget(parent), m_words(words) {}

  void setWords(const QString& words) {
    m_words = words;
    update();
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    const Theme theme = themeOf(palette());
    painter.fillRect(rect(), theme.surface);
    paintEmptyState(painter, rect().adjusted(kMargin, kMargin, -kMargin, -kMargin), m_words, theme);
  }

 private:
  QString m_words;
};

EmptyStack::EmptyStack(QWidget* content, const QString& words, QWidget* parent)
    : QStackedWidget(parent), m_content(content), m_empty(new EmptyPage(words, this)) {
  addWidget(m_empty);
  addWidget(m_content);
}

void EmptyStack::showWords(const QString& words) {
  m_empty->setWords(words);
  setCurrentWidget(m_empty);
}

void EmptyStack::showContent() {
  setCurrentWidget(m_content);
}

}  // namespace inferoscope::gui
