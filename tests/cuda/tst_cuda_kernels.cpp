// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/emulation/device.h"
#include "kernels/cuda/queue.h"
#include "tests/cuda/kernel_checks.h"

#include <QTest>

using namespace inferoscope;
using kernels::cuda::DeviceQueue;
using kernels::cuda::Queue;
using kernels::cuda::emulation::Order;
using kernels::cuda::emulation::Schedule;
using tests::Check;
using tests::Lab;
using tests::Outcome;

namespace {

const kernels::cuda::Module& module() {
  return *inferoscopeCudaModule();
}

const std::vector<Check>& checks() {
  static const std::vector<Check> kChecks = tests::allChecks(module());
  return kChecks;
}

kernels::Exec execOn(Queue& queue) {
  return {.pool = nullptr, .queue = &queue, .scratch = {}, .stop = {}};
}

class GraphsSince {
 public:
  int made() const { return inferoscopeEmulatedDevice()->graphs_made - m_made; }
  int started() const { return inferoscopeEmulatedDevice()->graphs_started - m_started; }

 private:
  int m_made = inferoscopeEmulatedDevice()->graphs_made;
  int m_started = inferoscopeEmulatedDevice()->graphs_started;
};

Outcome runUnder(const Check& check, const Schedule& schedule) {
  const auto queue = module().open(0);
  static_cast<DeviceQueue&>(*queue).stream()->setSchedule(schedule);
  Lab lab(module(), *queue);
  return check.run(lab);
}

}  // namespace

// The kernels of kernels/cuda on the emulation, where order and luck are chosen badly.
class TestCudaKernels : public QObject {
  Q_OBJECT

 private slots:
  void matchesTheReferenceUnderEverySchedule_data() {
    QTest::addColumn<int>("index");
    for (std::size_t i = 0; i < checks().size(); ++i)
      QTest::addRow("%s", checks()[i].name.c_str()) << static_cast<int>(i);
  }
  void matchesTheReferenceUnderEverySchedule() {
    QFETCH(const int, index);
    const Check& check = checks()[static_cast<std::size_t>(index)];
    try {
      const Outcome first = runUnder(check, {});
      QVERIFY2(!first.expected.empty(), "nothing was compared");
      QVERIFY2(first.holds(), qPrintable(QString("worst relative error %1").arg(first.worstError())));
      for (const Order order : {Order::kReverse, Order::kRandomThreads, Order::kRandomWarps}) {
        const bool late = order != Order::kRandomWarps;
        const Outcome other = runUnder(check, {.order = order, .late_copies = late, .random_blocks = true, .seed = 3});
        QCOMPARE(other.got.size(), first.got.size());
        QVERIFY2(std::memcmp(first.got.data(), other.got.data(), first.got.size() * sizeof(float)) == 0,
                 qPrintable(QString("another result under schedule %1").arg(static_cast<int>(order))));
      }
    } catch (const std::exception& error) {
      QFAIL(error.what());
    }
  }

  void indexArraysAreCopiedOnceAStep() {
    const auto queue = module().open(0);
    auto& device = static_cast<DeviceQueue&>(*queue);
    device.beginStep();
    std::vector<int> values = {1, 2, 3};
    const int* first = device.onDevice(values.data(), 3);
    QCOMPARE(device.onDevice(values.data(), 3), first);
    QVERIFY(device.onDevice(values.data(), 2) != first);
    device.wait();
    QCOMPARE(first[2], 3);
    values[2] = 9;
    device.beginStep();
    const int* again = device.onDevice(values.data(), 3);
    device.wait();
    QCOMPARE(again[2], 9);
  }

  void workHappensOnlyWhenWaitedFor() {
    const auto queue = module().open(0);
    std::byte* memory = queue->allocate(4);
    QCOMPARE(*memory, std::byte{0xFF});
    queue->beginStep();
    queue->mark();
    queue->mark();
    QCOMPARE(queue->times().size(), 2U);
    queue->free(memory);
  }

