// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/preset.h"
#include "gui/panels/advice_panel.h"
#include "gui/panels/allocators_panel.h"
#include "gui/panels/compare_panel.h"
#include "gui/panels/headline_panel.h"
#include "gui/panels/knob_editors.h"
#include "gui/panels/knobs_panel.h"
#include "gui/panels/message_bar.h"
#include "gui/panels/model_panel.h"
#include "gui/panels/prompt_panel.h"
#include "gui/panels/verdict_panel.h"
#include "gui/panels/workload_panel.h"
#include "tests/support/frames.h"

#include <qcustomplot.h>
#include <QClipboard>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>
#include <QSignalSpy>
#include <QtTest>

#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <type_traits>

using namespace inferoscope;
using gui::RunState;

namespace {

QString text(std::string_view words) {
  return QString::fromUtf8(words.data(), static_cast<qsizetype>(words.size()));
}

// All words that a panel shows now, a label a line.
QString shownBy(const QWidget& panel) {
  QStringList lines;
  for (const QLabel* label : panel.findChildren<QLabel*>()) {
    if (!label->isHidden() && !label->text().isEmpty()) lines << label->text();
  }
  return lines.join(QLatin1Char('\n'));
}

QPushButton* button(const QWidget& panel, const QString& words) {
  for (QPushButton* candidate : panel.findChildren<QPushButton*>()) {
    if (QString(candidate->text()).remove(QLatin1Char('&')) == words) return candidate;
  }
  return nullptr;
}

// Round numbers, so that shares can be read off: 40 GB/s and 200 GFLOP/s.
core::MachineLimits roundLimits() {
  core::MachineLimits limits;
  limits.read_bytes_per_s = 40e9;
  limits.cache_read_bytes_per_s = 400e9;
  limits.fp32_flop_per_s = 200e9;
  limits.int8_op_per_s = 800e9;
  limits.num_threads = 2;
  limits.measured_at_unix_s = 1'700'000'000;
  return limits;
}

// A step of 100 ms that reads `gigabytes` and computes `gigaflops` on two busy threads.
gui::Frame frameOf(std::int64_t index, core::Phase phase, double gigabytes, double gigaflops) {
  core::OpRecord op;
  op.duration_ns = 100'000'000;
  op.cost.flops = static_cast<decltype(op.cost.flops)>(gigaflops * 1e9);
  op.cost.weights = static_cast<decltype(op.cost.weights)>(gigabytes * 1e9);
  auto step = std::make_shared<core::StepRecord>();
  step->step_index = index;
  step->start_ns = index * 100'000'000;
  step->duration_ns = step->kernel_ns = op.duration_ns;
  step->process_cpu_s = 0.2;
  step->num_threads = 2;
  step->cost = op.cost;
  step->ops = {op};
  (phase == core::Phase::kPrefill ? step->num_prefill_tokens : step->num_decode_tokens) = 4;
  step->num_sampled = 4;
  gui::Frame frame = tests::emptyFrame();
  frame.steps = {step};
  return frame;
}

// B gives twice the tokens in half the time, over three repeats; everything else is equal.
std::shared_ptr<core::Comparison> someComparison() {
  core::Comparison made{};
  made.scenario = "chat";
  made.title = "Chat";
  made.model_name = "Toy";
  made.num_repeats = 3;
  core::RunSummary run;
  run.num_output_tokens = 100;
  run.duration_ns = 2'000'000'000;
  made.a.run = run;
  run.duration_ns = 1'000'000'000;
  run.options.block_size = 64;
  made.b.run = run;
  for (const core::ComparedMetric& metric : core::comparedMetrics()) {
    const auto a = metric.value(made.a.run), b = metric.value(made.b.run);
    std::vector<core::Pair> pairs;
    if (a && b) pairs.assign(3, core::Pair{*a, *b});
    made.differences.push_back(core::differenceOf(metric, pairs, 1));
  }
  made.quality = {.num_answers = 4,
                  .num_equal_answers = 3,
                  .first_divergent_token = 7,
                  .num_rows = 90,
                  .top1_agreement = 0.98,
                  .kl_mean = 0.0012,
                  .kl_p99 = 0.02,
                  .text = {}};
  made.notices = {"the weights fit the cache"};
  return std::make_shared<core::Comparison>(made);
}

// The cells of the row with this text in its first column.
QStringList rowOf(const QWidget& panel, const QString& first) {
  const auto* table = panel.findChild<QTreeWidget*>();
  for (int i = 0; i < table->topLevelItemCount(); ++i) {
    QStringList cells;
    for (int column = 0; column < table->columnCount(); ++column) cells << table->topLevelItem(i)->text(column);
    if (cells.front() == first) return cells;
  }
  return {};
}

}  // namespace

class TestPanels : public QObject {
  Q_OBJECT

 private slots:
  // ---- Headline ----------------------------------------------------------------------------------------------------

  void headlineSaysWhatToDo() {
    gui::HeadlinePanel panel;
    QVERIFY(shownBy(panel).contains(QStringLiteral("No model loaded")));
    panel.showRunState(RunState::kLoading);
    QVERIFY(shownBy(panel).contains(QStringLiteral("Loading")));
    panel.showModel(tests::toyModel());
    panel.showRunState(RunState::kPaused);
    QVERIFY(shownBy(panel).contains(QStringLiteral("Ready")));
  }

