// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/waiting_layout.h"

#include <QTest>

#include <memory>

using namespace inferoscope;
using core::SeqId;
using core::SeqState;
using core::WaitEntry;
using core::WaitReason;
using gui::RequestStories;
using gui::Stage;
using gui::StageSpan;

namespace {

constexpr std::int64_t kMs = 1'000'000;

core::RequestInfo requestOf(int seq, SeqState state) {
  core::RequestInfo request;
  request.seq = SeqId{seq};
  request.state = state;
  return request;
}

struct Happened {
  std::vector<WaitEntry> waiting = {};
  std::vector<core::StepEntry> entries = {};
};

// Steps of 10 ms from `first` on; all their requests are listed.
gui::Frame frameOf(const std::vector<Happened>& steps, std::int64_t first = 0) {
  gui::Frame frame;
  auto snapshot = std::make_shared<core::Snapshot>();
  for (int seq = 0; seq < 4; ++seq) snapshot->requests.push_back(requestOf(seq, SeqState::kRunning));
  for (const Happened& happened : steps) {
    auto record = std::make_shared<core::StepRecord>();
    record->step_index = first++;
    record->start_ns = record->step_index * 10 * kMs;
    record->duration_ns = 10 * kMs;
    record->waiting = happened.waiting;
    record->entries = happened.entries;
    frame.steps.push_back(record);
  }
  frame.snapshot = snapshot;
  return frame;
}

WaitEntry waits(int seq, WaitReason reason, int needed = 0, int available = 0) {
  return {SeqId{seq}, reason, needed, available};
}

core::StepEntry computes(int seq, core::Phase phase, int num_tokens) {
  return {.seq = SeqId{seq}, .phase = phase, .num_tokens = num_tokens};
}

// "wait 0-1, prefill 2-2": stages with their first and last step.
QString draw(std::span<const StageSpan> story) {
  QStringList parts;
  for (const StageSpan& span : story) {
    const QString name = span.stage == Stage::kWaiting   ? QStringLiteral("wait")
                         : span.stage == Stage::kPrefill ? QStringLiteral("prefill")
                         : span.stage == Stage::kDecode  ? QStringLiteral("decode")
                                                         : QStringLiteral("held");
    parts << QStringLiteral("%1 %2-%3").arg(name).arg(span.first_step).arg(span.last_step);
  }
  return parts.join(QStringLiteral(", "));
}

}  // namespace

class TestWaitingLayout : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates)); }
  void storyOfARequest();
  void theLatestNumbersCount();
  void aPreemptedRequestWaitsAgain();
  void whoRunsButIsNotComputedIsHeld();
  void unlistedRequestsAreForgotten();
  void aResetForgets();
  void sentencesHaveTheNumbers_data();
  void sentencesHaveTheNumbers();
  void totalsByReason();
  void theHeadOfTheLineIsShown();
  void partsStayApart_data();
  void partsStayApart();
  void olderRowsAreCounted();
};

void TestWaitingLayout::storyOfARequest() {
  RequestStories stories;
  stories.add(frameOf({{.waiting = {waits(1, WaitReason::kHeadOfLine, 1)}},
                       {.waiting = {waits(1, WaitReason::kBlocks, 14, 3)}},
                       {.waiting = {waits(1, WaitReason::kBlocks, 14, 5)}},
                       {.entries = {computes(1, core::Phase::kPrefill, 100)}}}));
  stories.add(frameOf(
      {{.entries = {computes(1, core::Phase::kPrefill, 20)}}, {.entries = {computes(1, core::Phase::kDecode, 1)}}}, 4));
  QCOMPARE(draw(stories.of(SeqId{1})), QStringLiteral("wait 0-0, wait 1-2, prefill 3-4, decode 5-5"));
  QCOMPARE(stories.of(SeqId{1})[2].num_tokens, 120);
  QCOMPARE(stories.of(SeqId{1})[1].busy_ns, 20 * kMs);
  QCOMPARE(stories.of(SeqId{1})[1].from_ns, 10 * kMs);
  QCOMPARE(stories.of(SeqId{1})[1].to_ns, 30 * kMs);
  QVERIFY(stories.of(SeqId{2}).empty());
}

