// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/utilisation_layout.h"

#include <QTest>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace inferoscope;
using gui::RateSeries;
using gui::WorkHistory;

namespace {

constexpr std::int64_t kMs = 1'000'000;

core::StepRecord stepOf(std::int64_t index, std::int64_t start_ms, std::int64_t length_ms) {
  core::StepRecord step;
  step.step_index = index;
  step.start_ns = start_ms * kMs;
  step.duration_ns = length_ms * kMs;
  step.num_decode_tokens = 8;
  step.cost.weights = 100'000'000;
  step.cost.flops = 2'000'000'000;
  step.num_blocks = 100;
  step.num_blocks_used = 25;
  return step;
}

// `count` steps one after the other.
WorkHistory historyOf(int count, std::int64_t length_ms) {
  WorkHistory history;
  for (int i = 0; i < count; ++i) history.add(stepOf(i, i * length_ms, length_ms));
  return history;
}

double total(const WorkHistory& history) {
  return std::accumulate(history.bins().begin(), history.bins().end(), 0.0,
                         [](double sum, const gui::WorkSum& bin) { return sum + bin.decode_tokens; });
}

}  // namespace

class TestUtilisationLayout : public QObject {
  Q_OBJECT

 private slots:
  void steadyWorkGivesASteadyRate();
  void nothingIsLostAtTheEdgesOfBins();
  void aLongStepIsSpreadOverItsTime();
  void idleTimeLowersTheRate();
  void lostRecordsAreUnknownNotZero();
  void theGpusShareIsOfTheTimeThatIsKnown();
  void memoryIsBounded();
  void aJumpOfTheClockIsBounded();
  void aResetStartsAgain();
  void pointsAreFewerThanAskedFor();
  void windowsStayWhereTheyAre();
  void sharesNeedACeiling();
  void integerWorkHasItsOwnCeiling();
};

void TestUtilisationLayout::steadyWorkGivesASteadyRate() {
  const RateSeries rates = gui::ratesOf(historyOf(100, 20), 0, 30, 1000);  // 2 s: 8 windows of 250 ms
  QCOMPARE(rates.seconds.size(), std::size_t{8});
  for (std::size_t i = 0; i < rates.seconds.size(); ++i) {
    QVERIFY(std::abs(rates.decode_per_s[i] - 400) < 1e-6);
    QVERIFY(std::abs(rates.bytes_per_s[i] - 5e9) < 1);
    QVERIFY(std::abs(rates.flop_per_s[i] - 1e11) < 1);
    QCOMPARE(rates.kv_share[i], 0.25);
    QCOMPARE(rates.prefill_phase[i], 0.0);
  }
  QCOMPARE(rates.seconds.front(), 0.125);
}

void TestUtilisationLayout::nothingIsLostAtTheEdgesOfBins() {
  QVERIFY(std::abs(total(historyOf(1000, 7)) - 8000) < 1e-6);
}

void TestUtilisationLayout::aLongStepIsSpreadOverItsTime() {
  WorkHistory history;
  history.add(stepOf(0, 0, 1000));
  QCOMPARE(history.bins().size(), std::size_t{4});
  for (const gui::WorkSum& bin : history.bins()) QCOMPARE(bin.decode_tokens, 2.0);
}

void TestUtilisationLayout::idleTimeLowersTheRate() {
  WorkHistory history;
  history.add(stepOf(0, 0, 250));
  history.add(stepOf(1, 750, 250));
  const RateSeries rates = gui::ratesOf(history, 0, 30, 1000);
  QCOMPARE(rates.decode_per_s, (std::vector<double>{32, 0, 0, 32}));
  QCOMPARE(rates.kv_share, (std::vector<double>{0.25, 0.25, 0.25, 0.25}));
}

void TestUtilisationLayout::lostRecordsAreUnknownNotZero() {
  WorkHistory history;
  history.add(stepOf(0, 0, 250));
  history.add(stepOf(5, 750, 250));
  const RateSeries rates = gui::ratesOf(history, 0, 30, 1000);
  QCOMPARE(rates.decode_per_s[0], 32.0);
  QVERIFY(std::isnan(rates.decode_per_s[1]) && std::isnan(rates.bytes_per_s[2]));
  QCOMPARE(rates.decode_per_s[3], 32.0);
}