  void headlineGivesTheVerdict() {
    gui::HeadlinePanel panel;
    panel.showModel(tests::toyModel());
    panel.showRunState(RunState::kRunning);
    panel.showLimits(roundLimits());
    panel.showFrame(frameOf(0, core::Phase::kDecode, 3.2, 2.0));  // 32 of 40 GB/s, 20 of 200 GFLOP/s
    const QString shown = shownBy(panel);
    for (const char* words : {"DECODE: bandwidth-bound", "80%", "of 40.0 GB/s, bandwidth", "10%", "of 200 GFLOP/s",
                              "40.0", "100%", "busy, 2 threads"}) {
      QVERIFY2(shown.contains(QString::fromUtf8(words)), qPrintable(shown));
    }
    QVERIFY2(panel.sentence().startsWith(QStringLiteral("DECODE: bandwidth-bound, 80% of 40.0 GB/s")),
             qPrintable(panel.sentence()));
  }

  void headlineExplainsItself() {
    gui::HeadlinePanel panel;
    panel.showModel(tests::toyModel());
    panel.showRunState(RunState::kRunning);
    panel.showLimits(roundLimits());
    panel.showFrame(frameOf(0, core::Phase::kDecode, 3.2, 2.0));
    QStringList tips;
    for (const QLabel* label : panel.findChildren<QLabel*>()) tips << label->toolTip();
    const QString all = tips.join(QLatin1Char('\n'));
    for (const char* words :
         {"3.20 GB ÷ 100 ms = 32.0 GB/s ÷ 40.0 GB/s = 80%", "2.00 G operations ÷ 100 ms = 20.0 GFLOP/s",
          "4 tokens ÷ 100 ms = 40.0 tok/s", "200 ms ÷ (100 ms × 2) = 100%", "bytes need 80.0 ms"}) {
      QVERIFY2(all.contains(QString::fromUtf8(words)), qPrintable(all));
    }
    panel.showRunState(RunState::kLoading);
    QVERIFY(!panel.findChild<QLabel*>()->toolTip().contains(QStringLiteral("100 ms")));
  }

  // Whose number it is stands beside it; where the driver says nothing there is no such figure.
  void headlineShowsWhatTheGpusDriverSays() {
    gui::HeadlinePanel panel;
    panel.showModel(tests::toyModel());
    panel.showRunState(RunState::kRunning);
    panel.showLimits(roundLimits());
    panel.showFrame(frameOf(0, core::Phase::kDecode, 3.2, 2.0));
    QVERIFY(!shownBy(panel).contains(QStringLiteral("NVML")));
    gui::Frame frame = frameOf(1, core::Phase::kDecode, 3.2, 2.0);
    auto told = std::make_shared<core::StepRecord>(*frame.steps.front());
    told->gpu_busy = 0.97;
    frame.steps = {told};
    panel.showFrame(frame);
    const QString shown = shownBy(panel);
    QVERIFY2(shown.contains(QStringLiteral("97%\nGPU busy, by NVML")), qPrintable(shown));
    QVERIFY2(panel.sentence().contains(QStringLiteral("GPU: 97% busy by NVML")), qPrintable(panel.sentence()));
    panel.showRunState(RunState::kLoading);
    QVERIFY(!shownBy(panel).contains(QStringLiteral("NVML")));
  }

  void headlineTellsOfTheOtherPhase() {
    gui::HeadlinePanel panel;
    panel.showModel(tests::toyModel());
    panel.showRunState(RunState::kRunning);
    panel.showLimits(roundLimits());
    panel.showFrame(frameOf(0, core::Phase::kPrefill, 0.1, 18.0));
    panel.showFrame(frameOf(1, core::Phase::kDecode, 3.2, 2.0));
    const QString shown = shownBy(panel);
    QVERIFY2(shown.contains(QStringLiteral("DECODE: bandwidth-bound")), qPrintable(shown));
    QVERIFY2(shown.contains(QStringLiteral("PREFILL: compute-bound, 40.0 tok/s")), qPrintable(shown));
    panel.showFrame(frameOf(500, core::Phase::kDecode, 3.2, 2.0));  // long after
    QVERIFY(!shownBy(panel).contains(QStringLiteral("PREFILL")));
  }

  void headlineShowsNoShareOfWhatIsNotMeasured() {
    gui::HeadlinePanel panel;
    panel.showModel(tests::toyModel());
    panel.showRunState(RunState::kRunning);
    panel.showFrame(frameOf(0, core::Phase::kDecode, 3.2, 2.0));
    const QString shown = shownBy(panel);
    QVERIFY2(shown.contains(QStringLiteral("32.0 GB/s")), qPrintable(shown));
    QVERIFY2(!shown.contains(QStringLiteral("bound")), qPrintable(shown));
    QVERIFY2(shown.contains(QStringLiteral("not measured")), qPrintable(shown));
  }

