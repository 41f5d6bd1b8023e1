// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/batch_lanes_layout.h"
#include "tests/support/frames.h"

#include <QTest>

#include <string>
#include <vector>

using namespace inferoscope;
using core::SeqId;
using gui::LaneCell;
using gui::LaneHistory;
using gui::LaneKind;

namespace {

// A step from a picture, a word a request: "a128" prefills 128 tokens, "b" decodes, "c!" decodes and ends, "d?" waits,
// "e-" is preempted and waits.
core::StepRecord stepOf(std::int64_t index, const std::vector<std::string>& words) {
  core::StepRecord step;
  step.step_index = index;
  for (const std::string& word : words) {
    const SeqId seq{word.front() - 'a'};
    const char last = word.back();
    if (last == '-') step.preempted.push_back(seq);
    if (last == '?' || last == '-') {
      step.waiting.push_back({seq, core::WaitReason::kBlocks});
      continue;
    }
    const int tokens = std::isdigit(last) != 0 ? std::stoi(word.substr(1)) : 1;
    step.entries.push_back({.seq = seq,
                            .phase = std::isdigit(last) != 0 ? core::Phase::kPrefill : core::Phase::kDecode,
                            .num_tokens = tokens,
                            .finished = last == '!'});
  }
  return step;
}

// The lanes of a column as a picture: "A" prefill, "a" decode, "=" held, "x" preempted, "." idle.
QString picture(const std::vector<LaneCell>& cells) {
  QString text;
  for (const LaneCell& cell : cells) {
    const QChar name(QLatin1Char(static_cast<char>('a' + cell.seq.value)));
    switch (cell.kind) {
      case LaneKind::kIdle:
        text += QLatin1Char('.');
        break;
      case LaneKind::kPrefill:
      case LaneKind::kSetBack:
        text += name.toUpper();
        break;
      case LaneKind::kDecode:
      case LaneKind::kWaiting:
        text += name;
        break;
      case LaneKind::kHeld:
        text += QLatin1Char('=');
        break;
      case LaneKind::kPreempted:
        text += QLatin1Char('x');
        break;
    }
  }
  return text;
}

// "batch|queue" of each step.
QStringList pictures(const std::vector<std::vector<std::string>>& steps) {
  LaneHistory history;
  gui::Frame frame;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    frame.steps.push_back(std::make_shared<const core::StepRecord>(stepOf(static_cast<std::int64_t>(i), steps[i])));
  }
  history.add(frame);
  QStringList result;
  for (const gui::LaneColumn& column : history.columns()) {
    result << picture(column.batch) + QLatin1Char('|') + picture(column.queue);
  }
  return result;
}

LaneHistory fullHistory() {
  LaneHistory history;
  history.add(tests::fullFrame());
  return history;
}

}  // namespace

class TestBatchLanesLayout : public QObject {
  Q_OBJECT

 private slots:
  void aRequestKeepsItsPlace();
  void aFreePlaceIsTakenAgain();
  void preemptedLeavesAndWaitsSetBack();
  void aSkippedRequestHoldsItsPlace();
  void cancelledLeavesWithoutARecord();
  void lostRecordsAreCounted();
  void aResetStartsAgain();
  void historyIsBounded();
  void latestStepIsAtTheRight();
  void lanesStayInside_data();
  void lanesStayInside();
  void mouseFindsTheCell();
  void countsIdlePlaces();
  void goesBackAndStays();
  void theLiveButtonIsThereInThePast();
  void bothLanesShareTheAxis();
  void bothLanesStayInside_data() { lanesStayInside_data(); }
  void bothLanesStayInside();
  void timeIsFoundAgain();
  void timeIsZoomedAndMoved();
  void ticksAreRound();
};

void TestBatchLanesLayout::aRequestKeepsItsPlace() {
  QCOMPARE(pictures({{"a128"}, {"a", "b64"}, {"b", "a"}}), QStringList({"A|", "aB|", "ab|"}));
}

void TestBatchLanesLayout::aFreePlaceIsTakenAgain() {
  QCOMPARE(pictures({{"a", "b", "c?"}, {"a!", "b", "c?"}, {"b", "c9"}}), QStringList({"ab|c", "ab|c", "Cb|"}));
}

void TestBatchLanesLayout::preemptedLeavesAndWaitsSetBack() {
  QCOMPARE(pictures({{"a", "b"}, {"a", "b-"}, {"a", "c?", "b?"}, {"a", "b7", "c?"}}),
           QStringList({"ab|", "ax|B", "a.|cB", "aB|c"}));
}

