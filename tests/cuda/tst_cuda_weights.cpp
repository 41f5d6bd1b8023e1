// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/backend/module_backend.h"
#include "core/model/variant_job.h"
#include "tests/cuda/emulated_device.h"
#include "tests/support/engines.h"
#include "tests/support/errors.h"

#include <QTemporaryDir>
#include <QTest>

#include <filesystem>
#include <semaphore>

using namespace inferoscope;
using namespace inferoscope::core;
using kernels::cuda::emulation::Device;
using tests::someIds;

namespace {

constexpr const char* kTinyFile = INFEROSCOPE_SOURCE_DIR "/tests/data/valid/valid_tiny.gguf";

// Without a prefix cache: who hits it computes fewer tokens, which other kernels may do.
EngineOptions emulated(const std::string& weights = std::string(kAsStored)) {
  EngineOptions options = tests::with({{"kv-budget", "32"}, {"prefix-cache", "off"}});
  options.device = "cuda-emu";
  options.weights = weights;
  return options;
}

// An engine on a device opened for it, its weights as stored.
struct Lab {
  explicit Lab(const std::string& source = "synthetic:tiny:f16")
      : backend(makeBackend("cuda-emu", 1)),
        model(tests::loadOn(*backend, source)),
        engine(model, backend, emulated()) {
    engine.keepLogits(true);
  }
  std::shared_ptr<Backend> backend;
  std::shared_ptr<const Model> model;
  Engine engine;
};

tests::Answer answerOf(Engine& engine, std::vector<TokenId> prompt, int num_tokens = 5) {
  const Submitted submitted = engine.submit(tests::ask(std::move(prompt), num_tokens));
  if (!submitted.refusal.empty()) throw Error(submitted.refusal);
  return tests::runAll(engine).at(submitted.seq);
}

std::vector<float> logitsOf(Engine& engine) {
  return answerOf(engine, someIds(20, 5)).logits;
}

// Of an engine that was opened with those weights.
tests::Answer freshAnswer(const std::string& weights, std::vector<TokenId> prompt, int num_tokens) {
  const std::shared_ptr<Backend> backend = makeBackend("cuda-emu", 1);
  Engine engine(loadModelAs("synthetic:tiny:f16", weights, *backend, {}, {}), backend, emulated(weights));
  engine.keepLogits(true);
  return answerOf(engine, std::move(prompt), num_tokens);
}

// Other weights, made on a thread and a queue of their own while the engine steps, as the workbench does. Throws Error.
std::shared_ptr<const Model> madeMeanwhile(Lab& lab, const std::string& weights, tests::Answers& answers) {
  std::binary_semaphore end{0};
  VariantJob job(lab.model, weights, "cuda-emu", {}, [&] { end.release(); });
  while (!job.ended()) tests::collect(lab.engine, lab.engine.step({}), answers);
  end.acquire();
  return job.take();
}

}  // namespace

// The weights knob on a device with memory of its own: the source is read once more, and encoded on the way there.
class TestCudaWeights : public QObject {
  Q_OBJECT

 private slots:
  void init() {
    m_device.total_bytes = Device{}.total_bytes;
    m_device.failing_allocation = 0;
  }

  void changedWhileItRunsItIsAnEngineOpenedSo_data() {
    QTest::addColumn<QString>("weights_name");
    for (const char* weights : {"f32", "q8_0", "q4_0"}) QTest::newRow(weights) << weights;
  }
  void changedWhileItRunsItIsAnEngineOpenedSo() {
    QFETCH(const QString, weights_name);
    const std::string weights = weights_name.toStdString();
    Lab lab;
    const std::vector<TokenId> prompt = someIds(30, 3);
    const SeqId running = lab.engine.submit(tests::ask(prompt, 500)).seq;
    tests::Answers answers;
    for (int i = 0; i < 3; ++i) tests::collect(lab.engine, lab.engine.step({}), answers);
    QCOMPARE(lab.engine.apply(emulated(weights), madeMeanwhile(lab, weights, answers)), std::string());

    std::vector<TokenId> known = prompt;
    const std::vector<TokenId> before = answers[running].tokens;
    known.insert(known.end(), before.begin(), before.end());
    answers[running] = {};
    for (int i = 0; i < 3; ++i) tests::collect(lab.engine, lab.engine.step({}), answers);
    const tests::Answer fresh = freshAnswer(weights, known, 3);
    QCOMPARE(answers[running].tokens, fresh.tokens);
    QVERIFY(answers[running].logits == fresh.logits);

    lab.engine.cancelAll();
    QVERIFY(logitsOf(lab.engine) == freshAnswer(weights, someIds(20, 5), 5).logits);
    QCOMPARE(lab.engine.check(), std::string());
  }

