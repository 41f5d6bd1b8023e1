// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/latency_layout.h"

#include <QTest>

#include <memory>

using namespace inferoscope;
using core::SeqId;
using gui::LatencySamples;

namespace {

constexpr std::int64_t kMs = 1'000'000;

// A step of 10 ms in which these requests got a token.
std::shared_ptr<const core::StepRecord> step(std::int64_t index, const std::vector<int>& requests,
                                             std::int64_t start_ns, int finished = -1) {
  auto record = std::make_shared<core::StepRecord>();
  record->step_index = index;
  record->start_ns = start_ns;
  record->duration_ns = 10 * kMs;
  for (const int seq : requests) {
    record->entries.push_back({.seq = SeqId{seq}, .sampled = 5, .finished = seq == finished});
  }
  return record;
}

core::RequestInfo request(int seq, std::optional<double> ttft, std::optional<double> tpot, bool finished,
                          std::int64_t arrival_ns = 0) {
  core::RequestInfo info;
  info.seq = SeqId{seq};
  info.state = finished ? core::SeqState::kFinished : core::SeqState::kRunning;
  info.arrival_ns = arrival_ns;
  info.ttft_ms = ttft;
  info.tpot_ms = tpot;
  return info;
}

gui::LaneFrame frameOf(std::vector<std::shared_ptr<const core::StepRecord>> steps,
                   std::vector<core::RequestInfo> requests = {}, std::int64_t num_steps = 1,
                   const core::EngineOptions& options = {}, std::int64_t lane_ns = 0) {
  auto snapshot = std::make_shared<core::Snapshot>();
  snapshot->requests = std::move(requests);
  snapshot->totals.num_steps = num_steps;
  snapshot->options = options;
  snapshot->lane_ns = lane_ns;
  return {.snapshot = snapshot, .steps = std::move(steps), .texts = {}};
}

}  // namespace

class TestLatencyLayout : public QObject {
  Q_OBJECT

 private slots:
  void gapsBetweenTokens();
  void noGapAcrossALostRecord();
  void eachRequestOnce();
  void onlyTheLatestStay();
  void aResetBeginsAnew();
  void aKnobBeginsAnew();
  void staircase_data();
  void staircase();
  void staircaseIsThinned();
  void chartsFollowTheShape();
  void titlesBreakWhereTheyMust_data();
  void titlesBreakWhereTheyMust();
};

void TestLatencyLayout::gapsBetweenTokens() {
  LatencySamples samples;
  // Request 2 isn't computed in step 1; 3 ends in step 1. Between the steps 1 and 2 the lane was idle for 5 ms.
  samples.add(frameOf({step(0, {1, 2, 3}, 0), step(1, {1, 3}, 10 * kMs, 3), step(2, {1, 2}, 25 * kMs)}));
  QCOMPARE(samples.itl(), (std::deque<double>{10, 10, 15, 25}));
}

void TestLatencyLayout::noGapAcrossALostRecord() {
  LatencySamples samples;
  samples.add(frameOf({step(0, {1}, 0), step(2, {1}, 20 * kMs), step(3, {1}, 30 * kMs)}));
  QCOMPARE(samples.itl(), std::deque<double>{10});
}

void TestLatencyLayout::eachRequestOnce() {
  LatencySamples samples;
  samples.add(frameOf({}, {request(1, 100, 12, false), request(2, {}, {}, false)}));
  samples.add(frameOf({}, {request(1, 100, 14, false), request(2, 250, {}, false)}));
  QCOMPARE(samples.ttft(), (std::deque<double>{100, 250}));
  QVERIFY(samples.tpot().empty());  // nobody has ended
  samples.add(frameOf({}, {request(1, 100, 13, true), request(2, 250, {}, true)}));
  samples.add(frameOf({}, {request(1, 100, 13, true), request(2, 250, {}, true)}));
  QCOMPARE(samples.ttft(), (std::deque<double>{100, 250}));
  QCOMPARE(samples.tpot(), std::deque<double>{13});  // a single token has none
}

void TestLatencyLayout::onlyTheLatestStay() {
  LatencySamples samples(3);
  for (int i = 0; i < 5; ++i) samples.add(frameOf({}, {request(i, i, {}, false)}));
  QCOMPARE(samples.ttft(), (std::deque<double>{2, 3, 4}));
}

