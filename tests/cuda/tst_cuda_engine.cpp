// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/backend/module_backend.h"
#include "tests/support/engines.h"

#include <QTest>

#include <set>

using namespace inferoscope;
using namespace inferoscope::core;
using tests::Settings;

namespace {

// Three requests: one decodes while the others' prompts run, two begin with the same 40 tokens, one comes late.
std::vector<std::vector<TokenId>> answersOn(const std::string& device, const std::string& source,
                                            const Settings& settings) {
  const std::shared_ptr<Backend> backend = makeBackend(device, 1);
  EngineOptions options = tests::with(settings);
  options.device = device;
  Engine engine(tests::loadOn(*backend, source), backend, options);
  std::vector<TokenId> longer = tests::someIds(40, 3);
  const std::vector<TokenId> tail = tests::someIds(37, 4);
  longer.insert(longer.end(), tail.begin(), tail.end());

  tests::Answers answers;
  std::vector<SeqId> ids;
  const auto submit = [&](std::vector<TokenId> prompt, int count) {
    const Submitted submitted = engine.submit(tests::ask(std::move(prompt), count));
    if (!submitted.refusal.empty()) throw Error(submitted.refusal);
    ids.push_back(submitted.seq);
  };
  submit(tests::someIds(40, 3), 12);
  for (int step = 0; step < 3; ++step) tests::collect(engine, engine.step({}), answers);
  submit(std::move(longer), 6);
  submit(tests::someIds(5, 8), 9);
  while (!engine.idle()) tests::collect(engine, engine.step({}), answers);
  if (const std::string broken = engine.check(); !broken.empty()) throw Error(broken);

  std::vector<std::vector<TokenId>> tokens;
  for (const SeqId id : ids) tokens.push_back(answers.at(id).tokens);
  return tokens;
}

}  // namespace

// The whole engine on CUDA's kernels, which run on the emulation: the module, its memory, its index copies, its graphs.
class TestCudaEngine : public QObject {
  Q_OBJECT

 private slots:
  void greedyAnswersAreTheCpus_data() {
    QTest::addColumn<QString>("source");
    QTest::addColumn<Settings>("settings");
    for (const char* source : {"synthetic:tiny:f16", "synthetic:tiny-64:f16"}) {
      const auto row = [&](const char* name, const Settings& settings) {
        QTest::addRow("%s, %s", source, name) << QString(source) << settings;
      };
      row("as it comes", {});
      row("blocks of 7, chunks of 16", {{"block-size", "7"}, {"prefill-chunk", "16"}});
      row("naive attention", {{"attention", "naive"}});
      if (std::string_view(source) != "synthetic:tiny:f16") continue;
      row("f32 cache", {{"kv-format", "f32"}});
      row("contiguous", {{"kv-layout", "contiguous"}, {"kv-budget", "16"}});
      row("no graphs, no prefix cache", {{"cuda-graphs", "off"}, {"prefix-cache", "off"}});
    }
    QTest::addRow("q8_0 cache") << QString("synthetic:tiny-64:f16") << Settings{{"kv-format", "q8_0"}};
    QTest::addRow("qwen2") << QString("synthetic:tiny-qwen2:f16") << Settings{};
    QTest::addRow("qwen3") << QString("synthetic:tiny-qwen3:f16") << Settings{};
  }
  void greedyAnswersAreTheCpus() {
    QFETCH(const QString, source);
    QFETCH(const Settings, settings);
    const auto expected = answersOn("cpu", source.toStdString(), settings);
    const auto got = answersOn("cuda-emu", source.toStdString(), settings);
    QCOMPARE(got.size(), 3U);
    for (std::size_t i = 0; i < got.size(); ++i) QCOMPARE(got[i], expected[i]);
  }