  // The weights in force stay, and go on giving what they gave; fewer bits fit where more did not.
  void withoutRoomTheOldOnesStay() {
    Lab lab;
    const std::vector<float> before = logitsOf(lab.engine);
    const std::size_t used_bytes = m_device.used_bytes;
    const auto bytes = static_cast<std::size_t>(variantBytes(*lab.model, "q8_0"));
    m_device.total_bytes = used_bytes + bytes - 1;
    tests::Answers answers;
    const std::string failure = tests::errorOf([&] { madeMeanwhile(lab, "q8_0", answers); });
    QVERIFY2(failure.find("as q8_0") != std::string::npos && failure.find("needed") != std::string::npos &&
                 failure.find("free") != std::string::npos,
             failure.c_str());
    QCOMPARE(m_device.used_bytes, used_bytes);
    QVERIFY(!lab.engine.apply(emulated("q8_0")).empty());
    QCOMPARE(lab.engine.options().weights, std::string(kAsStored));
    QVERIFY(logitsOf(lab.engine) == before);

    QCOMPARE(lab.engine.apply(emulated("q4_0"), madeMeanwhile(lab, "q4_0", answers)), std::string());
    m_device.total_bytes = Device{}.total_bytes;  // for another engine beside it
    QVERIFY(logitsOf(lab.engine) == freshAnswer("q4_0", someIds(20, 5), 5).logits);
  }

  // Those that nobody uses any more give their memory back.
  void theOldOnesGoWhenNobodyHoldsThem() {
    Lab lab;
    const std::size_t before = m_device.used_bytes;
    tests::Answers answers;
    auto q4_0 = madeMeanwhile(lab, "q4_0", answers);
    const std::size_t with_both = m_device.used_bytes;
    QVERIFY(with_both > before);
    QCOMPARE(lab.engine.apply(emulated("q4_0"), std::exchange(q4_0, nullptr)), std::string());
    QCOMPARE(lab.engine.apply(emulated(), lab.model), std::string());
    QCOMPARE(m_device.used_bytes, before);
    logitsOf(lab.engine);
  }

  // The file that the model came from is read again; it may have gone meanwhile.
  void aSourceThatIsGoneIsNamedAndTheOldOnesStay() {
    const QTemporaryDir folder;
    const std::string file = folder.filePath("model.gguf").toStdString();
    std::filesystem::copy_file(kTinyFile, file);
    Lab lab(file);
    const std::vector<float> before = logitsOf(lab.engine);
    tests::Answers answers;
    QCOMPARE(lab.engine.apply(emulated("q8_0"), madeMeanwhile(lab, "q8_0", answers)), std::string());
    QCOMPARE(lab.engine.apply(emulated(), lab.model), std::string());
    std::filesystem::remove(file);
    const std::string failure = tests::errorOf([&] { madeMeanwhile(lab, "q4_0", answers); });
    QVERIFY2(failure.find("model.gguf") != std::string::npos, failure.c_str());
    QVERIFY(logitsOf(lab.engine) == before);
  }

  // No kernel here reads the format.
  void aFormatWithoutKernelsIsRefused() {
    Lab lab;
    tests::Answers answers;
    const std::string refusal = lab.engine.apply(emulated("q5_0"), madeMeanwhile(lab, "q5_0", answers));
    QVERIFY2(refusal.find("q5_0") != std::string::npos, refusal.c_str());
    QCOMPARE(lab.engine.options().weights, std::string(kAsStored));
    logitsOf(lab.engine);
  }

 private:
  Device& m_device = tests::emulatedDevice();
};

QTEST_GUILESS_MAIN(TestCudaWeights)
#include "tst_cuda_weights.moc"
