// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/scenario_run.h"
#include "tests/support/lanes.h"

#include <nlohmann/json.hpp>

#include <QTest>

using namespace inferoscope;
using namespace inferoscope::core;
using namespace inferoscope::tests;

namespace {

RunSummary runOnce(const Scenario& scenario, const EngineOptions& options = {}, const StepSink& sink = {}) {
  Lane lane = clockedLane(options);
  return runScenario(lane, scenario, {}, sink, {});
}

}  // namespace

class TestScenarioRun : public QObject {
  Q_OBJECT

 private slots:
  void aRunIsSummedUp() {
    std::int64_t num_prompt = 0, num_output = 0, num_gaps = 0, last_end = 0;
    const RunSummary summary = runOnce(twelveRequests(), {}, [&](const StepRecord& step, const Snapshot& after) {
      for (const StepEntry& entry : step.entries) num_output += entry.sampled >= 0;
      last_end = step.start_ns + step.duration_ns;
      if (after.totals.num_finished < 12) return;
      for (const RequestInfo& request : after.requests) {
        num_prompt += request.num_prompt_tokens;
        num_gaps += request.num_output_tokens - 1;
      }
    });
    QCOMPARE(summary.num_finished, std::int64_t(12));
    QCOMPARE(summary.num_refused, std::int64_t(0));
    QCOMPARE(summary.num_prompt_tokens, num_prompt);
    QCOMPARE(summary.num_output_tokens, num_output);
    QCOMPARE(summary.duration_ns, last_end);
    QCOMPARE(summary.busy_ns, last_end);  // somebody is always served
    QCOMPARE(summary.max_concurrent, 3);
    QVERIFY(summary.mean_concurrent > 1 && summary.mean_concurrent <= 3);
    QVERIFY(num_gaps > 0 && summary.itl_ms.p50.value() > 0 && summary.ttft_ms.p50.value() > 0);
    QCOMPARE(summary.outputTokensPerSecond().value(), double(num_output) / (double(last_end) * 1e-9));
    QVERIFY(summary.bytesPerToken(&kernels::OpCost::weights).value() > 0);
    QVERIFY(summary.prefix_hit_rate.has_value());
  }

  // The second is asked while the first one's prompt is computed: its wait counts from then.
  void timeToTheFirstTokenBeginsWhenItIsAsked() {
    Scenario trace;
    trace.arrivals.kind = ArrivalKind::kTrace;
    trace.trace = {{.arrival_s = 0, .prompt_tokens = 500, .output_tokens = 2},
                   {.arrival_s = 0.001, .prompt_tokens = 5, .output_tokens = 1}};
    trace.ignore_end_of_turn = true;
    std::int64_t first_step_ns = 0, second_ttft_ns = 0;
    runOnce(trace, with({{"prefill-chunk", "0"}}), [&](const StepRecord& step, const Snapshot& after) {
      if (step.step_index == 0) first_step_ns = step.duration_ns;
      for (const RequestInfo& request : after.requests) {
        if (request.num_prompt_tokens == 5) second_ttft_ns = request.first_token_ns.value_or(0) - request.arrival_ns;
        if (request.num_prompt_tokens == 5) QCOMPARE(request.arrival_ns, 1'000'000);
      }
    });
    QVERIFY(first_step_ns > 1'000'000);
    QVERIFY(second_ttft_ns > first_step_ns - 1'000'000);
  }

  // A trace says what is asked, whoever was refused before; people would ask what can't be served for ever.
  void aTraceGoesOnAfterManyRefusals() {
    Scenario trace;
    trace.arrivals.kind = ArrivalKind::kTrace;
    trace.trace.assign(100, {.arrival_s = 0, .prompt_tokens = 3000, .output_tokens = 1});
    trace.trace.push_back({.arrival_s = 1, .prompt_tokens = 5, .output_tokens = 1});
    const RunSummary summary = runOnce(trace);
    QCOMPARE(summary.num_refused, std::int64_t(100));
    QCOMPARE(summary.num_finished, std::int64_t(1));
  }

  void theSameSeedGivesTheSameSummary() {
    const Scenario poisson = twelveRequests(ArrivalKind::kPoisson);
    QCOMPARE(runJson(runOnce(poisson)).dump(), runJson(runOnce(poisson)).dump());
  }

  void contiguousMemoryIsMostlyWaste() {
    const RunSummary paged = runOnce(twelveRequests(), with({{"kv-budget", "4"}}));
    const RunSummary contiguous = runOnce(twelveRequests(), with({{"kv-budget", "4"}, {"kv-layout", "contiguous"}}));
    QVERIFY(paged.kv.waste() < 0.6);
    QVERIFY(contiguous.kv.waste() > 0.9);
    QVERIFY(contiguous.kv.internal > contiguous.kv.reserved);
    QCOMPARE(paged.num_output_tokens, contiguous.num_output_tokens);
  }

  void whatNeverFitsIsCounted() {
    Scenario mixed = twelveRequests();
    mixed.prompt_tokens = {.kind = LengthKind::kUniform, .min = 1, .max = 4000};  // the context is 2,048
    const RunSummary summary = runOnce(mixed);
    QVERIFY(summary.num_refused > 0);
    QCOMPARE(summary.num_finished + summary.num_refused, std::int64_t(12));
  }

  void anEndIsGivenToWhatHasNone() {
    Scenario endless = twelveRequests();
    QCOMPARE(withEnd(endless, 5).arrivals.num_requests, 12);
    endless.arrivals.num_requests = 0;
    QCOMPARE(withEnd(endless, 5).arrivals.num_requests, 5);
    endless.arrivals.kind = ArrivalKind::kTrace;  // all of it
    QCOMPARE(withEnd(endless, 5).arrivals.num_requests, 0);
  }

  void aStoppedRunIsCancelled() {
    std::stop_source stop;
    Lane lane = clockedLane();
    QVERIFY_EXCEPTION_THROWN(
        runScenario(
            lane, twelveRequests(), {}, [&](const auto&, const auto&) { stop.request_stop(); }, stop.get_token()),
        Cancelled);
  }

  void aSummarySurvivesAFile() {
    const nlohmann::ordered_json json = runJson(runOnce(twelveRequests(), with({{"block-size", "8"}})));
    QCOMPARE(json.at("options").at("block-size").get<std::string>(), std::string("8"));
    QCOMPARE(runJson(runFromJson(nlohmann::ordered_json::parse(json.dump()))).dump(), json.dump());
  }

  // What nobody measured is null, never 0 or NaN.
  void nothingIsNull() {
    const nlohmann::ordered_json json = runJson({});
    for (const char* field : {"output_tok_s", "total_tok_s", "goodput", "prefix_hit_rate"})
      QVERIFY(json[field].is_null());
    QVERIFY(json["itl_ms"]["p99"].is_null() && json["bytes_per_token"]["weights"].is_null());
    QVERIFY(json.dump().find("nan") == std::string::npos);
  }

  void scenariosAreFoundByIdOrFile() {
    QCOMPARE(findScenario("chat").id, std::string("chat"));
    QVERIFY_EXCEPTION_THROWN(findScenario("no-such"), Error);
    QCOMPARE(findScenario(INFEROSCOPE_SOURCE_DIR "/resources/scenarios/2-burst.json").id, std::string("burst"));
  }
};

QTEST_GUILESS_MAIN(TestScenarioRun)
#include "tst_scenario_run.moc"
