// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/observe/compared_metrics.h"
#include "core/observe/kv_use.h"
#include "core/observe/logit_divergence.h"
#include "core/observe/statistics.h"

#include <QTest>

#include <cmath>
#include <random>

using namespace inferoscope::core;

namespace {

// Pairs whose values jump about by `noise` (a share), B being `ratio` times A.
std::vector<Pair> noisyPairs(int count, double ratio, double noise, unsigned seed) {
  std::mt19937_64 random(seed);
  const auto jump = [&] { return std::exp(noise * (static_cast<double>(random() % 2001) / 1000.0 - 1)); };
  std::vector<Pair> pairs;
  for (int i = 0; i < count; ++i) pairs.push_back({10 * jump(), 10 * ratio * jump()});
  return pairs;
}

Direction directionOf(const std::vector<Pair>& pairs) {
  return inferoscope::core::directionOf(bootstrapRatio(pairs, 1).value());
}

RequestInfo running(int seq, int num_prompt, int max_new, int num_computed, int num_blocks) {
  RequestInfo request;
  request.seq = SeqId{seq};
  request.state = SeqState::kRunning;
  request.num_prompt_tokens = num_prompt;
  request.max_new_tokens = max_new;
  request.num_computed_tokens = num_computed;
  request.num_blocks = num_blocks;
  return request;
}

// Blocks of 8 slots: as many as are written, and one free.
Snapshot blocksOf8(std::initializer_list<int> num_tokens) {
  Snapshot snapshot;
  snapshot.block_size = 8;
  snapshot.kv_block_bytes = 1 << 20;
  for (const int tokens : num_tokens) snapshot.blocks.push_back({SeqId{0}, tokens, 1, BlockState::kUsed});
  snapshot.blocks.push_back({});
  return snapshot;
}

}  // namespace

class TestStatistics : public QObject {
  Q_OBJECT

 private slots:
  void aRatioOfNothingIsNone() {
    QVERIFY(!bootstrapRatio({}, 1));
    QVERIFY(!bootstrapRatio(std::vector<Pair>{{0, 1}, {1, 0}}, 1));
  }

  void onePairHasNoInterval() {
    const RatioEstimate one = bootstrapRatio(std::vector<Pair>{{2, 3}}, 1).value();
    QCOMPARE(one.ratio, 1.5);
    QCOMPARE(one.num_pairs, 1);
    QVERIFY(!one.ci95);
    QCOMPARE(inferoscope::core::directionOf(one), Direction::kUnclear);
  }

  void equalPairsAreTheSame() { QCOMPARE(directionOf({{4, 4}, {5, 5}, {6, 6}}), Direction::kSame); }

  void theSameSeedGivesTheSameInterval() {
    const std::vector<Pair> pairs = noisyPairs(12, 1.3, 0.2, 7);
    const Interval first = *bootstrapRatio(pairs, 5)->ci95;
    QCOMPARE(bootstrapRatio(pairs, 5)->ci95->low, first.low);
    QVERIFY(bootstrapRatio(pairs, 6)->ci95->low != first.low);
    QVERIFY(first.low < bootstrapRatio(pairs, 5)->ratio && bootstrapRatio(pairs, 5)->ratio < first.high);
  }

  // The ratio of B to A is the inverse of that of A to B.
  void theRatioIsSymmetric() {
    std::vector<Pair> pairs = noisyPairs(9, 1.7, 0.3, 3);
    const double forth = bootstrapRatio(pairs, 1)->ratio;
    for (Pair& pair : pairs) std::swap(pair.a, pair.b);
    QVERIFY(std::abs(forth * bootstrapRatio(pairs, 1)->ratio - 1) < 1e-12);
  }

  void clearDifferencesAreSeen_data() {
    QTest::addColumn<int>("count");
    QTest::addColumn<double>("ratio");
    QTest::addColumn<int>("expected");
    QTest::newRow("5 repeats, 1.8 times") << 5 << 1.8 << int(Direction::kUp);
    QTest::newRow("5 repeats, 0.5 times") << 5 << 0.5 << int(Direction::kDown);
    QTest::newRow("200 steps, 1.1 times") << 200 << 1.1 << int(Direction::kUp);
  }
  void clearDifferencesAreSeen() {
    QFETCH(int, count);
    QFETCH(double, ratio);
    QFETCH(int, expected);
    QCOMPARE(int(directionOf(noisyPairs(count, ratio, 0.1, 11))), expected);
  }

  void twoRepeatsThatDisagreeTellNothing() { QCOMPARE(directionOf({{10, 15}, {10, 22}}), Direction::kUnclear); }

  void noiseIsNoDifference() {
    for (const int count : {3, 5, 40}) {
      int num_clear = 0;
      for (unsigned seed = 0; seed < 100; ++seed) {
        num_clear += directionOf(noisyPairs(count, 1, 0.15, 1000 + seed)) != Direction::kUnclear;
      }
      QVERIFY2(num_clear <= 5, qPrintable(QString("%1 of 100 with %2 pairs").arg(num_clear).arg(count)));
    }
  }

