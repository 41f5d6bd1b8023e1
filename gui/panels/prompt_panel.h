// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/schedule/request.h"

#include <QDoubleSpinBox>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QWidget>

namespace inferoscope::gui {

// Ask the model something while the workload runs. Enter sends, Shift+Enter breaks the line.
class PromptPanel : public QWidget {
  Q_OBJECT

 public:
  explicit PromptPanel(QWidget* parent = nullptr);
  void showHint(const QString& text);

 signals:
  void sent(const QString& text, const inferoscope::core::Request& rest);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void send();

  QPlainTextEdit* m_text = nullptr;
  QSpinBox* m_max_tokens = nullptr;
  QDoubleSpinBox* m_temperature = nullptr;
  QPushButton* m_send = nullptr;
  QLabel* m_hint = nullptr;
  int m_num_sent = 0;
};

}  // namespace inferoscope::gui
