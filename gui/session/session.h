// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/comparison.h"
#include "core/engine/memory_estimate.h"
#include "core/engine/prediction.h"
#include "core/engine/workload.h"
#include "core/observe/run_summary.h"
#include "core/options.h"
#include "gui/session/compare_order.h"
#include "gui/session/frame.h"
#include "gui/session/frame_mailbox.h"

#include <QObject>
#include <QString>
#include <QStringList>
#include <QThread>
#include <QTimer>

#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

namespace inferoscope::gui {

class EngineWorker;

// The GUI thread's face of the engine: commands go down as queued calls with values, states come up as signals, frames
// through a mailbox polled by a timer. Never blocks, never touches the engine.
class Session : public QObject {
  Q_OBJECT

 public:
  explicit Session(QObject* parent = nullptr);
  ~Session() override;  // stops the step or load in progress and joins the worker: well under a second

  // Commands.
  void estimate(const QString& source);  // what a load would take: memoryEstimated() or estimateFailed()
  void load(const QString& source);
  void cancelLoad();
  void applyOptions(const core::EngineOptions& options);
  void setScenario(const std::optional<core::Scenario>& scenario);  // restarts the workload; none: no workload
  void run();
  void pause();
  void stepOnce();
  void setStepDelay(int milliseconds);  // slow motion: a pause between steps, off the lane's clock
  void reset();                         // cancels all requests, restarts the workload and the clock's counts
  void submitPrompt(const QString& text, const core::Request& rest);  // chat turn; rest: sampling, length, label
  void cancelRequest(core::SeqId seq);
  void probe();  // measures the ceilings again
  // Two lanes instead of one, until the comparison is over and somebody runs, asks or changes something.
  void compare(const CompareOrder& order);
  void endComparison();                          // stops one that is not over; one lane again
  void summarizeRun();                           // what the one lane came to: runSummarized()
  void checkPreset(const core::Preset& preset);  // does this model show its effect? presetChecked()
  void advise();                                 // what would help: adviceGiven() or adviceRefused()

  // What is known now.
  RunState runState() const { return m_state; }
  const core::EngineOptions& options() const { return m_options; }  // in force
  const std::optional<ModelInfo>& model() const { return m_model; }
  const core::MachineLimits& limits() const { return m_limits; }  // not measured until the probe is done
  const std::shared_ptr<const core::Snapshot>& snapshot() const { return m_snapshot; }
  // Share of the step in progress that is done, 0..1.
  double stepProgress() const;

 signals:
  void runStateChanged(RunState state);
  void memoryEstimated(const QString& source, const core::MemoryEstimate& estimate);  // also as a load begins
  void estimateFailed(const QString& source, const QString& reason);
  void loadProgress(const QString& stage, double fraction);
  void modelLoaded(const ModelInfo& model);
  void loadFailed(const QString& message);
  void optionsInForce(const core::EngineOptions& options);
  void optionsRefused(const QString& reason);                   // the ones in force stay
  void weightsProgress(const QString& stage, double fraction);  // other weights are being made
  void modelChanged(const ModelInfo& model);                    // its weights
  void limitsMeasured(const core::MachineLimits& limits);
  void requestSubmitted(core::SeqId seq);  // the prompt box's
  void requestRefused(const QString& label, const QString& reason);
  void engineFailed(const QString& message);  // a device fault; requests have ended with an error
  void frameReady(const Frame& frame);        // about 30 times a second at most
  void lanesStarted();                        // other lanes from here on, with nothing behind them
  void comparisonStarted(const QString& what_differs);
  void comparisonProgress(const QString& doing, double share);
  void comparisonChanged(const std::shared_ptr<const core::Comparison>& comparison, bool finished);
  void comparisonEnded(const QString& reason);  // without an answer; empty: as was asked for
  void runSummarized(const core::RunSummary& run, const QString& name);
  void presetChecked(const QString& id, const QStringList& notices);
  void adviceGiven(const std::vector<core::Advice>& advice);
  void adviceRefused(const QString& reason);

 private:
  void connectWorker();
  void pace();
  void poll();
  template <class... Params, class... Values>
  void call(void (EngineWorker::*method)(Params...), Values... values);

  // Before the worker, which is made with a token of it.
  std::stop_source m_stop;
  std::stop_source m_load_stop;             // of the latest load
  std::stop_source m_compare_stop;          // of the latest comparison
  std::shared_ptr<FrameMailbox> m_mailbox;  // of the lanes of now; null before a model is loaded
  QThread m_thread;
  EngineWorker* m_worker = nullptr;  // lives on m_thread
  QTimer m_timer;
  RunState m_state = RunState::kNoModel;
  int m_step_delay_ms = 0;
  core::EngineOptions m_options;
  std::optional<ModelInfo> m_model;
  core::MachineLimits m_limits;
  std::shared_ptr<const core::Snapshot> m_snapshot;
};

}  // namespace inferoscope::gui