  // From the second time on, and with the indices of each step.
  void aGraphIsMadeOnceAndStartedAgain() {
    const auto queue = module().open(0);
    Lab lab(module(), *queue);
    const float* table = lab.put(std::vector<float>{0, 10, 20, 30, 40, 50});
    float* out = lab.output(2);
    const GraphsSince graphs;
    for (int step = 0; step < 5; ++step) {
      const std::vector<std::int32_t> ids = {step, 5 - step};
      queue->beginStep();
      queue->beginGraph();
      module().catalog.embed[0].run({.table = {reinterpret_cast<const std::byte*>(table), kernels::FormatId{0}, 6, 1},
                                     .token_ids = ids.data(),
                                     .out = out,
                                     .num_tokens = 2},
                                    execOn(*queue));
      const auto value = [](int id) { return 10.0F * static_cast<float>(id); };
      QCOMPARE(lab.take(out, 2), (std::vector<float>{value(step), value(5 - step)}));
    }
    QCOMPARE(graphs.made(), 1);
    QCOMPARE(graphs.started(), 4);
  }

  void otherArgumentsMakeAnotherGraph() {
    const auto queue = module().open(0);
    Lab lab(module(), *queue);
    float* x = lab.put(std::vector<float>{1, 2});
    const std::vector<const float*> ys = {lab.put(std::vector<float>{10, 20}), lab.put(std::vector<float>{300, 400})};
    const GraphsSince graphs;
    float expected = 2;
    for (int step = 0; step < 6; ++step) {
      queue->beginStep();
      queue->beginGraph();
      module().catalog.add[0].run({.x = x, .y = ys[step % 2], .num_tokens = 1, .dim = 2}, execOn(*queue));
      expected += step % 2 == 0 ? 20.0F : 400.0F;
      QCOMPARE(lab.take(x, 2)[1], expected);
    }
    QCOMPARE(graphs.made(), 2);
    QCOMPARE(graphs.started(), 4);
  }

  // However much other work comes between two starts of a graph, as long as it is fewer than are kept.
  void aGraphInUseIsKept() {
    const auto queue = module().open(0);
    Lab lab(module(), *queue);
    float* x = lab.put(std::vector<float>(100, 1.0F));
    const GraphsSince graphs;
    const auto add = [&](int dim) {
      queue->beginStep();
      queue->beginGraph();
      module().catalog.add[0].run({.x = x, .y = x, .num_tokens = 1, .dim = dim}, execOn(*queue));
      queue->wait();
    };
    for (int other = 2; other <= 100; ++other) {
      add(1);
      add(other);
    }
    QCOMPARE(graphs.made(), 1);
    QCOMPARE(graphs.started(), 98);
  }

  void aGraphLeftInTheMiddleIsForgotten() {
    const auto queue = module().open(0);
    Lab lab(module(), *queue);
    float* x = lab.put(std::vector<float>{1});
    queue->beginGraph();
    module().catalog.add[0].run({.x = x, .y = x, .num_tokens = 1, .dim = 1}, execOn(*queue));
    queue->beginStep();
    QCOMPARE(lab.take(x, 1)[0], 1.0F);
  }

  void aKernelThatFailsBreaksTheDeviceUntilItIsOpenedAnew() {
    auto queue = module().open(0);
    std::byte* memory = queue->allocate(16);
    inferoscopeEmulatedDevice()->failing_kernel = 1;
    auto* x = reinterpret_cast<float*>(memory);
    module().catalog.add[0].run({.x = x, .y = x, .num_tokens = 1, .dim = 1}, execOn(*queue));
    QVERIFY_THROWS_EXCEPTION(kernels::cuda::DeviceError, queue->wait());
    QVERIFY_THROWS_EXCEPTION(kernels::cuda::DeviceError, queue->wait());
    QVERIFY_THROWS_EXCEPTION(kernels::cuda::DeviceError, queue->allocate(1));
    const auto other = module().open(0);
    QCOMPARE(inferoscopeEmulatedDevice()->used_bytes, 0U);
    std::byte* others = other->allocate(16);
    queue->free(memory);  // gone with the reset: it may be the other's by now
    QCOMPARE(inferoscopeEmulatedDevice()->used_bytes, 16U);
    queue.reset();
    other->free(others);
  }

  void tooMuchMemoryIsRefused() {
    const auto queue = module().open(0);
    const std::size_t free_bytes = queue->freeBytes();
    QVERIFY(queue->allocate(free_bytes + 1) == nullptr);
    QCOMPARE(queue->freeBytes(), free_bytes);
  }

  void thereIsOneEmulatedDevice() {
    std::string why;
    QCOMPARE(module().devices(why).size(), 1U);
    QVERIFY_THROWS_EXCEPTION(kernels::cuda::DeviceError, module().open(1));
  }
};

QTEST_GUILESS_MAIN(TestCudaKernels)
#include "tst_cuda_kernels.moc"
