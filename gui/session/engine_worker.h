// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/experiment.h"
#include "core/engine/memory_estimate.h"
#include "core/engine/workload.h"
#include "core/options.h"
#include "gui/session/frame.h"
#include "gui/session/frame_mailbox.h"

#include <QObject>
#include <QString>
#include <QTimer>

#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace inferoscope::gui {

// Owns the experiment and drives it on the worker thread: one step, then the event loop again, so that commands land
// between steps. Its methods are called there, by queued calls; it answers by signals with values.
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
  void limitsMeasured(const inferoscope::core::MachineLimits& limits);
  void requestSubmitted(inferoscope::core::SeqId seq);
  void requestRefused(const QString& label, const QString& reason);
  void engineFailed(const QString& message);

 private:
  core::Lane* lane();  // null before a model is loaded
  void setState(RunState state);
  void moveToDevice(const core::EngineOptions& options);
  bool tryLoad(const std::string& source, std::stop_token cancel);
  void showLoaded(const core::Model& model);
  void ensureLimits();
  void postStep();
  void onStepDue();
  void stepNow();
  void publish(bool always);

  std::shared_ptr<FrameMailbox> m_mailbox;  // of the loaded model
  std::stop_token m_stop;
  std::shared_ptr<core::Backend> m_backend;
  std::unique_ptr<core::Experiment> m_experiment;
  core::EngineOptions m_options;  // the ones to make the next engine with
  std::optional<core::Scenario> m_scenario;
  std::map<int, core::MachineLimits> m_limits;  // by number of threads
  RunState m_state = RunState::kNoModel;
  QTimer m_step_timer;  // single shot: the next step
  int m_step_delay_ms = 0;
  std::atomic<std::shared_ptr<const core::StepProgress>> m_progress;
};

}  // namespace inferoscope::gui
