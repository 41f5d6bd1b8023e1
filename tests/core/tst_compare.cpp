// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/compare.h"
#include "core/engine/perplexity.h"
#include "core/engine/scorer.h"
#include "core/error.h"
#include "tests/support/lanes.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

using namespace inferoscope;
using namespace inferoscope::core;
using namespace inferoscope::tests;

namespace {

LaneSource source(const Settings& settings = {}, const std::string& model = "synthetic:tiny") {
  static std::map<std::string, std::shared_ptr<const Model>> models;
  const std::shared_ptr<Backend> backend = makeCpuBackend(1);
  std::shared_ptr<const Model>& loaded = models[model];
  if (!loaded) loaded = loadOn(*backend, model);
  return {loaded, backend, with(settings, with({{"threads", "1"}}))};
}

// A machine whose steps take longer now and then, and which drifts meanwhile.
TimeSource unsteadyClock(unsigned seed) {
  struct State {
    std::mt19937_64 random;
    std::int64_t now = 0;
    std::int64_t num_readings = 0;
  };
  auto state = std::make_shared<State>(State{.random = std::mt19937_64(seed)});
  return [state] {
    const double drift = 1 + 0.3 * std::sin(static_cast<double>(++state->num_readings) / 300);
    const auto jump = static_cast<double>(700'000 + state->random() % 600'000);
    return state->now += static_cast<std::int64_t>(jump * drift);
  };
}

CompareSetup setup(unsigned seed = 1) {
  CompareSetup made;
  made.scenario = twelveRequests();
  made.scenario.seed = seed;
  made.probe = false;
  made.seed = seed;
  made.time = unsteadyClock(seed);
  return made;
}

const Difference& row(const Comparison& comparison, const std::string& metric) {
  for (const Difference& difference : comparison.differences) {
    if (difference.metric == metric) return difference;
  }
  qFatal("no such figure");
}

QByteArray contents(const QString& file) {
  QFile opened(file);
  return opened.open(QIODevice::ReadOnly) ? opened.readAll() : QByteArray();
}

}  // namespace

class TestCompare : public QObject {
  Q_OBJECT

 private slots:
  // Every figure of at least 19 of 20, and not one divergent logit.
  void aAgainstItselfIsNoClearDifference() {
    int num_quiet = 0;
    for (unsigned seed = 1; seed <= 20; ++seed) {
      const Comparison comparison = compare(source(), source(), setup(seed), {}, {});
      num_quiet += std::ranges::all_of(comparison.differences, [](const Difference& difference) {
        return difference.verdict == "no clear difference";
      });
      QCOMPARE(comparison.quality.kl_mean.value(), 0.0);
      QCOMPARE(comparison.quality.top1_agreement.value(), 1.0);
      QVERIFY(!comparison.quality.first_divergent_token);
    }
    QVERIFY2(num_quiet >= 19, qPrintable(QString::number(num_quiet)));
  }

  // One token a step takes more steps; here every step takes about the same time.
  void aClearDifferenceIsNamed() {
    const Comparison comparison = compare(source({{"max-sequences", "1"}}), source(), setup(), {}, {});
    const Difference& output = row(comparison, "output_tok_s");
    QVERIFY(output.ratio.value() > 1.5 && output.ci95->low > 1.1);
    QVERIFY2(output.verdict.starts_with("B is ") && output.verdict.ends_with("x faster"), output.verdict.c_str());
    QCOMPARE(output.num_pairs, 5);
    QVERIFY(row(comparison, "ttft_ms_p50").verdict.ends_with("x faster"));
    QVERIFY(row(comparison, "max_concurrent").verdict.ends_with("3x more"));
    QVERIFY(row(comparison, "weight_bytes_per_token").verdict.ends_with("x less"));
    QCOMPARE(comparison.quality.num_equal_answers, 12);
    const Comparison inverse = compare(source(), source({{"max-sequences", "1"}}), setup(), {}, {});
    QVERIFY(row(inverse, "output_tok_s").verdict.ends_with("x slower"));
  }

  void otherWeightsDiverge() {
    const LaneSource a = source(), b = source({}, "synthetic:tiny:q8_0");
    const Comparison comparison = compare(a, b, setup(), {}, {});
    QVERIFY(comparison.quality.kl_mean.value() > 0 && comparison.quality.kl_p99.value() >= *comparison.quality.kl_mean);
    QVERIFY(comparison.quality.num_rows > 30);
    QVERIFY(row(comparison, "weight_bytes_per_token").ratio.value() < 0.6);
  }

