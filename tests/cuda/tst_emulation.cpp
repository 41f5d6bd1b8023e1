// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/gpu.h"

#include <QTest>

#include <cmath>
#include <functional>
#include <vector>

using namespace inferoscope::kernels;
using namespace inferoscope::kernels::cuda;
using emulation::Fault;
using emulation::Order;
using emulation::Schedule;

namespace {

// Every order of threads, with early and late copies.
std::vector<Schedule> schedules() {
  std::vector<Schedule> all;
  for (const Order order : {Order::kForward, Order::kReverse, Order::kRandomThreads, Order::kRandomWarps}) {
    for (const bool late : {false, true}) {
      all.push_back({.order = order, .late_copies = late, .random_blocks = late, .seed = 5});
    }
  }
  return all;
}

// The output of a launch under one schedule, poisoned before.
template <class... Params, class... Args>
std::vector<float> outputOf(const Schedule& schedule, void (*kernel)(float*, Params...), int num_out, Dim3 grid,
                            Dim3 block, Args... args) {
  emulation::Stream stream;
  stream.setSchedule(schedule);
  std::vector<float> out(static_cast<std::size_t>(num_out), NAN);
  launch(kernel, grid, block, 4096, &stream, out.data(), args...);
  stream.synchronize();
  return out;
}

bool agreeUnderAllSchedules(void (*kernel)(float*), int num_out, Dim3 block) {
  const std::vector<float> first = outputOf(schedules().front(), kernel, num_out, {}, block);
  for (const Schedule& schedule : schedules()) {
    const std::vector<float> other = outputOf(schedule, kernel, num_out, {}, block);
    if (std::memcmp(first.data(), other.data(), first.size() * sizeof(float)) != 0) return false;
  }
  for (const float value : first) {
    if (std::isnan(value)) return false;
  }
  return true;
}

// What the emulation says of a launch; empty if it found nothing.
std::string faultOf(void (*kernel)(float*), Dim3 block, const Schedule& schedule = {}) {
  try {
    outputOf(schedule, kernel, 1024, {}, block);
    return {};
  } catch (const Fault& fault) {
    return fault.what();
  }
}

// ---- Kernels: right ones ---------------------------------------------------------------------------------------

GPU_KERNEL void reverseBlock(float* out) {
  GPU_SHARED(float[128], values);
  values[threadIdx.x] = static_cast<float>(threadIdx.x);
  syncBlock();
  out[threadIdx.x] = values[127 - threadIdx.x];
}

GPU_KERNEL void sumOfBlock(float* out) {
  const float first = blockSum(static_cast<float>(threadIdx.x));
  out[threadIdx.x] = first + blockSum(1.0F);
}

GPU_KERNEL void butterfly(float* out) {
  out[threadIdx.x] = warpSum(static_cast<float>(threadIdx.x)) + shuffle(static_cast<float>(threadIdx.x), 3);
}

GPU_KERNEL void copyThrough(float* out, const float* in) {
  GPU_DYNAMIC_SHARED(float, tile);
  const unsigned t = threadIdx.x;
  copyAsync16(tile + 4 * t, in + 4 * t, t < 16 ? 16 : 0);
  commitCopies();
  waitCopies<0>();
  syncBlock();
  for (unsigned i = 0; i < 4; ++i) out[i * 32 + t] = tile[i * 32 + t];
}

// out[16 x 8] = a[16 x 16] * b[16 x 8] from memory, through loadMatrices and multiplyAdd.
GPU_KERNEL void multiplyOneTile(float* out, const std::uint16_t* a, const std::uint16_t* b) {
  GPU_SHARED(std::uint16_t[16 * 16], a_tile);
  GPU_SHARED(std::uint16_t[16 * 16], b_tile);
  const unsigned lane = threadIdx.x;
  for (unsigned i = lane; i < 256; i += 32) a_tile[i] = a[i];
  for (unsigned i = lane; i < 256; i += 32) b_tile[i] = i % 16 < 8 ? b[i / 16 * 8 + i % 16] : std::uint16_t{0};
  syncBlock();
  std::uint32_t a_part[4];
  std::uint32_t b_part[4];
  loadMatrices(a_part, a_tile + lane % 16 * 16 + lane / 16 * 8);
  loadMatricesTransposed(b_part, b_tile + lane % 16 * 16 + lane / 16 * 8);
  float sums[4] = {0.0F, 0.0F, 0.0F, 0.0F};
  multiplyAdd(sums, a_part, b_part[0], b_part[1]);
  for (unsigned i = 0; i < 4; ++i) out[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = sums[i];
}

// ---- Kernels: wrong ones ---------------------------------------------------------------------------------------

GPU_KERNEL void reverseWithoutBarrier(float* out) {
  GPU_SHARED(float[128], values);
  values[threadIdx.x] = static_cast<float>(threadIdx.x);
  out[threadIdx.x] = values[127 - threadIdx.x];
}

// Two rounds through one buffer with one barrier: the second round may overwrite what others still read.
GPU_KERNEL void roundsWithOneBarrier(float* out) {
  GPU_SHARED(float[64], values);
  float sum = 0.0F;
  for (unsigned round = 0; round < 3; ++round) {
    values[threadIdx.x] = static_cast<float>(threadIdx.x + 100 * round);
    syncBlock();
    sum += values[63 - threadIdx.x];
  }
  out[threadIdx.x] = sum;
}

GPU_KERNEL void copyWithoutWait(float* out) {
  GPU_SHARED(float4[32], tile);
  const float4* in = reinterpret_cast<const float4*>(out);
  copyAsync16(&tile[threadIdx.x], in + threadIdx.x, 0);
  commitCopies();
  syncBlock();
  out[threadIdx.x] = tile[31 - threadIdx.x].x;
  waitCopies<0>();
}

GPU_KERNEL void copyLeftBehind(float* out) {
  GPU_SHARED(float4[64], tile);
  copyAsync16(&tile[threadIdx.x], out, 0);
  commitCopies();
}

GPU_KERNEL void copyMisaligned(float* out) {
  GPU_SHARED(float4[64], tile);
  copyAsync16(&tile[threadIdx.x], out + 1, 16);
  commitCopies();
  waitCopies<0>();
}

GPU_KERNEL void twoBarriers(float* out) {
  if (threadIdx.x < 32) {
    syncBlock();
  } else {
    syncBlock();
  }
  out[threadIdx.x] = 0.0F;
}

GPU_KERNEL void divergentShuffle(float* out) {
  float value = 1.0F;
  if (threadIdx.x < 16) value = shuffleXor(value, 1);
  out[threadIdx.x] = value;
  syncBlock();
}

GPU_KERNEL void shuffleAtTwoPlaces(float* out) {
  float value = 1.0F;
  if (threadIdx.x < 16) {
    value = shuffleXor(value, 1);
  } else {
    value = shuffleXor(value, 1);
  }
  out[threadIdx.x] = value;
}

GPU_KERNEL void tooMuchShared(float* out) {
  GPU_SHARED(float[40000], values);
  values[threadIdx.x] = 0.0F;
  out[threadIdx.x] = values[threadIdx.x];
}

}  // namespace

class TestEmulation : public QObject {
  Q_OBJECT

