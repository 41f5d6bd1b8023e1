// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/experiment.h"
#include "tests/support/lanes.h"

#include <QTest>

using namespace inferoscope;
using namespace inferoscope::core;
using namespace inferoscope::tests;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

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
    Lane lane = clockedLane();
    QVERIFY(lane.idle() && !lane.step({}));
    lane.engine().submit(ask(someIds(4, 1), 2));
    QVERIFY(!lane.idle());
    QVERIFY(lane.step({}) && lane.step({}));
    QVERIFY(lane.idle() && !lane.step({}));
  }

  void aClosedLoopKeepsItsUsersBusyToTheEnd() {
    Lane lane = clockedLane();
    lane.setWorkload(twelveRequests(ArrivalKind::kClosedLoop));
    int most = 0;
    while (lane.step({})) most = std::max(most, numActive(lane));
    QCOMPARE(most, 3);
    QVERIFY(lane.idle() && lane.workload()->finished());
    QCOMPARE(lane.engine().snapshot().totals.num_finished, std::int64_t(12));
  }

  void idleTimeIsJumpedOver() {
    Scenario slow = twelveRequests(ArrivalKind::kConstant);
    slow.arrivals.requests_per_s = 0.1;
    Lane lane = clockedLane();
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
    Lane lane = clockedLane();
    lane.engine().jumpTo(500 * kSecond);
    lane.setWorkload(twelveRequests(ArrivalKind::kPoisson));
    QVERIFY(lane.step({}));
    QCOMPARE(numActive(lane), 1);
  }

  void whoeverIsCancelledAsksAgain() {
    Lane lane = clockedLane();
    lane.setWorkload(twelveRequests(ArrivalKind::kClosedLoop));
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
    Scenario mixed = twelveRequests(ArrivalKind::kClosedLoop);
    mixed.prompt_tokens = {.kind = LengthKind::kUniform, .min = 1, .max = 4000};  // the context is 2,048
    Lane lane = clockedLane();
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
    Scenario huge = twelveRequests(ArrivalKind(kind));
    huge.arrivals.num_requests = 0;
    huge.prompt_tokens = {.kind = LengthKind::kFixed, .mean = 3000};
    Lane lane = clockedLane();
    lane.setWorkload(huge);
    QVERIFY(!lane.step({}));
    QVERIFY(lane.idle() && lane.workload() == nullptr);
    QCOMPARE(lane.takeRefusals().size(), std::size_t(64));
  }

  void theSameSeedGivesTheSameRun() {
    std::vector<std::vector<TokenId>> runs;
    for (int i = 0; i < 2; ++i) {
      Lane lane = clockedLane();
      Scenario sampled = twelveRequests(ArrivalKind::kGamma);
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
    Experiment experiment(clockedLane());
    QVERIFY(experiment.hasLane(LaneId::kA) && !experiment.hasLane(LaneId::kB));
    QVERIFY(experiment.next() == LaneId::kA);
    experiment.lane(LaneId::kA).engine().submit(ask({1}, 1));
    QVERIFY(experiment.lane(LaneId::kA).step({}));
  }

  // 3 ms of A to 1 ms of B: the lane behind steps next, and both end with the same answers.
  void theLaneBehindStepsNext() {
    Experiment experiment(clockedLane(with({{"max-sequences", "1"}})));
    experiment.setLaneB(clockedLane());
    experiment.start(twelveRequests());
    Engine& a = experiment.lane(LaneId::kA).engine();
    Engine& b = experiment.lane(LaneId::kB).engine();
    int num_turns = 0;
    for (LaneId last = LaneId::kA; !experiment.idle(); ++num_turns) {
      const bool both = !experiment.lane(LaneId::kA).idle() && !experiment.lane(LaneId::kB).idle();
      const bool b_is_behind = b.laneNow() < a.laneNow();
      const Experiment::Stepped stepped = experiment.step({});
      if (both && a.laneNow() != b.laneNow() && b_is_behind) QVERIFY(stepped.lane == LaneId::kB || last == LaneId::kA);
      last = stepped.lane;
      QVERIFY(stepped.record);
    }
    QVERIFY(num_turns > 24);
    QCOMPARE(a.snapshot().totals.num_finished, std::int64_t(12));
    QCOMPARE(b.snapshot().totals.num_finished, std::int64_t(12));
    QVERIFY(b.laneNow() < a.laneNow());
  }

  void bothLanesStartTogether() {
    Experiment experiment(clockedLane());
    experiment.lane(LaneId::kA).engine().jumpTo(70 * kSecond);
    experiment.setLaneB(clockedLane());
    experiment.start(twelveRequests());
    QCOMPARE(experiment.lane(LaneId::kB).engine().laneNow(), 70 * kSecond);
    QVERIFY(experiment.next() == LaneId::kA);
    experiment.setFirst(LaneId::kB);
    QVERIFY(experiment.step({}).lane == LaneId::kB);
    QVERIFY(experiment.step({}).lane == LaneId::kA);
    experiment.setLaneB(std::nullopt);
    QVERIFY(!experiment.hasLane(LaneId::kB) && experiment.next() == LaneId::kA);
  }

  // A lane that has done all its work does not hold up the other.
  void anIdleLaneIsPassedOver() {
    Experiment experiment(clockedLane());
    experiment.setLaneB(clockedLane());
    experiment.lane(LaneId::kB).engine().jumpTo(kSecond);
    experiment.lane(LaneId::kB).engine().submit(ask({1, 2}, 3));
    while (!experiment.idle()) QVERIFY(experiment.step({}).lane == LaneId::kB);
    QCOMPARE(experiment.lane(LaneId::kB).engine().snapshot().totals.num_output_tokens, std::int64_t(3));
  }
};

QTEST_GUILESS_MAIN(TestExperiment)
#include "tst_experiment.moc"
