// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/prediction.h"

#include "core/engine/knobs.h"
#include "core/engine/kv_plan.h"
#include "core/engine/step_record.h"
#include "core/error.h"
#include "core/model/weight_variants.h"
#include "core/observe/op_work.h"
#include "core/run/dry_run.h"
#include "core/schedule/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

namespace inferoscope::core {
namespace {

int numThreads(const EngineOptions& options) {
  return options.threads > 0 ? options.threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// An engine that plans and does not compute.
class DryEngine {
 public:
  DryEngine(std::shared_ptr<const Model> model, const Scenario& scenario, const EngineOptions& options)
      : m_model(std::move(model)),
        m_options(options),
        m_plan(planKv(m_model->config, options)),
        m_scheduler(schedulerConfig(options, m_plan)),
        m_workload(scenario, m_model) {}

  RunSummary run(const LimitsOf& limits_of, const Calibration& calibration, const std::stop_token& stop) {
    const MachineLimits limits = limits_of(numThreads(m_options));
    RunTally tally;
    while (feed()) {
      if (stop.stop_requested()) throw Cancelled();
      const Batch batch = m_scheduler.schedule(m_now_ns);
      if (batch.empty()) break;
      const StepRecord step = compute(batch, limits, calibration);
      tally.add(step, snapshot());
    }
    tally.addRefused(m_num_refused);
    return tally.summary();
  }

  // Of the predicted time of ops: kernels that were never measured, or with another number of tokens.
  double guessedShare() const { return m_ops_ns > 0 ? m_guessed_ns / m_ops_ns : 0; }

 private:
  // Requests that are due, or the next one. False: nothing is left to do.
  bool feed() {
    takeDue();
    while (m_scheduler.idle()) {
      const auto next = m_workload.nextArrival();
      if (!next) return false;
      m_now_ns = std::max(m_now_ns, *next);
      takeDue();
    }
    return true;
  }

  void takeDue() {
    while (auto request = m_workload.take(m_now_ns)) {
      if (m_scheduler.refusal(*request).empty()) {
        const std::int64_t arrival_ns = *request->arrival_ns;
        m_scheduler.submit(std::move(*request), arrival_ns);
      } else {
        ++m_num_refused;
        m_workload.answered(m_now_ns);
      }
    }
  }

  StepRecord compute(const Batch& batch, const MachineLimits& limits, const Calibration& calibration) {
    std::vector<OpRecord> ops = dryRun(*m_model, batch, m_options);
    double duration_ns = calibration.softwareNs();
    for (OpRecord& op : ops) {
      const double op_ns = calibration.predictNs(op, limits);
      op.duration_ns = static_cast<std::int64_t>(op_ns);
      duration_ns += op_ns;
      m_ops_ns += op_ns;
      if (!calibration.knows(op)) m_guessed_ns += op_ns;
    }
    std::vector<SampledToken> sampled(batch.entries.size());
    for (std::size_t i = 0; i < sampled.size(); ++i) {
      if (batch.entries[i].samples) sampled[i].token = m_next_token++ % m_model->config.num_tokens;
    }
    const std::int64_t start_ns = std::exchange(m_now_ns, m_now_ns + static_cast<std::int64_t>(duration_ns));
    const std::vector<SeqId> finished = m_scheduler.commit(batch, sampled, m_now_ns);
    for (std::size_t i = 0; i < finished.size(); ++i) m_workload.answered(m_now_ns);
    StepRecord step = makeStepRecord(batch, sampled, finished, std::move(ops));
    step.start_ns = start_ns;
    step.duration_ns = m_now_ns - start_ns;
    return step;
  }

  Snapshot snapshot() const {
    Snapshot snapshot;
    snapshot.lane_ns = m_now_ns;
    snapshot.options = m_options;
    snapshot.block_size = m_plan.block_size;
    snapshot.kv_block_bytes = m_plan.bytes / m_plan.num_blocks;
    snapshot.kv_budget_slots = m_plan.budget_tokens;
    snapshot.blocks = m_scheduler.blocks();
    for (const auto& sequences : {m_scheduler.running(), m_scheduler.waiting(), m_scheduler.finished()}) {
      for (const Sequence* sequence : sequences) snapshot.requests.push_back(describe(*sequence));
    }
    snapshot.totals.prefix_tokens_asked = m_scheduler.prefixTokensAsked();
    snapshot.totals.prefix_tokens_hit = m_scheduler.prefixTokensHit();
    return snapshot;
  }

  std::shared_ptr<const Model> m_model;
  EngineOptions m_options;
  KvPlan m_plan;
  Scheduler m_scheduler;
  Workload m_workload;
  std::int64_t m_now_ns = 0;
  int m_num_refused = 0;
  double m_ops_ns = 0;
  double m_guessed_ns = 0;
  TokenId m_next_token = 0;
};

// What a knob may be set to instead. Of numbers, a step up and a step down in the direction that is asked for most.
std::vector<std::string> alternatives(const Knob& knob, const EngineOptions& options) {
  std::vector<std::string> values = knob.choices;
  if (knob.id == "block-size") values = {"8", "16", "64"};
  if (knob.id == "max-sequences") values = {"1", "4", "8", "16", "32", "64"};
  if (knob.id == "prefill-chunk") values = {"0", "64", "256", "512"};
  if (knob.id == "threads") values = {"1", "0"};
  if (knob.id == "device") values = {};  // its ceilings are not known before a model is there
  if (knob.id == "cuda-graphs" && options.device == "cpu") values = {};
  std::erase(values, knob.get(options));
  return values;
}

std::optional<double> busyTokensPerSecond(const RunSummary& run) {
  return perSecond(static_cast<double>(run.num_output_tokens), run.busy_ns);
}

constexpr double kMuchGuessed = 0.1;

std::optional<double> ratioOf(const std::optional<double>& now, const std::optional<double>& then) {
  if (!now || !then || *now <= 0) return std::nullopt;
  return *then / *now;
}

// Both are the weights as they are stored.
bool sameWeights(const Model& stored, const std::string& a, const std::string& b) {
  return a == b || (variantBytes(stored, a) == 0 && variantBytes(stored, b) == 0);
}

}  // namespace

std::string Calibration::keyOf(const OpRecord& op) {
  return fmt::format("{} {} {}", op.kernel, op.name, op.num_tokens > 32 ? "many" : op.num_tokens > 1 ? "few" : "one");
}

void Calibration::add(const StepRecord& step, const MachineLimits& limits) {
  ++m_num_steps;
  m_software_ns += static_cast<double>(step.duration_ns - step.kernel_ns);
  for (const OpRecord& op : step.ops) {
    const double floor_ns = workOf(op, limits).floor_ns;
    const auto addTo = [&](Sum& sum) {
      sum.measured_ns += static_cast<double>(op.duration_ns);
      sum.floor_ns += floor_ns;
    };
    addTo(m_by_kernel[std::string(op.kernel)]);
    addTo(m_by_kernel[keyOf(op)]);
    if (!isNaive(op.kernel)) addTo(m_all);
  }
}

double Calibration::predictNs(const OpRecord& op, const MachineLimits& limits) const {
  const double floor_ns = workOf(op, limits).floor_ns;
  for (const std::string& key : {keyOf(op), std::string(op.kernel)}) {
    const auto found = m_by_kernel.find(key);
    if (found != m_by_kernel.end() && found->second.floor_ns > 0) {
      return floor_ns * found->second.measured_ns / found->second.floor_ns;
    }
  }
  return unseenNs(op, floor_ns);
}

double Calibration::unseenNs(const OpRecord& op, double floor_ns) const {
  const double seen = m_all.floor_ns > 0 ? m_all.measured_ns / m_all.floor_ns : 0;
  return floor_ns * std::max(kUnseen, seen) * (isNaive(op.kernel) ? kNaive : 1);
}

double Calibration::softwareNs() const {
  return m_num_steps > 0 ? m_software_ns / m_num_steps : 0;
}

RunSummary predictRun(const std::shared_ptr<const Model>& model, const Scenario& scenario, const EngineOptions& options,
                      const LimitsOf& limits_of, const Calibration& calibration, const std::stop_token& stop) {
  return DryEngine(model, scenario, options).run(limits_of, calibration, stop);
}

std::vector<Advice> whatWouldHelp(const std::shared_ptr<const Model>& model, const Scenario& scenario,
                                  const EngineOptions& options, const LimitsOf& limits_of,
                                  const Calibration& calibration, const std::stop_token& stop) {
  const RunSummary now = predictRun(model, scenario, options, limits_of, calibration, stop);
  const auto stored = describeModel(model->source);
  std::vector<Advice> all;
  for (const Knob& knob : knobs()) {
    for (const std::string& value : alternatives(knob, options)) {
      EngineOptions turned = options;
      if (!setKnob(turned, knob.id, value).empty()) continue;
      const bool same_weights = sameWeights(*stored, turned.weights, options.weights);
      if (same_weights && turned.weights != options.weights) continue;
      try {
        DryEngine engine(same_weights ? model : describeAs(stored, turned.weights), scenario, turned);
        const RunSummary then = engine.run(limits_of, calibration, stop);
        const std::optional<double> throughput = ratioOf(busyTokensPerSecond(now), busyTokensPerSecond(then));
        if (then.num_refused != now.num_refused || !throughput) continue;  // it would not do the same work
        all.push_back({.knob = std::string(knob.id),
                       .value = value,
                       .throughput_ratio = *throughput,
                       .ttft_ratio = ratioOf(now.ttft_ms.p50, then.ttft_ms.p50),
                       .itl_p99_ratio = ratioOf(now.itl_ms.p99, then.itl_ms.p99),
                       // Records do not tell formats of the cache apart, nor how work is shared by threads.
                       .guessed = !same_weights || turned.kv_format != options.kv_format ||
                                  turned.threads != options.threads ||
                                  engine.guessedShare() > kMuchGuessed});
      } catch (const Cancelled&) {
        throw;
      } catch (const Error&) {
        continue;  // it can't be had with this model or budget
      }
    }
  }
  std::ranges::stable_sort(all, std::greater{}, &Advice::throughput_ratio);
  return all;
}

}  // namespace inferoscope::core
