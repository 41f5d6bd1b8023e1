// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/panels/advice_panel.h"
#include "gui/panels/allocators_panel.h"
#include "gui/panels/compare_panel.h"
#include "gui/panels/headline_panel.h"
#include "gui/panels/knobs_panel.h"
#include "gui/panels/message_bar.h"
#include "gui/panels/model_panel.h"
#include "gui/panels/prompt_panel.h"
#include "gui/panels/verdict_panel.h"
#include "gui/panels/workload_panel.h"
#include "gui/session/selection.h"
#include "gui/session/session.h"
#include "gui/views/view.h"

#include <QDockWidget>
#include <QMainWindow>
#include <QMap>
#include <QTimer>

#include <vector>

namespace inferoscope::gui {

// The workbench: the headline on top, every view and panel in a dock of its own, one session behind them all.
class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  // The session must outlive the window.
  MainWindow(Session& session, std::vector<core::Scenario> scenarios, QWidget* parent = nullptr);

  void restoreLayout();  // the saved one, or the default one where there is none that fits
  void restoreDefaultLayout();
  void openModel(const QString& source);
  void useScenario(const core::Scenario& scenario);
  // Compares this preset's settings as soon as a model is there. Throws Error that names those that exist.
  void comparePreset(const QString& id);
  // `options` with the knobs that the chosen scenario sets.
  core::EngineOptions withScenario(core::EngineOptions options) const;
  void showMessage(const QString& text) { m_message->showMessage(text); }
  QString message() const { return m_message->message(); }
  const std::vector<View*>& views() const { return m_views; }  // object names are the catalog's ids

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void buildTop();
  void buildDocks();
  void buildMenus();
  void connectSession();
  void connectPanels();
  void connectCompare();
  void measureSwitch(const QString& knob, const QString& value);
  void startComparison(const CompareOrder& order);
  QDockWidget* addDock(const QString& id, const QString& title, QWidget* content, const QString& shortcut);
  QList<QStringList> dockGroups(bool low) const;
  void placeDocks();
  void chooseModel();
  void showRecent(QMenu* menu);
  void showEstimate(const QString& source, const core::MemoryEstimate& estimate);
  void toggleRun();
  void togglePresentation();
  void showRunState(RunState state);
  void showFrame(const Frame& frame);
  void saveLayout();

  Session& m_session;
  Selection m_selection;
  std::vector<core::Scenario> m_scenarios;
  HeadlinePanel* m_headline = nullptr;
  MessageBar* m_message = nullptr;
  LoadBar* m_load = nullptr;
  KnobsPanel* m_knobs = nullptr;
  WorkloadPanel* m_workload = nullptr;
  PromptPanel* m_prompt = nullptr;
  ModelPanel* m_model = nullptr;
  ComparePanel* m_compare = nullptr;
  VerdictPanel* m_verdict = nullptr;
  AdvicePanel* m_advice = nullptr;
  AllocatorsPanel* m_allocators = nullptr;
  std::vector<View*> m_views;
  QMap<QString, QDockWidget*> m_docks;  // by id
  QTimer m_progress_timer;
  double m_font_points = 0;  // before presentation mode; 0: not in it
};

}  // namespace inferoscope::gui
