// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/verdict.h"
#include "gui/session/frame.h"
#include "gui/session/recent_steps.h"

#include <QLabel>
#include <QProgressBar>
#include <QWidget>

#include <optional>

namespace inferoscope::gui {

// The answer to the one question, for the back of the room: is the hardware computing, or starving for data?
class HeadlinePanel : public QWidget {
  Q_OBJECT

 public:
  explicit HeadlinePanel(QWidget* parent = nullptr);

  void showRunState(RunState state);
  void showModel(const ModelInfo& model);
  void showLimits(const core::MachineLimits& limits);
  void showFrame(const Frame& frame);
  void showProgress(double share);           // of the step in progress
  void showComparing(const QString& doing);  // "repeat 2 of 5"; empty: nothing is compared (any more)

  QString sentence() const { return accessibleDescription(); }

 protected:
  void changeEvent(QEvent* event) override;

 private:
  struct Figure {
    QLabel* value;
    QLabel* caption;
  };
  Figure makeFigure();
  void buildUi();
  void scaleFonts();
  void refresh();
  void explain(const core::Verdict* verdict);  // null: the formulas alone
  void showVerdict(const core::Verdict& verdict, const QString& other_phase);
  void showWords(const QString& words, const QString& caption);
  void showGpu(std::optional<double> busy);

  Figure m_verdict{}, m_bandwidth{}, m_compute{}, m_rate{}, m_busy{};
  Figure m_gpu{};  // only where its driver says something
  QProgressBar* m_progress = nullptr;
  RecentSteps m_prefill{core::Phase::kPrefill};
  RecentSteps m_decode{core::Phase::kDecode};
  core::MachineLimits m_limits;
  RunState m_state = RunState::kNoModel;
  bool m_random_weights = false;
  bool m_two_lanes = false;  // two are compared: A's figures
  bool m_b_steps = false;    // and B's are the latest steps
  QString m_comparing;
};

}  // namespace inferoscope::gui
