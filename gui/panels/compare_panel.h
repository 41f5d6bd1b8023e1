// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/panels/knob_pair_grid.h"
#include "gui/session/compare_order.h"
#include "gui/session/frame.h"

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QWidget>

#include <optional>
#include <string>
#include <vector>

namespace inferoscope::gui {

// Begins an experiment: two settings, a preset pair or any two of the knob table, on the same work.
class ComparePanel : public QWidget {
  Q_OBJECT

 public:
  explicit ComparePanel(std::vector<core::Preset> presets, QWidget* parent = nullptr);

  void choosePreset(const QString& id);
  void showModel(const ModelInfo& model);
  void showOptions(const core::EngineOptions& options);                    // in force
  void showWorkload(const std::optional<core::Scenario>& scenario);        // what settings of one's own run
  void showNotices(const QString& preset_id, const QStringList& notices);  // why the effect may not show
  void showStarted();
  void showProgress(const QString& doing, double share);
  void showFinished(const QString& words);

  void useText(const QString& file);  // whose perplexity is measured; empty: none

  std::optional<CompareOrder> order() const;  // as set here; none: there is no work

 signals:
  void presetChosen(const inferoscope::core::Preset& preset);
  void startClicked(const inferoscope::gui::CompareOrder& order);
  void stopClicked();
  void modelWanted(const QString& source);

 private:
  void buildUi();
  QLayout* makeNumbers();
  QLayout* makeChecks();
  void chooseText();
  const core::Preset* preset() const;  // null: settings of one's own
  std::optional<core::Scenario> scenario() const;
  void showChosen();
  void start();
  void refresh();

  std::vector<core::Preset> m_presets;
  QComboBox* m_choice = nullptr;
  QLabel* m_explanation = nullptr;
  QLabel* m_work = nullptr;
  QLabel* m_notices = nullptr;
  QPushButton* m_open_model = nullptr;
  KnobPairGrid* m_knobs = nullptr;
  QSpinBox* m_requests = nullptr;
  QSpinBox* m_repeats = nullptr;
  QCheckBox* m_logits = nullptr;
  QCheckBox* m_probe = nullptr;
  QPushButton* m_text_button = nullptr;
  QPushButton* m_start = nullptr;
  QLabel* m_doing = nullptr;
  QProgressBar* m_progress = nullptr;
  core::EngineOptions m_in_force;
  std::optional<core::Scenario> m_workload;
  std::string m_text;  // empty: none
  QString m_text_name;
  QString m_model;  // source; empty: none is loaded
  bool m_comparing = false;
};

}  // namespace inferoscope::gui
