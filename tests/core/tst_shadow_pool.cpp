// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cache/shadow_pool.h"
#include "core/engine/scenario_run.h"
#include "core/engine/shadow_trace.h"
#include "tests/support/lanes.h"

#include <QTest>

#include <nlohmann/json.hpp>
#include <random>

using namespace inferoscope;
using namespace inferoscope::core;
using namespace inferoscope::tests;

namespace {

constexpr ShadowPolicy kContiguous{ShadowKind::kContiguousMax, 0}, kPowerOfTwo{ShadowKind::kPowerOfTwo, 0},
    kOracle{ShadowKind::kOracle, 0}, kPaged16{ShadowKind::kPaged, 16};

// Lognormal lengths, all there at once.
std::vector<ShadowRequest> manyRequests(int count) {
  std::mt19937_64 random(3);
  std::vector<ShadowRequest> trace;
  for (int i = 0; i < count; ++i) {
    trace.push_back({.arrival_step = 0, .prompt = 50 + int(random() % 400), .output = 20 + int(random() % 300)});
  }
  return trace;
}

}  // namespace

class TestShadowPool : public QObject {
  Q_OBJECT

 private slots:
  // A prompt of 20 of which 53 tokens are ever written, 30 so far.
  void whatEachHolds_data() {
    QTest::addColumn<int>("kind");
    QTest::addColumn<int>("block");
    QTest::addColumn<int>("reserved");
    QTest::addColumn<int>("internal");
    QTest::newRow("contiguous: 128") << int(ShadowKind::kContiguousMax) << 0 << 23 << 75;
    QTest::newRow("power of two: 20 + 64") << int(ShadowKind::kPowerOfTwo) << 0 << 23 << 31;
    QTest::newRow("oracle: 53") << int(ShadowKind::kOracle) << 0 << 23 << 0;
    QTest::newRow("paged 16: 32") << int(ShadowKind::kPaged) << 16 << 2 << 0;
    QTest::newRow("paged 64: 64") << int(ShadowKind::kPaged) << 64 << 23 << 11;
  }
  void whatEachHolds() {
    QFETCH(int, kind);
    QFETCH(int, block);
    QFETCH(int, reserved);
    QFETCH(int, internal);
    ShadowPool pool({ShadowKind(kind), block}, 1000, 128);
    QVERIFY(pool.admit(SeqId{1}, {.prompt = 20, .final = 53}, 20) && pool.grow(SeqId{1}, 30));
    QCOMPARE(pool.use().written, 30.0);
    QCOMPARE(pool.use().reserved, double(reserved));
    QCOMPARE(pool.use().internal, double(internal));
    QCOMPARE(pool.use().external, 0.0);
    pool.release(SeqId{1});
    QCOMPARE(pool.use().held(), 0.0);
  }

  // 40 | 40 | 20 free; the first goes: 60 slots are free and 50 fit nowhere.
  void holesAreExternal() {
    ShadowPool pool(kOracle, 100, 100);
    QVERIFY(pool.admit(SeqId{1}, {1, 40}, 1) && pool.admit(SeqId{2}, {1, 40}, 1));
    pool.release(SeqId{1});
    QCOMPARE(pool.use().external, 0.0);
    QVERIFY(!pool.admit(SeqId{3}, {1, 50}, 1));
    QCOMPARE(pool.use().external, 60.0);
    QVERIFY(pool.admit(SeqId{4}, {1, 30}, 1));  // the first hole
    QVERIFY(pool.admit(SeqId{5}, {1, 20}, 1));
    QVERIFY(!pool.admit(SeqId{6}, {1, 11}, 1));
  }

  void pagesRunOut() {
    ShadowPool pool(kPaged16, 48, 100);
    QVERIFY(pool.admit(SeqId{1}, {16, 40}, 16) && pool.admit(SeqId{2}, {17, 40}, 17));
    QVERIFY(!pool.grow(SeqId{1}, 17) && !pool.admit(SeqId{3}, {1, 2}, 1));
    pool.release(SeqId{2});
    QVERIFY(pool.grow(SeqId{1}, 17));
    QCOMPARE(pool.use().written, 17.0);
  }

  // The paper's order: contiguous, power of two, oracle, paged; and small pages waste less than large ones.
  void theReplayRanksThem() {
    const std::vector<ShadowRequest> trace = manyRequests(200);
    std::vector<ShadowRun> runs;
    for (const ShadowPolicy& policy : shadowPolicies()) runs.push_back(replayTrace(trace, policy, 8192, 2048, 64));
    const auto lost = [](const ShadowRun& run) { return 1 - run.mean.written / run.mean.total; };
    QVERIFY(lost(runs[0]) > lost(runs[1]) && lost(runs[1]) > lost(runs[2]) && lost(runs[2]) > lost(runs[4]));
    QCOMPARE(runs[4].policy.name(), std::string("paged 16"));
    QVERIFY(runs[4].mean.waste() < 0.04);
    QCOMPARE(runs[0].most_at_once, 4);
    QVERIFY(runs[4].mean_at_once > 2.5 * runs[0].mean_at_once);
    for (std::size_t i = 4; i < runs.size(); ++i) QVERIFY(runs[i].mean.waste() > runs[i - 1].mean.waste());
  }

