// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/session/session.h"

#include "gui/session/engine_worker.h"

#include <utility>

namespace inferoscope::gui {
namespace {

constexpr int kPollMilliseconds = 33;
constexpr int kBusyPollMilliseconds = 80;  // while the engine computes on all cores, a picture costs it tokens

}  // namespace

Session::Session(QObject* parent) : QObject(parent), m_worker(new EngineWorker(m_stop.get_token())) {
  m_thread.setObjectName(QStringLiteral("engine"));
  m_worker->moveToThread(&m_thread);
  connect(&m_thread, &QThread::finished, m_worker, &QObject::deleteLater);
  connectWorker();
  m_thread.start();
  connect(&m_timer, &QTimer::timeout, this, &Session::poll);
  m_timer.start(kPollMilliseconds);
}

Session::~Session() {
  m_timer.stop();
  m_load_stop.request_stop();
  m_compare_stop.request_stop();
  m_stop.request_stop();
  m_thread.quit();
  m_thread.wait();
}

void Session::connectWorker() {
  connect(m_worker, &EngineWorker::runStateChanged, this, [this](RunState state) {
    m_state = state;
    pace();
    emit runStateChanged(state);
  });
  connect(m_worker, &EngineWorker::modelLoaded, this,
          [this](const ModelInfo& model, const std::shared_ptr<FrameMailbox>& mailbox) {
            m_mailbox = mailbox;
            m_model = model;
            m_snapshot.reset();
            emit modelLoaded(model);
          });
  connect(m_worker, &EngineWorker::optionsInForce, this, [this](const core::EngineOptions& options) {
    m_options = options;
    pace();
    emit optionsInForce(options);
  });
  connect(m_worker, &EngineWorker::modelChanged, this, [this](const ModelInfo& model) {
    m_model = model;
    emit modelChanged(model);
  });
  connect(m_worker, &EngineWorker::limitsMeasured, this, [this](const core::MachineLimits& limits) {
    m_limits = limits;
    emit limitsMeasured(limits);
  });
  connect(m_worker, &EngineWorker::memoryEstimated, this, &Session::memoryEstimated);
  connect(m_worker, &EngineWorker::estimateFailed, this, &Session::estimateFailed);
  connect(m_worker, &EngineWorker::loadProgress, this, &Session::loadProgress);
  connect(m_worker, &EngineWorker::loadFailed, this, &Session::loadFailed);
  connect(m_worker, &EngineWorker::weightsProgress, this, &Session::weightsProgress);
  connect(m_worker, &EngineWorker::optionsRefused, this, &Session::optionsRefused);
  connect(m_worker, &EngineWorker::requestSubmitted, this, &Session::requestSubmitted);
  connect(m_worker, &EngineWorker::requestRefused, this, &Session::requestRefused);
  connect(m_worker, &EngineWorker::engineFailed, this, &Session::engineFailed);
  connect(m_worker, &EngineWorker::lanesStarted, this, [this](const std::shared_ptr<FrameMailbox>& mailbox) {
    m_mailbox = mailbox;
    m_snapshot.reset();
    emit lanesStarted();
  });
  connect(m_worker, &EngineWorker::comparisonStarted, this, &Session::comparisonStarted);
  connect(m_worker, &EngineWorker::comparisonProgress, this, &Session::comparisonProgress);
  connect(m_worker, &EngineWorker::comparisonChanged, this, &Session::comparisonChanged);
  connect(m_worker, &EngineWorker::comparisonEnded, this, &Session::comparisonEnded);
  connect(m_worker, &EngineWorker::runSummarized, this, &Session::runSummarized);
  connect(m_worker, &EngineWorker::presetChecked, this, &Session::presetChecked);
  connect(m_worker, &EngineWorker::adviceGiven, this, &Session::adviceGiven);
  connect(m_worker, &EngineWorker::adviceRefused, this, &Session::adviceRefused);
}

// Queues a call of the worker with values.
template <class... Params, class... Values>
void Session::call(void (EngineWorker::*method)(Params...), Values... values) {
  EngineWorker* worker = m_worker;
  QMetaObject::invokeMethod(
      worker, [worker, method, ... held = std::move(values)] { worker->perform([&] { (worker->*method)(held...); }); },
      Qt::QueuedConnection);
}

void Session::estimate(const QString& source) {
  call(&EngineWorker::estimate, source.toStdString());
}

void Session::load(const QString& source) {
  m_load_stop.request_stop();  // of an earlier load, should it still run
  m_load_stop = std::stop_source();
  call(&EngineWorker::load, source.toStdString(), m_load_stop.get_token());
}

void Session::cancelLoad() {
  m_load_stop.request_stop();
}
void Session::applyOptions(const core::EngineOptions& options) {
  call(&EngineWorker::applyOptions, options);
}
void Session::setScenario(const std::optional<core::Scenario>& scenario) {
  call(&EngineWorker::setScenario, scenario);
}
void Session::run() {
  call(&EngineWorker::run);
}
void Session::pause() {
  call(&EngineWorker::pause);
}
void Session::stepOnce() {
  call(&EngineWorker::stepOnce);
}
void Session::setStepDelay(int milliseconds) {
  m_step_delay_ms = milliseconds;
  pace();
  call(&EngineWorker::setStepDelay, milliseconds);
}
void Session::reset() {
  call(&EngineWorker::reset);
}
void Session::cancelRequest(core::SeqId seq) {
  call(&EngineWorker::cancel, seq);
}
void Session::probe() {
  call(&EngineWorker::probe);
}

void Session::compare(const CompareOrder& order) {
  m_compare_stop.request_stop();  // of an earlier one, should it still run
  m_compare_stop = std::stop_source();
  call(&EngineWorker::compare, order, m_compare_stop.get_token());
}

void Session::endComparison() {
  m_compare_stop.request_stop();
  call(&EngineWorker::endComparison);
}

void Session::summarizeRun() {
  call(&EngineWorker::summarizeRun);
}

void Session::checkPreset(const core::Preset& preset) {
  call(&EngineWorker::checkPreset, preset);
}

void Session::advise() {
  call(&EngineWorker::advise, m_stop.get_token());
}

void Session::submitPrompt(const QString& text, const core::Request& rest) {
  call(&EngineWorker::submit, text.toStdString(), rest);
}

double Session::stepProgress() const {
  return m_worker->stepProgress();
}

// Frames are seldom while the engine needs every core.
void Session::pace() {
  const int num_cores = QThread::idealThreadCount();
  const bool all_cores = m_options.threads == 0 || m_options.threads >= num_cores;
  const bool busy = m_state == RunState::kRunning && m_step_delay_ms == 0 && all_cores;
  m_timer.setInterval(busy ? kBusyPollMilliseconds : kPollMilliseconds);
}

void Session::poll() {
  const std::optional<Frame> frame = m_mailbox ? m_mailbox->take() : std::nullopt;
  if (!frame) return;
  m_snapshot = frame->snapshot;
  emit frameReady(*frame);
}

}  // namespace inferoscope::gui