  void headlineGrowsWithTheFont() {
    gui::HeadlinePanel panel;
    const auto* verdict = panel.findChild<QLabel*>();
    const double before = verdict->font().pointSizeF();
    QFont font = panel.font();
    font.setPointSizeF(font.pointSizeF() * 2);
    panel.setFont(font);
    QCOMPARE(verdict->font().pointSizeF(), before * 2);
  }

  void headlineForgetsTheOldModel() {
    gui::HeadlinePanel panel;
    panel.showRunState(RunState::kRunning);
    panel.showFrame(frameOf(0, core::Phase::kDecode, 3.2, 2.0));
    panel.showModel(tests::toyModel());
    QVERIFY(!shownBy(panel).contains(QStringLiteral("DECODE")));
  }

  // Between two rounds of a comparison no step is there to judge.
  void headlineSaysWhatIsCompared() {
    gui::HeadlinePanel panel;
    panel.showModel(tests::toyModel());
    panel.showRunState(RunState::kRunning);
    panel.showComparing(QStringLiteral("repeat 2 of 5"));
    QVERIFY(shownBy(panel).startsWith(QStringLiteral("Comparing\nrepeat 2 of 5")));
    gui::Frame frame = frameOf(0, core::Phase::kDecode, 4, 10);
    frame.b = gui::LaneFrame(frame);
    frame.steps.clear();
    panel.showFrame(frame);
    QVERIFY(shownBy(panel).startsWith(QStringLiteral("Comparing\nrepeat 2 of 5, lane B")));
    frame.steps = frame.b->steps;
    panel.showFrame(frame);
    QVERIFY(shownBy(panel).contains(QStringLiteral("Lane A, repeat 2 of 5")));
    panel.showModel(tests::toyModel());
    panel.showComparing({});
    QVERIFY(shownBy(panel).startsWith(QStringLiteral("Ready")));
  }

  // ---- Knobs -------------------------------------------------------------------------------------------------------

  void knobsComeFromTheTable() {
    gui::KnobsPanel panel;
    panel.showInForce({});
    for (const core::Knob& knob : core::knobs()) {
      auto* editor = panel.findChild<QWidget*>(text(knob.id));
      QVERIFY2(editor, knob.id.data());
      QVERIFY(shownBy(panel).contains(text(knob.label)));
      QVERIFY(editor->toolTip().contains(text(knob.explanation).toHtmlEscaped()));
      QCOMPARE(editor->accessibleName(), text(knob.label));
    }
  }

  void zeroIsShownAsWhatItMeans() {
    gui::KnobsPanel panel;
    panel.showInForce({});
    for (const core::Knob& knob : core::knobs()) {
      const auto* spin = panel.findChild<QSpinBox*>(text(knob.id));
      if (spin == nullptr || knob.min != 0) continue;
      core::EngineOptions options;
      knob.set(options, "0");
      panel.showInForce(options);
      QCOMPARE(spin->text(), text(knob.zero_means));
    }
  }

  void aKnobIsPendingUntilItIsInForce() {
    gui::KnobsPanel panel;
    panel.showInForce({});
    QSignalSpy changed(&panel, &gui::KnobsPanel::changed);
    panel.findChild<QComboBox*>(QStringLiteral("attention"))->setCurrentText(QStringLiteral("naive"));
    QCOMPARE(changed.count(), 1);
    const auto wanted = changed.at(0).at(0).value<core::EngineOptions>();
    QCOMPARE(wanted.attention, std::string("naive"));
    QVERIFY(shownBy(panel).contains(QStringLiteral("(pending)")));
    panel.showInForce(wanted);
    QVERIFY(!shownBy(panel).contains(QStringLiteral("(pending)")));
    QCOMPARE(changed.count(), 1);  // showing is not changing
  }

  void aKnobStaysPendingWhileAnEarlierOneIsConfirmed() {
    gui::KnobsPanel panel;
    panel.showInForce({});
    QSignalSpy changed(&panel, &gui::KnobsPanel::changed);
    panel.findChild<QComboBox*>(QStringLiteral("attention"))->setCurrentText(QStringLiteral("naive"));
    panel.findChild<QSpinBox*>(QStringLiteral("block-size"))->setValue(64);
    panel.showInForce(changed.at(0).at(0).value<core::EngineOptions>());
    QCOMPARE(panel.findChild<QSpinBox*>(QStringLiteral("block-size"))->value(), 64);
    QCOMPARE(shownBy(panel).count(QStringLiteral("(pending)")), 1);
    panel.showInForce(changed.at(1).at(0).value<core::EngineOptions>());
    QCOMPARE(shownBy(panel).count(QStringLiteral("(pending)")), 0);
  }

  void aRefusedKnobGoesBackAndSaysWhy() {
    gui::KnobsPanel panel;
    panel.showInForce({});
    auto* block_size = panel.findChild<QSpinBox*>(QStringLiteral("block-size"));
    block_size->setValue(64);
    panel.showRefusal(QStringLiteral("3 blocks are too few"));
    QVERIFY(shownBy(panel).contains(QStringLiteral("3 blocks are too few")));
    QCOMPARE(block_size->value(), 16);
    QVERIFY(!shownBy(panel).contains(QStringLiteral("(pending)")));
    block_size->setValue(32);  // another try: the old answer goes
    QVERIFY(!shownBy(panel).contains(QStringLiteral("3 blocks are too few")));
  }

