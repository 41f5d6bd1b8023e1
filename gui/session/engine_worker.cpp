// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/session/engine_worker.h"

#include "core/backend/module_backend.h"
#include "core/backend/probe_cache.h"
#include "core/backend/thread_priority.h"
#include "core/error.h"
#include "core/model/model_store.h"

#include <chrono>
#include <functional>
#include <utility>

namespace inferoscope::gui {
namespace {

constexpr std::chrono::milliseconds kProgressInterval{50};

// Tells not too often.
core::LoadProgress paced(std::function<void(const QString&, double)> tell) {
  return [tell = std::move(tell), last = std::chrono::steady_clock::now() - kProgressInterval](
             std::string_view stage, double fraction) mutable {
    const auto now = std::chrono::steady_clock::now();
    if (now - last < kProgressInterval && fraction < 1) return;
    last = now;
    tell(QString::fromUtf8(stage.data(), static_cast<qsizetype>(stage.size())), fraction);
  };
}

ModelInfo describe(const core::Model& model, const core::EngineOptions& options) {
  return {.config = model.config,
          .source = model.source,
          .tokenizer = std::string(model.tokenizer->kind()) + ", " + std::string(model.tokenizer->preTokenizer()),
          .chat_family = std::string(core::chatFamilyName(model.chat.family)),
          .notices = model.notices,
          .format_bytes = model.format_bytes,
          .weight_bytes = model.weight_bytes,
          .kv_bytes_per_token = core::kvBytesPerToken(model.config, options.kv_format)};
}

}  // namespace

EngineWorker::EngineWorker(std::stop_token stop) : m_stop(std::move(stop)), m_step_timer(this) {
  m_step_timer.setSingleShot(true);
  m_step_timer.setTimerType(Qt::PreciseTimer);
  connect(&m_step_timer, &QTimer::timeout, this, &EngineWorker::onStepDue);
}

EngineWorker::~EngineWorker() = default;

core::Lane* EngineWorker::lane() {
  return m_experiment ? &m_experiment->lane(core::LaneId::kA) : nullptr;
}

void EngineWorker::setState(RunState state) {
  if (state == m_state) return;
  m_state = state;
  emit runStateChanged(state);
}

void EngineWorker::estimate(const std::string& source) {
  try {
    emit memoryEstimated(QString::fromStdString(source), core::estimateMemory(*core::describeModel(source), m_options));
  } catch (const std::exception& error) {
    emit estimateFailed(QString::fromStdString(source), QString::fromUtf8(error.what()));
  }
}

void EngineWorker::load(const std::string& source, std::stop_token cancel) {
  core::lowerThreadPriority();  // the machine is shared with the window: it comes first
  const RunState before = m_state;
  setState(RunState::kLoading);
  const bool loaded = tryLoad(source, std::move(cancel));
  setState(loaded && before == RunState::kNoModel ? RunState::kPaused : before);
  if (loaded) ensureLimits();
  if (m_state == RunState::kRunning) postStep();
}

// Until all of the new model is there, the old one stays.
bool EngineWorker::tryLoad(const std::string& source, std::stop_token cancel) {
  const core::LoadProgress report =
      paced([this](const QString& stage, double fraction) { emit loadProgress(stage, fraction); });
  try {
    emit memoryEstimated(QString::fromStdString(source), core::estimateMemory(*core::describeModel(source), m_options));
    std::shared_ptr<core::Backend> backend = m_backend;
    if (!backend || backend->id() != m_options.device) {
      backend = core::makeBackend(m_options.device, m_options.threads);
    }
    const auto stored = core::loadModel(source, *backend, report, cancel);
    auto variants = std::make_unique<core::WeightVariants>(stored, core::weightBudget(*backend));
    const auto model = variants->get(m_options.weights, *backend, report, std::move(cancel));
    core::Lane lane_a(model, backend, m_options);
    lane_a.setWorkload(m_scenario);
    if (comparing()) emit comparisonEnded({});
    m_comparison.reset();
    m_job.reset();
    m_experiment = std::make_unique<core::Experiment>(std::move(lane_a));
    m_variants = std::move(variants);
    if (m_backend != backend) m_limits.clear();  // of another device
    m_backend = std::move(backend);
    m_model = model;
    m_recent.clear();
    startTally();
    showLoaded(*model);
    return true;
  } catch (const core::Cancelled&) {
    emit loadFailed({});
  } catch (const std::exception& error) {
    emit loadFailed(QString::fromUtf8(error.what()));
  }
  return false;
}

void EngineWorker::showLoaded(const core::Model& model) {
  m_options = lane()->engine().options();
  m_progress.store(lane()->engine().progress());
  m_mailbox = std::make_shared<FrameMailbox>();
  publish(true);
  emit optionsInForce(m_options);
  emit modelLoaded(describe(model, m_options), m_mailbox);
}

// The ceilings for the number of threads in force: measured once each, or known from the last start.
void EngineWorker::ensureLimits() {
  m_backend->setThreads(m_options.threads);
  const int num_threads = m_backend->numThreads();
  try {
    if (!m_limits.contains(num_threads)) m_limits[num_threads] = core::limitsFor(*m_backend, m_stop);
    emit limitsMeasured(m_limits[num_threads]);
  } catch (const core::Cancelled&) {
    // the program ends
  }
}

void EngineWorker::probe() {
  if (!m_model || comparing()) return;
  try {
    const core::MachineLimits limits = core::probeAndKeep(*m_backend, m_stop);
    m_limits[limits.num_threads] = limits;
    emit limitsMeasured(limits);
  } catch (const core::Cancelled&) {
    // the program ends
  }
}

// Another device needs the weights in its own memory: the model is opened anew there. If it can't be, nothing changes.
void EngineWorker::moveToDevice(const core::EngineOptions& options) {
  const core::EngineOptions before = std::exchange(m_options, options);
  if (tryLoad(m_model->source, {})) return ensureLimits();
  m_options = before;
  emit optionsRefused(tr("device: the model can't be opened on %1").arg(QString::fromStdString(options.device)));
}

void EngineWorker::applyOptions(const core::EngineOptions& options) {
  if (comparing()) {
    emit optionsRefused(tr("two settings are being compared; stop that first"));
    return;
  }
  toOneLane();
  if (lane() == nullptr) {
    m_options = options;
    emit optionsInForce(m_options);
    return;
  }
  if (options.device != m_options.device) return moveToDevice(options);
  try {
    applyNow(options, readyModel(options.weights));
  } catch (const core::Error& error) {
    m_job.reset();  // a refusal takes back all that is pending
    emit optionsRefused(QString::fromUtf8(error.what()));
  }
}

// The loaded model with other weights. Null: they are being made, and come into force once they are there; to ask for
// others, or for those in force, cancels that. Throws Error.
std::shared_ptr<const core::Model> EngineWorker::readyModel(const std::string& weights) {
  if (m_job && m_job->weights() == weights) return nullptr;
  m_job.reset();
  if (auto model = m_variants->find(weights)) return model;
  m_variants->makeRoom(weights);
  m_job = std::make_unique<core::VariantJob>(
      m_variants->source(), weights, m_options.device,
      paced([this](const QString& stage, double fraction) { emit weightsProgress(stage, fraction); }),
      [this] { QMetaObject::invokeMethod(this, &EngineWorker::onWeightsMade, Qt::QueuedConnection); });
  return nullptr;
}

// Without a model the weights stay as they are.
void EngineWorker::applyNow(const core::EngineOptions& options, const std::shared_ptr<const core::Model>& model) {
  core::Engine& engine = lane()->engine();
  core::EngineOptions wanted = options;
  if (!model) wanted.weights = m_options.weights;
  if (const std::string refusal = engine.apply(wanted, model); !refusal.empty()) throw core::Error(refusal);
  const std::string weights_before = m_options.weights;
  m_tally_mixed |= m_tally.summary().num_steps > 0 && !(engine.options() == m_options);
  m_options = engine.options();
  if (m_options.weights != weights_before) {
    m_model = model;
    emit modelChanged(describe(*m_model, m_options));
  }
  emit optionsInForce(m_options);
  publish(true);
  ensureLimits();
}

void EngineWorker::onWeightsMade() {
  if (!m_job || !m_job->ended()) return;  // of a job that was cancelled
  const auto job = std::exchange(m_job, nullptr);
  core::EngineOptions options = m_options;
  options.weights = job->weights();
  try {
    m_variants->keep(job->take());
    applyNow(options, m_variants->find(options.weights));
  } catch (const std::exception& error) {
    emit optionsRefused(QString::fromUtf8(error.what()));
  }
}

void EngineWorker::setScenario(const std::optional<core::Scenario>& scenario) {
  m_scenario = scenario;
  if (toOneLane()) reset();
}

void EngineWorker::run() {
  if (!comparing() && !toOneLane()) return;
  setState(RunState::kRunning);
  postStep();
}

void EngineWorker::pause() {
  if (m_state != RunState::kRunning) return;
  m_step_timer.stop();
  setState(RunState::kPaused);
  if (lane() != nullptr) publish(true);
}

void EngineWorker::stepOnce() {
  if (!comparing() && !toOneLane()) return;
  pause();
  if (comparing()) return advanceComparison();
  stepNow();
  publish(true);
}

void EngineWorker::setStepDelay(int milliseconds) {
  m_step_delay_ms = milliseconds;
  if (m_step_timer.isActive()) postStep();
}

void EngineWorker::reset() {
  if (!toOneLane()) return;
  lane()->engine().reset();
  lane()->setWorkload(m_scenario);
  startTally();
  publish(true);
  if (m_state == RunState::kRunning) postStep();
}

void EngineWorker::submit(const std::string& text, core::Request request) {
  const QString label = QString::fromStdString(request.label);
  if (!toOneLane()) {
    emit requestRefused(label, comparing() ? tr("two settings are being compared; stop that first")
                                           : tr("no model is loaded; open one first"));
    return;
  }
  const core::Model& model = lane()->engine().model();
  const core::ChatMessage turn{"user", text};
  request.prompt = model.tokenizer->encode(model.chat.render({&turn, 1}));
  const core::Submitted submitted = lane()->engine().submit(std::move(request));
  if (!submitted.seq.valid()) {
    emit requestRefused(label, QString::fromStdString(submitted.refusal));
    return;
  }
  emit requestSubmitted(submitted.seq);
  publish(true);
  if (m_state == RunState::kRunning) postStep();
}

void EngineWorker::cancel(core::SeqId seq) {
  if (lane() == nullptr) return;
  lane()->engine().cancel(seq);
  publish(true);
}

double EngineWorker::stepProgress() const {
  const auto progress = m_progress.load();
  const int total = progress ? progress->ops_total.load(std::memory_order_relaxed) : 0;
  return total > 0 ? static_cast<double>(progress->ops_done.load(std::memory_order_relaxed)) / total : 0.0;
}

void EngineWorker::startTally() {
  m_tally = core::RunTally();
  m_tally_mixed = false;
}

void EngineWorker::summarizeRun() {
  const QString work = m_scenario ? QString::fromStdString(m_scenario->title) : tr("Requests of your own");
  emit runSummarized(m_tally.summary(), m_tally_mixed ? tr("%1, knobs changed while it ran").arg(work) : work);
}

void EngineWorker::postStep() {
  m_step_timer.start(m_step_delay_ms);
}

void EngineWorker::onStepDue() {
  if (m_state != RunState::kRunning || m_stop.stop_requested()) return;
  if (comparing()) {
    advanceComparison();
    if (m_state == RunState::kRunning) postStep();
    return;
  }
  stepNow();
  const bool more = m_state == RunState::kRunning && !lane()->idle();
  publish(!more);
  if (more) postStep();
}

void EngineWorker::stepNow() {
  try {
    if (const auto record = lane()->step(m_stop)) {
      m_mailbox->putStep(record);
      m_tally.add(*record, lane()->engine().snapshot());
      keepForAdvice(record);
    }
  } catch (const std::exception& error) {
    setState(RunState::kPaused);
    emit engineFailed(QString::fromUtf8(error.what()));
  }
  for (const std::string& refusal : lane()->takeRefusals()) {
    m_tally.addRefused(1);
    emit requestRefused({}, QString::fromStdString(refusal));
  }
}

// `always`: the state stays as it is for a while, and the last one shown must be exact.
void EngineWorker::publish(bool always) {
  core::Engine& engine = lane()->engine();
  m_mailbox->putText(engine.takeText());
  if (always || m_mailbox->wantsSnapshot()) {
    m_mailbox->putSnapshot(std::make_shared<const core::Snapshot>(engine.snapshot()));
  }
}

}  // namespace inferoscope::gui
