// SPDX-License-Identifier: GPL-3.0-or-later
// What the worker does for comparing two settings, and for saying which would help.
#include "core/backend/module_backend.h"
#include "core/backend/probe_cache.h"
#include "core/engine/scenario_run.h"
#include "core/error.h"
#include "core/model/weight_variants.h"
#include "gui/session/engine_worker.h"

#include <iterator>
#include <utility>

namespace inferoscope::gui {
namespace {

constexpr std::chrono::milliseconds kTellInterval{700};
constexpr std::size_t kRecentSteps = 400;  // enough to know every kernel in use by
constexpr int kAdviceRequests = 12;        // of a workload without end

QStringList texts(const std::vector<std::string>& lines) {
  QStringList list;
  for (const std::string& line : lines) list << QString::fromStdString(line);
  return list;
}

}  // namespace

bool EngineWorker::toOneLane() {
  if (comparing() || !m_model) return false;
  if (m_comparison) endComparison();
  return m_experiment != nullptr;
}

void EngineWorker::endComparison() {
  if (!m_comparison) return;
  const bool early = comparing();
  restoreOneLane();
  if (!early) return;
  emit comparisonEnded({});
  if (m_resume) run();
}

// Made anew: its memory went to the two.
void EngineWorker::restoreOneLane() {
  m_comparison.reset();
  m_step_timer.stop();
  setState(RunState::kPaused);
  core::Lane lane_a(m_model, m_backend, m_options);
  lane_a.setWorkload(m_scenario);
  startTally();
  m_experiment = std::make_unique<core::Experiment>(std::move(lane_a));
  m_progress.store(lane()->engine().progress());
  m_mailbox = std::make_shared<FrameMailbox>();
  publish(true);
  emit lanesStarted(m_mailbox);
}

void EngineWorker::compare(const CompareOrder& order, std::stop_token cancel) {
  if (!m_model) {
    emit comparisonEnded(tr("no model is loaded; open one first"));
    return;
  }
  if (!m_comparison) m_resume = m_state == RunState::kRunning;
  m_step_timer.stop();
  if (std::exchange(m_job, nullptr)) emit optionsRefused(tr("weights: two settings are compared first"));
  m_compare_cancel = std::move(cancel);
  try {
    startComparison(order);
  } catch (const core::Cancelled&) {
    failComparison({});
  } catch (const std::exception& error) {
    failComparison(QString::fromUtf8(error.what()));
  }
}

void EngineWorker::startComparison(const CompareOrder& order) {
  core::CompareSetup setup;
  setup.scenario = core::withEnd(order.scenario, order.preset.num_requests);
  setup.repeats = order.repeats;
  setup.quality_tokens = order.quality_tokens;
  setup.probe = order.probe;
  setup.text = order.text;
  setup.text_name = order.text_name;
  const auto limits = m_limits.find(m_backend->numThreads());
  m_compare_notices = core::presetNotices(order.preset, m_model, setup.scenario,
                                          limits == m_limits.end() ? core::MachineLimits{} : limits->second);
  m_comparison.reset();
  m_experiment.reset();  // both would want memory for keys and values
  const core::LaneSource a = laneSource(order.a, m_compare_cancel);
  const core::LaneSource b = laneSource(order.b, m_compare_cancel);
  const std::vector<std::string> notices = core::loadNotices(*a.model, *b.model);
  m_compare_notices.insert(m_compare_notices.end(), notices.begin(), notices.end());
  m_comparison = std::make_unique<core::ComparisonRun>(a, b, setup);
  emit comparisonStarted(QString::fromStdString(core::whatDiffers(order.a, order.b)));
  showLanes();
  setState(RunState::kRunning);
  postStep();
}

// Each lane has threads of its own; the weights are shared where both can read them.
core::LaneSource EngineWorker::laneSource(const core::EngineOptions& options, const std::stop_token& cancel) {
  core::LaneSource source{
      .model = {}, .backend = core::makeBackend(options.device, options.threads), .options = options};
  const core::LoadProgress report = [this](std::string_view stage, double) {
    emit comparisonProgress(QString::fromUtf8(stage.data(), static_cast<qsizetype>(stage.size())), 0);
  };
  source.model = options.device == m_backend->id()
                     ? m_variants->get(options.weights, *source.backend, report, cancel)
                     : core::loadModelAs(m_model->source, options.weights, *source.backend, report, cancel);
  return source;
}

void EngineWorker::showLanes() {
  m_shown_round = m_comparison->roundIndex();
  m_mailbox = std::make_shared<FrameMailbox>();
  const core::Experiment& lanes = m_comparison->round().experiment();
  for (const core::LaneId id : {core::LaneId::kA, core::LaneId::kB}) {
    m_mailbox->putSnapshot(std::make_shared<const core::Snapshot>(lanes.lane(id).engine().snapshot()), id);
  }
  m_progress.store(lanes.lane(core::LaneId::kA).engine().progress());
  emit comparisonProgress(QString::fromStdString(m_comparison->doing()), m_comparison->share());
  emit lanesStarted(m_mailbox);
}

void EngineWorker::advanceComparison() {
  try {
    if (auto step = m_comparison->advance(m_compare_cancel)) showStep(std::move(*step));
    if (m_comparison->roundIndex() != m_shown_round) showLanes();
    tellComparison(m_comparison->done());
    if (m_comparison->done()) setState(RunState::kPaused);  // the last lanes stay to be looked at
  } catch (const core::Cancelled&) {
    failComparison({});
  } catch (const std::exception& error) {
    failComparison(QString::fromUtf8(error.what()));
  }
}

void EngineWorker::showStep(core::Round::Step step) {
  if (step.record) {
    m_mailbox->putStep(step.record, step.lane);
    keepForAdvice(step.record);
  }
  m_mailbox->putText(std::move(step.texts), step.lane);
  m_mailbox->putSnapshot(std::move(step.after), step.lane);
}

// Intervals take some milliseconds to find: now and then, and off the lanes' clocks.
void EngineWorker::tellComparison(bool always) {
  const auto now = std::chrono::steady_clock::now();
  if (!always && now - m_last_told < kTellInterval) return;
  m_last_told = now;
  core::Comparison comparison = m_comparison->result();
  comparison.notices.insert(comparison.notices.end(), m_compare_notices.begin(), m_compare_notices.end());
  emit comparisonProgress(QString::fromStdString(m_comparison->doing()), m_comparison->share());
  emit comparisonChanged(std::make_shared<const core::Comparison>(std::move(comparison)), m_comparison->done());
}

void EngineWorker::failComparison(const QString& reason) {
  restoreOneLane();
  emit comparisonEnded(reason);
  if (m_resume) run();
}

void EngineWorker::checkPreset(const core::Preset& preset) {
  if (!m_model) return;
  const auto limits = m_limits.find(m_backend->numThreads());
  const core::Scenario scenario = core::withEnd(core::findScenario(preset.scenario), preset.num_requests);
  emit presetChecked(QString::fromStdString(preset.id),
                     texts(core::presetNotices(preset, m_model, scenario,
                                               limits == m_limits.end() ? core::MachineLimits{} : limits->second)));
}

void EngineWorker::keepForAdvice(std::shared_ptr<const core::StepRecord> step) {
  m_recent.push_back(std::move(step));
  if (m_recent.size() > kRecentSteps) m_recent.pop_front();
}

core::MachineLimits EngineWorker::limitsOf(int num_threads) {
  m_backend->setThreads(num_threads);
  if (!m_limits.contains(m_backend->numThreads())) {
    m_limits[m_backend->numThreads()] = core::limitsFor(*m_backend, m_stop);
  }
  return m_limits[m_backend->numThreads()];
}

// Predicted for the workload as it is, by what its steps took so far.
void EngineWorker::advise(std::stop_token cancel) {
  if (!m_model || comparing()) {
    emit adviceRefused(comparing() ? tr("two settings are being compared; wait for the end")
                                   : tr("no model is loaded; open one first"));
    return;
  }
  if (!m_scenario || m_recent.empty()) {
    emit adviceRefused(m_scenario ? tr("nothing has run yet: let the workload run for some seconds first")
                                  : tr("there is no workload to predict for: choose one"));
    return;
  }
  try {
    core::Calibration calibration;
    for (const auto& step : m_recent) calibration.add(*step, limitsOf(step->num_threads));
    const auto advice = core::whatWouldHelp(
        m_model, core::withEnd(*m_scenario, kAdviceRequests), m_options,
        [this](int num_threads) { return limitsOf(num_threads); }, calibration, std::move(cancel));
    emit adviceGiven(advice);
  } catch (const core::Cancelled&) {
    // the program ends
  } catch (const std::exception& error) {
    emit adviceRefused(QString::fromUtf8(error.what()));
  }
  m_backend->setThreads(m_options.threads);
}

}  // namespace inferoscope::gui