void TestWaitingLayout::theLatestNumbersCount() {
  RequestStories stories;
  stories.add(frameOf(
      {{.waiting = {waits(1, WaitReason::kBlocks, 14, 3)}}, {.waiting = {waits(1, WaitReason::kBlocks, 14, 5)}}}));
  QCOMPARE(stories.of(SeqId{1}).back().wait.available, 5);
}

void TestWaitingLayout::aPreemptedRequestWaitsAgain() {
  RequestStories stories;
  stories.add(frameOf({{.entries = {computes(1, core::Phase::kDecode, 1)}},
                       {.waiting = {waits(1, WaitReason::kAfterPreemption, 1)}},
                       {.entries = {computes(1, core::Phase::kPrefill, 30)}}}));
  QCOMPARE(draw(stories.of(SeqId{1})), QStringLiteral("decode 0-0, wait 1-1, prefill 2-2"));
}

void TestWaitingLayout::whoRunsButIsNotComputedIsHeld() {
  RequestStories stories;
  stories.add(frameOf({{.entries = {computes(1, core::Phase::kDecode, 1)}},
                       {.entries = {computes(2, core::Phase::kPrefill, 9)}},
                       {.entries = {computes(1, core::Phase::kDecode, 1)}}}));
  QCOMPARE(draw(stories.of(SeqId{1})), QStringLiteral("decode 0-0, held 1-1, decode 2-2"));
}

void TestWaitingLayout::unlistedRequestsAreForgotten() {
  RequestStories stories;
  stories.add(frameOf({{.waiting = {waits(1, WaitReason::kBlocks)}}}));
  gui::Frame frame = frameOf({});
  frame.snapshot = std::make_shared<const core::Snapshot>();
  stories.add(frame);
  QVERIFY(stories.of(SeqId{1}).empty());
}

void TestWaitingLayout::aResetForgets() {
  RequestStories stories;
  stories.add(frameOf({{.waiting = {waits(1, WaitReason::kBlocks)}}}, 7));
  stories.add(frameOf({{.waiting = {waits(1, WaitReason::kBlocks)}}}, 0));
  QCOMPARE(draw(stories.of(SeqId{1})), QStringLiteral("wait 0-0"));
}

void TestWaitingLayout::sentencesHaveTheNumbers_data() {
  QTest::addColumn<int>("reason");
  QTest::addColumn<QString>("part");
  QTest::newRow("tokens") << int(WaitReason::kStepTokens) << QStringLiteral("needs 1,400 at least, 30 were left");
  QTest::newRow("blocks") << int(WaitReason::kBlocks) << QStringLiteral("needs 1,400, 30 are free");
  QTest::newRow("sequences") << int(WaitReason::kMaxSequences) << QStringLiteral("number 1,400, at most 30");
  QTest::newRow("line") << int(WaitReason::kHeadOfLine) << QStringLiteral("1,400 requests");
  QTest::newRow("preemption") << int(WaitReason::kAfterPreemption) << QStringLiteral("1,400 preempted");
  QTest::newRow("static") << int(WaitReason::kStaticBatch) << QStringLiteral("1,400 of the batch");
}

void TestWaitingLayout::sentencesHaveTheNumbers() {
  QFETCH(int, reason);
  QFETCH(QString, part);
  const QString sentence = gui::waitSentence(waits(1, static_cast<WaitReason>(reason), 1400, 30));
  QVERIFY2(sentence.contains(part), qPrintable(sentence));
  QVERIFY(gui::waitSentence(waits(1, WaitReason::kNone)).isEmpty());
}

