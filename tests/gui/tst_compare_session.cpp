// SPDX-License-Identifier: GPL-3.0-or-later
// Two lanes through the thread boundary, and what would help.
#include "core/engine/knobs.h"
#include "gui/session/session.h"
#include "tests/support/lanes.h"

#include <QRegularExpression>
#include <QSignalSpy>
#include <QtTest>

using namespace inferoscope;
using gui::RunState;

namespace {

constexpr int kPatience = 60'000;  // ms; only a hang takes as long
constexpr int kAnHour = 3'600'000;

#define WAIT_FOR(condition) QTRY_VERIFY_WITH_TIMEOUT(condition, kPatience)

// One at a time against three, the rest as it is.
gui::CompareOrder order(const tests::Settings& a = {{"max-sequences", "1"}}, const tests::Settings& b = {}) {
  gui::CompareOrder made{.preset = {},
                         .scenario = tests::twelveRequests(),
                         .a = tests::with(a),
                         .b = tests::with(b),
                         .repeats = 2,
                         .quality_tokens = 30,
                         .probe = false};
  return made;
}

// A session with a tiny model, and all that it told.
struct Watched {
  Watched() {
    QObject::connect(&session, &gui::Session::lanesStarted, &session, [this] {
      ++num_starts;
      steps_a = steps_b = 0;
    });
    QObject::connect(&session, &gui::Session::frameReady, &session, [this](const gui::Frame& frame) {
      in_order &= !frame.steps.empty() ? frame.steps.front()->step_index == steps_a : true;
      steps_a += static_cast<std::int64_t>(frame.steps.size());
      if (frame.b) {
        in_order &= !frame.b->steps.empty() ? frame.b->steps.front()->step_index == steps_b : true;
        steps_b += static_cast<std::int64_t>(frame.b->steps.size());
      }
      last = frame;
    });
    QObject::connect(&session, &gui::Session::comparisonChanged, &session,
                     [this](const std::shared_ptr<const core::Comparison>& comparison, bool finished) {
                       if (finished) answer = comparison;
                     });
    session.load(QStringLiteral("synthetic:tiny"));
  }

  bool ready() { return limits.count() > 0 || limits.wait(kPatience); }

  gui::Session session;
  QSignalSpy limits{&session, &gui::Session::limitsMeasured};
  QSignalSpy started{&session, &gui::Session::comparisonStarted};
  QSignalSpy ended{&session, &gui::Session::comparisonEnded};
  QSignalSpy refused{&session, &gui::Session::optionsRefused};
  QSignalSpy request_refused{&session, &gui::Session::requestRefused};
  QSignalSpy summed{&session, &gui::Session::runSummarized};
  QSignalSpy checked{&session, &gui::Session::presetChecked};
  QSignalSpy advice{&session, &gui::Session::adviceGiven};
  QSignalSpy no_advice{&session, &gui::Session::adviceRefused};
  std::shared_ptr<const core::Comparison> answer;
  gui::Frame last;
  int num_starts = 0;
  std::int64_t steps_a = 0, steps_b = 0;
  bool in_order = true;
};

}  // namespace

class TestCompareSession : public QObject {
  Q_OBJECT

