// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/verify/verify_kernels.h"
#include "core/verify/verify_model.h"

#include "core/error.h"
#include "core/model/model_store.h"
#include "tests/support/tried_backend.h"

#include <QTest>

#include <limits>
#include <set>

using namespace inferoscope;
using namespace inferoscope::core;
using verify::KernelCheck;

class TestVerify : public QObject {
  Q_OBJECT

 private slots:
  void everyKernelOfTheCpuPasses() {
    const auto backend = makeCpuBackend(2);
    std::set<std::string> ran;
    for (const KernelCheck& check : verify::verifyKernels(*backend, {}, {})) {
      const QString what = QString::fromStdString(check.kernel + " " + check.format + ": " + check.worst_case);
      QVERIFY2(check.passed(), qPrintable(what + QString(" %1").arg(check.largest_error)));
      QVERIFY2((check.num_cases > 0) == check.skipped.empty(), qPrintable(what));
      if (check.num_cases > 0) ran.insert(check.kernel);
    }
    for (const char* plain : {"embed.plain", "rms_norm.naive", "linear.naive", "rope.plain", "kv_append.plain",
                              "attention.naive", "swiglu.naive", "add.plain"}) {
      QVERIFY2(ran.contains(plain), plain);
    }
  }

  // A device that forgets the last value it is asked for is found out in every kernel.
  void wrongResultsAreFound() {
    tests::TriedBackend backend;
    backend.after_download = [](std::span<std::byte> data) {
      const float wrong = 1e3F;
      std::memcpy(data.last(sizeof(wrong)).data(), &wrong, sizeof(wrong));
    };
    for (const KernelCheck& check : verify::verifyKernels(backend, {}, {})) {
      if (check.kernel.starts_with("kv_append")) continue;  // what lies last in the cache is not what it wrote
      QVERIFY2(check.num_failed == check.num_cases, check.kernel.c_str());
    }
  }

  void resultsThatAreNoNumbersAreFound() {
    tests::TriedBackend backend;
    backend.after_download = [](std::span<std::byte> data) { std::ranges::fill(data, std::byte{0xFF}); };
    for (const KernelCheck& check : verify::verifyKernels(backend, {}, {})) {
      if (check.num_cases == 0) continue;
      QVERIFY2(check.num_failed == check.num_cases, check.kernel.c_str());
    }
  }

  void stops() {
    const auto backend = makeCpuBackend(1);
    std::stop_source stop;
    stop.request_stop();
    QVERIFY_EXCEPTION_THROWN(verify::verifyKernels(*backend, {}, stop.get_token()), Cancelled);
  }

  void modelOfAnyFormat_data() {
    QTest::addColumn<QString>("source");
    for (const char* source : {"synthetic:tiny:f32", "synthetic:tiny:q4_1", "synthetic:tiny-qwen2:q8_0",
                               "synthetic:tiny-qwen3:q5_0", "synthetic:tiny:q6_k"}) {
      QTest::newRow(source) << source;
    }
  }
  void modelOfAnyFormat() {
    QFETCH(const QString, source);
    const std::shared_ptr<Backend> backend = makeCpuBackend(2);
    const auto model = loadModel(source.toStdString(), *backend, {}, {});
    const verify::ModelCheck check = verify::verifyModel(model, backend, {});
    QVERIFY2(check.passed(), qPrintable(QString("%1 of %2").arg(check.difference).arg(check.tolerance)));
    QCOMPARE(check.num_prompts, 3);
    QVERIFY(check.mean_kl >= 0 && check.mean_kl < 0.2);
  }
};

QTEST_GUILESS_MAIN(TestVerify)
#include "tst_verify.moc"
