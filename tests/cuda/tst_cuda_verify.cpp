// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/backend/module_backend.h"
#include "core/verify/verify_kernels.h"
#include "core/verify/verify_model.h"
#include "core/verify/verify_sampling.h"
#include "tests/cuda/emulated_device.h"
#include "tests/support/engines.h"
#include "tests/support/tried_backend.h"

#include <QTest>

#include <set>

using namespace inferoscope;
using namespace inferoscope::core;

// What `verify --device cuda:0` does, on the emulation, and with memory as a GPU's: closed to the host.
class TestCudaVerify : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { tests::emulatedDevice().guarded = true; }
  void cleanupTestCase() { tests::emulatedDevice().guarded = false; }

  void everyKernelPasses() {
    const auto backend = makeBackend("cuda-emu", 1);
    std::set<std::string> ran;
    for (const verify::KernelCheck& check : verify::verifyKernels(*backend, {}, {})) {
      const QString what = QString::fromStdString(check.kernel + " " + check.format + ": " + check.worst_case);
      QVERIFY2(check.passed(), qPrintable(what + QString(" %1").arg(check.largest_error)));
      QVERIFY2((check.num_cases > 0) == check.skipped.empty(), qPrintable(what));
      if (check.num_cases > 0) ran.insert(check.kernel);
    }
    for (const char* kernel : {"embed.cuda", "linear.gemv", "linear.cublas", "attention.flash_cuda",
                               "attention.naive_cuda", "kv_append.cuda", "sample.cuda"}) {
      QVERIFY2(ran.contains(kernel), kernel);
    }
  }

  void aModelPasses() {
    const std::shared_ptr<Backend> backend = makeBackend("cuda-emu", 1);
    const verify::ModelCheck check =
        verify::verifyModel(tests::loadOn(*backend, "synthetic:tiny-64:q8_0"), backend, {});
    QVERIFY2(check.passed(), qPrintable(QString("%1 of %2").arg(check.difference).arg(check.tolerance)));
    QCOMPARE(check.num_prompts, 3);
  }

  // Of each vocabulary the first row's token comes back as another.
  void wrongTokensAreFound() {
    tests::TriedBackend backend(makeBackend("cuda-emu", 1));
    backend.after_download = [](std::span<std::byte> ids) { ids[0] ^= std::byte{1}; };
    const verify::KernelCheck check = verify::verifySampling(backend, backend.catalog().sample[0], {});
    QCOMPARE(check.num_failed, 2);
    QVERIFY2(check.worst_case.starts_with("40 ids, temperature 0"), check.worst_case.c_str());
    QVERIFY(!check.passed());
  }
};

QTEST_GUILESS_MAIN(TestCudaVerify)
#include "tst_cuda_verify.moc"
