// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/engine.h"

#include "core/cache/kv_cache.h"
#include "core/engine/kernel_choice.h"
#include "core/engine/kv_plan.h"
#include "core/engine/reply.h"
#include "core/engine/step_record.h"
#include "core/error.h"
#include "core/run/device_sampler.h"
#include "core/run/forward.h"
#include "core/run/kernel_set.h"
#include "core/run/op_runner.h"
#include "core/run/sampler.h"
#include "core/schedule/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <thread>
#include <utility>

namespace inferoscope::core {
namespace {

// CPU time of all threads of the process.
double processCpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

int numThreads(const EngineOptions& options) {
  return options.threads > 0 ? options.threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::unique_ptr<KvCache> makeKvCache(const Model& model, Backend& backend, const KvPlan& plan) {
  // Asked for as a whole first, and given back: a refusal then names the whole, not the first layer that fails.
  backend.allocate(static_cast<std::size_t>(plan.bytes), "the KV cache (kv-budget)");
  return std::make_unique<KvCache>(model.config, backend, plan.format, plan.num_blocks, plan.block_size);
}

// The weights that the options ask for.
std::shared_ptr<const Model> checkedModel(std::shared_ptr<const Model> model, const EngineOptions& options) {
  if (model->weights == options.weights) return model;
  throw Error(fmt::format("weights: the model's are {}, not {}", model->weights, options.weights));
}

}  // namespace

std::int64_t steadyNow() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

struct Engine::Impl {
  Impl(std::shared_ptr<const Model> the_model, std::shared_ptr<Backend> the_backend, const EngineOptions& the_options,
       TimeSource the_time)
      : model(checkedModel(std::move(the_model), the_options)),
        backend(std::move(the_backend)),
        options(the_options),
        time(std::move(the_time)),
        plan(planKv(model->config, options)),
        kv(makeKvCache(*model, *backend, plan)),
        scheduler(schedulerConfig(options, plan)),
        ops(*backend, chooseKernels(backend->catalog(), options)),
        workspace(model->config, *backend),
        device_sampler(model->config.vocab_size, model->config.num_tokens, *backend) {
    progress->ops_total = numOps(model->config) + (device_sampler.canSample(ops) ? 1 : 0);
    noteChoices();
  }

  std::string apply(const EngineOptions& wanted, std::shared_ptr<const Model> new_model);
  void noteChoices();
  std::string refusal(const Request& request) const;

  void compute(const Batch& batch, std::stop_token stop);
  std::vector<SampledToken> sample(const Batch& batch);
  std::vector<Sampler::Result> pick(std::span<const DeviceSampler::Ask> asks);
  SampledToken take(const BatchEntry& entry, const Sampler::Result& result);
  std::span<const float> logitRow(std::span<const float> rows, int row) const;
  void keepRow(SeqId seq, std::span<const float> row);
  std::string fail(const Batch& batch, const std::string& error);

  void emitText(const Batch& batch, std::span<const SeqId> finished);
  void endReply(SeqId seq);
  void count(const StepRecord& step);

  std::shared_ptr<const Model> model;
  std::shared_ptr<Backend> backend;
  EngineOptions options;
  TimeSource time;

  KvPlan plan;
  std::unique_ptr<KvCache> kv;
  Scheduler scheduler;
  OpRunner ops;
  Workspace workspace;
  Sampler sampler;
  DeviceSampler device_sampler;

  std::map<SeqId, Reply> replies;  // of the active requests
  std::vector<TextDelta> texts;    // not taken yet
  std::map<SeqId, std::vector<float>> logits;
  bool keep_logits = false;
  std::string device_failure;  // then nothing works any more

