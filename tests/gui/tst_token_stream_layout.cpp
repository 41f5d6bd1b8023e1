// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/followed.h"
#include "gui/views/token_stream_layout.h"

#include <QTest>

#include <vector>

using namespace inferoscope;
using core::SeqId;
using core::SeqState;
using gui::TextStore;

namespace {

core::TextDelta delta(int seq, const char* text, bool finished = false) {
  return {SeqId{seq}, text, 1, finished};
}

// Tokens with the text that each gave, as one answer.
gui::StreamedText answerOf(const std::vector<std::pair<core::TokenId, const char*>>& tokens) {
  TextStore store;
  for (const auto& [id, text] : tokens) {
    store.add(std::vector<core::TextDelta>{{SeqId{1}, text, 1, false, {id}}});
  }
  return *store.find(SeqId{1});
}

core::Snapshot snapshotOf(const std::vector<std::pair<int, SeqState>>& requests) {
  core::Snapshot snapshot;
  for (const auto& [seq, state] : requests) {
    core::RequestInfo info;
    info.seq = SeqId{seq};
    info.state = state;
    snapshot.requests.push_back(info);
  }
  return snapshot;
}

}  // namespace

class TestTokenStreamLayout : public QObject {
  Q_OBJECT

 private slots:
  void textsAreKeptApart();
  void lengthIsBounded();
  void numberIsBounded();
  void aRunningTextIsForgottenLast();
  void followsTheChosenFirst();
  void followsOneUntilItEnds();
  void answersPartAtAToken();
};

void TestTokenStreamLayout::textsAreKeptApart() {
  TextStore store;
  const std::vector<core::TextDelta> deltas = {delta(1, "Hal"), delta(2, "Sel"), delta(1, "lo"),
                                               delta(2, "amat", true)};
  store.add(deltas);
  QCOMPARE(store.find(SeqId{1})->text, QString("Hallo"));
  QCOMPARE(store.find(SeqId{2})->text, QString("Selamat"));
  QVERIFY(store.find(SeqId{2})->finished && !store.find(SeqId{1})->finished);
  QVERIFY(store.find(SeqId{3}) == nullptr);
}

void TestTokenStreamLayout::lengthIsBounded() {
  TextStore store(10, 100);
  QString all;
  for (int i = 0; i < 1000; ++i) {
    const std::string word = std::to_string(i) + " ";
    store.add(std::vector<core::TextDelta>{delta(1, word.c_str())});
    all += QString::fromStdString(word);
    const gui::StreamedText& stream = *store.find(SeqId{1});
    QVERIFY(stream.text.size() <= 100);
    QCOMPARE(stream.end(), all.size());
    QVERIFY(all.endsWith(stream.text));
  }
}

void TestTokenStreamLayout::numberIsBounded() {
  TextStore store(3);
  for (int seq = 0; seq < 10; ++seq) store.add(std::vector<core::TextDelta>{delta(seq, "x", true)});
  QCOMPARE(store.size(), std::size_t{3});
  QVERIFY(store.find(SeqId{9}) != nullptr && store.find(SeqId{6}) == nullptr);
}

void TestTokenStreamLayout::aRunningTextIsForgottenLast() {
  TextStore store(2);
  store.add(std::vector<core::TextDelta>{delta(1, "runs"), delta(2, "done", true), delta(3, "new")});
  QVERIFY(store.find(SeqId{1}) != nullptr && store.find(SeqId{2}) == nullptr && store.find(SeqId{3}) != nullptr);
}

void TestTokenStreamLayout::followsTheChosenFirst() {
  const core::Snapshot snapshot = snapshotOf({{1, SeqState::kRunning}, {2, SeqState::kFinished}});
  QCOMPARE(gui::followed(snapshot, SeqId{2}, SeqId{1}), SeqId{2});
}

void TestTokenStreamLayout::followsOneUntilItEnds() {
  QVERIFY(!gui::followed(snapshotOf({{1, SeqState::kWaiting}}), {}, {}).valid());
  QCOMPARE(gui::followed(snapshotOf({{1, SeqState::kRunning}, {4, SeqState::kRunning}}), {}, {}), SeqId{4});
  QCOMPARE(gui::followed(snapshotOf({{9, SeqState::kRunning}, {4, SeqState::kPreempted}}), {}, SeqId{4}), SeqId{4});
  QCOMPARE(gui::followed(snapshotOf({{9, SeqState::kRunning}, {4, SeqState::kFinished}}), {}, SeqId{4}), SeqId{9});
  QCOMPARE(gui::followed(snapshotOf({{4, SeqState::kFinished}}), {}, SeqId{4}), SeqId{4});  // the last stays to be read
}

// By tokens, not by text: two tokens may say the same, and one may say its text only with the next.
void TestTokenStreamLayout::answersPartAtAToken() {
  const gui::StreamedText a = answerOf({{7, "The"}, {8, ""}, {9, " caf\xc3\xa9"}, {1, "."}});
  QCOMPARE(a.tokens[1].end, 3);
  QCOMPARE(a.tokens[2].end, 8);
  QCOMPARE(gui::partAfter(a, answerOf({{7, "The"}, {8, ""}, {4, " bar"}})), std::optional<std::size_t>(2));
  QCOMPARE(gui::partAfter(a, answerOf({{6, "The"}})), std::optional<std::size_t>(0));
  QCOMPARE(gui::partAfter(a, answerOf({{7, "The"}, {8, ""}})), std::nullopt);  // as far as both have come
  QCOMPARE(gui::partAfter(a, a), std::nullopt);
}

QTEST_GUILESS_MAIN(TestTokenStreamLayout)
#include "tst_token_stream_layout.moc"
