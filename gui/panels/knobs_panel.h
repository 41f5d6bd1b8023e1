// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/knobs.h"
#include "core/options.h"

#include <QAction>
#include <QLabel>
#include <QList>
#include <QProgressBar>
#include <QWidget>

#include <vector>

namespace inferoscope::gui {

// All toggles, made from the knob table. A change is pending until the engine confirms it; a refusal says why.
class KnobsPanel : public QWidget {
  Q_OBJECT

 public:
  explicit KnobsPanel(QWidget* parent = nullptr);

  void showInForce(const core::EngineOptions& options);
  void showRefusal(const QString& reason);
  void showProgress(const QString& stage, double fraction);  // of other weights that are being made

  // One a knob, with a shortcut: its next value, the first after the last. For a menu, so that it works unseen too.
  QList<QAction*> turns() const;

 signals:
  void changed(const inferoscope::core::EngineOptions& wanted);

 private:
  struct Row {
    const core::Knob* knob;
    QLabel* label;
    QWidget* editor;
    QAction* turn;
  };
  Row makeRow(const core::Knob& knob);
  QWidget* makeProgress();
  bool weightsPending() const { return m_wanted.weights != m_in_force.weights; }
  void set(const core::Knob& knob, const std::string& value);
  void restoreDefaults();
  void refresh();

  std::vector<Row> m_rows;
  QWidget* m_progress = nullptr;  // shown while other weights are being made
  QProgressBar* m_bar = nullptr;
  QLabel* m_message = nullptr;
  core::EngineOptions m_in_force;
  core::EngineOptions m_wanted;
};

}  // namespace inferoscope::gui