void TestBatchLanesLayout::aSkippedRequestHoldsItsPlace() {
  QCOMPARE(pictures({{"a", "b"}, {"b"}, {"b", "c3"}}), QStringList({"ab|", "=b|", "=bC|"}));
}

void TestBatchLanesLayout::cancelledLeavesWithoutARecord() {
  LaneHistory history;
  gui::Frame frame;
  frame.steps = {std::make_shared<const core::StepRecord>(stepOf(0, {"a", "b"}))};
  core::Snapshot snapshot;
  snapshot.step_index = 1;
  snapshot.requests.resize(1);
  snapshot.requests[0].seq = SeqId{1};
  snapshot.requests[0].state = core::SeqState::kRunning;
  frame.snapshot = std::make_shared<const core::Snapshot>(snapshot);
  history.add(frame);
  frame.steps = {std::make_shared<const core::StepRecord>(stepOf(1, {"b", "c8"}))};
  history.add(frame);
  QCOMPARE(picture(history.columns().back().batch), QString("Cb"));
}

void TestBatchLanesLayout::lostRecordsAreCounted() {
  LaneHistory history;
  gui::Frame frame;
  for (const int index : {3, 4, 9}) {
    frame.steps.push_back(std::make_shared<const core::StepRecord>(stepOf(index, {"a"})));
  }
  history.add(frame);
  QCOMPARE(history.columns()[0].num_missed, 0);
  QCOMPARE(history.columns()[1].num_missed, 0);
  QCOMPARE(history.columns()[2].num_missed, 4);
}

void TestBatchLanesLayout::aResetStartsAgain() {
  LaneHistory history = fullHistory();
  QVERIFY(history.columns().size() > 100);
  history.add(tests::smallFrame());
  QCOMPARE(history.columns().size(), std::size_t{3});
}

void TestBatchLanesLayout::historyIsBounded() {
  LaneHistory history(50);
  history.add(tests::fullFrame());
  QCOMPARE(history.columns().size(), std::size_t{50});
  QCOMPARE(history.columns().back().step_index, tests::fullFrame().steps.back()->step_index);
}

void TestBatchLanesLayout::latestStepIsAtTheRight() {
  const LaneHistory history = fullHistory();
  const gui::LanesLayout layout = gui::layoutLanes(QSize(600, 400), 14, history.columns(), 10);
  const std::size_t last = history.columns().size() - 1;
  QCOMPARE(layout.columnX(last) + layout.column_width, layout.batch.right() + 1);
  QVERIFY(layout.first_column > 0);
  QVERIFY(layout.columnX(layout.first_column) >= layout.batch.left());
  QVERIFY(layout.columnX(layout.first_column) < layout.batch.left() + layout.column_width);
}

void TestBatchLanesLayout::lanesStayInside_data() {
  QTest::addColumn<QSize>("size");
  for (const QSize& size : {QSize(900, 600), QSize(640, 320), QSize(300, 180), QSize(120, 110)}) {
    QTest::addRow("%d x %d", size.width(), size.height()) << size;
  }
}

void TestBatchLanesLayout::lanesStayInside() {
  QFETCH(QSize, size);
  const gui::LanesLayout layout = gui::layoutLanes(size, 14, fullHistory().columns(), 10);
  for (int lane = 0; lane < layout.batch_lanes; ++lane) QVERIFY(layout.batch.contains(layout.batchLane(lane)));
  for (int lane = 0; lane < layout.queue_lanes; ++lane) QVERIFY(layout.queue.contains(layout.queueLane(lane)));
  QVERIFY(layout.batch.bottom() < layout.queue.top() || layout.queue_lanes == 0);
  QVERIFY(layout.queue_lanes == 0 || layout.queue.bottom() < layout.axis.top());
  QVERIFY(layout.axis.bottom() < layout.legend.top());
}

void TestBatchLanesLayout::mouseFindsTheCell() {
  const LaneHistory history = fullHistory();
  const auto& columns = history.columns();
  const gui::LanesLayout layout = gui::layoutLanes(QSize(600, 400), 14, columns, 10);
  const std::size_t column = columns.size() - 7;
  for (int lane = 0; lane < static_cast<int>(columns[column].batch.size()); ++lane) {
    const QPoint point(layout.columnX(column) + 5, layout.batchLane(lane).center().y());
    const auto hit = gui::hitLane(layout, columns, point);
    QVERIFY(hit.has_value());
    QCOMPARE(hit->column, column);
    QCOMPARE(hit->cell, &columns[column].batch[static_cast<std::size_t>(lane)]);
  }
  QVERIFY(!gui::hitLane(layout, columns, QPoint(2, 100)).has_value());
  QVERIFY(!gui::hitLane(layout, {}, QPoint(300, 100)).has_value());
}

