// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/backend/probe_cache.h"
#include "core/error.h"
#include "tests/support/tried_backend.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <chrono>

using namespace inferoscope::core;
using inferoscope::tests::TriedBackend;

namespace {

constexpr std::int64_t kMinute = 60;

std::int64_t now() {
  using namespace std::chrono;
  return duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
}

MachineLimits measured(int num_threads, double gb_s, std::int64_t age_s = 0) {
  return {.read_bytes_per_s = gb_s * 1e9,
          .cache_read_bytes_per_s = 90e9,
          .fp32_flop_per_s = 80e9,
          .f16_flop_per_s = 300e9,
          .int8_op_per_s = 70e9,
          .num_threads = num_threads,
          .last_level_cache_bytes = 60,
          .cache_reach_bytes = 50,
          .measured_at_unix_s = now() - age_s};
}

}  // namespace

class TestProbeCache : public QObject {
  Q_OBJECT

 private slots:
  void init() { m_folder.emplace(); }

  void everyNumberOfThreadsHasItsOwn() {
    TriedBackend one(1), two(2), three(3);
    keepLimits(file(), one, measured(1, 10));
    keepLimits(file(), two, measured(2, 19));
    keepLimits(file(), two, measured(2, 20));
    QCOMPARE(keptLimits(file(), one)->read_bytes_per_s, 10e9);
    const MachineLimits kept = keptLimits(file(), two).value();
    QCOMPARE(kept.read_bytes_per_s, 20e9);
    QCOMPARE(kept.cache_read_bytes_per_s, 90e9);
    QCOMPARE(kept.fp32_flop_per_s, 80e9);
    QCOMPARE(kept.f16_flop_per_s, 300e9);
    QCOMPARE(kept.int8_op_per_s, 70e9);
    QCOMPARE(kept.num_threads, 2);
    QCOMPARE(kept.last_level_cache_bytes, std::int64_t{60});
    QCOMPARE(kept.cache_reach_bytes, std::int64_t{50});
    QVERIFY(now() - kept.measured_at_unix_s < 60);
    QVERIFY(!keptLimits(file(), three));
  }

  // Another GPU in the same place is another machine.
  void everyHardwareHasItsOwn() {
    TriedBackend one(1), other(1);
    other.hardware_name = "another GPU";
    keepLimits(file(), one, measured(1, 10));
    QVERIFY(!keptLimits(file(), other));
    keepLimits(file(), other, measured(1, 4000));
    QCOMPARE(keptLimits(file(), one)->read_bytes_per_s, 10e9);
    QCOMPARE(keptLimits(file(), other)->read_bytes_per_s, 4000e9);
  }

  void whatIsOldOrFromTheFutureIsNotTaken_data() {
    QTest::addColumn<qlonglong>("age_s");
    QTest::addColumn<bool>("taken");
    QTest::newRow("of this hour") << qlonglong{59 * kMinute} << true;
    QTest::newRow("of the hour before") << qlonglong{61 * kMinute} << false;
    QTest::newRow("before the clock was set back") << qlonglong{-5 * kMinute} << false;
  }

  void whatIsOldOrFromTheFutureIsNotTaken() {
    QFETCH(qlonglong, age_s);
    QFETCH(bool, taken);
    TriedBackend backend(1);
    keepLimits(file(), backend, measured(1, 10, age_s));
    QCOMPARE(keptLimits(file(), backend).has_value(), taken);
  }

  void aBrokenFileIsNoneAndIsReplaced_data() {
    QTest::addColumn<QByteArray>("content");
    TriedBackend backend(1);
    keepLimits(file(), backend, measured(1, 10));
    const QByteArray good = read();
    QTest::newRow("empty") << QByteArray();
    QTest::newRow("zeros") << QByteArray(100, '\0');
    QTest::newRow("half") << good.left(good.size() / 2);
    QTest::newRow("a list") << QByteArray("[1]");
    QTest::newRow("another version") << QByteArray(good).replace("\"3\": {\n  \"cpu", "\"0\": {\n  \"cpu");
    QTest::newRow("no objects") << QByteArray("{\"3\": 5}");
    QTest::newRow("text for a number") << QByteArray(good).replace("10000000000.0", "\"fast\"");
    QTest::newRow("a negative rate") << QByteArray(good).replace("10000000000.0", "-1.0");
    QTest::newRow("a field less") << QByteArray(good).replace("cache_reach_bytes", "cache");
  }

  void aBrokenFileIsNoneAndIsReplaced() {
    QFETCH(QByteArray, content);
    write(content);
    TriedBackend backend(1);
    QVERIFY(!keptLimits(file(), backend));
    keepLimits(file(), backend, measured(1, 30));
    QCOMPARE(keptLimits(file(), backend)->read_bytes_per_s, 30e9);
  }

  void whatWasNotMeasuredIsNotKept() {
    TriedBackend backend(1);
    keepLimits(file(), backend, {});
    QVERIFY(!QFile::exists(QString::fromStdString(file().string())));
  }

  void aFolderThatCannotBeMadeDoesNoHarm() {
    TriedBackend backend(1);
    keepLimits("/proc/no/such/folder/probes.json", backend, measured(1, 10));
    QVERIFY(!keptLimits("/proc/no/such/folder/probes.json", backend));
  }

  void theSecondTimeThereIsNoProbe() {
    qputenv("XDG_CACHE_HOME", m_folder->path().toUtf8());
    TriedBackend backend(1);
    keepLimits(probeCacheFile(), backend, measured(1, 10));
    std::stop_source stopped;  // a probe would throw
    stopped.request_stop();
    QCOMPARE(limitsFor(backend, stopped.get_token()).read_bytes_per_s, 10e9);
    QVERIFY_THROWS_EXCEPTION(Cancelled, probeAndKeep(backend, stopped.get_token()));
  }

 private:
  std::filesystem::path file() const {
    return std::filesystem::path(m_folder->path().toStdString()) / "deeper" / "probes.json";
  }
  QByteArray read() const {
    QFile in(QString::fromStdString(file().string()));
    return in.open(QIODevice::ReadOnly) ? in.readAll() : QByteArray();
  }
  void write(const QByteArray& content) const {
    std::filesystem::create_directories(file().parent_path());
    QFile out(QString::fromStdString(file().string()));
    QVERIFY(out.open(QIODevice::WriteOnly));
    out.write(content);
  }

  std::optional<QTemporaryDir> m_folder;
};

QTEST_GUILESS_MAIN(TestProbeCache)
#include "tst_probe_cache.moc"