  // Every token is written once, but for what was preempted.
  void theReplayEndsWithEverybodyServed() {
    const std::vector<ShadowRequest> trace = {{0, 10, 5}, {3, 200, 2}, {3, 3000, 2}, {50, 1, 1}};
    for (const ShadowPolicy& policy : {kContiguous, kPowerOfTwo, kOracle, kPaged16}) {
      const ShadowRun run = replayTrace(trace, policy, 512, 256, 8);
      QCOMPARE(run.curve.back().written, 1.0);
      QVERIFY(run.most_at_once >= 1 && run.curve.size() >= 50 && run.curve.size() < 60);
    }
  }

  void whatIsPreemptedComesBack() {
    const std::vector<ShadowRequest> trace = {{0, 16, 40}, {0, 16, 40}};
    const ShadowRun run = replayTrace(trace, kPaged16, 64, 256, 8);
    QVERIFY(run.num_preempted > 0);
    QCOMPARE(run.curve.back().written, 55.0);
  }

  // 200 slots are 12 blocks of 16: what ends at 199 tokens starts well, and would be preempted for ever.
  void whatCannotEndIsRefused() {
    const std::vector<ShadowRequest> trace = {{0, 100, 100}, {0, 100, 50}};
    const ShadowRun run = replayTrace(trace, kPaged16, 200, 256, 8);
    QCOMPARE(run.num_refused, 1);
    QCOMPARE(run.num_preempted, 0);
    QCOMPARE(run.curve.back().written, 149.0);
  }

  // Beside an engine: of what runs there, pages hold all and contiguous memory the few that fit.
  void theyFollowAnEngine() {
    Lane lane = clockedLane(with({{"kv-budget", "1"}, {"max-sequences", "12"}}));
    for (int i = 0; i < 12; ++i) lane.engine().submit(ask(someIds(100, i), 50));
    ShadowAllocators shadows;
    int most_contiguous = 0, most_paged = 0;
    while (lane.step({})) {
      shadows.add(lane.engine().snapshot(), 2048);
      const std::vector<ShadowAllocators::Point> points = shadows.now();
      most_contiguous = std::max(most_contiguous, points[0].num_held);
      most_paged = std::max(most_paged, points[4].num_held);
      if (points[4].num_held == 12) QCOMPARE(points[4].use.held(), kvUse(lane.engine().snapshot()).held());
    }
    QCOMPARE(most_paged, 12);
    QVERIFY2(most_contiguous >= 1 && most_contiguous < 6, qPrintable(QString::number(most_contiguous)));
    for (const ShadowAllocators::Point& point : shadows.now()) QCOMPARE(point.num_held, 0);
  }

  // What a run had to place, as the other allocators get it.
  void aRunGivesItsTrace() {
    Lane lane = clockedLane();
    ShadowTrace trace;
    const RunSummary summary = runScenario(lane, twelveRequests(), {},
                                           [&](const StepRecord&, const Snapshot& after) { trace.add(after); }, {});
    const std::vector<ShadowRequest> requests = trace.requests();
    QCOMPARE(requests.size(), std::size_t(12));
    QCOMPARE(requests.front().arrival_step, 0);
    QVERIFY(requests.back().arrival_step > 5);
    std::int64_t num_prompt = 0, num_output = 0;
    for (const ShadowRequest& request : requests) {
      num_prompt += request.prompt;
      num_output += request.output;
    }
    QCOMPARE(num_prompt, summary.num_prompt_tokens);
    QCOMPARE(num_output, summary.num_output_tokens);

    const std::vector<ShadowRun> runs = replayAll(requests, 4096, 512, 16);
    QCOMPARE(runs.size(), shadowPolicies().size());
    const auto wasteOf = [&](const std::string& name) {
      return std::ranges::find(runs, name, [](const ShadowRun& run) { return run.policy.name(); })->mean.waste();
    };
    QVERIFY(wasteOf("contiguous") > wasteOf("power of two"));
    QVERIFY(wasteOf("paged 16") < wasteOf("paged 64"));
    const auto json = shadowJson(runs);
    QCOMPARE(json.size(), runs.size());
    QCOMPARE(json.at(0).at("curve").at(0).size(), std::size_t(5));
  }
};

QTEST_GUILESS_MAIN(TestShadowPool)
#include "tst_shadow_pool.moc"