 private slots:
  void rightKernelsAgreeUnderAllSchedules() {
    QVERIFY(agreeUnderAllSchedules(reverseBlock, 128, {128}));
    QVERIFY(agreeUnderAllSchedules(sumOfBlock, 256, {256}));
    QVERIFY(agreeUnderAllSchedules(butterfly, 64, {64}));
    const std::vector<float> sums = outputOf({}, sumOfBlock, 256, {}, {256});
    QCOMPARE(sums[17], 255.0F * 128.0F + 256.0F);
    const std::vector<float> mixed = outputOf({}, butterfly, 64, {}, {64});
    QCOMPARE(mixed[0], 496.0F + 3.0F);
    QCOMPARE(mixed[40], 496.0F + 32.0F * 32.0F + 35.0F);
  }

  void sharedMemoryIsPoisonedForEachBlock() {
    std::vector<float> out = outputOf({}, copyThrough, 128, {3}, {32}, std::vector<float>(128, 2.0F).data());
    for (int i = 0; i < 128; ++i) QCOMPARE(out[static_cast<std::size_t>(i)], i < 64 ? 2.0F : 0.0F);
  }

  void tensorCoreMultipliesAsThePtxLayoutSays() {
    std::vector<std::uint16_t> a(256);
    std::vector<std::uint16_t> b(128);
    for (std::size_t i = 0; i < 256; ++i) a[i] = floatToHalf(static_cast<float>(i * 7 % 13) - 6.0F);
    for (std::size_t i = 0; i < 128; ++i) b[i] = floatToHalf(static_cast<float>(i * 5 % 11) - 5.0F);
    const std::vector<float> out = outputOf({}, multiplyOneTile, 128, {}, {32}, a.data(), b.data());
    for (std::size_t row = 0; row < 16; ++row) {
      for (std::size_t column = 0; column < 8; ++column) {
        float sum = 0.0F;
        for (std::size_t k = 0; k < 16; ++k) sum += halfToFloat(a[row * 16 + k]) * halfToFloat(b[k * 8 + column]);
        QCOMPARE(out[row * 8 + column], sum);
      }
    }
  }

