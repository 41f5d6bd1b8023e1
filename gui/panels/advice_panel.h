// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/comparison.h"
#include "core/engine/prediction.h"

#include <QLabel>
#include <QPushButton>
#include <QString>
#include <QTreeWidget>
#include <QWidget>

#include <map>
#include <vector>

namespace inferoscope::gui {

// Which switch would help most: every one of the table by the gain that is predicted for the running workload, with
// what a comparison has measured beside it.
class AdvicePanel : public QWidget {
  Q_OBJECT

 public:
  explicit AdvicePanel(QWidget* parent = nullptr);

  void showAdvice(const std::vector<core::Advice>& advice);
  void showRefusal(const QString& reason);
  void showMeasured(const core::Comparison& comparison);  // counts for a switch if nothing else differs

 signals:
  void wanted();  // predict
  void measureClicked(const QString& knob, const QString& value);

 private:
  void refresh();

  std::vector<core::Advice> m_advice;
  std::map<std::string, QString> m_measured;  // by "knob value"
  QLabel* m_words = nullptr;
  QTreeWidget* m_table = nullptr;
  QPushButton* m_predict = nullptr;
  QPushButton* m_measure = nullptr;
};

}  // namespace inferoscope::gui