  void weightsInTheMakingAreShownAndCancelled() {
    gui::KnobsPanel panel;
    panel.showInForce({});
    auto* row = panel.findChild<QWidget*>(QStringLiteral("weights-progress"));
    panel.showProgress(QStringLiteral("re-quantizing weights"), 0.5);
    QVERIFY(row->isHidden());  // nobody asked for any
    QSignalSpy changed(&panel, &gui::KnobsPanel::changed);
    auto* weights = panel.findChild<QComboBox*>(QStringLiteral("weights"));
    weights->setCurrentText(QStringLiteral("q8_0"));
    panel.showProgress(QStringLiteral("re-quantizing weights"), 0.5);
    QVERIFY(!row->isHidden());
    QCOMPARE(panel.findChild<QProgressBar*>()->value(), 500);
    button(panel, QStringLiteral("Cancel"))->click();
    QVERIFY(row->isHidden());
    QCOMPARE(weights->currentText(), QStringLiteral("as-stored"));
    QCOMPARE(changed.last().at(0).value<core::EngineOptions>().weights, std::string("as-stored"));

    weights->setCurrentText(QStringLiteral("q4_0"));
    panel.showProgress(QStringLiteral("re-quantizing weights"), 1);
    panel.showInForce(changed.last().at(0).value<core::EngineOptions>());
    QVERIFY(row->isHidden());
    QVERIFY(!shownBy(panel).contains(QStringLiteral("(pending)")));
  }

  void choicesFollowTheDevice() {
    gui::KnobsPanel panel;
    panel.showInForce({});
    const auto choices = [&] {
      const auto* combo = panel.findChild<QComboBox*>(QStringLiteral("linear"));
      QStringList texts;
      for (int i = 0; i < combo->count(); ++i) texts << combo->itemText(i);
      return texts;
    };
    QCOMPARE(choices(), (QStringList{"simd", "naive"}));
    QSignalSpy changed(&panel, &gui::KnobsPanel::changed);
    panel.findChild<QComboBox*>(QStringLiteral("device"))->setCurrentText(QStringLiteral("cuda:0"));
    QCOMPARE(choices(), (QStringList{"own", "cublas"}));
    QCOMPARE(changed.count(), 1);
    QCOMPARE(changed.at(0).at(0).value<core::EngineOptions>().linear, std::string("own"));
    panel.showRefusal(QStringLiteral("no GPU"));
    QCOMPARE(choices(), (QStringList{"simd", "naive"}));
  }

  // Every key goes through all of its knob's choices, or the steps of a number, and comes back.
  void everyKnobHasAKey() {
    QMainWindow window;
    auto* panel = new gui::KnobsPanel;
    window.setCentralWidget(panel);
    window.menuBar()->addMenu(QStringLiteral("Knobs"))->addActions(panel->turns());
    panel->showInForce({});
    window.show();
    QVERIFY(QTest::qWaitForWindowActive(&window));
    QSignalSpy changed(panel, &gui::KnobsPanel::changed);
    QSet<QString> keys;
    for (const core::Knob& knob : core::knobs()) {
      const QKeySequence key = gui::knobShortcut(knob);
      keys.insert(key.toString());
      QVERIFY(panel->findChild<QWidget*>(text(knob.id))->toolTip().contains(key.toString(QKeySequence::NativeText)));
      const std::size_t num_stops = knob.choices.empty() ? knob.steps.size() : knob.choices.size();
      std::set<std::string> seen;
      for (std::size_t i = 0; i < num_stops; ++i) {
        changed.clear();
        QTest::keyClick(&window, key[0].key(), key[0].keyboardModifiers());
        QVERIFY2(changed.count() == 1, knob.id.data());
        const auto wanted = changed.at(0).at(0).value<core::EngineOptions>();
        seen.insert(knob.get(wanted));
        panel->showInForce(wanted);
      }
      QVERIFY2(seen.size() == num_stops, knob.id.data());
    }
    QCOMPARE(keys.size(), static_cast<qsizetype>(core::knobs().size()));
  }

  void knobsGoBackToTheirDefaults() {
    gui::KnobsPanel panel;
    core::EngineOptions options;
    options.block_size = 64;
    panel.showInForce(options);
    QSignalSpy changed(&panel, &gui::KnobsPanel::changed);
    button(panel, QStringLiteral("Restore defaults"))->click();
    QVERIFY(changed.at(0).at(0).value<core::EngineOptions>() == core::EngineOptions{});
  }

  // ---- Workload ----------------------------------------------------------------------------------------------------

  void workloadOffersTheScenarios() {
    gui::WorkloadPanel panel(core::builtinScenarios());
    QCOMPARE(panel.scenario()->id, std::string("chat"));
    QSignalSpy changed(&panel, &gui::WorkloadPanel::scenarioChanged);
    auto* choice = panel.findChild<QComboBox*>(QStringLiteral("scenario"));
    choice->setCurrentIndex(1);
    QCOMPARE(changed.count(), 1);
    QCOMPARE(panel.scenario()->id, core::builtinScenarios()[1].id);
    choice->setCurrentIndex(choice->count() - 1);
    QVERIFY(!panel.scenario());  // "No workload"
  }

