// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/prediction.h"
#include "core/engine/preset.h"
#include "core/engine/scenario_run.h"
#include "tests/support/lanes.h"

#include <QTest>

#include <algorithm>

using namespace inferoscope;
using namespace inferoscope::core;
using namespace inferoscope::tests;

namespace {

MachineLimits machine(int num_threads) {
  MachineLimits limits;
  limits.read_bytes_per_s = 10e9;
  limits.fp32_flop_per_s = 50e9 * num_threads;
  limits.int8_op_per_s = 200e9 * num_threads;
  limits.num_threads = num_threads;
  limits.cache_reach_bytes = limits.last_level_cache_bytes = 1 << 30;
  return limits;
}

RunSummary predict(const Settings& settings, const Scenario& scenario = twelveRequests()) {
  return predictRun(describeModel("synthetic:tiny"), scenario, with(settings), machine, {}, {});
}

}  // namespace

class TestPrediction : public QObject {
  Q_OBJECT

 private slots:
  // It plans what an engine does: the same tokens in the same steps.
  void aPredictedRunIsPlannedAsAMeasuredOne_data() {
    QTest::addColumn<QString>("knob");
    QTest::addColumn<QString>("value");
    QTest::newRow("as it is") << "block-size"
                              << "16";
    QTest::newRow("static") << "batching"
                            << "static";
    QTest::newRow("contiguous") << "kv-layout"
                                << "contiguous";
    QTest::newRow("one at a time") << "max-sequences"
                                   << "1";
    QTest::newRow("small chunks") << "prefill-chunk"
                                  << "5";
  }
  void aPredictedRunIsPlannedAsAMeasuredOne() {
    QFETCH(QString, knob);
    QFETCH(QString, value);
    const QByteArray id = knob.toLatin1();
    const Settings settings = {{id.constData(), value.toStdString()}};
    Lane lane = clockedLane(with(settings));
    const RunSummary measured = runScenario(lane, twelveRequests(), {}, {}, {});
    const RunSummary predicted = predict(settings);
    QCOMPARE(predicted.num_finished, measured.num_finished);
    QCOMPARE(predicted.num_output_tokens, measured.num_output_tokens);
    QCOMPARE(predicted.num_prefill_tokens, measured.num_prefill_tokens);
    QCOMPARE(predicted.num_steps, measured.num_steps);
    QVERIFY(predicted.cost == measured.cost);
    QVERIFY(predicted.busy_ns > 0);
  }

  // A kernel that took twice its floor will do so again.
  void aKernelKeepsItsDistanceFromTheFloor() {
    OpRecord op;
    op.name = "ffn_up";
    op.kernel = "linear.some";
    op.num_tokens = 1;
    op.cost.weights = 10'000'000;  // 1 ms
    op.duration_ns = 2'000'000;
    StepRecord step;
    step.ops = {op};
    step.kernel_ns = 2'000'000;
    step.duration_ns = 2'300'000;
    Calibration calibration;
    QCOMPARE(calibration.predictNs(op, machine(1)), 1e6 * Calibration::kUnseen);
    calibration.add(step, machine(1));
    OpRecord many = op;
    many.num_tokens = 100;
    QVERIFY(calibration.knows(op) && !calibration.knows(many));
    op.cost.weights *= 3;
    QCOMPARE(calibration.predictNs(op, machine(1)), 6e6);
    QCOMPARE(calibration.softwareNs(), 3e5);
    op.kernel = "linear.other";  // as far from its floor as what was seen
    QVERIFY(!calibration.knows(op));
    QCOMPARE(calibration.predictNs(op, machine(1)), 6e6);
    op.kernel = "linear.naive";
    QCOMPARE(calibration.predictNs(op, machine(1)), 6e6 * Calibration::kNaive);
  }

  void theSwitchThatIsMissingComesFirst() {
    Scenario scenario = twelveRequests();
    scenario.arrivals.concurrency = 8;
    const auto advice = whatWouldHelp(describeModel("synthetic:tiny"), scenario,
                                      with({{"max-sequences", "1"}, {"threads", "1"}}), machine, {}, {});
    // After the weights: those of this model are f32, and fewer bytes help even more.
    const auto first = std::ranges::find_if(advice, [](const Advice& each) { return each.knob != "weights"; });
    QCOMPARE(first->knob, std::string("max-sequences"));
    QVERIFY(first->throughput_ratio > 1.3);
    QVERIFY(advice.back().throughput_ratio <= 1.0);
    for (const Advice& each : advice) QVERIFY(each.guessed);  // nothing was measured
  }

  void presetsAreInOrder_data() {
    QTest::addColumn<QString>("id");
    for (const Preset& preset : builtinPresets()) QTest::newRow(preset.id.c_str()) << QString::fromStdString(preset.id);
  }
  void presetsAreInOrder() {
    QFETCH(QString, id);
    const Preset preset = findPreset(id.toStdString());
    QVERIFY(!preset.title.empty() && !preset.explanation.empty() && preset.num_requests > 0);
    const EngineOptions options = optionsOf(findScenario(preset.scenario), {});
    QVERIFY(!(withKnobs(options, preset.a) == withKnobs(options, preset.b)));
  }

  void anUnknownPresetIsRefused() { QVERIFY_EXCEPTION_THROWN(findPreset("no-such"), Error); }

  void whatHidesTheEffectIsSaid() {
    const auto model = describeModel("synthetic:tiny:q8_0");
    const auto notices = [&](Preset preset, const MachineLimits& limits = machine(1)) {
      return presetNotices(preset, model, twelveRequests(), limits);
    };
    QVERIFY(notices({}).empty());
    QCOMPARE(notices({.id = "x", .min_weights_over_cache = 4}).size(), std::size_t(1));
    QVERIFY(notices({.id = "x", .min_weights_over_cache = 4}, {}).empty());  // the cache is not known
    QVERIFY(notices({.id = "x", .formats = {"f16"}}).at(0).find("q8_0") != std::string::npos);
    QVERIFY(notices({.id = "x", .formats = {"q8_0"}}).empty());
    QCOMPARE(notices({.id = "x", .min_prompt_tokens = 512}).size(), std::size_t(1));
    QCOMPARE(notices({.id = "x", .min_concurrency = 8}).size(), std::size_t(1));
    QVERIFY(notices({.id = "x", .min_prompt_tokens = 5, .min_concurrency = 3}).empty());
  }
};

QTEST_GUILESS_MAIN(TestPrediction)
#include "tst_prediction.moc"
