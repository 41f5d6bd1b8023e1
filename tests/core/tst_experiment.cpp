// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/experiment.h"
#include "tests/support/engines.h"

#include <QTest>

using namespace inferoscope;
using namespace inferoscope::core;
using namespace inferoscope::tests;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// A lane whose clock moves 1 ms a reading.
Lane makeLane(const EngineOptions& options = {}) {
  const std::shared_ptr<Backend> backend = makeCpuBackend(1);
  auto now = std::make_shared<std::int64_t>(0);
  return {loadOn(*backend, "synthetic:tiny"), backend, options, [now] { return *now += 1'000'000; }};
}

Scenario scenario(ArrivalKind kind) {
  Scenario made;
  made.id = "test";
  made.arrivals.kind = kind;
  made.arrivals.concurrency = 3;
  made.arrivals.num_requests = 12;
  made.prompt_tokens = {.kind = LengthKind::kUniform, .min = 3, .max = 30};
  made.output_tokens = {.kind = LengthKind::kUniform, .min = 1, .max = 8};
  made.ignore_end_of_turn = true;
  return made;
}

int numActive(const Lane& lane) {
  int count = 0;
  for (const RequestInfo& request : lane.engine().snapshot().requests) count += request.state != SeqState::kFinished;
  return count;
}

}  // namespace

class TestExperiment : public QObject {
  Q_OBJECT

 private slots:
  void aLaneWithoutAWorkloadServesPeople() {
    Lane lane = makeLane();
    QVERIFY(lane.idle() && !lane.step({}));
    lane.engine().submit(ask(someIds(4, 1), 2));
    QVERIFY(!lane.idle());
    QVERIFY(lane.step({}) && lane.step({}));
    QVERIFY(lane.idle() && !lane.step({}));
  }

  void aClosedLoopKeepsItsUsersBusyToTheEnd() {
    Lane lane = makeLane();
    lane.setWorkload(scenario(ArrivalKind::kClosedLoop));
    int most = 0;
    while (lane.step({})) most = std::max(most, numActive(lane));
    QCOMPARE(most, 3);
    QVERIFY(lane.idle() && lane.workload()->finished());
    QCOMPARE(lane.engine().snapshot().totals.num_finished, std::int64_t(12));
  }

  void idleTimeIsJumpedOver() {
    Scenario slow = scenario(ArrivalKind::kConstant);
    slow.arrivals.requests_per_s = 0.1;
    Lane lane = makeLane();
    lane.setWorkload(slow);
    while (lane.step({})) {
    }
    QCOMPARE(lane.engine().snapshot().totals.num_finished, std::int64_t(12));
    QVERIFY(lane.engine().laneNow() >= 110 * kSecond);
    QVERIFY(lane.engine().snapshot().totals.busy_ns < 10 * kSecond);
    for (const RequestInfo& request : lane.engine().snapshot().requests) {
      QVERIFY(request.arrival_ns % (10 * kSecond) == 0 && request.ttft_ms.value() < 1000);
    }
  }

  // A workload set late starts then, and not with all that would have come before.
  void aWorkloadStartsWhenItIsSet() {
    Lane lane = makeLane();
    lane.engine().jumpTo(500 * kSecond);
    lane.setWorkload(scenario(ArrivalKind::kPoisson));
    QVERIFY(lane.step({}));
    QCOMPARE(numActive(lane), 1);
  }

  void whoeverIsCancelledAsksAgain() {
    Lane lane = makeLane();
    lane.setWorkload(scenario(ArrivalKind::kClosedLoop));
    lane.step({});
    QCOMPARE(numActive(lane), 3);
    lane.engine().cancelAll();
    QVERIFY(!lane.idle());
    lane.step({});
    QCOMPARE(numActive(lane), 3);
    lane.setWorkload(std::nullopt);
    lane.engine().cancelAll();
    QVERIFY(lane.idle());
  }

  void whatNeverFitsIsReportedAndTheRestIsServed() {
    Scenario mixed = scenario(ArrivalKind::kClosedLoop);
    mixed.prompt_tokens = {.kind = LengthKind::kUniform, .min = 1, .max = 4000};  // the context is 2,048
    Lane lane = makeLane();
    lane.setWorkload(mixed);
    while (lane.step({})) {
    }
    const std::vector<std::string> refusals = lane.takeRefusals();
    QVERIFY(refusals.size() > 1 && refusals.size() < 11);
    QVERIFY(refusals.front().starts_with("test "));
    QCOMPARE(lane.engine().snapshot().totals.num_finished, std::int64_t(12 - refusals.size()));
    QVERIFY(lane.takeRefusals().empty());
  }

  void aWorkloadThatNeverFitsEnds_data() {
    QTest::addColumn<int>("kind");
    QTest::newRow("closed loop") << int(ArrivalKind::kClosedLoop);
    QTest::newRow("poisson") << int(ArrivalKind::kPoisson);
  }
  void aWorkloadThatNeverFitsEnds() {
    QFETCH(int, kind);
    Scenario huge = scenario(ArrivalKind(kind));
    huge.arrivals.num_requests = 0;
    huge.prompt_tokens = {.kind = LengthKind::kFixed, .mean = 3000};
    Lane lane = makeLane();
    lane.setWorkload(huge);
    QVERIFY(!lane.step({}));
    QVERIFY(lane.idle() && lane.workload() == nullptr);
    QCOMPARE(lane.takeRefusals().size(), std::size_t(64));
  }

  void theSameSeedGivesTheSameRun() {
    std::vector<std::vector<TokenId>> runs;
    for (int i = 0; i < 2; ++i) {
      Lane lane = makeLane();
      Scenario sampled = scenario(ArrivalKind::kGamma);
      sampled.sampling.temperature = 1.0F;
      lane.setWorkload(sampled);
      std::vector<TokenId>& tokens = runs.emplace_back();
      while (const auto record = lane.step({})) {
        for (const StepEntry& entry : record->entries) tokens.push_back(entry.sampled);
      }
    }
    QVERIFY(runs[0].size() > 12);
    QCOMPARE(runs[0], runs[1]);
  }

  void theLaneAtWorkIsA() {
    Experiment experiment(makeLane());
    QVERIFY(experiment.hasLane(LaneId::kA) && !experiment.hasLane(LaneId::kB));
    QVERIFY(experiment.next() == LaneId::kA);
    experiment.lane(LaneId::kA).engine().submit(ask({1}, 1));
    QVERIFY(experiment.lane(LaneId::kA).step({}));
  }
};

QTEST_GUILESS_MAIN(TestExperiment)
#include "tst_experiment.moc"