  void workloadKeepsWhatAScenarioSays() {
    for (const core::Scenario& scenario : core::builtinScenarios()) {
      const gui::WorkloadPanel panel({scenario});
      QVERIFY(panel.scenario()->arrivals == scenario.arrivals);
      QVERIFY(panel.scenario()->output_tokens == scenario.output_tokens);
    }
  }

  void workloadShowsAScenarioFromAFile() {
    gui::WorkloadPanel panel(core::builtinScenarios());
    core::Scenario own;
    own.id = own.title = "own";
    panel.addScenario(own);
    QCOMPARE(panel.scenario()->id, std::string("own"));
  }

  void workloadButtonsFollowTheState() {
    gui::WorkloadPanel panel(core::builtinScenarios());
    QSignalSpy run(&panel, &gui::WorkloadPanel::runClicked);
    QSignalSpy pause(&panel, &gui::WorkloadPanel::pauseClicked);
    QVERIFY(!button(panel, QStringLiteral("Run"))->isEnabled());
    panel.showRunState(RunState::kPaused);
    button(panel, QStringLiteral("Run"))->click();
    panel.showRunState(RunState::kRunning);
    button(panel, QStringLiteral("Pause"))->click();
    QCOMPARE(run.count(), 1);
    QCOMPARE(pause.count(), 1);
  }

  void workloadSlowsDown() {
    gui::WorkloadPanel panel(core::builtinScenarios());
    QSignalSpy delay(&panel, &gui::WorkloadPanel::stepDelayChanged);
    auto* slider = panel.findChild<QSlider*>();
    slider->setValue(slider->maximum());
    QVERIFY(delay.last().at(0).toInt() >= 1000);
    slider->setValue(0);
    QCOMPARE(delay.last().at(0).toInt(), 0);
  }

  // ---- Prompt ------------------------------------------------------------------------------------------------------

  void promptSendsWhatIsTyped() {
    gui::PromptPanel panel;
    QSignalSpy sent(&panel, &gui::PromptPanel::sent);
    auto* box = panel.findChild<QPlainTextEdit*>();
    QTest::keyClicks(box, QStringLiteral("one"));
    QTest::keyClick(box, Qt::Key_Return, Qt::ShiftModifier);
    QTest::keyClicks(box, QStringLiteral("two"));
    QCOMPARE(sent.count(), 0);
    QTest::keyClick(box, Qt::Key_Return);
    QCOMPARE(sent.count(), 1);
    QCOMPARE(sent.at(0).at(0).toString(), QStringLiteral("one\ntwo"));
    QVERIFY(sent.at(0).at(1).value<core::Request>().max_new_tokens > 0);
    QVERIFY(box->toPlainText().isEmpty());
  }

  void promptSendsNothingOfNothing_data() {
    QTest::addColumn<QString>("typed");
    QTest::newRow("empty") << QString();
    QTest::newRow("blanks") << QStringLiteral("  \n\t ");
  }
  void promptSendsNothingOfNothing() {
    QFETCH(QString, typed);
    gui::PromptPanel panel;
    QSignalSpy sent(&panel, &gui::PromptPanel::sent);
    panel.findChild<QPlainTextEdit*>()->setPlainText(typed);
    button(panel, QStringLiteral("Send"))->click();
    QCOMPARE(sent.count(), 0);
    QVERIFY(shownBy(panel).contains(QStringLiteral("Nothing to send")));
  }

  // ---- Model, messages ---------------------------------------------------------------------------------------------

  void modelShowsItsNotices() {
    gui::ModelPanel panel;
    gui::ModelInfo model = tests::toyModel();
    model.notices = {"random weights: a <toy>"};
    panel.showModel(model);
    panel.showLimits(roundLimits());
    QVERIFY(shownBy(panel).contains(QStringLiteral("random weights: a <toy>")));
    QVERIFY(shownBy(panel).contains(QString::fromStdString(model.config.name)));
    QVERIFY(shownBy(panel).contains(QStringLiteral("40.0 GB/s")));
  }

  void modelShowsWhatATokenTakesInTheFormatInForce() {
    gui::ModelPanel panel;
    gui::ModelInfo model = tests::toyModel();
    model.config.num_layers = model.config.num_kv_heads = 2;
    model.config.head_dim = 16;
    panel.showModel(model);
    core::EngineOptions options;
    options.kv_format = "f32";
    panel.showOptions(options);
    const QString wide = shownBy(panel);
    options.kv_format = "f16";
    panel.showOptions(options);
    QVERIFY(shownBy(panel) != wide);
  }