  // Only steps of the same tokens at the same places are pairs.
  void stepsArePairedByWhatTheyCompute() {
    CompareSetup wanted = setup();
    const ComparisonTally same = runBothLanes(source(), source(), wanted, LaneId::kA, {});
    QCOMPARE(same.numSameBatches(), int(same.summary(LaneId::kA).num_steps));
    wanted = setup();
    const ComparisonTally other = runBothLanes(source(), source({{"max-sequences", "1"}}), wanted, LaneId::kA, {});
    QVERIFY(other.numSameBatches() < same.numSameBatches() / 2);
  }

  void theRunSaysSomethingBeforeItsEnd() {
    const ComparisonTally tally = runBothLanes(source({{"max-sequences", "1"}}), source(), setup(), LaneId::kB, {});
    const std::vector<Difference> differences = tally.differencesSoFar(1);
    const auto ttft = std::ranges::find(differences, "ttft_ms_p50", &Difference::metric);
    QCOMPARE(ttft->num_pairs, 12);
    QVERIFY(ttft->verdict.ends_with("x faster"));
    QCOMPARE(tally.answersCompared().num_answers, 12);
    QVERIFY(!tally.lane(LaneId::kA).series.empty());
    QCOMPARE(tally.lane(LaneId::kA).itl_ms.size(), std::size_t(101));
  }

  // The scorer reads what the engine computed: the same logits bit by bit, prompt rows left out.
  void theScorerGivesTheEnginesLogits() {
    const LaneSource lane = source();
    Engine engine(lane.model, lane.backend, lane.options);
    engine.keepLogits(true);
    const SeqId seq = engine.submit(ask(someIds(150, 3), 20)).seq;
    const Answer answer = runAll(engine)[seq];
    std::vector<TokenId> text = someIds(150, 3);
    text.insert(text.end(), answer.tokens.begin(), answer.tokens.end());
    Scorer scorer(lane.model, lane.backend, lane.options, 170);
    for (int round = 0; round < 2; ++round) {
      scorer.start(text, 149);
      std::vector<float> logits;
      for (Scorer::Rows rows = scorer.next({}); rows.count > 0; rows = scorer.next({})) {
        QCOMPARE(rows.first, 149 + int(logits.size()) / lane.model->config.vocab_size);
        logits.insert(logits.end(), rows.logits.begin(), rows.logits.end());
      }
      QVERIFY(logits == answer.logits);
    }
  }

  // The same figures as when the text is read by itself.
  void aTextIsReadByBoth() {
    const LaneSource a = source(), b = source({}, "synthetic:tiny:q8_0");
    CompareSetup wanted = setup();
    wanted.repeats = 1;
    wanted.quality_tokens = 0;
    for (int i = 0; i < 60; ++i) wanted.text += "A river of keys and values, once more. ";
    wanted.text_name = "river.txt";
    const Comparison comparison = compare(a, b, wanted, {}, {});
    const Perplexity alone = measurePerplexity(a, b, windowsOf(wanted.text, *a.model), {}, {});
    const TextScore& read = comparison.quality.text.value();
    QCOMPARE(read.num_tokens, alone.num_tokens);
    QCOMPARE(read.perplexity_a, alone.perplexity);
    QCOMPARE(read.perplexity_b, alone.vs->perplexity);
    QCOMPARE(read.kl_mean, alone.vs->kl_mean);
    QVERIFY(read.num_tokens > 100 && read.kl_mean > 0 && read.top1_agreement > 0);
    QVERIFY(!comparison.quality.kl_mean);
    wanted.text = "A";
    QVERIFY_EXCEPTION_THROWN(compare(a, b, wanted, {}, {}), Error);
  }

  // Twelve requests of up to 37 tokens, in blocks of 16 or of a whole context.
  void whatFitsIsCounted() {
    const Settings small = {{"kv-budget", "1"}, {"max-sequences", "2"}};
    const Comparison comparison =
        compare(source(small), source({{"kv-layout", "contiguous"}, {"kv-budget", "1"}}), setup(), {}, {});
    const Difference& fits = row(comparison, "fitting_sequences");
    const RunSummary& paged = comparison.a.run;
    QVERIFY(paged.fitting_sequences > 2.0);  // whatever max-sequences lets in
    QVERIFY2(*fits.a > 2 * *fits.b, qPrintable(QStringLiteral("%1 %2").arg(*fits.a).arg(*fits.b)));
  }

  void aFigureOfOneLaneIsTold() {
    const Comparison comparison = compare(source({{"prefix-cache", "off"}}), source(), setup(), {}, {});
    const Difference& hits = row(comparison, "prefix_hit_rate");
    QCOMPARE(hits.verdict, std::string("A off"));
    QVERIFY(!hits.a && hits.b && !hits.ratio);
  }

