// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/probe.h"

#include <QTest>

#include <vector>

using namespace inferoscope::kernels;

// Rates are measured, so only their sign and their order of magnitude can be asked for.
class TestProbe : public QObject {
  Q_OBJECT

 private slots:
  void ratesAreRates() {
    cpu::Pool pool(2);
    const std::vector<std::byte> memory((8 << 20) + 100, std::byte{1});
    for (const double rate :
         {cpu::readBandwidth(pool, memory, {}), cpu::fp32Rate(pool, 2, {}), cpu::int8DotRate(pool, 2, {})}) {
      QCOMPARE_GT(rate, 1e6);
      QCOMPARE_LT(rate, 1e15);
    }
  }

  void littleMemoryIsNoFault() {
    cpu::Pool pool(1);
    const std::vector<std::byte> memory(2000, std::byte{1});
    for (std::size_t size = 0; size < memory.size(); size += 37) {
      const double rate = cpu::readBandwidth(pool, std::span(memory).first(size), {});
      QVERIFY(rate >= 0.0);
      if (size >= 512) QVERIFY(rate > 0.0);
    }
  }

  void stoppedGivesZero() {
    cpu::Pool pool(2);
    std::stop_source stop;
    stop.request_stop();
    const std::vector<std::byte> memory(1 << 20);
    QCOMPARE(cpu::readBandwidth(pool, memory, stop.get_token()), 0.0);
    QCOMPARE(cpu::fp32Rate(pool, 1000, stop.get_token()), 0.0);
    QCOMPARE(cpu::int8DotRate(pool, 1000, stop.get_token()), 0.0);
  }
};

QTEST_GUILESS_MAIN(TestProbe)
#include "tst_probe.moc"
