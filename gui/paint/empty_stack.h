// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QStackedWidget>
#include <QString>

namespace inferoscope::gui {

class EmptyPage;

// A widget, or, as long as it has nothing to show, a line of words that says why.
class EmptyStack : public QStackedWidget {
  Q_OBJECT

 public:
  EmptyStack(QWidget* content, const QString& words, QWidget* parent);

  void showWords(const QString& words);
  void showContent();
  bool showsContent() const { return currentWidget() == m_content; }

 private:
  QWidget* m_content;
  EmptyPage* m_empty;
};

}  // namespace inferoscope::gui