void TestUtilisationLayout::theGpusShareIsOfTheTimeThatIsKnown() {
  WorkHistory history;
  const std::optional<double> told[] = {0.5, 0.9, std::nullopt, std::nullopt};
  const int lengths_ms[] = {50, 150, 50, 250};
  std::int64_t start_ms = 0;
  for (int i = 0; i < 4; ++i) {
    core::StepRecord step = stepOf(i, start_ms, lengths_ms[i]);
    step.gpu_busy = told[i];
    history.add(step);
    start_ms += lengths_ms[i];
  }
  const RateSeries rates = gui::ratesOf(history, 0, 30, 1000);
  QCOMPARE(rates.gpu_share[0], 0.8);
  QVERIFY(std::isnan(rates.gpu_share[1]));
}

void TestUtilisationLayout::memoryIsBounded() {
  WorkHistory history(100);
  for (int i = 0; i < 100'000; ++i) history.add(stepOf(i, i * 5, 5));
  QCOMPARE(history.bins().size(), std::size_t{100});
  QCOMPARE(history.endNs(), 500'000 * kMs);
  QCOMPARE(history.firstBin(), 1900);
}

void TestUtilisationLayout::aJumpOfTheClockIsBounded() {
  WorkHistory history(100);
  history.add(stepOf(0, 0, 10));
  history.add(stepOf(1, 1'000'000'000, 10));  // days later
  QVERIFY(history.bins().size() <= 100);
  QVERIFY(std::abs(history.bins().back().decode_tokens - 8) < 1e-9);
}

void TestUtilisationLayout::aResetStartsAgain() {
  WorkHistory history = historyOf(100, 20);
  history.add(stepOf(0, 0, 20));
  QCOMPARE(history.bins().size(), std::size_t{1});
  QCOMPARE(total(history), 8.0);
}

void TestUtilisationLayout::pointsAreFewerThanAskedFor() {
  const WorkHistory history = historyOf(2000, 50);  // 100 s: 400 bins
  for (const int max_points : {1, 7, 100, 5000}) {
    const RateSeries rates = gui::ratesOf(history, 0, 100, max_points);
    QVERIFY(!rates.seconds.empty() && static_cast<int>(rates.seconds.size()) <= max_points);
    QVERIFY(std::ranges::is_sorted(rates.seconds));
  }
}

void TestUtilisationLayout::windowsStayWhereTheyAre() {
  WorkHistory history = historyOf(2000, 50);
  const RateSeries before = gui::ratesOf(history, 40, 100, 50);
  for (int i = 2000; i < 2010; ++i) history.add(stepOf(i, i * 50, 50));
  const RateSeries after = gui::ratesOf(history, 40.5, 100.5, 50);
  for (std::size_t i = 5; i + 5 < before.seconds.size(); ++i) {
    QVERIFY(std::ranges::find(after.seconds, before.seconds[i]) != after.seconds.end());
  }
}

void TestUtilisationLayout::sharesNeedACeiling() {
  core::MachineLimits limits;
  QVERIFY(std::isnan(gui::bandwidthShare(1e9, limits)));
  QVERIFY(std::isnan(gui::computeShare(1e9, 0, limits)));
  limits.read_bytes_per_s = 20e9;
  limits.fp32_flop_per_s = 100e9;
  QCOMPARE(gui::bandwidthShare(5e9, limits), 0.25);
  QCOMPARE(gui::computeShare(10e9, 0, limits), 0.1);
}

void TestUtilisationLayout::integerWorkHasItsOwnCeiling() {
  core::MachineLimits limits;
  limits.read_bytes_per_s = 20e9;
  limits.fp32_flop_per_s = 100e9;
  limits.int8_op_per_s = 400e9;
  QCOMPARE(gui::computeShare(100e9, 80e9, limits), 0.2 + 0.2);
}

QTEST_GUILESS_MAIN(TestUtilisationLayout)
#include "tst_utilisation_layout.moc"
