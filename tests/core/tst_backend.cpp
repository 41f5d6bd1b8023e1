// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/backend/backend.h"
#include "core/backend/huge_memory.h"
#include "core/error.h"
#include "kernels/cpu/pool.h"
#include "tests/support/errors.h"

#include <QTest>

#include <algorithm>
#include <cstring>
#include <limits>
#include <thread>

using namespace inferoscope;
using namespace inferoscope::core;
using namespace inferoscope::tests;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

bool allZero(Buffer& buffer) {
  return std::all_of(buffer.data(), buffer.data() + buffer.bytes(), [](std::byte b) { return b == std::byte{0}; });
}

std::uintptr_t address(const void* memory) {
  return reinterpret_cast<std::uintptr_t>(memory);
}

}  // namespace

class TestBackend : public QObject {
  Q_OBJECT

 private slots:
  void threads_data() {
    QTest::addColumn<int>("asked");
    QTest::addColumn<int>("given");
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    QTest::newRow("0: one a core") << 0 << cores;
    QTest::newRow("less: one a core") << -1 << cores;
    QTest::newRow("1") << 1 << 1;
    QTest::newRow("more than there are cores") << 3 * cores << 3 * cores;
    QTest::newRow("too many") << std::numeric_limits<int>::max() << 256;
  }

  void threads() {
    QFETCH(int, asked);
    QFETCH(int, given);
    const auto made_so = makeCpuBackend(asked);
    QCOMPARE(made_so->numThreads(), given);
    const auto set_so = makeCpuBackend(2);
    set_so->setThreads(asked);
    QCOMPARE(set_so->numThreads(), given);
    QCOMPARE(set_so->exec(0, {}).pool->numThreads(), given);  // not only said
  }

  void memoryIsZeroedAndAligned_data() {
    QTest::addColumn<qulonglong>("bytes");
    QTest::addColumn<qulonglong>("alignment");
    QTest::newRow("nothing") << 0ULL << 64ULL;
    QTest::newRow("a little") << 100ULL << 64ULL;
    QTest::newRow("one huge page") << 2ULL * kMiB << 2ULL * kMiB;
    QTest::newRow("an odd lot") << 5ULL * kMiB + 3 << 2ULL * kMiB;
  }

  void memoryIsZeroedAndAligned() {
    QFETCH(qulonglong, bytes);
    QFETCH(qulonglong, alignment);
    const auto buffer = makeCpuBackend(1)->allocate(bytes, "a test");  // and outlives its backend
    QCOMPARE(buffer->bytes(), std::size_t{bytes});
    QCOMPARE(address(buffer->data()) % alignment, std::uintptr_t{0});
    QVERIFY(allZero(*buffer));
    std::memset(buffer->data(), 1, buffer->bytes());
  }

  void uploadsComeBack() {
    const auto backend = makeCpuBackend(1);
    const auto buffer = backend->allocate(16, "a test");
    const std::array<std::byte, 3> sent = {std::byte{1}, std::byte{2}, std::byte{3}};
    std::array<std::byte, 4> received{};
    backend->upload(*buffer, 5, sent);
    backend->download(*buffer, 4, received);
    QCOMPARE(received, (std::array{std::byte{0}, std::byte{1}, std::byte{2}, std::byte{3}}));
  }

  void whatIsNotThereIsRefusedWithNumbers_data() {
    QTest::addColumn<qulonglong>("bytes");
    QTest::newRow("more than is free") << 4ULL * availableMemory();
    QTest::newRow("all there could be") << std::numeric_limits<qulonglong>::max();
  }

  void whatIsNotThereIsRefusedWithNumbers() {
    QFETCH(qulonglong, bytes);
    const auto backend = makeCpuBackend(1);
    const QString error = QString::fromStdString(errorOf([&] { backend->allocate(bytes, "a whale"); }));
    QVERIFY2(error.startsWith("not enough memory for a whale: "), qPrintable(error));
    QVERIFY2(error.contains(" MiB needed, ") && error.endsWith(" MiB available"), qPrintable(error));
    QVERIFY(allZero(*backend->allocate(3 * kMiB, "a mouse")));
  }

  void scratchGrowsAndStays() {
    const auto backend = makeCpuBackend(1);
    const auto small = backend->exec(1000, {}).scratch;
    QVERIFY(small.size() >= 1000);
    const auto large = backend->exec(3 * kMiB, {}).scratch;
    QVERIFY(large.size() >= 3 * kMiB);
    QCOMPARE(address(large.data()) % 64, std::uintptr_t{0});
    QCOMPARE(backend->exec(1000, {}).scratch.data(), large.data());
  }

  void marksCountFromTheFirst() {
    const auto backend = makeCpuBackend(1);
    backend->mark();
    backend->resetMarks();
    for (int i = 0; i < 3; ++i) backend->mark();
    const std::span<const std::int64_t> times = backend->times();
    QCOMPARE(times.size(), std::size_t{3});
    QCOMPARE(times[0], std::int64_t{0});
    QVERIFY(std::ranges::is_sorted(times));
  }

  void probeMeasuresEveryCeiling() {
    const auto backend = makeCpuBackend(2);
    const MachineLimits limits = backend->probe({});
    QVERIFY(limits.measured());
    QVERIFY(limits.cache_read_bytes_per_s > 0);
    QVERIFY(limits.int8_op_per_s > 0);
    QVERIFY(limits.cache_reach_bytes >= 0);
    QCOMPARE(limits.num_threads, 2);
    QVERIFY(limits.measured_at_unix_s > 1'600'000'000);
  }

  void aStopEndsTheProbe() {
    std::stop_source source;
    source.request_stop();
    QVERIFY_THROWS_EXCEPTION(Cancelled, makeCpuBackend(1)->probe(source.get_token()));
  }
};

QTEST_GUILESS_MAIN(TestBackend)
#include "tst_backend.moc"