  std::shared_ptr<StepProgress> progress = std::make_shared<StepProgress>();
  std::int64_t lane_ns = 0;
  std::int64_t num_steps = 0;
  Totals totals;
  std::int64_t prefix_asked_before = 0;  // tokens asked for and hit before the last reset
  std::int64_t prefix_hit_before = 0;
};

Engine::Engine(std::shared_ptr<const Model> model, std::shared_ptr<Backend> backend, const EngineOptions& options,
               TimeSource time_source)
    : m_impl(std::make_unique<Impl>(std::move(model), std::move(backend), options, std::move(time_source))) {}

Engine::~Engine() = default;

const Model& Engine::model() const {
  return *m_impl->model;
}

const EngineOptions& Engine::options() const {
  return m_impl->options;
}

// ---- One step --------------------------------------------------------------------------------------------------

std::shared_ptr<const StepRecord> Engine::step(std::stop_token stop) {
  Impl& e = *m_impl;
  const std::int64_t began = e.time();
  const double cpu_began = processCpuSeconds();

  const Batch batch = e.scheduler.schedule(e.lane_ns);
  e.totals.num_preemptions += static_cast<std::int64_t>(batch.preempted.size());
  if (batch.empty()) return nullptr;
  const int num_blocks_used = e.scheduler.pool().numBlocks() - e.scheduler.pool().numFree();

  std::vector<SampledToken> sampled;
  std::vector<OpRecord> op_records;
  try {
    e.compute(batch, std::move(stop));
    sampled = e.sample(batch);
    op_records = e.ops.finish();  // waits for the device: what broke there is known before anything counts
  } catch (const Cancelled&) {
    e.scheduler.abandon(batch);
    return nullptr;
  } catch (const std::exception& error) {
    throw Error(e.fail(batch, error.what()));
  }

  const std::vector<SeqId> finished = e.scheduler.commit(batch, sampled, e.lane_ns + e.time() - began);
  e.emitText(batch, finished);

  auto record = std::make_shared<StepRecord>(makeStepRecord(batch, sampled, finished, std::move(op_records)));
  record->step_index = e.num_steps;
  record->start_ns = e.lane_ns;
  record->num_threads = e.backend->numThreads();
  record->num_blocks = e.scheduler.pool().numBlocks();
  record->num_blocks_used = num_blocks_used;
  record->process_cpu_s = processCpuSeconds() - cpu_began;
  record->gpu_busy = e.backend->utilisation();
  record->duration_ns = e.time() - began;
  e.count(*record);
  return record;
}

void Engine::Impl::compute(const Batch& batch, std::stop_token stop) {
  if (const int wanted = numThreads(options); backend->numThreads() != wanted) backend->setThreads(wanted);
  progress->ops_done = 0;
  ops.begin(std::move(stop), &progress->ops_done);
  if (options.cuda_graphs && batch.numTokens() == batch.numSeqs()) backend->beginGraph();
  forwardOnDevice(*model, batch, *kv, ops, workspace);
}

std::vector<SampledToken> Engine::Impl::sample(const Batch& batch) {
  std::vector<DeviceSampler::Ask> asks(batch.logit_rows.size());
  for (const BatchEntry& entry : batch.entries) {
    if (!entry.samples) continue;
    const Sequence& sequence = *scheduler.find(entry.seq);
    asks[static_cast<std::size_t>(entry.logit_row)] = {&sequence.request.sampling, sequence.tokens,
                                                       sequence.numTokens()};
  }
  if (keep_logits) {
    const std::span<const float> rows = workspace.logitsOnHost(static_cast<int>(asks.size()));
    for (const BatchEntry& entry : batch.entries) {
      if (entry.samples) keepRow(entry.seq, logitRow(rows, entry.logit_row));
    }
  }
  const std::vector<Sampler::Result> picked = pick(asks);
  std::vector<SampledToken> sampled(batch.entries.size());
  for (std::size_t i = 0; i < sampled.size(); ++i) {
    const BatchEntry& entry = batch.entries[i];
    if (entry.samples) sampled[i] = take(entry, picked[static_cast<std::size_t>(entry.logit_row)]);
  }
  return sampled;
}

// By row of the logits.
std::vector<Sampler::Result> Engine::Impl::pick(std::span<const DeviceSampler::Ask> asks) {
  if (device_sampler.canSample(ops)) return device_sampler.sample(workspace.logits, asks, ops);
  const auto num_rows = static_cast<int>(asks.size());
  const std::span<const float> rows = workspace.logitsOnHost(num_rows);
  std::vector<Sampler::Result> picked;
  for (int row = 0; row < num_rows; ++row) {
    const DeviceSampler::Ask& ask = asks[static_cast<std::size_t>(row)];
    picked.push_back(
        sampler.sample(logitRow(rows, row), model->config.num_tokens, *ask.params, ask.history, ask.position));
  }
  return picked;
}

std::span<const float> Engine::Impl::logitRow(std::span<const float> rows, int row) const {
  const auto vocab_size = static_cast<std::size_t>(model->config.vocab_size);
  return rows.subspan(static_cast<std::size_t>(row) * vocab_size, vocab_size);
}

SampledToken Engine::Impl::take(const BatchEntry& entry, const Sampler::Result& result) {
  if (!result.error.empty()) return {.token = -1, .finish = FinishReason::kError, .error = result.error};
  const FinishReason finish = replies.at(entry.seq).push(result.token, *model->tokenizer);
  return {.token = result.token, .finish = finish, .error = {}};
}

void Engine::Impl::keepRow(SeqId seq, std::span<const float> row) {
  std::erase_if(logits, [&](const auto& kept) { return scheduler.find(kept.first) == nullptr; });
  logits[seq].assign(row.begin(), row.end());
}

// Nothing of the step counts, and its requests end with the error, which is returned. The engine stays usable, unless
// the device does not: then all requests end.
std::string Engine::Impl::fail(const Batch& batch, const std::string& error) {
  scheduler.abandon(batch);
  device_failure = backend->failure();
  const std::string& told = device_failure.empty() ? error : device_failure;
  std::vector<SeqId> ended;
  for (const BatchEntry& entry : batch.entries) ended.push_back(entry.seq);
  if (!device_failure.empty()) {
    ended.clear();
    for (const auto& [seq, reply] : replies) ended.push_back(seq);
  }
  for (const SeqId seq : ended) {
    scheduler.finish(seq, FinishReason::kError, told);
    endReply(seq);
  }
  return told;
}

void Engine::Impl::emitText(const Batch& batch, std::span<const SeqId> finished) {
  for (const BatchEntry& entry : batch.entries) {
    if (std::ranges::find(finished, entry.seq) != finished.end()) {
      endReply(entry.seq);
    } else if (Reply& reply = replies.at(entry.seq); reply.hasText()) {
      texts.push_back(reply.take(entry.seq, false));
    }
  }
}

void Engine::Impl::endReply(SeqId seq) {
  const auto found = replies.find(seq);
  if (found == replies.end()) return;
  texts.push_back(found->second.take(seq, true));
  replies.erase(found);
  ++totals.num_finished;
}

void Engine::Impl::count(const StepRecord& step) {
  lane_ns += step.duration_ns;
  ++num_steps;
  ++totals.num_steps;
  totals.busy_ns += step.duration_ns;
  totals.kernel_ns += step.kernel_ns;
  totals.num_prefill_tokens += step.num_prefill_tokens;
  totals.num_output_tokens += step.num_sampled;
  totals.cost += step.cost;
}

// ---- Requests --------------------------------------------------------------------------------------------------

Submitted Engine::submit(Request request) {
  Impl& e = *m_impl;
  if (std::string refusal = e.refusal(request); !refusal.empty()) return {SeqId{}, std::move(refusal)};
  Reply reply(request);
  const std::int64_t arrival_ns = request.arrival_ns.value_or(e.lane_ns);
  const SeqId seq = e.scheduler.submit(std::move(request), arrival_ns);
  e.replies.emplace(seq, std::move(reply));
  ++e.totals.num_requests;
  return {seq, {}};
}

std::string Engine::Impl::refusal(const Request& request) const {
  if (!device_failure.empty()) return device_failure;
  const ModelConfig& config = model->config;
  const auto outside = [&](TokenId id) { return id < 0 || id >= config.vocab_size; };
  if (const auto bad = std::ranges::find_if(request.prompt, outside); bad != request.prompt.end()) {
    return fmt::format("token id {} is outside the model's vocabulary of {}", *bad, config.vocab_size);
  }
  const auto num_prompt = std::ssize(request.prompt);
  if (num_prompt + request.max_new_tokens > config.context_length) {
    return fmt::format(
        "prompt {} + new {} = {} tokens, but the model's context has {}; shorten the prompt or ask for fewer",
        num_prompt, request.max_new_tokens, num_prompt + request.max_new_tokens, config.context_length);
  }
  return scheduler.refusal(request);
}

void Engine::cancel(SeqId seq) {
  m_impl->scheduler.finish(seq, FinishReason::kCancelled);
  m_impl->endReply(seq);
}

void Engine::cancelAll() {
  m_impl->scheduler.finishAll(FinishReason::kCancelled);
  while (!m_impl->replies.empty()) m_impl->endReply(m_impl->replies.begin()->first);
}

bool Engine::idle() const {
  return m_impl->scheduler.idle();
}

bool Engine::active(SeqId seq) const {
  return m_impl->replies.contains(seq);
}

std::vector<TextDelta> Engine::takeText() {
  return std::exchange(m_impl->texts, {});
}

// ---- Options ---------------------------------------------------------------------------------------------------

std::string Engine::apply(const EngineOptions& options, std::shared_ptr<const Model> model) {
  try {
    return m_impl->apply(options, std::move(model));
  } catch (const Error& error) {
    return error.what();
  }
}

// Whatever can fail comes first: until the scheduler has agreed, nothing has changed.
std::string Engine::Impl::apply(const EngineOptions& wanted, std::shared_ptr<const Model> new_model) {
  if (wanted == options) return {};
  if (!device_failure.empty()) return device_failure;
  if (wanted.device != options.device) return "device: the weights lie on " + options.device + "; open the model anew";
  const bool other_weights = wanted.weights != options.weights;
  new_model = checkedModel(other_weights && new_model ? std::move(new_model) : model, wanted);
  KernelSet kernels = chooseKernels(backend->catalog(), wanted);
  if (wanted.linear != options.linear || other_weights) {
    if (std::string reason = linearRefusal(kernels, *new_model); !reason.empty()) return reason;
  }

  const KvPlan new_plan = planKv(model->config, wanted);
  const bool rebuild = !(new_plan == plan);
  std::unique_ptr<KvCache> new_kv = rebuild ? makeKvCache(*model, *backend, new_plan) : nullptr;
  if (wanted.attention != options.attention || wanted.kv_format != options.kv_format) {
    const kernels::PagedKvView view = (new_kv ? *new_kv : *kv).layer(0);
    if (std::string reason = attentionRefusal(kernels, wanted, *model, view); !reason.empty()) return reason;
  }

  const std::int64_t num_running = std::ssize(scheduler.running());
  // Keys and values are of the weights that made them.
  std::string refusal = scheduler.reconfigure(schedulerConfig(wanted, new_plan), rebuild || other_weights);
  if (!refusal.empty()) return refusal;

  totals.num_preemptions += num_running - std::ssize(scheduler.running());
  if (rebuild) kv = std::move(new_kv);
  model = std::move(new_model);
  plan = new_plan;
  ops.setKernels(std::move(kernels));
  options = wanted;
  noteChoices();
  return {};
}

// A device that has not the kernel asked for by default takes its own: that one is in force.
void Engine::Impl::noteChoices() {
  options.linear = ops.kernels().linear.front()->choice;
}

// ---- State -----------------------------------------------------------------------------------------------------

Snapshot Engine::snapshot() const {
  const Impl& e = *m_impl;
  Snapshot snapshot;
  snapshot.step_index = e.num_steps;
  snapshot.lane_ns = e.lane_ns;
  snapshot.options = e.options;
  snapshot.blocks = e.scheduler.blocks();
  snapshot.block_size = e.plan.block_size;
  snapshot.kv_block_bytes = e.kv->blockBytes();
  snapshot.kv_budget_slots = e.plan.budget_tokens;
  for (const Sequence* sequence : e.scheduler.running()) snapshot.tables.push_back(describeTable(*sequence));
  for (const auto& sequences : {e.scheduler.running(), e.scheduler.waiting(), e.scheduler.finished()}) {
    for (const Sequence* sequence : sequences) snapshot.requests.push_back(describe(*sequence));
  }
  snapshot.totals = e.totals;
  snapshot.totals.prefix_tokens_asked = e.scheduler.prefixTokensAsked() - e.prefix_asked_before;
  snapshot.totals.prefix_tokens_hit = e.scheduler.prefixTokensHit() - e.prefix_hit_before;
  return snapshot;
}

std::shared_ptr<const StepProgress> Engine::progress() const {
  return m_impl->progress;
}

std::int64_t Engine::laneNow() const {
  return m_impl->lane_ns;
}

void Engine::jumpTo(std::int64_t lane_ns) {
  m_impl->lane_ns = std::max(m_impl->lane_ns, lane_ns);
}

void Engine::reset() {
  Impl& e = *m_impl;
  cancelAll();
  e.totals = {};
  e.prefix_asked_before = e.scheduler.prefixTokensAsked();
  e.prefix_hit_before = e.scheduler.prefixTokensHit();
}

void Engine::keepLogits(bool keep) {
  m_impl->keep_logits = keep;
  if (!keep) m_impl->logits.clear();
}

std::span<const float> Engine::lastLogits(SeqId seq) const {
  const auto found = m_impl->logits.find(seq);
  return found == m_impl->logits.end() ? std::span<const float>{} : found->second;
}

std::string Engine::check() const {
  return m_impl->scheduler.check();
}

}  // namespace inferoscope::core
