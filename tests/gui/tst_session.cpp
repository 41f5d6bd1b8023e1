// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/session/session.h"
#include "tests/support/data.h"

#include <QElapsedTimer>
#include <QFile>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QtTest>

#include <algorithm>
#include <map>
#include <string>

using namespace inferoscope;
using gui::RunState;

namespace {

constexpr int kPatience = 60'000;  // ms; only a hang takes as long
constexpr int kAnHour = 3'600'000;
const QString kTiny = QStringLiteral("synthetic:tiny");
const QString kBig = QStringLiteral("synthetic:smollm2-135m");  // takes long enough to be left in the middle

#define WAIT_FOR(condition) QTRY_VERIFY_WITH_TIMEOUT(condition, kPatience)

QString valid(const char* file) {
  return QString::fromStdString(tests::dataPath(std::string("valid/") + file));
}

// Users who ask again and again: prompts of 24 ids, answers of 20 tokens.
core::Scenario crowd(int users = 3) {
  core::Scenario scenario;
  scenario.id = "crowd";
  scenario.arrivals.concurrency = users;
  scenario.prompt_tokens.mean = 24;
  scenario.output_tokens.mean = 20;
  scenario.ignore_end_of_turn = true;
  return scenario;
}

core::Request answerOf(int tokens) {
  core::Request rest;
  rest.label = "you";
  rest.max_new_tokens = tokens;
  return rest;
}

// A session and all it told.
struct Watched {
  Watched() {
    QObject::connect(&session, &gui::Session::frameReady, &session, [this](const gui::Frame& frame) { note(frame); });
    QObject::connect(&session, &gui::Session::modelLoaded, &session, [this] {
      steps.clear();
      num_tokens.clear();
      ended.clear();
      last = {};
    });
  }

  void note(const gui::Frame& frame) {
    steps.insert(steps.end(), frame.steps.begin(), frame.steps.end());
    for (const core::TextDelta& delta : frame.texts) {
      num_tokens[delta.seq] += delta.num_tokens;
      if (delta.finished) ++ended[delta.seq];
    }
    last = frame;
    ++num_frames;
  }

  bool load(const QString& source) {
    session.load(source);
    return limits.wait(kPatience) && loaded.count() > 0;  // the probe is the last part of a load
  }

  // Runs until there are `count` steps more, then pauses.
  bool runSteps(std::size_t count) {
    const std::size_t until = steps.size() + count;
    session.run();
    if (!QTest::qWaitFor([&] { return steps.size() >= until; }, kPatience)) return false;
    session.pause();
    return QTest::qWaitFor([&] { return session.runState() == RunState::kPaused && upToDate(); }, kPatience);
  }

  // The last frame is the last state, and no step is missing in between.
  bool upToDate() const {
    return last.snapshot && (steps.empty() || steps.back()->step_index + 1 == last.snapshot->step_index);
  }

  bool consecutive() const {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i]->step_index != steps.front()->step_index + static_cast<std::int64_t>(i)) return false;
    }
    return true;
  }

  const core::RequestInfo* request(const std::string& label) const {
    if (!last.snapshot) return nullptr;
    const auto found = std::ranges::find(last.snapshot->requests, label, &core::RequestInfo::label);
    return found == last.snapshot->requests.end() ? nullptr : &*found;
  }

  gui::Session session;
  QSignalSpy loaded{&session, &gui::Session::modelLoaded};
  QSignalSpy failed{&session, &gui::Session::loadFailed};
  QSignalSpy limits{&session, &gui::Session::limitsMeasured};
  QSignalSpy in_force{&session, &gui::Session::optionsInForce};
  QSignalSpy refused{&session, &gui::Session::optionsRefused};
  QSignalSpy progress{&session, &gui::Session::loadProgress};
  QSignalSpy submitted{&session, &gui::Session::requestSubmitted};
  QSignalSpy request_refused{&session, &gui::Session::requestRefused};

  std::vector<std::shared_ptr<const core::StepRecord>> steps;
  std::map<core::SeqId, int> num_tokens;  // of the texts
  std::map<core::SeqId, int> ended;
  gui::Frame last;
  int num_frames = 0;
};

}  // namespace

