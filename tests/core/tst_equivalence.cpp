// SPDX-License-Identifier: GPL-3.0-or-later
// On one device and kernel set, nothing that the scheduler does changes an answer: logits are equal bit by bit.
#include "core/engine/engine.h"
#include "tests/support/data.h"
#include "tests/support/engines.h"

#include <QTest>

#include <cmath>
#include <cstring>

using namespace inferoscope;
using namespace inferoscope::core;
using namespace inferoscope::tests;

namespace {

EngineOptions onTwoThreads(const Settings& settings) {
  EngineOptions options;
  options.threads = 2;
  return with(settings, options);
}

// A model on its backend, and engines that share both.
struct Bench {
  explicit Bench(const std::string& source) : model(loadOn(*backend, source)) {}
  Engine engine(const EngineOptions& options) const { return {model, backend, options}; }
  std::shared_ptr<Backend> backend = makeCpuBackend(2);
  std::shared_ptr<const Model> model;
};

const Bench& benchOf(const QString& source) {
  static std::map<QString, Bench> benches;
  return benches.try_emplace(source, source.toStdString()).first->second;
}

// Prompts of many lengths; two share a beginning, one is sampled with a temperature.
std::vector<Request> requests() {
  std::vector<Request> all;
  for (const int length : {1, 3, 16, 17, 33, 64}) all.push_back(ask(someIds(length, length), 14));
  std::vector<TokenId> shared = someIds(64, 64);
  shared.resize(50);
  shared.push_back(7);
  all.push_back(ask(shared, 14));
  all.push_back(ask(someIds(20, 20), 14));
  all.back().sampling.temperature = 0.9F;
  all.back().sampling.seed = 5;
  return all;
}

std::vector<Answer> alone(const Bench& bench, const EngineOptions& options, const std::vector<Request>& asked) {
  std::vector<Answer> answers;
  for (const Request& request : asked) {
    Engine engine = bench.engine(options);
    engine.keepLogits(true);
    const SeqId seq = engine.submit(request).seq;
    answers.push_back(runAll(engine)[seq]);
  }
  return answers;
}

std::vector<Answer> together(Engine& engine, const std::vector<Request>& asked) {
  engine.keepLogits(true);
  std::vector<SeqId> seqs;
  for (const Request& request : asked) seqs.push_back(engine.submit(request).seq);
  Answers all = runAll(engine);
  std::vector<Answer> answers;
  for (const SeqId seq : seqs) answers.push_back(all[seq]);
  return answers;
}

// Empty if equal bit by bit, else where they differ first.
QString difference(const std::vector<Answer>& a, const std::vector<Answer>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].tokens != b[i].tokens) return QString("request %1: other tokens").arg(i);
    if (a[i].text != b[i].text) return QString("request %1: other text").arg(i);
    const bool same_size = a[i].logits.size() == b[i].logits.size() && !a[i].logits.empty();
    if (!same_size || std::memcmp(a[i].logits.data(), b[i].logits.data(), a[i].logits.size() * sizeof(float)) != 0) {
      return QString("request %1: other logits").arg(i);
    }
  }
  return {};
}

double largestDifference(const Answer& a, const Answer& b) {
  double largest = 0;
  for (std::size_t i = 0; i < std::min(a.logits.size(), b.logits.size()); ++i) {
    largest = std::max(largest, std::abs(double(a.logits[i]) - double(b.logits[i])));
  }
  return largest;
}

const QString kTiny = "synthetic:tiny";
const QString kTinyQ8 = "synthetic:tiny:q8_0";
const QString kTinyFile = QString::fromStdString(dataPath("valid/valid_tiny.gguf"));

}  // namespace

Q_DECLARE_METATYPE(Settings)

class TestEquivalence : public QObject {
  Q_OBJECT

 private slots:
  void batchedAnswersEqualThoseAlone_data() {
    QTest::addColumn<QString>("source");
    QTest::addColumn<Settings>("settings");
    const std::vector<std::pair<const char*, Settings>> cases = {
        {"together", {}},
        {"small chunks", {{"prefill-chunk", "5"}}},
        {"small steps", {{"step-tokens", "7"}}},
        {"one token a step", {{"step-tokens", "1"}}},
        {"whole prompts", {{"prefill-chunk", "0"}}},
        {"whole prompts in small steps", {{"prefill-chunk", "0"}, {"step-tokens", "8"}}},
        {"blocks of 1", {{"block-size", "1"}}},
        {"blocks of 8", {{"block-size", "8"}}},
        {"blocks of 64", {{"block-size", "64"}}},
        {"contiguous", {{"kv-layout", "contiguous"}}},
        {"1 thread", {{"threads", "1"}}},
        {"3 threads", {{"threads", "3"}}},
        {"two at a time", {{"max-sequences", "2"}}},
        {"static batches", {{"batching", "static"}, {"max-sequences", "3"}}},
        {"prefill first", {{"policy", "prefill-first"}}},
        {"no prefix cache", {{"prefix-cache", "off"}}},
        {"prefix cache of small blocks", {{"block-size", "4"}, {"step-tokens", "64"}}},
    };
    for (const QString& source : {kTiny, kTinyQ8, kTinyFile}) {
      for (const auto& [name, settings] : cases) {
        QTest::newRow(qPrintable(source.section('/', -1) + ", " + name)) << source << settings;
      }
    }
  }
  void batchedAnswersEqualThoseAlone() {
    QFETCH(QString, source);
    QFETCH(Settings, settings);
    const Bench& bench = benchOf(source);
    static std::map<QString, std::vector<Answer>> expected;
    if (!expected.contains(source)) expected[source] = alone(bench, onTwoThreads({{"block-size", "16"}}), requests());
    Engine engine = bench.engine(onTwoThreads(settings));
    QCOMPARE(difference(expected[source], together(engine, requests())), QString());
  }

