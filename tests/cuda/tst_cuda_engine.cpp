// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/backend/module_backend.h"
#include "core/run/sampler.h"
#include "tests/cuda/emulated_device.h"
#include "tests/support/engines.h"

#include <QTest>

#include <cmath>
#include <filesystem>
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

// Logits of six tokens decoded after one prompt, beside `count` other sequences of that length and other contents.
std::vector<float> logitsBesides(int count, int others_from) {
  const std::shared_ptr<Backend> backend = makeBackend("cuda-emu", 1);
  EngineOptions options;
  options.device = "cuda-emu";
  Engine engine(tests::loadOn(*backend, "synthetic:tiny-64:q8_0"), backend, options);
  engine.keepLogits(true);
  const SeqId own = engine.submit(tests::ask(tests::someIds(20, 1), 6)).seq;
  for (int i = 0; i < count; ++i) engine.submit(tests::ask(tests::someIds(20, others_from + i), 6));
  return tests::runAll(engine).at(own).logits;
}

double relativeDifference(const std::vector<float>& a, const std::vector<float>& b) {
  double square = 0.0;
  double difference = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    square += double{a[i]} * a[i];
    difference += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  }
  return std::sqrt(difference / square);
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

  // Where a GPU's memory is, the host has nothing: it must neither read nor write there.
  void theHostLeavesTheDevicesMemoryAlone() {
    auto& device = tests::emulatedDevice();
    device.guarded = true;
    const auto got = answersOn("cuda-emu", "synthetic:tiny:q8_0", {{"attention", "naive"}});
    device.guarded = false;
    QCOMPARE(got, answersOn("cuda-emu", "synthetic:tiny:q8_0", {{"attention", "naive"}}));
  }

  // Weights in planes, and activations as bytes or halves, by the number of tokens.
  void quantizedWeightsGiveNearlyTheCpusLogits_data() {
    QTest::addColumn<QString>("format");
    for (const char* format : {"q8_0", "q4_0", "q4_1", "q4_k", "q5_k", "q6_k"})
      QTest::newRow(format) << QString(format);
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
      const SeqId seq = engine.submit(tests::ask(tests::someIds(20, 5), 1)).seq;
      logits.push_back(tests::runAll(engine).at(seq).logits);
    }
    QCOMPARE(logits[0].size(), 512U);
    QCOMPARE(logits[1].size(), 512U);
    const double difference = relativeDifference(logits[0], logits[1]);
    QVERIFY2(difference < 0.03, qPrintable(QString::number(difference)));
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
    for (const char* id : {"linear.gemv", "linear.cublas", "attention.flash_cuda", "rms_norm.cuda", "rms_norm.add_cuda",
                           "kv_append.cuda"}) {
      QVERIFY2(kernels.contains(id), id);
    }
  }

  // Tokens are picked on the device; the CPU's sampler picks the same from the same logits.
  void sampledTokensAreTheCpuSamplers() {
    const std::shared_ptr<Backend> backend = makeBackend("cuda-emu", 1);
    EngineOptions options;
    options.device = "cuda-emu";
    const auto model = tests::loadOn(*backend, "synthetic:tiny:f16");
    Engine engine(model, backend, options);
    engine.keepLogits(true);
    std::map<SeqId, Request> requests;
    const std::vector<SamplingParams> kinds = {
        {.temperature = 1.0F, .seed = 1, .logit_bias = {}},
        {.temperature = 0.7F, .top_k = 20, .top_p = 0.9F, .seed = 2, .logit_bias = {}},
        {.temperature = 1.5F, .min_p = 0.1F, .repeat_penalty = 1.3F, .seed = 3, .logit_bias = {}},
        {.temperature = 0.0F, .repeat_penalty = 1.1F, .logit_bias = {{5, 0.1F}, {6, -0.2F}}},
        {.temperature = 3.0F, .top_k = 100, .repeat_penalty = 0.9F, .seed = 4, .logit_bias = {{7, -INFINITY}}}};
    for (const SamplingParams& sampling : kinds) {
      Request request = tests::ask(tests::someIds(9, 2), 8);
      request.sampling = sampling;
      requests.emplace(engine.submit(request).seq, request);
    }
    int num_checked = 0;
    std::set<std::string_view> kernels;
    while (!engine.idle()) {
      const auto record = engine.step({});
      for (const OpRecord& op : record->ops) kernels.insert(op.kernel);
      for (const StepEntry& entry : record->entries) {
        if (entry.sampled < 0) continue;
        Request& request = requests.at(entry.seq);
        std::vector<TokenId>& tokens = request.prompt;  // and what came so far
        const Sampler::Result expected = Sampler().sample(engine.lastLogits(entry.seq), model->config.num_tokens,
                                                          request.sampling, tokens, std::ssize(tokens));
        QCOMPARE(entry.sampled, expected.token);
        tokens.push_back(entry.sampled);
        ++num_checked;
      }
    }
    QCOMPARE(num_checked, 8 * 5);
    QVERIFY(kernels.contains("sample.cuda"));
  }

  void loadedNaNEndsTheRequest() {
    const std::shared_ptr<Backend> backend = makeBackend("cuda-emu", 1);
    EngineOptions options;
    options.device = "cuda-emu";
    Engine engine(tests::loadOn(*backend, INFEROSCOPE_SOURCE_DIR "/tests/data/cases/f01_weight_nan.gguf"), backend,
                  options);
    const SeqId seq = engine.submit(tests::ask({1, 2, 3}, 4)).seq;
    tests::runAll(engine);
    const RequestInfo ended = engine.snapshot().requests.at(0);
    QCOMPARE(ended.seq, seq);
    QCOMPARE(ended.finish, FinishReason::kError);
    QVERIFY2(QString::fromStdString(ended.error).contains("non-finite logits"), ended.error.c_str());
  }

  // What others hold never matters. Nor does their number while the same kernels run: up to eight sequences decode by
  // GEMV, with sums over K in one order, and more through cuBLAS, whose weights and activations are halves.
  void neighboursDoNotChangeLogits() {
    const std::vector<float> alone = logitsBesides(0, 0);
    QCOMPARE(alone.size(), 6U * 512U);
    for (const int count : {1, 3, 7}) QVERIFY2(logitsBesides(count, 50) == alone, qPrintable(QString::number(count)));
    const std::vector<float> beside_eleven = logitsBesides(11, 50);
    QVERIFY(logitsBesides(11, 90) == beside_eleven);
    QVERIFY(beside_eleven != alone);
    QVERIFY2(relativeDifference(alone, beside_eleven) < 0.02,
             qPrintable(QString::number(relativeDifference(alone, beside_eleven))));
  }

  // A graph for each number of sequences, made once; lengths, tokens and tables of each step lie on the device.
  void graphsAreMadeOnceABatchSize() {
    const auto& device = tests::emulatedDevice();
    const std::shared_ptr<Backend> backend = makeBackend("cuda-emu", 1);
    EngineOptions options = tests::with({{"block-size", "4"}});
    options.device = "cuda-emu";
    Engine engine(tests::loadOn(*backend, "synthetic:tiny:f16"), backend, options);
    const auto decode = [&](int num_seqs) {
      for (int i = 0; i < num_seqs; ++i) engine.submit(tests::ask(tests::someIds(3, i), 10));
      tests::runAll(engine);
    };
    const int made_before = device.graphs_made;
    const int started_before = device.graphs_started;
    decode(3);  // more first: memory that grows is elsewhere afterwards, and what was made for it of no use
    QCOMPARE(device.graphs_made - made_before, 1);
    QCOMPARE(device.graphs_started - started_before, 8);  // 9 steps of decode, the first of them without a graph
    decode(1);
    decode(3);
    decode(1);
    QCOMPARE(device.graphs_made - made_before, 2);
    QCOMPARE(device.graphs_started - started_before, 8 + 8 + 9 + 9);
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

  // A real model takes a minute here: tests/run --slow. Both prompts at once are many tokens for cuBLAS and the tensor
  // cores; two that decode go through the kernels for few.
  void theDefaultModelAnswersAsOnTheCpu() {
    if (!qEnvironmentVariableIsSet("INFEROSCOPE_SLOW_TESTS")) QSKIP("asked for by INFEROSCOPE_SLOW_TESTS alone");
    if (!std::filesystem::exists(defaultModelPath())) QSKIP("the default model is not there");
    constexpr int kSlowTokens = 4;
    std::map<std::string, std::vector<std::vector<TokenId>>> answers;
    for (const std::string device : {"cpu", "cuda-emu"}) {
      const std::shared_ptr<Backend> backend = makeBackend(device, 1);
      EngineOptions options = tests::with({{"kv-budget", "64"}});
      options.device = device;
      const auto model = tests::loadOn(*backend, "default");
      Engine engine(model, backend, options);
      for (const char* prompt :
           {"The capital of France is", "Once upon a time, in a village by the sea, there lived"}) {
        engine.submit(tests::ask(model->tokenizer->encode(prompt), kSlowTokens));
      }
      for (const auto& [seq, answer] : tests::runAll(engine)) {
        qInfo("%s: %s", device.c_str(), model->tokenizer->decode(answer.tokens, true).c_str());
        QCOMPARE(answer.tokens.size(), std::size_t{kSlowTokens});
        answers[device].push_back(answer.tokens);
      }
    }
    QCOMPARE(answers["cuda-emu"], answers["cpu"]);
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