  void memoryIsToldBeforeALoad() {
    gui::ModelPanel panel;
    core::MemoryEstimate estimate{.weight_bytes = 3 << 20, .kv_bytes = 2 << 20, .activation_bytes = 1 << 20};
    estimate.available_bytes = 8 << 20;
    panel.showEstimate(QStringLiteral("/models/some.gguf"), estimate);
    QVERIFY(
        shownBy(panel).contains(QStringLiteral("some.gguf: weights 3.00 MiB + KV cache 2.00 MiB + activations 1.00 "
                                               "MiB = 6.00 MiB; 8.00 MiB are free.")));
    QVERIFY(!shownBy(panel).contains(QStringLiteral("won't fit")));
    estimate.available_bytes = 5 << 20;
    panel.showEstimate(QStringLiteral("/models/some.gguf"), estimate);
    QVERIFY(shownBy(panel).contains(QStringLiteral("won't fit")));
    panel.showEstimateFailure(QStringLiteral("/models/some.gguf"), QStringLiteral("file is <empty>"));
    QVERIFY(shownBy(panel).contains(QStringLiteral("file is &lt;empty&gt;")));
  }

  void recentModelsCanBeOpened() {
    gui::ModelPanel panel;
    QSignalSpy chosen(&panel, &gui::ModelPanel::sourceChosen);
    QSignalSpy opened(&panel, &gui::ModelPanel::openClicked);
    panel.showRecent({QStringLiteral("default"), QStringLiteral("/nowhere/gone.gguf")});
    auto* list = panel.findChild<QListWidget*>();
    QCOMPARE(list->count(), 2);
    QCOMPARE(list->item(1)->text(), QStringLiteral("gone.gguf"));
    QVERIFY(!list->item(1)->flags().testFlag(Qt::ItemIsEnabled));
    QVERIFY(!button(panel, QStringLiteral("Open"))->isEnabled());
    list->setCurrentRow(0);
    QCOMPARE(chosen.count(), 1);
    QCOMPARE(chosen.at(0).at(0).toString(), QStringLiteral("default"));
    button(panel, QStringLiteral("Open"))->click();
    QCOMPARE(opened.count(), 1);
    QCOMPARE(opened.at(0).at(0).toString(), QStringLiteral("default"));
  }

  void messagesCanBeCopiedAndClosed() {
    gui::MessageBar bar;
    QVERIFY(bar.isHidden());
    bar.showMessage(QStringLiteral("model.gguf: file is empty"));
    QVERIFY(!bar.isHidden());
    button(bar, QStringLiteral("Copy"))->click();
    QCOMPARE(QGuiApplication::clipboard()->text(), QStringLiteral("model.gguf: file is empty"));
    button(bar, QStringLiteral("Close"))->click();
    QVERIFY(bar.isHidden());
    QCOMPARE(bar.message(), QString());
  }

  void aLoadCanBeLeft() {
    gui::LoadBar bar;
    QSignalSpy cancelled(&bar, &gui::LoadBar::cancelled);
    bar.showProgress(QStringLiteral("copying weights"), 0.5);
    QVERIFY(shownBy(bar).contains(QStringLiteral("copying weights")));
    button(bar, QStringLiteral("Cancel"))->click();
    QCOMPARE(cancelled.count(), 1);
  }

  // ---- Compare, verdict, advice ------------------------------------------------------------------------------------

  void presetsFillBothColumns() {
    gui::ComparePanel panel(core::builtinPresets());
    QSignalSpy asked(&panel, &gui::ComparePanel::presetChosen);
    QSignalSpy started(&panel, &gui::ComparePanel::startClicked);
    auto* start = panel.findChild<QPushButton*>(QStringLiteral("start"));
    QVERIFY(!start->isEnabled());  // no model yet
    panel.showModel(tests::toyModel());
    QVERIFY(asked.count() > 0);
    panel.choosePreset(QStringLiteral("kv-f16-q8_0"));
    QCOMPARE(panel.findChild<QComboBox*>(QStringLiteral("kv-format-a"))->currentText(), QStringLiteral("f16"));
    QCOMPARE(panel.findChild<QComboBox*>(QStringLiteral("kv-format-b"))->currentText(), QStringLiteral("q8_0"));
    panel.findChild<QComboBox*>(QStringLiteral("attention-b"))->setCurrentText(QStringLiteral("naive"));
    panel.findChild<QSpinBox*>(QStringLiteral("repeats"))->setValue(5);
    start->click();
    QCOMPARE(started.count(), 1);
    const auto order = started.front().front().value<gui::CompareOrder>();
    QCOMPARE(order.scenario.id, std::string("summarisation"));
    QCOMPARE(order.preset.num_requests, 6);
    QCOMPARE(order.repeats, 5);
    QCOMPARE(core::changedKnobs(order.a, order.b).size(), std::size_t(2));
  }

  void settingsOfOnesOwnRunTheWorkload() {
    gui::ComparePanel panel(core::builtinPresets());
    panel.showModel(tests::toyModel());
    panel.findChild<QComboBox*>(QStringLiteral("preset"))->setCurrentIndex(0);
    QVERIFY(!panel.order());
    core::Scenario work;
    work.id = "mine";
    panel.showWorkload(work);
    core::EngineOptions in_force;
    in_force.block_size = 8;
    panel.showOptions(in_force);
    panel.findChild<QComboBox*>(QStringLiteral("batching-b"))->setCurrentText(QStringLiteral("static"));
    const auto order = panel.order();
    QCOMPARE(order->scenario.id, std::string("mine"));
    QVERIFY(order->a == in_force && order->b.block_size == 8 && order->b.batching == core::Batching::kStatic);
  }