void TestBatchLanesLayout::countsIdlePlaces() {
  std::deque<gui::LaneColumn> columns(3);
  for (gui::LaneColumn& column : columns) column.num_places = 8;
  columns[0].num_ran = 1;
  columns[1].num_ran = 5;
  columns[2].num_ran = 8;
  const gui::LaneUse use = gui::laneUse(columns, 1, columns.size());
  QCOMPARE(use.ran, 13);
  QCOMPARE(use.places, 16);
}

void TestBatchLanesLayout::goesBackAndStays() {
  std::deque<gui::LaneColumn> columns(100);
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i].step_index = static_cast<std::int64_t>(i);
  gui::LaneWindow window;
  const auto lastSeen = [&] {
    const auto layout = gui::layoutLanes(QSize(600, 400), 14, columns, 20, window, 50);
    return columns[layout.num_columns - 1].step_index;
  };
  const int num_seen = gui::layoutLanes(QSize(600, 400), 14, columns, 20).numSeen();
  QVERIFY(window.live());
  QCOMPARE(lastSeen(), 99);
  window.goBack(columns, 10, num_seen);
  QVERIFY(!window.live());
  QCOMPARE(lastSeen(), 89);
  for (int i = 100; i < 105; ++i) columns.emplace_back().step_index = i;
  QCOMPARE(lastSeen(), 89);  // new steps don't move it
  columns.erase(columns.begin(), columns.begin() + 20);
  QCOMPARE(lastSeen(), 89);
  window.goBack(columns, -4, num_seen);
  QCOMPARE(lastSeen(), 93);
  window.goBack(columns, 1000, num_seen);
  QCOMPARE(lastSeen(), 20 + num_seen - 1);  // the oldest known ones
  columns.erase(columns.begin(), columns.begin() + 40);
  QCOMPARE(lastSeen(), 60 + num_seen - 1);  // forgotten meanwhile
  window.goBack(columns, -1000, num_seen);
  QVERIFY(window.live());
  QCOMPARE(lastSeen(), 104);
}

void TestBatchLanesLayout::theLiveButtonIsThereInThePast() {
  const LaneHistory history = fullHistory();
  const auto& columns = history.columns();
  gui::LaneWindow window;
  QVERIFY(gui::layoutLanes(QSize(600, 400), 14, columns, 10, window, 50).live.isEmpty());
  window.goBack(columns, 3, 40);
  const gui::LanesLayout layout = gui::layoutLanes(QSize(600, 400), 14, columns, 10, window, 50);
  QCOMPARE(layout.live.width(), 50);
  QVERIFY(!layout.live.intersects(layout.summary) && !layout.live.intersects(layout.ran));
}

// A step is as wide as it took long, and stands where its clock stood: equal in both lanes.
void TestBatchLanesLayout::bothLanesShareTheAxis() {
  const auto lane = [](std::int64_t step_ns, int num_steps) {
    std::deque<gui::LaneColumn> columns(static_cast<std::size_t>(num_steps));
    for (std::size_t i = 0; i < columns.size(); ++i) {
      columns[i].step_index = columns[i].start_ns = static_cast<std::int64_t>(i);
      columns[i].start_ns *= step_ns;
      columns[i].duration_ns = step_ns;
      columns[i].num_places = columns[i].num_ran = 1;
      columns[i].batch = {{.seq = SeqId{1}, .kind = LaneKind::kDecode}};
    }
    return columns;
  };
  const auto slow = lane(40'000'000, 10);  // both at 0.4 s now
  const auto fast = lane(10'000'000, 40);
  const gui::TwoLanesLayout layout = gui::layoutTwoLanes(QSize(700, 400), 14, slow, fast);
  QCOMPARE(layout.seen, (gui::TimeSpan{0, 400'000'000}));
  const auto& [a, b] = layout.lanes;
  QCOMPARE(a.ran.left(), b.ran.left());
  QCOMPARE(a.ran.width(), b.ran.width());
  QCOMPARE(a.columns.size(), std::size_t{10});
  QCOMPARE(b.columns.size(), std::size_t{40});
  for (std::size_t i = 0; i < a.columns.size(); ++i) {
    QCOMPARE(a.columns[i].left, b.columns[4 * i].left);
    QCOMPARE(a.columns[i].end(), b.columns[4 * i + 3].end());
  }
  QCOMPARE(a.columns.front().left, a.ran.left());
  QCOMPARE(a.columns.back().end(), layout.seen.xOf(400'000'000, layout.axis));
}

