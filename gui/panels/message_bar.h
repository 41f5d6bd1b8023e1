// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QWidget>

namespace inferoscope::gui {

// One message for a person, in the window and out of the way: read, copied, closed. Never modal.
class MessageBar : public QWidget {
  Q_OBJECT

 public:
  explicit MessageBar(QWidget* parent = nullptr);
  void showMessage(const QString& text);
  QString message() const { return isHidden() ? QString() : m_text->text(); }

 private:
  QLabel* m_text;
};

// How far a load is, and the way to leave it.
class LoadBar : public QWidget {
  Q_OBJECT

 public:
  explicit LoadBar(QWidget* parent = nullptr);
  void showProgress(const QString& stage, double fraction);

 signals:
  void cancelled();

 private:
  QLabel* m_stage;
  QProgressBar* m_bar;
};

}  // namespace inferoscope::gui