  void presetsSayWhenTheyDoNotShow() {
    gui::ComparePanel panel(core::builtinPresets());
    QSignalSpy wanted(&panel, &gui::ComparePanel::modelWanted);
    panel.showModel(tests::toyModel());
    panel.choosePreset(QStringLiteral("paged-contiguous"));
    panel.showNotices(QStringLiteral("threads"), {QStringLiteral("of another")});
    QVERIFY(!shownBy(panel).contains(QStringLiteral("May not show")));
    panel.showNotices(QStringLiteral("paged-contiguous"), {QStringLiteral("the weights fit the cache")});
    QVERIFY(shownBy(panel).contains(QStringLiteral("May not show here: the weights fit the cache.")));
    button(panel, QStringLiteral("Open synthetic:smollm2-135m:f16"))->click();
    QCOMPARE(wanted.front().front().toString(), QStringLiteral("synthetic:smollm2-135m:f16"));
  }

  void comparingCanBeStopped() {
    gui::ComparePanel panel(core::builtinPresets());
    QSignalSpy stopped(&panel, &gui::ComparePanel::stopClicked);
    panel.showModel(tests::toyModel());
    panel.showStarted();
    panel.showProgress(QStringLiteral("repeat 1 of 3"), 0.25);
    QVERIFY(shownBy(panel).contains(QStringLiteral("repeat 1 of 3")));
    QVERIFY(!panel.findChild<QComboBox*>(QStringLiteral("preset"))->isEnabled());
    panel.findChild<QPushButton*>(QStringLiteral("start"))->click();
    QCOMPARE(stopped.count(), 1);
    panel.showFinished(QStringLiteral("Stopped."));
    QVERIFY(panel.findChild<QComboBox*>(QStringLiteral("preset"))->isEnabled());
  }

  void verdictGivesEachFigureAWord() {
    gui::VerdictPanel panel;
    QVERIFY(panel.sentence().contains(QStringLiteral("Nothing compared yet")));
    panel.showComparison(someComparison(), true);
    QCOMPARE(panel.sentence(), QStringLiteral("Output: B is 2x faster"));
    const QStringList cells = {"Output",       "50 tok/s", "100 tok/s", "2.00×", "B is 2x faster",
                               "2.00 to 2.00", "3",        "+50 tok/s", ""};
    QCOMPARE(rowOf(panel, QStringLiteral("Output")), cells);
    const QString shown = shownBy(panel);
    for (const char* words : {"block-size 16 against 64", "3 of 4 answers are equal", "after 7 equal ones",
                              "0.0012 nats", "same in 98%", "1 note", "3 repeats, the machine not probed"}) {
      QVERIFY2(shown.contains(QString::fromUtf8(words)), qPrintable(shown));
    }
    panel.showProgress(QStringLiteral("repeat 1 of 3"));
    panel.showComparison(someComparison(), false);
    QCOMPARE(panel.sentence(), QStringLiteral("So far (repeat 1 of 3): output 2.00×, B is 2x faster"));
  }

  void aLaneStaysAsABaseline() {
    gui::VerdictPanel panel;
    panel.showComparison(someComparison(), true);
    auto* table = panel.findChild<QTreeWidget*>();
    QVERIFY(table->isColumnHidden(table->columnCount() - 1));
    panel.pin(true);
    auto other = someComparison();
    other->b.run.duration_ns = 500'000'000;
    panel.showComparison(other, true);
    QVERIFY(!table->isColumnHidden(table->columnCount() - 1));
    QCOMPARE(rowOf(panel, QStringLiteral("Output")).back(), QStringLiteral("100 tok/s"));
    QVERIFY(table->headerItem()->text(table->columnCount() - 1).contains(QStringLiteral("Chat, lane B")));
  }

  // A plain run is a baseline too: alone, and beside a comparison.
  void aRunStaysAsABaseline() {
    gui::VerdictPanel panel;
    QSignalSpy failed(&panel, &gui::VerdictPanel::failed);
    QSignalSpy wanted(&panel, &gui::VerdictPanel::runWanted);
    for (QAction* action : button(panel, QStringLiteral("Pin"))->menu()->actions()) {
      QCOMPARE(action->isEnabled(), !action->text().startsWith(QStringLiteral("Lane")));
      if (action->text().contains(QStringLiteral("one lane"))) action->trigger();
    }
    QCOMPARE(wanted.count(), 1);
    panel.pinRun({}, QStringLiteral("Chat"));  // nothing ran
    QCOMPARE(failed.count(), 1);
    core::RunSummary run = someComparison()->a.run;
    run.num_steps = 100;
    panel.pinRun(run, QStringLiteral("Chat"));
    QCOMPARE(rowOf(panel, QStringLiteral("Output")).back(), QStringLiteral("50 tok/s"));
    QVERIFY(panel.sentence().contains(QStringLiteral("Chat is pinned")));
    panel.showComparison(someComparison(), true);
    QCOMPARE(rowOf(panel, QStringLiteral("Output")).back(), QStringLiteral("50 tok/s"));
    QCOMPARE(rowOf(panel, QStringLiteral("Output"))[2], QStringLiteral("100 tok/s"));
  }