void TestWaitingLayout::totalsByReason() {
  RequestStories stories;
  stories.add(frameOf({{.waiting = {waits(1, WaitReason::kHeadOfLine, 1)}},
                       {.waiting = {waits(1, WaitReason::kBlocks, 14, 3)}},
                       {.waiting = {waits(1, WaitReason::kBlocks, 14, 5)}},
                       {.entries = {computes(1, core::Phase::kPrefill, 100)}}}));
  QCOMPARE(gui::waitTotals(stories.of(SeqId{1})),
           QStringLiteral("Waited 30.0 ms in all: 20.0 ms no block left, 10.0 ms behind another request"));
  QCOMPARE(gui::waitTotals(stories.of(SeqId{1}).last(1)), QStringLiteral("It never waited in a step."));
}

void TestWaitingLayout::theHeadOfTheLineIsShown() {
  core::Snapshot snapshot;
  const auto add = [&snapshot](int seq, SeqState state) { snapshot.requests.push_back(requestOf(seq, state)); };
  add(1, SeqState::kRunning);
  add(2, SeqState::kRunning);
  QCOMPARE(gui::whoWaits(snapshot, {}, {}), SeqId{2});  // nobody waits: the newest that runs
  add(5, SeqState::kPreempted);
  add(3, SeqState::kWaiting);
  QCOMPARE(gui::whoWaits(snapshot, {}, {}), SeqId{5});
  QCOMPARE(gui::whoWaits(snapshot, {}, SeqId{3}), SeqId{3});  // stays as long as it waits
  QCOMPARE(gui::whoWaits(snapshot, SeqId{1}, SeqId{3}), SeqId{1});
}

void TestWaitingLayout::partsStayApart_data() {
  QTest::addColumn<QSize>("size");
  QTest::newRow("wide") << QSize(600, 400);
  QTest::newRow("narrow") << QSize(200, 240);
}

void TestWaitingLayout::partsStayApart() {
  QFETCH(QSize, size);
  RequestStories stories;
  stories.add(frameOf({{.waiting = {waits(1, WaitReason::kBlocks, 14, 3)}},
                       {.entries = {computes(1, core::Phase::kPrefill, 100)}},
                       {.entries = {computes(1, core::Phase::kDecode, 1)}}}));
  const auto story = stories.of(SeqId{1});
  const gui::WaitingLayout layout = gui::layoutWaiting(size, 14, 30, 22, story);
  std::vector<QRect> parts = {layout.header, layout.sentence, layout.gauge, layout.totals, layout.strip, layout.axis};
  parts.insert(parts.end(), layout.rows.begin(), layout.rows.end());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    QVERIFY(parts[i].isValid() && QRect(QPoint(), size).contains(parts[i]));
    for (std::size_t k = 0; k < i; ++k) QVERIFY(!parts[i].intersects(parts[k]));
  }
  QCOMPARE(layout.rows.size(), story.size());
  QCOMPARE(layout.spans.size(), story.size());
  for (const QRect& span : layout.spans) QVERIFY(layout.strip.contains(span));
  QCOMPARE(layout.spans[0].left(), layout.strip.left());
  QVERIFY(std::abs(layout.spans[1].width() - layout.strip.width() / 3) <= 1);  // a third of the time
}

void TestWaitingLayout::olderRowsAreCounted() {
  std::vector<StageSpan> story;
  for (int i = 0; i < 100; ++i)
    story.push_back({.wait = {}, .first_step = i, .last_step = i, .from_ns = i, .to_ns = i + 1});
  const gui::WaitingLayout layout = gui::layoutWaiting(QSize(300, 240), 14, 14, 0, story);
  QVERIFY(layout.rows.size() > 3 && layout.rows.size() < 20);
  QCOMPARE(static_cast<std::size_t>(layout.num_hidden), 100 - layout.rows.size());
  QVERIFY(QRect(0, 0, 300, 240).contains(layout.more));
  QVERIFY(gui::layoutWaiting(QSize(20, 20), 14, 14, 0, story).rows.empty());
}

QTEST_GUILESS_MAIN(TestWaitingLayout)
#include "tst_waiting_layout.moc"