class TestSession : public QObject {
  Q_OBJECT

 private slots:
  void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral(".?"))); }

  // ---- Running -----------------------------------------------------------------------------------------------------

  void loadsAndWaits() {
    Watched w;
    QCOMPARE(w.session.runState(), RunState::kNoModel);
    QVERIFY(w.load(kTiny));
    WAIT_FOR(w.last.snapshot);
    QCOMPARE(w.session.runState(), RunState::kPaused);
    QVERIFY(w.session.model()->config.random_weights);
    QVERIFY(w.session.limits().measured());
    QCOMPARE(w.last.snapshot->step_index, 0);
    QVERIFY(!w.last.snapshot->blocks.empty());
    QVERIFY(w.progress.count() > 0);
  }

  void tellsEveryStepAndEveryToken() {
    Watched w;
    w.session.setScenario(crowd());
    QVERIFY(w.load(kTiny));
    QVERIFY(w.runSteps(100));
    QCOMPARE(w.last.dropped_steps, 0U);
    QCOMPARE(w.steps.front()->step_index, 0);
    QVERIFY(w.consecutive());
    int num_finished = 0;
    for (const core::RequestInfo& request : w.last.snapshot->requests) {
      if (request.state != core::SeqState::kFinished) continue;
      ++num_finished;
      QCOMPARE(w.num_tokens[request.seq], request.num_output_tokens);
      QCOMPARE(w.ended[request.seq], 1);
    }
    QVERIFY(num_finished > 0);
  }

  void doesOneStepAtATime() {
    Watched w;
    w.session.setScenario(crowd());
    QVERIFY(w.load(kTiny));
    for (int clicks = 1; clicks <= 3; ++clicks) {
      w.session.stepOnce();
      WAIT_FOR(w.last.snapshot && w.last.snapshot->step_index == clicks);
      QCOMPARE(w.steps.size(), static_cast<std::size_t>(clicks));
      QCOMPARE(w.session.runState(), RunState::kPaused);
    }
  }

  void staysAnswerableInSlowMotion() {
    Watched w;
    w.session.setScenario(crowd());
    QVERIFY(w.load(kTiny));
    w.session.setStepDelay(kAnHour);
    w.session.run();
    WAIT_FOR(w.session.runState() == RunState::kRunning);
    QVERIFY(w.steps.empty());
    w.session.setStepDelay(0);  // counts at once, not after the hour
    WAIT_FOR(w.steps.size() > 5);
    w.session.setStepDelay(kAnHour);
    w.session.pause();
    WAIT_FOR(w.session.runState() == RunState::kPaused);
  }

  void resetsToTheBeginningOfTheWorkload() {
    Watched w;
    w.session.setScenario(crowd());
    QVERIFY(w.load(kTiny));
    QVERIFY(w.runSteps(30));
    w.session.reset();
    WAIT_FOR(w.last.snapshot->totals.num_steps == 0);
    for (const core::RequestInfo& request : w.last.snapshot->requests) {
      QCOMPARE(request.state, core::SeqState::kFinished);
      QCOMPARE(w.ended[request.seq], 1);
    }
    QCOMPARE(w.last.snapshot->numUsedBlocks(), 0);
    QVERIFY(w.runSteps(30));
  }

  void followsAnotherScenarioWhileRunning() {
    Watched w;
    w.session.setScenario(crowd(1));
    QVERIFY(w.load(kTiny));
    w.session.run();
    WAIT_FOR(w.steps.size() > 10);
    w.session.setScenario(crowd(5));
    WAIT_FOR(w.steps.back()->entries.size() == 5);
    w.session.setScenario(std::nullopt);
    WAIT_FOR(w.upToDate() && w.last.snapshot->numUsedBlocks() == 0);
    QCOMPARE(w.session.runState(), RunState::kRunning);  // ready for prompts
  }

  void sendsFewFramesHoweverFastItRuns() {
    Watched w;
    w.session.setScenario(crowd());
    QVERIFY(w.load(kTiny));
    w.num_frames = 0;
    QElapsedTimer clock;
    clock.start();
    QVERIFY(w.runSteps(2000));
    QVERIFY2(w.num_frames <= clock.elapsed() / 30 + 2, qPrintable(QString::number(w.num_frames)));
  }

  // ---- Options -----------------------------------------------------------------------------------------------------

  void appliesOptionsBetweenSteps() {
    Watched w;
    w.session.setScenario(crowd());
    QVERIFY(w.load(kTiny));
    w.session.run();
    WAIT_FOR(w.steps.size() > 10);
    core::EngineOptions options = w.session.options();
    options.block_size = 8;
    options.attention = "naive";
    w.session.applyOptions(options);
    WAIT_FOR(w.session.options() == options);
    WAIT_FOR(w.last.snapshot->options == options);
    QCOMPARE(w.last.snapshot->block_size, 8);
    const std::size_t before = w.steps.size();
    WAIT_FOR(w.steps.size() > before + 10);
    QCOMPARE(w.refused.count(), 0);
  }

  void keepsTheOptionsInForceWhenOthersAreRefused() {
    Watched w;
    QVERIFY(w.load(kTiny));
    const core::EngineOptions before = w.session.options();
    core::EngineOptions wrong = before;
    wrong.attention = "magic";
    w.session.applyOptions(wrong);
    WAIT_FOR(w.refused.count() == 1);
    QVERIFY(!w.refused.at(0).at(0).toString().isEmpty());
    QVERIFY(w.session.options() == before);
  }

  void opensTheModelAnewOnAnotherDevice() {
    Watched w;
    QVERIFY(w.load(kTiny));
    core::EngineOptions options = w.session.options();
    options.device = "cuda:99";
    w.session.applyOptions(options);
    WAIT_FOR(w.refused.count() == 1);
    QCOMPARE(w.session.options().device, std::string("cpu"));
    options.device = "cuda-emu";
    w.session.applyOptions(options);
    WAIT_FOR(w.session.options().device == "cuda-emu");
    QCOMPARE(w.loaded.count(), 2);
  }

  // The old weights go on until the new ones are there, the requests' tokens stay, and the model says what it is now.
  void changesTheWeightsWhileItRuns() {
    Watched w;
    QSignalSpy progress(&w.session, &gui::Session::weightsProgress);
    QSignalSpy changed(&w.session, &gui::Session::modelChanged);
    w.session.setScenario(crowd());
    QVERIFY(w.load(kTiny));
    w.session.run();
    WAIT_FOR(w.steps.size() > 10);
    core::EngineOptions options = w.session.options();
    options.weights = "q8_0";
    w.session.applyOptions(options);
    WAIT_FOR(w.session.options() == options);
    QVERIFY(progress.count() > 0);
    QCOMPARE(changed.count(), 1);
    QCOMPARE(w.session.model()->format_bytes.count("q8_0"), std::size_t(1));
    QVERIFY(std::ranges::any_of(w.session.model()->notices,
                                [](const std::string& n) { return n.starts_with("weights as q8_0"); }));
    const std::size_t before = w.steps.size();
    WAIT_FOR(w.steps.size() > before + 10);
    QVERIFY(std::ranges::any_of(w.steps.back()->ops, [](const core::OpRecord& op) { return op.format == "q8_0"; }));
    QCOMPARE(w.refused.count(), 0);

    options.weights = "as-stored";  // at once: they never went away
    w.session.applyOptions(options);
    WAIT_FOR(w.session.options() == options);
    QCOMPARE(w.session.model()->format_bytes.count("q8_0"), std::size_t(0));
  }

  void otherKnobsAndStepsGoOnWhileWeightsAreMade() {
    Watched w;
    QSignalSpy progress(&w.session, &gui::Session::weightsProgress);
    w.session.setScenario(crowd());
    QVERIFY(w.load(kBig));
    w.session.run();
    WAIT_FOR(!w.steps.empty());
    core::EngineOptions options = w.session.options();
    options.weights = "f32";
    w.session.applyOptions(options);
    WAIT_FOR(progress.count() > 0);
    const std::size_t before = w.steps.size();
    options.prefill_chunk = 64;
    w.session.applyOptions(options);
    WAIT_FOR(w.session.options().prefill_chunk == 64);
    if (w.session.options().weights == "as-stored") {  // it may have been made already
      options.weights = "as-stored";                   // cancelled
      w.session.applyOptions(options);
    }
    WAIT_FOR(w.steps.size() > before);
    QCOMPARE(w.refused.count(), 0);
  }

  void weightsAreMadeNoMoreOnceCancelled() {
    Watched w;
    QVERIFY(w.load(kBig));
    core::EngineOptions options = w.session.options();
    for (const char* weights : {"f32", "q8_0", "as-stored"}) {  // each takes the one before back
      options.weights = weights;
      w.session.applyOptions(options);
    }
    w.session.applyOptions(options);
    WAIT_FOR(w.in_force.count() >= 5);
    QCOMPARE(w.session.options().weights, std::string("as-stored"));
    w.session.setScenario(crowd());
    QVERIFY(w.runSteps(1));
    QCOMPARE(w.session.options().weights, std::string("as-stored"));
  }

  void loadsWithOtherWeights() {
    Watched w;
    core::EngineOptions options;
    options.weights = "q4_0";
    w.session.applyOptions(options);
    QVERIFY(w.load(kTiny));
    QCOMPARE(w.session.options().weights, std::string("q4_0"));
    QCOMPARE(w.session.model()->format_bytes.count("q4_0"), std::size_t(1));
  }

  void closesWhileWeightsAreMade() {
    QElapsedTimer timer;
    {
      Watched w;
      QSignalSpy progress(&w.session, &gui::Session::weightsProgress);
      QVERIFY(w.load(kBig));
      core::EngineOptions options = w.session.options();
      options.weights = "f32";
      w.session.applyOptions(options);
      WAIT_FOR(progress.count() > 0);
      timer.start();
    }
    QVERIFY(timer.elapsed() < kPatience);
  }

  void measuresTheCeilingsOfEachNumberOfThreads() {
    Watched w;
    w.session.setScenario(crowd());
    QVERIFY(w.load(kTiny));
    core::EngineOptions options = w.session.options();
    options.threads = w.session.limits().num_threads + 1;
    w.session.applyOptions(options);
    WAIT_FOR(w.session.limits().num_threads == options.threads);
    QVERIFY(w.runSteps(1));
    QCOMPARE(w.steps.back()->num_threads, options.threads);
  }

  // ---- Prompts -----------------------------------------------------------------------------------------------------

  void answersAPromptBesideTheWorkload() {
    Watched w;
    w.session.setScenario(crowd());
    QVERIFY(w.load(valid("valid_tiny.gguf")));
    w.session.run();
    WAIT_FOR(w.steps.size() > 5);
    w.session.submitPrompt(QStringLiteral("Apa kabar?"), answerOf(8));
    WAIT_FOR(w.request("you") && w.request("you")->state == core::SeqState::kFinished);
    QVERIFY(w.request("you")->num_output_tokens > 0);
    QCOMPARE(w.submitted.count(), 1);
    QVERIFY(w.session.runState() == RunState::kRunning);
  }

  void keepsAPromptThatIsTypedWhileLoading() {
    Watched w;
    w.session.load(kTiny);
    w.session.submitPrompt(QStringLiteral("Hello"), answerOf(4));
    w.session.run();
    WAIT_FOR(w.request("you") && w.request("you")->state == core::SeqState::kFinished);
  }

  void refusesAPromptWithoutAModel() {
    Watched w;
    w.session.submitPrompt(QStringLiteral("Hello"), answerOf(4));
    WAIT_FOR(w.request_refused.count() == 1);
    QCOMPARE(w.request_refused.at(0).at(0).toString(), QStringLiteral("you"));
    QVERIFY(w.request_refused.at(0).at(1).toString().contains(QStringLiteral("model")));
  }

  void refusesAPromptThatCanNeverFit() {
    Watched w;
    QVERIFY(w.load(kTiny));
    w.session.submitPrompt(QStringLiteral("word ").repeated(5000), answerOf(4));
    WAIT_FOR(w.request_refused.count() == 1);
    QVERIFY(w.request_refused.at(0).at(1).toString().contains(QStringLiteral("2048")));
    w.session.submitPrompt(QStringLiteral("short"), answerOf(4));
    w.session.run();
    WAIT_FOR(w.request("you") && w.request("you")->state == core::SeqState::kFinished);
  }

  void cancelsARequest() {
    Watched w;
    QVERIFY(w.load(kTiny));
    w.session.submitPrompt(QStringLiteral("Hello"), answerOf(1000));
    WAIT_FOR(w.submitted.count() == 1);
    w.session.cancelRequest(w.submitted.at(0).at(0).value<core::SeqId>());
    WAIT_FOR(w.request("you") && w.request("you")->finish == core::FinishReason::kCancelled);
    QCOMPARE(w.last.snapshot->numUsedBlocks(), 0);
  }

  void endsARequestWhoseLogitsAreNotFinite() {
    Watched w;
    QVERIFY(w.load(QString::fromStdString(tests::dataPath("cases/f01_weight_nan.gguf"))));
    w.session.submitPrompt(QStringLiteral("Hello"), answerOf(20));
    w.session.run();
    WAIT_FOR(w.request("you") && w.request("you")->finish == core::FinishReason::kError);
    QVERIFY(!w.request("you")->error.empty());
    QVERIFY(w.load(valid("valid_tiny.gguf")));
  }

  // ---- Loading -----------------------------------------------------------------------------------------------------

  void survivesBrokenFiles() {
    Watched w;
    QFile list(QString::fromStdString(tests::dataPath("cases/cases.tsv")));
    QVERIFY(list.open(QIODevice::ReadOnly));
    int num_refused = 0;
    while (!list.atEnd()) {
      const QStringList fields = QString::fromUtf8(list.readLine()).split(QLatin1Char('\t'));
      if (fields.value(2) != QStringLiteral("REJECT")) continue;
      w.session.load(QString::fromStdString(tests::dataPath("cases/")) + fields[0]);
      ++num_refused;
      WAIT_FOR(w.failed.count() == num_refused);
      QVERIFY2(!w.failed.last().at(0).toString().isEmpty(), qPrintable(fields[0]));
    }
    QVERIFY(num_refused > 20);
    QCOMPARE(w.session.runState(), RunState::kNoModel);
    QVERIFY(w.load(valid("valid_tiny.gguf")));
  }

  void saysWhatIsWrongWithAFile_data() {
    QTest::addColumn<QString>("source");
    for (const char* file : {"a01_empty.gguf", "a06_key_length_2p48.gguf", "a13_overlap.gguf", "a14_head_count_0.gguf",
                             "a19_missing_tensor.gguf", "f04_q8_row_16.gguf"}) {
      QTest::newRow(file) << QString::fromStdString(tests::dataPath(std::string("cases/") + file));
    }
    QTest::newRow("no such file") << QStringLiteral("/nowhere/model.gguf");
    QTest::newRow("a folder") << QString::fromStdString(tests::dataPath("cases"));
    QTest::newRow("no such synthetic model") << QStringLiteral("synthetic:huge");
    QTest::newRow("nothing") << QString();
  }
  void saysWhatIsWrongWithAFile() {
    QFETCH(QString, source);
    Watched w;
    w.session.load(source);
    WAIT_FOR(w.failed.count() == 1);
    const QString message = w.failed.at(0).at(0).toString();
    QVERIFY(!message.isEmpty());
    QVERIFY2(!message.contains(QLatin1Char('\n')), qPrintable(message));
    QVERIFY2(message.contains(source.section(QLatin1Char('/'), -1)), qPrintable(message));
  }

  void goesOnWithTheOldModelWhenANewOneFails() {
    Watched w;
    w.session.setScenario(crowd());
    QVERIFY(w.load(kTiny));
    w.session.run();
    WAIT_FOR(w.steps.size() > 10);
    w.session.load(QStringLiteral("/nowhere/model.gguf"));
    WAIT_FOR(w.failed.count() == 1);
    const std::size_t before = w.steps.size();
    WAIT_FOR(w.steps.size() > before + 10);
    QVERIFY(w.consecutive());
  }

  void leavesTheOldModelBehind() {
    Watched w;
    w.session.setScenario(crowd());
    QVERIFY(w.load(kTiny));
    w.session.run();
    WAIT_FOR(w.steps.size() > 10);
    w.session.load(valid("valid_tiny.gguf"));
    WAIT_FOR(w.loaded.count() == 2);
    WAIT_FOR(w.steps.size() > 10);  // it ran before, so it runs on
    QCOMPARE(w.steps.front()->step_index, 0);
    QVERIFY(w.consecutive());
    QVERIFY(!w.session.model()->config.random_weights);
  }

  void leavesALoadThatIsCancelled() {
    Watched w;
    w.session.load(kBig);
    WAIT_FOR(w.progress.count() > 0);
    w.session.cancelLoad();
    WAIT_FOR(w.failed.count() == 1);
    QCOMPARE(w.failed.at(0).at(0).toString(), QString());  // nothing to complain about
    WAIT_FOR(w.session.runState() == RunState::kNoModel);
    QVERIFY(w.load(kTiny));
  }

  void callsOffALoadForALaterOne() {
    Watched w;
    w.session.load(kBig);
    WAIT_FOR(w.progress.count() > 0);
    w.session.load(kTiny);
    WAIT_FOR(w.loaded.count() == 1);
    QCOMPARE(w.failed.count(), 1);
    QCOMPARE(w.session.model()->source, kTiny.toStdString());
  }

  // ---- Closing -----------------------------------------------------------------------------------------------------

  void closesInEveryState_data() {
    QTest::addColumn<QString>("state");
    for (const char* state : {"no model", "loading", "probing", "paused", "prefill", "decode", "slow motion", "idle"}) {
      QTest::newRow(state) << QString::fromLatin1(state);
    }
  }
  void closesInEveryState() {
    QFETCH(QString, state);
    const auto w = std::make_unique<Watched>();
    gui::Session& session = w->session;
    if (state == QStringLiteral("no model")) return;
    if (state == QStringLiteral("loading")) {
      session.load(kBig);
      WAIT_FOR(w->progress.count() > 0);
      return;
    }
    if (state == QStringLiteral("probing")) {
      session.load(kTiny);
      WAIT_FOR(w->loaded.count() == 1);
      return;
    }
    core::Scenario work = crowd();
    if (state == QStringLiteral("prefill")) work.prompt_tokens.mean = work.prompt_tokens.max = 2000;
    if (state == QStringLiteral("prefill")) work.output_tokens.mean = 1;
    if (state != QStringLiteral("idle")) session.setScenario(work);
    if (state == QStringLiteral("slow motion")) session.setStepDelay(kAnHour);
    QVERIFY(w->load(kTiny));
    if (state == QStringLiteral("paused")) return;
    session.run();
    WAIT_FOR(session.runState() == RunState::kRunning);
    if (state == QStringLiteral("prefill") || state == QStringLiteral("decode")) WAIT_FOR(!w->steps.empty());
  }
};

QTEST_GUILESS_MAIN(TestSession)
#include "tst_session.moc"