  void aTextIsChosenAndLeftOut() {
    const QTemporaryDir folder;
    const QString name = folder.filePath(QStringLiteral("river.txt"));
    QFile file(name);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("of keys and values");
    file.close();
    gui::ComparePanel panel(core::builtinPresets());
    QVERIFY(panel.order()->text.empty());
    panel.useText(name);
    QCOMPARE(panel.order()->text, std::string("of keys and values"));
    QCOMPARE(panel.order()->text_name, std::string("river.txt"));
    panel.findChild<QPushButton*>(QStringLiteral("text"))->click();  // leaves it out again
    QVERIFY(panel.order()->text.empty());
    panel.useText(folder.filePath(QStringLiteral("none.txt")));
    QVERIFY(shownBy(panel).contains(QStringLiteral("none.txt has no text")));
  }

  void aComparisonIsSavedAndOpened() {
    const QTemporaryDir folder;
    gui::VerdictPanel panel;
    QSignalSpy failed(&panel, &gui::VerdictPanel::failed);
    panel.showComparison(someComparison(), true);
    for (const char* name : {"c.json", "c.csv", "c.html"}) panel.save(folder.filePath(QString::fromLatin1(name)));
    QCOMPARE(QDir(folder.path()).entryList(QDir::Files).size(), 3);
    gui::VerdictPanel other;
    other.open(folder.filePath(QStringLiteral("c.json")));
    QCOMPARE(other.sentence(), panel.sentence());
    QCOMPARE(failed.count(), 0);
    panel.open(folder.filePath(QStringLiteral("c.csv")));
    panel.save(folder.filePath(QStringLiteral("c.txt")));
    QCOMPARE(failed.count(), 2);
    QCOMPARE(panel.sentence(), other.sentence());  // the old one stays
  }

  void adviceIsRankedAndMeasured() {
    gui::AdvicePanel panel;
    QSignalSpy wanted(&panel, &gui::AdvicePanel::wanted);
    QSignalSpy measure(&panel, &gui::AdvicePanel::measureClicked);
    panel.findChild<QPushButton*>(QStringLiteral("predict"))->click();
    QCOMPARE(wanted.count(), 1);
    panel.showAdvice({{.knob = "block-size", .value = "64", .throughput_ratio = 1.5, .itl_p99_ratio = 0.5},
                      {.knob = "attention", .value = "naive", .throughput_ratio = 0.9, .guessed = true}});
    QVERIFY(shownBy(panel).contains(QStringLiteral("Most would help: Block size to 64, 1.50×")));
    QCOMPARE(rowOf(panel, QStringLiteral("Attention")).at(2), QStringLiteral("0.90×, a guess"));
    QCOMPARE(rowOf(panel, QStringLiteral("Block size")).at(3), QStringLiteral("–"));
    panel.showMeasured(*someComparison());
    QCOMPARE(rowOf(panel, QStringLiteral("Block size")).at(3), QStringLiteral("2.00× (2.00 to 2.00)"));
    auto* table = panel.findChild<QTreeWidget*>();
    table->setCurrentItem(table->topLevelItem(1));
    panel.findChild<QPushButton*>(QStringLiteral("measure"))->click();
    QCOMPARE(measure.front().at(0).toString(), QStringLiteral("attention"));
    panel.showRefusal(QStringLiteral("nothing has run yet"));
    QVERIFY(shownBy(panel).contains(QStringLiteral("nothing has run yet")));
  }

  // ---- Allocators --------------------------------------------------------------------------------------------------

  // What pieces of memory would make of the sequences that the engine pages.
  void allocatorsRunBesideTheEngine() {
    gui::AllocatorsPanel panel;
    panel.resize(500, 300);
    panel.showModel(tests::toyModel());
    panel.show();
    auto* plot = panel.findChild<QCustomPlot*>();
    QCOMPARE(plot->graphCount(), static_cast<int>(core::shadowPolicies().size()));
    gui::Frame frame = tests::fullFrame();
    for (int i = 0; i < 3; ++i) {
      panel.showFrame(frame);
      auto later = std::make_shared<core::Snapshot>(*frame.snapshot);
      later->lane_ns += 1'000'000'000;
      frame.snapshot = later;
    }
    QCOMPARE(plot->graph(0)->dataCount(), 3);
    const auto waste = [&](int curve) { return plot->graph(curve)->data()->at(0)->value; };
    QVERIFY(std::isnan(waste(0)));  // the longest possible text has no room in so small a cache
    QVERIFY2(waste(3) < waste(5), qPrintable(QStringLiteral("%1 %2").arg(waste(3)).arg(waste(5))));  // pages of 8, 32
    panel.showModel(tests::toyModel());
    QCOMPARE(plot->graph(0)->dataCount(), 0);
  }
};

QTEST_MAIN(TestPanels)
#include "tst_panels.moc"
