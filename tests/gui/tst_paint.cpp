// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/paint/metrics.h"
#include "gui/paint/number_format.h"
#include "gui/paint/plot_style.h"
#include "gui/paint/theme.h"
#include "tests/support/palettes.h"

#include <QRegularExpression>
#include <QTest>
#include <QTextDocument>

#include <limits>

using namespace inferoscope;
using core::SeqId;

class TestPaint : public QObject {
  Q_OBJECT

 private slots:
  void init() { QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates)); }
  void numbers_data();
  void numbers();
  void numbersFollowTheLocale();
  void plainLocaleStillGroups();
  void contrastAsDefined();
  void textCanBeRead_data();
  void textCanBeRead();
  void readableKeepsWhatIsFine();
  void ownersKeepTheirLook();
  void metricsExplainThemselves();
  void ticksHaveRoom_data();
  void ticksHaveRoom();
};

void TestPaint::numbers_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("expected");
  QTest::newRow("count") << gui::countText(1024) << "1,024";
  QTest::newRow("share of nothing") << gui::shareText(0) << "0%";
  QTest::newRow("small share") << gui::shareText(0.0612) << "6.1%";
  QTest::newRow("share") << gui::shareText(0.8149) << "81%";
  QTest::newRow("share at the edge") << gui::shareText(0.0998) << "10%";
  QTest::newRow("whole") << gui::shareText(1.0) << "100%";
  QTest::newRow("unknown share") << gui::shareText(std::numeric_limits<double>::quiet_NaN()) << "–";
  QTest::newRow("bytes") << gui::bytesText(1023) << "1,023 B";
  QTest::newRow("KiB") << gui::bytesText(184'320) << "180 KiB";
  QTest::newRow("GiB") << gui::bytesText(std::int64_t{5} << 30) << "5.00 GiB";
  QTest::newRow("GB/s") << gui::byteRateText(34.04e9) << "34.0 GB/s";
  QTest::newRow("GB moved") << gui::movedBytesText(21.4e9) << "21.4 GB";
  QTest::newRow("operations") << gui::operationsText(194.2e9) << "194 G";
  QTest::newRow("MB/s") << gui::byteRateText(999.4e6) << "999 MB/s";
  QTest::newRow("never 1,000 MB/s") << gui::byteRateText(999.6e6) << "1.00 GB/s";
  QTest::newRow("GFLOP/s") << gui::flopRateText(194.2e9) << "194 GFLOP/s";
  QTest::newRow("GOP/s") << gui::opRateText(400e9) << "400 GOP/s";
  QTest::newRow("tok/s") << gui::tokenRateText(1234.4) << "1,234 tok/s";
  QTest::newRow("no tok/s") << gui::tokenRateText(0) << "0 tok/s";
  QTest::newRow("µs") << gui::durationText(850'000) << "850 µs";
  QTest::newRow("ms") << gui::durationText(12'340'000) << "12.3 ms";
  QTest::newRow("s") << gui::durationText(4'440'000'000) << "4.44 s";
  QTest::newRow("no time") << gui::millisecondsText(std::nullopt) << "–";
  QTest::newRow("rounding up to three digits") << gui::significantText(99.96) << "100";
}

void TestPaint::numbers() {
  QFETCH(QString, text);
  QTEST(text, "expected");
}

void TestPaint::numbersFollowTheLocale() {
  QLocale::setDefault(QLocale(QLocale::Indonesian));
  QCOMPARE(gui::countText(16'384), QString("16.384"));
  QCOMPARE(gui::byteRateText(34.04e9), QString("34,0 GB/s"));
}

void TestPaint::plainLocaleStillGroups() {
  QLocale::setDefault(QLocale::c());
  QCOMPARE(gui::countText(16'384), QString("16,384"));
}

void TestPaint::contrastAsDefined() {
  QCOMPARE(gui::contrast(Qt::black, Qt::white), 21.0);
  QCOMPARE(gui::contrast(Qt::red, Qt::red), 1.0);
  QVERIFY(std::abs(gui::contrast(QColor(0x767676), Qt::white) - 4.54) < 0.01);  // the lightest grey that passes
}

void TestPaint::textCanBeRead_data() {
  QTest::addColumn<QPalette>("palette");
  QTest::addColumn<bool>("dark");
  QTest::newRow("light") << tests::lightPalette() << false;
  QTest::newRow("dark") << tests::darkPalette() << true;
  QTest::newRow("low contrast") << tests::paletteOf(QColor(0x808080), QColor(0x707070), QColor(0x909090)) << true;
  QTest::newRow("pale") << tests::paletteOf(Qt::white, Qt::white, QColor(0xaaaaaa)) << false;
}

void TestPaint::textCanBeRead() {
  QFETCH(QPalette, palette);
  const gui::Theme theme = gui::themeOf(palette);
  QTEST(theme.dark, "dark");
  QVERIFY(gui::contrast(theme.text, theme.surface) >= 4.5);
  QVERIFY(gui::contrast(theme.dim, theme.surface) >= 4.5);
  for (const QColor& series : {theme.prefill, theme.decode, theme.bandwidth, theme.compute, theme.cache}) {
    QVERIFY(gui::contrast(series, theme.surface) >= 1.9);
    QVERIFY(gui::contrast(gui::readable(series, theme.surface), theme.surface) >= 4.5);
  }
}

void TestPaint::readableKeepsWhatIsFine() {
  QCOMPARE(gui::readable(QColor(0x003366), Qt::white), QColor(0x003366));
  QVERIFY(gui::readable(QColor(0xf0e442), Qt::white) != QColor(0xf0e442));
}

void TestPaint::ownersKeepTheirLook() {
  const gui::Theme theme = gui::themeOf(tests::darkPalette());
  const auto look = [&theme](int owner) {
    return std::pair(gui::ownerColor(SeqId{owner}, theme).rgb(), gui::ownerPattern(SeqId{owner}));
  };
  QCOMPARE(look(5), look(5));
  QCOMPARE(look(5), look(5 + 21));  // seven hues with three patterns
  for (int a = 0; a < 21; ++a) {
    for (int b = 0; b < a; ++b) QVERIFY(look(a) != look(b));
  }
  QVERIFY(gui::ownerColor({}, theme) == theme.quiet);
}

void TestPaint::metricsExplainThemselves() {
  for (int i = 0; i < static_cast<int>(gui::Metric::kNumMetrics); ++i) {
    const auto metric = static_cast<gui::Metric>(i);
    const QStringList lines = gui::explainMetric(metric).split(QLatin1Char('\n'));
    QCOMPARE(lines.size(), 3);
    QCOMPARE(lines[0], gui::metricName(metric));
    QVERIFY(lines[1].startsWith(QStringLiteral("= ")));
    QVERIFY2(lines[2].startsWith(QStringLiteral("Unit: ")), qPrintable(lines[2]));
    QVERIFY2(lines[2].contains(QRegularExpression(QStringLiteral("[Mm]easured|[Cc]ounted"))), qPrintable(lines[2]));
  }
  const QString live = gui::explainMetric(gui::Metric::kTtft, QStringLiteral("3 s − 1 s = 2 s"));
  QVERIFY(live.contains(QStringLiteral("\n= 3 s − 1 s = 2 s\n")));
  QVERIFY(Qt::mightBeRichText(gui::tipText(live)));  // so that it is wrapped
  QVERIFY(gui::tipText(QStringLiteral("a < b")).contains(QStringLiteral("a &lt; b")));
  QVERIFY(gui::tipText({}).isEmpty());
}

void TestPaint::ticksHaveRoom_data() {
  QTest::addColumn<double>("length");
  QTest::addColumn<int>("expected");
  QTest::newRow("more than enough") << 900.0 << 4;
  QTest::newRow("for two") << 150.0 << 2;
  QTest::newRow("for one") << 70.0 << 1;
  QTest::newRow("for none: one is asked for") << 0.0 << 1;
}

void TestPaint::ticksHaveRoom() {
  QFETCH(double, length);
  QTEST(gui::tickCount(length, 40, 4), "expected");
}

QTEST_GUILESS_MAIN(TestPaint)
#include "tst_paint.moc"