  // Weights in planes, and activations as bytes or halves, by the number of tokens.
  void quantizedWeightsGiveNearlyTheCpusLogits_data() {
    QTest::addColumn<QString>("format");
    for (const char* format : {"q8_0", "q4_0", "q4_1", "q4_k", "q6_k"}) QTest::newRow(format) << QString(format);
  }
  void quantizedWeightsGiveNearlyTheCpusLogits() {
    QFETCH(const QString, format);
    const std::string source = "synthetic:tiny-64:" + format.toStdString();
    std::vector<std::vector<float>> logits;
    for (const char* device : {"cpu", "cuda-emu"}) {
      const std::shared_ptr<Backend> backend = makeBackend(device, 1);
      EngineOptions options;
      options.device = device;
      Engine engine(tests::loadOn(*backend, source), backend, options);
      engine.keepLogits(true);
      engine.submit(tests::ask(tests::someIds(20, 5), 1));
      tests::Answers answers;
      while (!engine.idle()) tests::collect(engine, engine.step({}), answers);
      logits.push_back(answers.begin()->second.logits);
    }
    QCOMPARE(logits[0].size(), 512U);
    QCOMPARE(logits[1].size(), 512U);
    double square = 0.0;
    double difference = 0.0;
    for (std::size_t i = 0; i < 512; ++i) {
      square += double{logits[0][i]} * logits[0][i];
      difference += (double{logits[0][i]} - logits[1][i]) * (double{logits[0][i]} - logits[1][i]);
    }
    QVERIFY2(square > 0, "all logits are zero");
    QVERIFY2(difference < 1e-3 * square, qPrintable(QString("%1 of %2").arg(difference).arg(square)));
  }

  void theRecordsNameTheKernelsThatRan() {
    const std::shared_ptr<Backend> backend = makeBackend("cuda-emu", 1);
    EngineOptions options;
    options.device = "cuda-emu";
    Engine engine(tests::loadOn(*backend, "synthetic:tiny:q8_0"), backend, options);
    engine.submit(tests::ask(tests::someIds(20, 5), 2));
    std::set<std::string> kernels;
    while (!engine.idle()) {
      if (const auto record = engine.step({})) {
        for (const OpRecord& op : record->ops) {
          kernels.emplace(op.kernel);
          QVERIFY(op.duration_ns >= 0);
        }
      }
    }
    for (const char* id : {"linear.gemv", "linear.cublas", "attention.flash_cuda", "rms_norm.cuda", "kv_append.cuda"}) {
      QVERIFY2(kernels.contains(id), id);
    }
  }

  void whatDoesNotFitIsRefusedWithBothNumbers() {
    const std::shared_ptr<Backend> backend = makeBackend("cuda-emu", 1);
    EngineOptions options = tests::with({{"kv-budget", "30000"}});
    options.device = "cuda-emu";
    const auto model = tests::loadOn(*backend, "synthetic:tiny");
    try {
      Engine engine(model, backend, options);
      QFAIL("30 GB fitted");
    } catch (const Error& error) {
      QVERIFY2(QString(error.what()).contains("GiB needed") && QString(error.what()).contains("GiB free"),
               error.what());
    }
    options.kv_budget_mib = 4;
    Engine engine(model, backend, options);
    engine.submit(tests::ask(tests::someIds(3, 5), 1));
    QCOMPARE(tests::runAll(engine).size(), 1U);
  }

  void aDeviceThatIsNotThereIsRefusedWithTheReason() {
    for (const char* device : {"cuda:99", "cuda:", "gpu"}) {
      try {
        makeBackend(device, 1);
        QFAIL(device);
      } catch (const Error& error) {
        QVERIFY2(QString(error.what()).contains(device) || QString(error.what()).contains("CUDA module"), error.what());
      }
    }
  }

  void theListOfGpusSaysWhyThereIsNone() {
    const GpuListing listing = listGpus();
    QCOMPARE(listing.gpus.empty(), !listing.why_none.empty());
  }

  void theDeviceOfLoadedWeightsStays() {
    const std::shared_ptr<Backend> backend = makeBackend("cuda-emu", 1);
    EngineOptions options;
    options.device = "cuda-emu";
    Engine engine(tests::loadOn(*backend, "synthetic:tiny"), backend, options);
    EngineOptions wanted = options;
    wanted.device = "cpu";
    QVERIFY(QString::fromStdString(engine.apply(wanted)).contains("open the model anew"));
    QCOMPARE(engine.options().device, std::string("cuda-emu"));
  }
};

QTEST_GUILESS_MAIN(TestCudaEngine)
#include "tst_cuda_engine.moc"