  // Left out of the ratio, the repeats without any would be hidden by those with some.
  void aZeroInSomeRepeatsHasNoRatio() {
    const std::vector<Pair> pairs = {{0, 5}, {0, 5}, {0, 5}, {1, 5}, {1, 5}};
    QVERIFY(!bootstrapRatio(pairs, 1));
    const ComparedMetric& metric = *std::ranges::find(comparedMetrics(), "preemptions", &ComparedMetric::id);
    const Difference difference = differenceOf(metric, pairs, 1);
    QCOMPARE(difference.a.value(), 0.0);
    QCOMPARE(difference.num_pairs, 5);
    QVERIFY(!difference.ratio);
    QCOMPARE(difference.verdict, std::string("in some repeats none: no ratio"));
    const std::vector<Pair> only_b = {{0, 5}, {0, 5}};
    QCOMPARE(differenceOf(metric, only_b, 1).verdict, std::string("only B has any"));
  }

  void equalLogitsHaveNoDivergence() {
    std::vector<float> row;
    for (int i = 0; i < 1000; ++i) row.push_back(std::sin(float(i)) * 9);
    LogitDivergence divergence;
    QVERIFY(!divergence.klMean() && !divergence.klP99() && !divergence.top1Agreement());
    divergence.add(row, row, 1000);
    QCOMPARE(divergence.klMean().value(), 0.0);
    QCOMPARE(divergence.klP99().value(), 0.0);
    QCOMPARE(divergence.top1Agreement().value(), 1.0);
  }

  // Two answers, 3:1 against 1:1: 3/4 ln(3/2) + 1/4 ln(1/2).
  void divergenceOfKnownDistributions() {
    const std::vector<float> a = {std::log(3.0F), 0}, b = {0, 0};
    const double expected = 0.75 * std::log(1.5) + 0.25 * std::log(0.5);
    QVERIFY(std::abs(klDivergence(a, b) - expected) < 1e-7);
    const std::vector<float> shifted = {std::log(3.0F) + 50, 50};
    QVERIFY(std::abs(klDivergence(a, shifted)) < 1e-6);
  }

  // Two rows of nothing would agree on everything.
  void rowsThatAreNoNumbersSayNothing() {
    const std::vector<float> good = {1, 2}, bad = {NAN, NAN};
    QVERIFY(std::isnan(klDivergence(bad, bad)));
    LogitDivergence divergence;
    divergence.add(good, good, 2);
    divergence.add(good, bad, 2);
    QVERIFY(!divergence.klMean() && !divergence.klP99() && !divergence.top1Agreement());
  }

  void idsBeyondTheTokensDoNotCount() {
    LogitDivergence divergence;
    divergence.add(std::vector<float>{1, 2, 90}, std::vector<float>{1, 2, -90}, 2);
    QCOMPARE(divergence.klMean().value(), 0.0);
    QCOMPARE(divergence.top1Agreement().value(), 1.0);
    divergence.add(std::vector<float>{1, 2, 0}, std::vector<float>{2, 1, 0}, 2);
    QCOMPARE(divergence.top1Agreement().value(), 0.5);
  }

  // 3 blocks of 8 hold 19 tokens. Of 30 to come in all, 29 are ever written: the rest of the third block will be.
  void pagedWasteIsTheLastBlock() {
    Snapshot snapshot = blocksOf8({8, 8, 3});
    snapshot.requests = {running(0, 15, 15, 19, 3)};
    KvUse use = kvUse(snapshot);
    QCOMPARE(use.written, 19.0);
    QCOMPARE(use.reserved, 5.0);
    QCOMPARE(use.internal, 0.0);
    QCOMPARE(use.external, 0.0);
    QCOMPARE(use.waste(), 5.0 / 24);
    snapshot.requests = {running(0, 15, 6, 19, 3)};  // 20 in all
    use = kvUse(snapshot);
    QCOMPARE(use.reserved, 1.0);
    QCOMPARE(use.internal, 4.0);
  }

  void theRestOfTheBudgetIsExternal() {
    Snapshot snapshot = blocksOf8({8});  // 2 blocks of 1 MiB
    QCOMPARE(kvUse(snapshot).external, 0.0);
    snapshot.kv_budget_slots = 24;
    QCOMPARE(kvUse(snapshot).external, 8.0);
    QCOMPARE(kvUse(snapshot).externalShare(), 1.0 / 3);
  }

  // Its bound was 40 tokens, and it ended after 10: what looked reserved was never used.
  void theEndSaysWhatWasNeverUsed() {
    Snapshot snapshot;
    snapshot.block_size = 64;
    snapshot.blocks = {{SeqId{0}, 4, 1, BlockState::kUsed}};
    snapshot.requests = {running(0, 4, 37, 4, 1)};
    KvTally tally;
    tally.add(snapshot, 100);
    QCOMPARE(tally.mean().internal, 24.0);
    QCOMPARE(tally.mean().reserved, 36.0);
    snapshot.blocks = {{}};
    snapshot.requests[0].state = SeqState::kFinished;
    snapshot.requests[0].num_output_tokens = 7;
    tally.add(snapshot, 100);
    QCOMPARE(tally.mean().written, 2.0);
    QCOMPARE(tally.mean().internal, 27.0);
    QCOMPARE(tally.mean().reserved, 3.0);
    QCOMPARE(tally.mean().total, 64.0);
  }
};

QTEST_GUILESS_MAIN(TestStatistics)
#include "tst_statistics.moc"
