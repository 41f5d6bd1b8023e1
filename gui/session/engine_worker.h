// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/comparison_run.h"
#include "core/engine/experiment.h"
#include "core/engine/memory_estimate.h"
#include "core/engine/prediction.h"
#include "core/engine/workload.h"
#include "core/model/variant_job.h"
#include "core/observe/run_summary.h"
#include "core/options.h"
#include "gui/session/compare_order.h"
#include "gui/session/frame.h"
#include "gui/session/frame_mailbox.h"

#include <QObject>
#include <QString>
#include <QTimer>

#include <atomic>
#include <chrono>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace inferoscope::gui {

// Owns the experiment and drives it on the worker thread: one step, then the event loop again, so that commands land
// between steps. Its methods are called there, by queued calls; it answers by signals with values. Besides the one lane
// of every day there may be a comparison: it has two lanes of its own, and the one is gone until the comparison is
// over.
class EngineWorker : public QObject {
  Q_OBJECT

 public:
  explicit EngineWorker(std::stop_token stop);
  ~EngineWorker() override;

  // Runs a command, unless the program is about to end. Whatever it throws becomes engineFailed().
  template <class Command>
  void perform(const Command& command) {
    if (m_stop.stop_requested()) return;
    try {
      command();
    } catch (const std::exception& error) {
      emit engineFailed(QString::fromUtf8(error.what()));
    }
  }

  void estimate(const std::string& source);  // what a load would take of the memory
  void load(const std::string& source, std::stop_token cancel);
  void applyOptions(const core::EngineOptions& options);
  void setScenario(const std::optional<core::Scenario>& scenario);
  void run();
  void pause();
  void stepOnce();
  void setStepDelay(int milliseconds);
  void reset();
  void submit(const std::string& text, core::Request request);
  void cancel(core::SeqId seq);
  void probe();

  void compare(const CompareOrder& order, std::stop_token cancel);
  void endComparison();  // one lane again
  void summarizeRun();   // the one lane's
  void checkPreset(const core::Preset& preset);
  void advise(std::stop_token cancel);  // what would help the workload most

  // Share of the step in progress, any thread.
  double stepProgress() const;

 signals:
  void runStateChanged(inferoscope::gui::RunState state);
  // Asked for, and at the start of each load.
  void memoryEstimated(const QString& source, const inferoscope::core::MemoryEstimate& estimate);
  void estimateFailed(const QString& source, const QString& reason);
  void loadProgress(const QString& stage, double fraction);
  // Frames of this model come through this mailbox.
  void modelLoaded(const inferoscope::gui::ModelInfo& model, std::shared_ptr<inferoscope::gui::FrameMailbox> mailbox);
  void loadFailed(const QString& message);
  void optionsInForce(const inferoscope::core::EngineOptions& options);
  void optionsRefused(const QString& reason);
  // Other weights are being made, from a thread of its own; then modelChanged() and optionsInForce().
  void weightsProgress(const QString& stage, double fraction);
  void modelChanged(const inferoscope::gui::ModelInfo& model);
  void limitsMeasured(const inferoscope::core::MachineLimits& limits);
  void requestSubmitted(inferoscope::core::SeqId seq);
  void requestRefused(const QString& label, const QString& reason);
  void engineFailed(const QString& message);

  void comparisonStarted(const QString& what_differs);
  // Lanes with nothing behind them: what came before is over. Their frames come through this mailbox.
  void lanesStarted(std::shared_ptr<inferoscope::gui::FrameMailbox> mailbox);
  void comparisonProgress(const QString& doing, double share);
  // What may be said by now; `finished`: the answer.
  void comparisonChanged(std::shared_ptr<const inferoscope::core::Comparison> comparison, bool finished);
  void comparisonEnded(const QString& reason);  // before its end, or never begun; empty: as was asked for
  // Since the lane was made or reset. No steps: nothing ran.
  void runSummarized(const inferoscope::core::RunSummary& run, const QString& name);
  void presetChecked(const QString& id, const QStringList& notices);
  void adviceGiven(const std::vector<inferoscope::core::Advice>& advice);
  void adviceRefused(const QString& reason);

 private:
  bool comparing() const { return m_comparison && !m_comparison->done(); }
  bool toOneLane();    // false: there is no model, or a comparison that is not over
  core::Lane* lane();  // null before a model is loaded, and while two are compared
  void setState(RunState state);
  void moveToDevice(const core::EngineOptions& options);
  std::shared_ptr<const core::Model> readyModel(const std::string& weights);
  void applyNow(const core::EngineOptions& options, const std::shared_ptr<const core::Model>& model);
  void onWeightsMade();
  bool tryLoad(const std::string& source, std::stop_token cancel);
  void showLoaded(const core::Model& model);
  void ensureLimits();
  void postStep();
  void onStepDue();
  void stepNow();
  void publish(bool always);
  void startTally();
  void keepForAdvice(std::shared_ptr<const core::StepRecord> step);

  void startComparison(const CompareOrder& order);
  core::LaneSource laneSource(const core::EngineOptions& options, const std::stop_token& cancel);
  void showLanes();  // those of the present round
  void advanceComparison();
  void showStep(core::Round::Step step);
  void tellComparison(bool always);
  void failComparison(const QString& reason);
  void restoreOneLane();
  core::MachineLimits limitsOf(int num_threads);

  std::shared_ptr<const core::Model> m_model;  // with the weights in force
  std::shared_ptr<FrameMailbox> m_mailbox;     // of the lanes of now
  std::stop_token m_stop;
  std::shared_ptr<core::Backend> m_backend;
  std::unique_ptr<core::WeightVariants> m_variants;  // of the loaded model
  std::unique_ptr<core::Experiment> m_experiment;
  core::EngineOptions m_options;  // the ones to make the next engine with
  std::optional<core::Scenario> m_scenario;
  std::map<int, core::MachineLimits> m_limits;  // by number of threads
  RunState m_state = RunState::kNoModel;
  QTimer m_step_timer;  // single shot: the next step
  int m_step_delay_ms = 0;
  std::atomic<std::shared_ptr<const core::StepProgress>> m_progress;

  std::unique_ptr<core::ComparisonRun> m_comparison;  // stays when it is done, until somebody wants one lane
  std::stop_token m_compare_cancel;
  std::vector<std::string> m_compare_notices;
  bool m_resume = false;  // the one lane ran before
  int m_shown_round = -1;
  std::chrono::steady_clock::time_point m_last_told;
  core::RunTally m_tally;                                        // of the one lane; stays while two are compared
  bool m_tally_mixed = false;                                    // knobs changed while it ran
  std::deque<std::shared_ptr<const core::StepRecord>> m_recent;  // what advice is made of
  std::unique_ptr<core::VariantJob> m_job;                       // weights asked for that are being made
};

}  // namespace inferoscope::gui
