// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/workload.h"
#include "gui/session/frame.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QPushButton>
#include <QSlider>
#include <QSpinBox>
#include <QWidget>

#include <optional>
#include <vector>

namespace inferoscope::gui {

// What work the engine gets, and how fast we watch it: scenario, arrivals, lengths; run, pause, single step, slow
// motion.
class WorkloadPanel : public QWidget {
  Q_OBJECT

 public:
  explicit WorkloadPanel(std::vector<core::Scenario> scenarios, QWidget* parent = nullptr);

  void addScenario(const core::Scenario& scenario);  // one from a file, and chooses it
  std::optional<core::Scenario> scenario() const;    // as set here; none: "no workload"
  void showRunState(RunState state);

 signals:
  void scenarioChosen();  // another one: its knobs apply too
  void scenarioChanged(const std::optional<inferoscope::core::Scenario>& scenario);
  void runClicked();
  void pauseClicked();
  void stepClicked();
  void resetClicked();
  void stepDelayChanged(int milliseconds);

 private:
  void buildUi();
  void connectUi();
  void showChosen();  // the chosen scenario's own figures
  void showFields();  // only what the kind of arrivals uses
  void announce();

  std::vector<core::Scenario> m_scenarios;
  QComboBox* m_choice = nullptr;
  QLabel* m_explanation = nullptr;
  QComboBox* m_arrivals = nullptr;
  QSpinBox* m_concurrency = nullptr;
  QDoubleSpinBox* m_rate = nullptr;
  QDoubleSpinBox* m_burstiness = nullptr;
  QSpinBox* m_output = nullptr;
  QPushButton* m_run = nullptr;
  QPushButton* m_step = nullptr;
  QPushButton* m_reset = nullptr;
  QSlider* m_slow = nullptr;
  QLabel* m_slow_text = nullptr;
  RunState m_state = RunState::kNoModel;
};

}  // namespace inferoscope::gui