void TestBatchLanesLayout::bothLanesStayInside() {
  QFETCH(QSize, size);
  const gui::Frame two = tests::comparedFrame();
  LaneHistory a, b;
  a.add(two);
  b.add(*two.b);
  const gui::TwoLanesLayout layout = gui::layoutTwoLanes(size, 14, a.columns(), b.columns());
  int above = 0;
  for (const gui::LanesLayout& lane : layout.lanes) {
    QVERIFY(lane.summary.top() >= above);
    above = lane.summary.bottom();
    for (int i = 0; i < lane.batch_lanes; ++i) QVERIFY(lane.batch.contains(lane.batchLane(i)));
    for (const gui::LanesLayout::Column& column : lane.columns) {
      QVERIFY(column.width > 0 && column.left >= lane.ran.left() && column.end() <= lane.ran.right() + 2);
    }
    if (size.height() >= 300) QVERIFY(lane.batch_lanes > 0 && lane.batch.bottom() < layout.axis.top());
  }
  QVERIFY(layout.axis.bottom() < layout.legend.top());
}

void TestBatchLanesLayout::timeIsFoundAgain() {
  const gui::Frame two = tests::comparedFrame();
  LaneHistory a, b;
  a.add(two);
  b.add(*two.b);
  const gui::TwoLanesLayout layout = gui::layoutTwoLanes(QSize(900, 500), 14, a.columns(), b.columns());
  const gui::LanesLayout& lane = layout.lanes[1];
  int num_found = 0;
  for (std::size_t i = lane.first_column; i < lane.num_columns; ++i) {
    if (lane.column(i).width < 3) continue;
    const auto hit = gui::hitLane(lane, b.columns(), QPoint(lane.columnX(i) + 1, lane.batch.center().y()));
    QVERIFY(hit.has_value());
    QCOMPARE(hit->column, i);
    ++num_found;
  }
  QVERIFY(num_found > 3);
  QVERIFY(!gui::hitLane(layout.lanes[0], a.columns(), lane.batch.center()).has_value());  // the other's lanes
}

void TestBatchLanesLayout::timeIsZoomedAndMoved() {
  const gui::TimeSpan all = gui::roundSpan(3'000'000, 1'900'000'000);
  QCOMPARE(all, (gui::TimeSpan{3'000'000, 2'003'000'000}));
  gui::TimeWindow window;
  QCOMPARE(window.seen(all), all);
  window.move(all, -5);  // there is nothing else to see
  QVERIFY(window.fits());
  window.zoom(all, 0.5, all.from_ns);
  QCOMPARE(window.seen(all), (gui::TimeSpan{3'000'000, 1'003'000'000}));
  window.move(all, 600'000'000);
  QCOMPARE(window.seen(all), (gui::TimeSpan{603'000'000, 1'603'000'000}));
  window.move(all, 9'000'000'000);  // to the end, not past it
  QCOMPARE(window.seen(all).to_ns, all.to_ns);
  window.zoom(all, 1.9, all.to_ns);
  QCOMPARE(window.seen(all).to_ns, all.to_ns);
  window.zoom(all, 1.9, all.to_ns);
  QVERIFY(window.fits());
}

void TestBatchLanesLayout::ticksAreRound() {
  const QRect across(50, 0, 600, 14);
  const auto ticks = gui::timeTicks({0, 5'000'000'000}, across, 80);
  QCOMPARE(ticks.front().text, QString("0 s"));
  QCOMPARE(ticks[1].text, QString("1 s"));
  QCOMPARE(ticks[1].x, 170);
  const auto near_ticks = gui::timeTicks({1'230'000'000, 1'250'000'000}, across, 80);
  QCOMPARE(near_ticks.front().text, QString("1.230 s"));
  QCOMPARE(near_ticks[1].text, QString("1.235 s"));
  for (std::size_t i = 1; i < near_ticks.size(); ++i) QVERIFY(near_ticks[i].x - near_ticks[i - 1].x >= 80);
}

QTEST_GUILESS_MAIN(TestBatchLanesLayout)
#include "tst_batch_lanes_layout.moc"