  void dotOfFourBytesIsSigned() {
    QCOMPARE(dot4(static_cast<int>(0xFF02807FU), 0x01030201, 10), 127 - 256 + 6 - 1 + 10);
  }

  void missingBarriersChangeTheResult() {
    QVERIFY(!agreeUnderAllSchedules(reverseWithoutBarrier, 128, {128}));
    QVERIFY(!agreeUnderAllSchedules(roundsWithOneBarrier, 64, {64}));
  }

  void missingWaitChangesTheResult() { QVERIFY(!agreeUnderAllSchedules(copyWithoutWait, 32, {32})); }

  void faultsAreReported_data() {
    QTest::addColumn<int>("kernel");
    QTest::addColumn<QString>("says");
    QTest::newRow("copies nobody waits for") << 0 << "without having waited for its asynchronous copies";
    QTest::newRow("misaligned copy") << 1 << "misaligned";
    QTest::newRow("two barriers") << 2 << "waits for the block at tst_emulation.cpp";
    QTest::newRow("divergent shuffle") << 3 << "can go on";
    QTest::newRow("shuffle at two places") << 4 << "with lanes of which some are at shuffleXor";
    QTest::newRow("too much shared memory") << 5 << "shared memory takes 164096 bytes";
  }
  void faultsAreReported() {
    QFETCH(const int, kernel);
    QFETCH(const QString, says);
    using KernelFunction = void (*)(float*);
    const KernelFunction kernels[] = {copyLeftBehind,   copyMisaligned,     twoBarriers,
                                      divergentShuffle, shuffleAtTwoPlaces, tooMuchShared};
    for (const Schedule& schedule : schedules()) {
      const std::string fault = faultOf(kernels[kernel], {64}, schedule);
      QVERIFY2(fault.find(says.toStdString()) != std::string::npos, fault.c_str());
    }
  }

  void deadlockReportNamesWhoWaitsWhere() {
    const std::string fault = faultOf(divergentShuffle, {32});
    QVERIFY2(fault.find("16 from thread (0, 0, 0)") != std::string::npos, fault.c_str());
    QVERIFY2(fault.find("for the lanes of shuffleXor") != std::string::npos, fault.c_str());
    QVERIFY2(fault.find("16 from thread (16, 0, 0)") != std::string::npos, fault.c_str());
  }

  void launchesThatNoDeviceTakesAreRefused() {
    QVERIFY(faultOf(reverseBlock, {2048}).find("2048 threads") != std::string::npos);
    QVERIFY(faultOf(reverseBlock, {0}).find("empty") != std::string::npos);
  }
};

QTEST_GUILESS_MAIN(TestEmulation)
#include "tst_emulation.moc"