  // The second time round the prompts are found in the cache.
  void cachedPrefixesChangeNothing() {
    const Bench& bench = benchOf(kTiny);
    Engine engine = bench.engine(onTwoThreads({{"block-size", "8"}}));
    const std::vector<Answer> first = together(engine, requests());
    const std::int64_t hits_before = engine.snapshot().totals.prefix_tokens_hit;
    const std::vector<Answer> second = together(engine, requests());
    QVERIFY(engine.snapshot().totals.prefix_tokens_hit > hits_before + 100);
    QCOMPARE(difference(first, second), QString());
  }

  // More than the smallest budget holds: 64 sequences of about 104 tokens in 4,096 slots.
  void preemptedAnswersEqualThoseAlone() {
    const Bench& bench = benchOf(kTiny);
    std::vector<Request> asked;
    for (int i = 0; i < 64; ++i) asked.push_back(ask(someIds(70 + i % 9, i), 30));
    const Settings roomy = {{"prefix-cache", "off"}, {"max-sequences", "64"}};
    Settings tight = roomy;
    tight.emplace_back("kv-budget", "1");
    Engine engine = bench.engine(onTwoThreads(tight));
    const std::vector<Answer> preempted = together(engine, asked);
    QVERIFY(engine.snapshot().totals.num_preemptions > 0);
    Engine calm = bench.engine(onTwoThreads(roomy));
    const std::vector<Answer> undisturbed = together(calm, asked);
    QCOMPARE(calm.snapshot().totals.num_preemptions, std::int64_t(0));
    QCOMPARE(difference(undisturbed, preempted), QString());
  }

  void naiveAndFlashAttentionAgree_data() { everyKvFormat(); }
  void naiveAndFlashAttentionAgree() {
    QFETCH(QString, source);
    QFETCH(QString, format);
    const std::string kv = format.toStdString();
    agree(source, {{"kv-format", kv}, {"attention", "flash"}}, {{"kv-format", kv}, {"attention", "naive"}}, 1e-3);
  }

  // Other sums and quantized activations: far coarser than another order of the sum.
  void naiveAndSimdLinearAgree_data() { everySource(); }
  void naiveAndSimdLinearAgree() {
    QFETCH(QString, source);
    agree(source, {{"linear", "simd"}}, {{"linear", "naive"}}, source == kTinyQ8 ? 0.3 : 1e-2);
  }

 private:
  static void everySource() {
    QTest::addColumn<QString>("source");
    for (const QString& source : {kTiny, kTinyQ8, kTinyFile})
      QTest::newRow(qPrintable(source.section('/', -1))) << source;
  }
  static void everyKvFormat() {
    QTest::addColumn<QString>("source");
    QTest::addColumn<QString>("format");
    const QString head_32 = QString::fromStdString(dataPath("valid/valid_hd32_mqa.gguf"));
    for (const char* format : {"f16", "f32"}) QTest::addRow("tiny, %s", format) << kTiny << format;
    QTest::newRow("head_dim 32, q8_0") << head_32 << "q8_0";
  }

  // First tokens, so that one other choice does not make all that follows incomparable.
  static void agree(const QString& source, const Settings& a, const Settings& b, double tolerance) {
    const Bench& bench = benchOf(source);
    std::vector<Request> asked;
    for (const int length : {1, 5, 40, 90}) asked.push_back(ask(someIds(length, length), 1));
    const std::vector<Answer> first = alone(bench, onTwoThreads(a), asked);
    const std::vector<Answer> second = alone(bench, onTwoThreads(b), asked);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      QVERIFY(!first[i].logits.empty());
      const double largest = largestDifference(first[i], second[i]);
      QVERIFY2(largest < tolerance, qPrintable(QString::number(largest)));
    }
  }
};

QTEST_GUILESS_MAIN(TestEquivalence)
#include "tst_equivalence.moc"