void TestLatencyLayout::aResetBeginsAnew() {
  LatencySamples samples;
  samples.add(frameOf({step(0, {1}, 0), step(1, {1}, 10 * kMs)}, {request(1, 10, {}, false)}, 2));
  QVERIFY(!samples.empty());
  samples.add(frameOf({}, {request(1, 10, {}, true)}, 0, {}, 20 * kMs));
  QVERIFY(samples.empty());
  samples.add(frameOf({step(2, {2}, 20 * kMs)}, {request(2, 10, {}, false, 20 * kMs)}, 1, {}, 30 * kMs));
  QCOMPARE(samples.ttft(), std::deque<double>{10});
}

void TestLatencyLayout::aKnobBeginsAnew() {
  LatencySamples samples;
  samples.add(frameOf({step(0, {1}, 0), step(1, {1}, 10 * kMs)}, {request(1, 10, {}, false)}, 2));
  core::EngineOptions options;
  options.prefix_cache = false;
  // What came before the change is of another setting: it counts no more, also when it ends later.
  samples.add(frameOf({}, {request(1, 10, 10, false)}, 2, options, 20 * kMs));
  samples.add(frameOf({}, {request(1, 10, 10, true), request(2, 30, {}, false, 25 * kMs)}, 3, options, 60 * kMs));
  QCOMPARE(samples.ttft(), std::deque<double>{30});
  QVERIFY(samples.tpot().empty());
}

void TestLatencyLayout::staircase_data() {
  QTest::addColumn<QList<double>>("values");
  QTest::addColumn<QList<double>>("steps");
  QTest::addColumn<QList<double>>("shares");
  QTest::newRow("nothing") << QList<double>{} << QList<double>{} << QList<double>{};
  QTest::newRow("one") << QList<double>{7} << QList<double>{0, 7} << QList<double>{0, 1};
  QTest::newRow("some") << QList<double>{30, 10, 20, 10} << QList<double>{0, 10, 10, 20, 30}
                        << QList<double>{0, 0.25, 0.5, 0.75, 1};
}

void TestLatencyLayout::staircase() {
  QFETCH(QList<double>, values);
  const gui::Ecdf ecdf = gui::ecdfOf({values.begin(), values.end()}, 100);
  QTEST(QList<double>(ecdf.values.begin(), ecdf.values.end()), "steps");
  QTEST(QList<double>(ecdf.shares.begin(), ecdf.shares.end()), "shares");
}

void TestLatencyLayout::staircaseIsThinned() {
  std::vector<double> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i + 1);
  const gui::Ecdf ecdf = gui::ecdfOf(values, 11);
  QCOMPARE(ecdf.values, (std::vector<double>{0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000}));
  QCOMPARE(ecdf.shares.back(), 1.0);
  QCOMPARE(gui::shareBelow({1, 2, 3, 4}, 3), 0.75);
  QCOMPARE(gui::shareBelow({}, 3), 0.0);
}

void TestLatencyLayout::chartsFollowTheShape() {
  QVERIFY(gui::chartsSideBySide(QSize(800, 230)));
  QVERIFY(!gui::chartsSideBySide(QSize(420, 420)));
  QVERIFY(!gui::chartsSideBySide(QSize()));
}

void TestLatencyLayout::titlesBreakWhereTheyMust_data() {
  QTest::addColumn<int>("room");
  QTest::addColumn<QString>("expected");
  QTest::newRow("wide") << 20 << "TTFT p50 1 p90 2";
  QTest::newRow("just") << 16 << "TTFT p50 1 p90 2";
  QTest::newRow("narrower") << 15 << "TTFT p50 1\np90 2";
  QTest::newRow("narrow") << 6 << "TTFT\np50 1\np90 2";
  QTest::newRow("too narrow for any") << 1 << "TTFT\np50 1\np90 2";
}

void TestLatencyLayout::titlesBreakWhereTheyMust() {
  QFETCH(int, room);
  const auto letters = [](const QString& words) { return static_cast<int>(words.size()); };
  QTEST(gui::inLines({"TTFT", "p50 1", "p90 2"}, QStringLiteral(" "), room, letters), "expected");
}

QTEST_GUILESS_MAIN(TestLatencyLayout)
#include "tst_latency_layout.moc"