  // What was written is all there again, without a model.
  void aComparisonIsOneFile() {
    const QTemporaryDir folder;
    const std::string file = folder.filePath("c.json").toStdString();
    Comparison comparison = compare(source({{"block-size", "4"}}), source(), setup(), {}, {});
    comparison.notices = {"a < b & \"c\""};
    comparison.quality.text = TextScore{"river.txt", 100, 11.5, 12.25, 0.125, 0.5, 0.75};
    saveComparison(comparison, file);
    const Comparison again = openComparison(file);
    QCOMPARE(comparisonJson(again).dump(), comparisonJson(comparison).dump());
    QCOMPARE(again.a.run.options.block_size, 4);
    QCOMPARE(whatDiffers(again.a.run.options, again.b.run.options), std::string("block-size 4 against 16"));

    saveComparison(again, folder.filePath("c.csv").toStdString());
    const QByteArray csv = contents(folder.filePath("c.csv"));
    QCOMPARE(csv.count('\n'), qsizetype(comparison.differences.size()) + 1);
    saveComparison(again, folder.filePath("c.html").toStdString());
    const QByteArray html = contents(folder.filePath("c.html"));
    QCOMPARE(html.count("<svg"), qsizetype(4));
    QVERIFY(html.contains("river.txt (100 tokens): A 11.5, B 12.25"));
    QVERIFY(html.contains("a &lt; b &amp;") && html.contains("block-size 4 against 16"));
    QVERIFY(!html.contains("nan") && !html.contains("http"));
    QVERIFY(!QFile::exists(folder.filePath("c.json.part")));
  }

  void brokenFilesAreRefused_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::newRow("empty") << QByteArray();
    QTest::newRow("not JSON") << QByteArray("hello");
    QTest::newRow("other JSON") << QByteArray("{\"a\": 1}");
    QTest::newRow("a list") << QByteArray("[]");
    QTest::newRow("another version") << QByteArray("{\"file\": \"inferoscope comparison\", \"version\": 99}");
  }
  void brokenFilesAreRefused() {
    QFETCH(QByteArray, text);
    const QTemporaryDir folder;
    QFile file(folder.filePath("broken.json"));
    QVERIFY(file.open(QIODevice::WriteOnly) && file.write(text) == text.size());
    file.close();
    QVERIFY_EXCEPTION_THROWN(openComparison(file.fileName().toStdString()), Error);
  }

  void filesOfOtherKindsAreNotWritten() {
    QVERIFY_EXCEPTION_THROWN(saveComparison({}, "/tmp/comparison.txt"), Error);
    QVERIFY_EXCEPTION_THROWN(saveComparison({}, "/no/such/folder/comparison.csv"), Error);
  }

  void aStopEndsIt() {
    std::stop_source stop;
    stop.request_stop();
    QVERIFY_EXCEPTION_THROWN(compare(source(), source(), setup(), {}, stop.get_token()), Cancelled);
  }

  void verdictsInWords_data() {
    QTest::addColumn<int>("kind");
    QTest::addColumn<double>("a");
    QTest::addColumn<double>("b");
    QTest::addColumn<QString>("words");
    QTest::newRow("rate up") << int(MetricKind::kRate) << 10.0 << 18.0 << "B is 1.8x faster";
    QTest::newRow("time up") << int(MetricKind::kTime) << 10.0 << 18.0 << "B is 1.8x slower";
    QTest::newRow("time down") << int(MetricKind::kTime) << 18.0 << 10.0 << "B is 1.8x faster";
    QTest::newRow("amount down") << int(MetricKind::kAmount) << 5.0 << 2.0 << "B has 2.5x less";
    QTest::newRow("equal") << int(MetricKind::kRate) << 5.0 << 5.0 << "no clear difference";
    QTest::newRow("within 2%") << int(MetricKind::kRate) << 100.0 << 101.5 << "no clear difference";
    QTest::newRow("none of either") << int(MetricKind::kAmount) << 0.0 << 0.0 << "no clear difference";
    QTest::newRow("only in B") << int(MetricKind::kAmount) << 0.0 << 3.0 << "only B has any";
    QTest::newRow("only in A") << int(MetricKind::kAmount) << 3.0 << 0.0 << "only A has any";
  }
  void verdictsInWords() {
    QFETCH(int, kind);
    QFETCH(double, a);
    QFETCH(double, b);
    QFETCH(QString, words);
    const ComparedMetric metric{"id", "label", "", MetricKind(kind), nullptr};
    const Difference difference = differenceOf(metric, std::vector<Pair>{{a, b}, {a, b}, {a, b}}, 1);
    QCOMPARE(QString::fromStdString(difference.verdict), words);
    QCOMPARE(difference.a.value(), a);
    QCOMPARE(difference.b.value(), b);
    QVERIFY(differenceOf(metric, {}, 1).verdict == "not measured");
    QVERIFY(differenceOf(metric, std::vector<Pair>{{a, b}}, 1).verdict == "one sample");
  }
};

QTEST_GUILESS_MAIN(TestCompare)
#include "tst_compare.moc"
