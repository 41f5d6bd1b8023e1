// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/backend/module_backend.h"
#include "tests/cuda/emulated_device.h"
#include "tests/support/engines.h"

#include <QProcess>
#include <QTest>

using namespace inferoscope;
using namespace inferoscope::core;
using kernels::cuda::emulation::Device;
using tests::emulatedDevice;

namespace {

constexpr int kNewTokens = 4;

EngineOptions emulated(const tests::Settings& settings = {}) {
  EngineOptions options = tests::with(settings);
  options.device = "cuda-emu";
  options.kv_budget_mib = 4;
  return options;
}

// An engine on a device opened for it.
struct Lab {
  explicit Lab(const EngineOptions& options = emulated())
      : backend(makeBackend("cuda-emu", 1)), engine(tests::loadOn(*backend, "synthetic:tiny"), backend, options) {}
  std::shared_ptr<Backend> backend;
  Engine engine;
};

std::vector<TokenId> answerOf(Engine& engine) {
  const Submitted submitted = engine.submit(tests::ask(tests::someIds(20, 5), kNewTokens));
  if (!submitted.refusal.empty()) throw Error(submitted.refusal);
  return tests::runAll(engine).at(submitted.seq).tokens;
}

// What went wrong with all of it, from the module to the answer; empty: nothing.
std::string failureOfAnEngine(std::vector<TokenId>& answer) {
  try {
    Lab lab;
    answer = answerOf(lab.engine);
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

// What a device can do to us: it is not there, its memory is full, it breaks.
class TestCudaFaults : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() {
    QVERIFY(failureOfAnEngine(m_answer).empty());
    QCOMPARE(m_answer.size(), std::size_t{kNewTokens});
  }
  void init() {
    m_device.total_bytes = Device{}.total_bytes;
    m_device.failing_allocation = m_device.failing_kernel = 0;
    m_used_bytes = m_device.used_bytes;
  }

  // Whichever allocation finds no room, of weights, cache, activations, scratch or indices.
  void anyAllocationMayFail() {
    int num_failed = 0;
    for (int n = 1; n <= 30; ++n) {
      m_device.failing_allocation = n;
      std::vector<TokenId> answer;
      const std::string failure = failureOfAnEngine(answer);
      if (failure.empty()) {
        QCOMPARE(answer, m_answer);
      } else {
        ++num_failed;
        QVERIFY2(contains(failure, "needed") && contains(failure, "free"), failure.c_str());
      }
      QCOMPARE(m_device.used_bytes, m_used_bytes);
    }
    m_device.failing_allocation = 0;
    std::vector<TokenId> answer;
    QVERIFY(failureOfAnEngine(answer).empty());
    QCOMPARE(answer, m_answer);
    QVERIFY2(num_failed > 5, qPrintable(QString::number(num_failed)));
  }

  void aCacheThatDoesNotFitLeavesRoomForASmallerOne() {
    const std::shared_ptr<Backend> backend = makeBackend("cuda-emu", 1);
    const auto model = tests::loadOn(*backend, "synthetic:tiny");
    const std::size_t with_weights = m_device.used_bytes;
    m_device.total_bytes = with_weights + (8 << 20);
    EngineOptions options = emulated();
    options.kv_budget_mib = 64;
    try {
      const Engine engine(model, backend, options);
      QFAIL("64 MiB fitted in 8");
    } catch (const Error& error) {
      QVERIFY2(
          contains(error.what(), "kv-budget") && contains(error.what(), "needed") && contains(error.what(), "free"),
          error.what());
    }
    QCOMPARE(m_device.used_bytes, with_weights);
    options.kv_budget_mib = 2;
    Engine engine(model, backend, options);
    QCOMPARE(answerOf(engine), m_answer);
  }

  // A long prompt wants more room for activations than there is; a short one behind it does not.
  void memoryMayEndWhileRunning() {
    Lab lab;
    QCOMPARE(answerOf(lab.engine), m_answer);
    m_device.total_bytes = m_device.used_bytes;
    const Submitted large = lab.engine.submit(tests::ask(tests::someIds(200, 7), 2));
    QVERIFY(large.refusal.empty());
    try {
      lab.engine.step({});
      QFAIL("it found room");
    } catch (const Error& error) {
      QVERIFY2(contains(error.what(), "needed") && contains(error.what(), "free"), error.what());
    }
    QVERIFY(lab.engine.idle());
    const RequestInfo ended = requestOf(lab.engine, large.seq);
    QCOMPARE(ended.finish, FinishReason::kError);
    QVERIFY2(contains(ended.error, "needed"), ended.error.c_str());
    QCOMPARE(answerOf(lab.engine), m_answer);
  }

  // Whichever kernel fails, in a prompt's chunk without logits, at its end, or in decode.
  void aBrokenDeviceEndsAllRequestsWithAnError_data() {
    QTest::addColumn<int>("failing_kernel");
    for (const int n : {1, 2, 30, 60, 100, 200, 300}) QTest::addRow("%d", n) << n;
  }
  void aBrokenDeviceEndsAllRequestsWithAnError() {
    QFETCH(const int, failing_kernel);
    Lab lab(emulated({{"prefill-chunk", "8"}, {"max-sequences", "2"}}));
    std::vector<SeqId> ids;
    for (int i = 0; i < 3; ++i) {  // the third waits
      ids.push_back(lab.engine.submit(tests::ask(tests::someIds(20, 5), kNewTokens)).seq);
    }
    m_device.failing_kernel = failing_kernel;
    tests::Answers answers;
    std::string failure;
    try {
      while (!lab.engine.idle()) tests::collect(lab.engine, lab.engine.step({}), answers);
    } catch (const Error& error) {
      failure = error.what();
    }
    QVERIFY2(contains(failure, "cuda-emu broke") && contains(failure, "illegal memory access"), failure.c_str());
    QVERIFY(lab.engine.idle());
    int num_ended = 0;
    for (const SeqId id : ids) {
      const std::vector<TokenId>& given = answers[id].tokens;
      QVERIFY2(std::equal(given.begin(), given.end(), m_answer.begin()), "a token of the broken step was given");
      const bool complete = given.size() == m_answer.size();
      QCOMPARE(requestOf(lab.engine, id).finish, complete ? FinishReason::kLength : FinishReason::kError);
      num_ended += complete ? 0 : 1;
    }
    QVERIFY(num_ended > 0);
    QVERIFY(contains(lab.engine.submit(tests::ask({1, 2}, 1)).refusal, "cuda-emu broke"));
    QVERIFY(lab.engine.step({}) == nullptr);
    EngineOptions other = lab.engine.options();
    other.kv_budget_mib = 2;
    QVERIFY(contains(lab.engine.apply(other), "cuda-emu broke"));

    Lab again;  // while the broken one is still there
    QCOMPARE(answerOf(again.engine), m_answer);
  }

  void nothingIsLeftOfABrokenDevice() {
    {
      Lab lab;
      m_device.failing_kernel = 50;
      QVERIFY_THROWS_EXCEPTION(Error, answerOf(lab.engine));
      const Lab again;
      QVERIFY(m_device.used_bytes > 0);
    }
    QCOMPARE(m_device.used_bytes, 0U);
  }

  void theProgramStartsWithoutAGpu_data() {
    QTest::addColumn<QString>("visible");
    QTest::newRow("all devices visible") << QString();
    QTest::newRow("none visible") << QStringLiteral("");
    QTest::newRow("one that is not there") << QStringLiteral("99");
  }
  void theProgramStartsWithoutAGpu() {
    QFETCH(const QString, visible);
    QProcess program;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    if (!visible.isNull()) environment.insert("CUDA_VISIBLE_DEVICES", visible);
    program.setProcessEnvironment(environment);
    const auto run = [&](const QStringList& arguments) {
      program.start(INFEROSCOPE_BINARY_DIR "/inferoscope-cli", arguments);
      return program.waitForFinished(300'000) && program.exitStatus() == QProcess::NormalExit;
    };
    QVERIFY(run({"generate", "synthetic:tiny", "--prompt", "a", "--max-tokens", "2", "--device", "cuda:0"}));
    const QByteArray refusal = program.readAllStandardError();
    if (program.exitCode() != 0) {  // else there is a GPU
      QVERIFY2(refusal.contains("cuda:0: ") || refusal.contains("CUDA module"), refusal.constData());
      QCOMPARE(refusal.count('\n'), 1);
    }
    if (!visible.isNull()) QVERIFY(program.exitCode() != 0);
    QVERIFY(run({"generate", "synthetic:tiny", "--prompt", "a", "--max-tokens", "2"}));
    QCOMPARE(program.exitCode(), 0);
  }

 private:
  static RequestInfo requestOf(const Engine& engine, SeqId seq) {
    for (const RequestInfo& request : engine.snapshot().requests) {
      if (request.seq == seq) return request;
    }
    throw Error("no such request");
  }

  Device& m_device = emulatedDevice();
  std::vector<TokenId> m_answer;  // of a whole device
  std::size_t m_used_bytes = 0;   // before a test
};

QTEST_GUILESS_MAIN(TestCudaFaults)
#include "tst_cuda_faults.moc"