 private slots:
  void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral(".?"))); }

  void bothLanesAreShownAndJudged() {
    Watched w;
    QVERIFY(w.ready());
    w.session.compare(order());
    WAIT_FOR(w.answer);
    QCOMPARE(w.started.front().front().toString(), QStringLiteral("max-sequences 1 against 16"));
    QCOMPARE(w.num_starts, 3);  // a warm-up and two repeats
    QCOMPARE(w.answer->num_repeats, 2);
    QCOMPARE(w.answer->quality.num_answers, 12);
    QVERIFY(w.answer->quality.num_rows >= 30);
    QCOMPARE(w.answer->b.run.max_concurrent, 3);
    WAIT_FOR(w.session.runState() == RunState::kPaused);
    WAIT_FOR(w.last.b && w.last.b->snapshot->totals.num_finished == 12);  // the last lanes stay
    QCOMPARE(w.last.snapshot->options.max_sequences, 1);
    QVERIFY(w.in_order && w.steps_b > 0);
    QCOMPARE(w.ended.count(), 0);
  }

  // Whatever asks for one lane gets it, with the options that were in force.
  void afterwardsThereIsOneLane() {
    Watched w;
    QVERIFY(w.ready());
    w.session.setScenario(tests::twelveRequests());
    w.session.compare(order());
    WAIT_FOR(w.answer);
    w.session.run();
    WAIT_FOR(!w.last.b && w.last.snapshot && w.last.snapshot->totals.num_finished == 12);
    QVERIFY(w.last.snapshot->options == w.session.options());
    QCOMPARE(w.session.options().max_sequences, 16);
  }

  void whileComparingNothingElseIsDone() {
    Watched w;
    QVERIFY(w.ready());
    w.session.setStepDelay(kAnHour);
    w.session.compare(order());
    WAIT_FOR(w.started.count() == 1);
    w.session.applyOptions(tests::with({{"block-size", "8"}}));
    w.session.submitPrompt(QStringLiteral("hello"), {});
    WAIT_FOR(w.refused.count() == 1 && w.request_refused.count() == 1);
    QVERIFY(w.refused.front().front().toString().contains(QStringLiteral("being compared")));
    w.session.stepOnce();
    WAIT_FOR(w.last.b && w.steps_a + w.steps_b == 1);
  }

  // A stop in the middle: the one lane is there again and goes on as before.
  void canBeStopped() {
    Watched w;
    QVERIFY(w.ready());
    core::Scenario endless = tests::twelveRequests();
    endless.arrivals.num_requests = 0;
    w.session.setScenario(endless);
    w.session.run();
    WAIT_FOR(w.last.snapshot && w.last.snapshot->step_index > 3);
    w.session.setStepDelay(kAnHour);
    w.session.compare(order());
    WAIT_FOR(w.last.b);
    w.session.endComparison();
    w.session.setStepDelay(0);
    WAIT_FOR(w.ended.count() == 1);
    QCOMPARE(w.ended.front().front().toString(), QString());
    WAIT_FOR(!w.last.b && w.last.snapshot->step_index > 3);
    QCOMPARE(w.session.runState(), RunState::kRunning);
    QVERIFY(!w.answer);
  }

  void settingsThatCannotBeHadAreToldOf() {
    Watched w;
    QVERIFY(w.ready());
    w.session.compare(order({}, {{"linear", "cublas"}}));
    WAIT_FOR(w.ended.count() == 1);
    QVERIFY(!w.ended.front().front().toString().isEmpty());
    w.session.setScenario(tests::twelveRequests());
    w.session.run();
    WAIT_FOR(w.last.snapshot && w.last.snapshot->totals.num_finished == 12);
  }

  // Also again after a reset, without what came before it.
  void aRunWithOneLaneIsSummedUp() {
    Watched w;
    QVERIFY(w.ready());
    w.session.setScenario(tests::twelveRequests());
    w.session.summarizeRun();
    WAIT_FOR(w.summed.count() == 1);
    QCOMPARE(w.summed.front().front().value<core::RunSummary>().num_steps, 0);
    w.session.run();
    for (int round = 1; round <= 2; ++round) {
      w.session.reset();
      WAIT_FOR(w.last.snapshot && w.last.snapshot->totals.num_finished == 12);
      w.session.summarizeRun();
      WAIT_FOR(w.summed.count() == 1 + round);
      const auto run = w.summed.back().front().value<core::RunSummary>();
      QCOMPARE(run.num_finished, 12);
      QCOMPARE(run.num_steps, w.last.snapshot->totals.num_steps);
      QCOMPARE(run.num_output_tokens, w.last.snapshot->totals.num_output_tokens);
      QVERIFY(run.fitting_sequences > 1);
      w.last = {};
    }
    QCOMPARE(w.summed.back().back().toString(), QString::fromStdString(tests::twelveRequests().title));
    w.session.applyOptions(tests::with({{"block-size", "8"}}));
    w.session.summarizeRun();
    WAIT_FOR(w.summed.count() == 4);
    QVERIFY(w.summed.back().back().toString().contains(QStringLiteral("knobs changed")));
  }

  void aPresetIsCheckedAgainstTheModel() {
    Watched w;
    QVERIFY(w.ready());
    w.session.checkPreset(core::findPreset("static-continuous"));
    WAIT_FOR(w.checked.count() == 1);
    QCOMPARE(w.checked.front().at(0).toString(), QStringLiteral("static-continuous"));
    QVERIFY(w.checked.front().at(1).toStringList().join(QLatin1Char(' ')).contains(QStringLiteral("cache")));
  }

  void adviceComesFromWhatHasRun() {
    Watched w;
    QVERIFY(w.ready());
    w.session.setScenario(tests::twelveRequests());
    w.session.applyOptions(tests::with({{"max-sequences", "1"}}));
    w.session.advise();
    WAIT_FOR(w.no_advice.count() == 1);
    w.session.run();
    WAIT_FOR(w.last.snapshot && w.last.snapshot->totals.num_finished == 12);
    w.session.advise();
    WAIT_FOR(w.advice.count() == 1);
    const auto advice = w.advice.front().front().value<std::vector<core::Advice>>();
    QVERIFY(advice.size() > 10);
    // After the weights: those of this model are f32, and fewer bytes help even more.
    const auto first = std::ranges::find_if(advice, [](const core::Advice& each) { return each.knob != "weights"; });
    QCOMPARE(first->knob, std::string("max-sequences"));
    QVERIFY(first->throughput_ratio > 1 && first->guessed);  // steps with several sequences were never measured
    QVERIFY(!std::ranges::all_of(advice, &core::Advice::guessed));
  }

  void closesInTheMiddle() {
    Watched w;
    QVERIFY(w.ready());
    w.session.compare(order());
    WAIT_FOR(w.last.b);
  }
};

QTEST_GUILESS_MAIN(TestCompareSession)
#include "tst_compare_session.moc"
