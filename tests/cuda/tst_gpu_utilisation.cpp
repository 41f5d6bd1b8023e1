// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/backend/gpu_utilisation.h"
#include "core/observe/verdict.h"

#include <QTest>

using namespace inferoscope::core;

class TestGpuUtilisation : public QObject {
  Q_OBJECT

 private slots:
  void whatTheDriverSaysIsAShare() {
    GpuUtilisation utilisation("0000:01:00.0", kFakeNvml);
    QCOMPARE(utilisation.read(), std::optional(0.37));
    QCOMPARE(utilisation.read(), std::optional(0.37));
  }

  void nothingIsToldWithoutADriverOrADevice() {
    QCOMPARE(GpuUtilisation("0000:01:00.0", "no such library").read(), std::optional<double>());
    QCOMPARE(GpuUtilisation("0000:02:00.0", kFakeNvml).read(), std::optional<double>());
    QCOMPARE(GpuUtilisation("", kFakeNvml).read(), std::optional<double>());
  }

  // Over the time of the steps that know it.
  void theVerdictTellsItBesideTheProcess() {
    std::vector<std::shared_ptr<const StepRecord>> steps;
    for (const auto& [ms, busy] : {std::pair(10, std::optional(0.5)), {30, std::optional(0.9)}, {500, std::nullopt}}) {
      auto step = std::make_shared<StepRecord>();
      step->duration_ns = ms * 1'000'000;
      step->num_decode_tokens = 1;
      step->num_threads = 1;
      step->gpu_busy = busy;
      steps.push_back(step);
    }
    const auto verdict = judge(steps, Phase::kDecode, {});
    QCOMPARE(verdict->gpuBusy(), std::optional(0.8));
    QVERIFY(headline(*verdict, {}).find("GPU: 80% busy by NVML") != std::string::npos);
    const auto untold = judge(std::span(steps).subspan(2), Phase::kDecode, {});
    QCOMPARE(untold->gpuBusy(), std::optional<double>());
    QVERIFY(headline(*untold, {}).find("GPU") == std::string::npos);
  }

 private:
  static constexpr const char* kFakeNvml = INFEROSCOPE_BINARY_DIR "/libfake_nvml.so";
};

QTEST_GUILESS_MAIN(TestGpuUtilisation)
#include "tst_gpu_utilisation.moc"
