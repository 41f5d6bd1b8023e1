// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/data.h"

#include <QDir>
#include <QImage>
#include <QProcess>
#include <QTemporaryDir>
#include <QtTest>

using namespace inferoscope;

namespace {

constexpr int kPatience = 120'000;  // ms; only a hang takes as long

struct Outcome {
  int code = -1;
  QString out;
  QString err;

  // One line for a person, and nothing else.
  bool complains() const { return code != 0 && out.isEmpty() && err.count(QLatin1Char('\n')) == 1; }
};

}  // namespace

// The program itself, from the outside.
class TestWorkbench : public QObject {
  Q_OBJECT

 private slots:
  void needsNoDisplayForWords_data() {
    QTest::addColumn<QString>("option");
    QTest::newRow("help") << QStringLiteral("--help");
    QTest::newRow("version") << QStringLiteral("--version");
  }
  void needsNoDisplayForWords() {
    QFETCH(QString, option);
    const Outcome outcome = run({option}, false);
    QCOMPARE(outcome.code, 0);
    QVERIFY(outcome.out.contains(QStringLiteral("inferoscope")));
    QCOMPARE(outcome.err, QString());
  }

  void saysSoWhereThereIsNoDisplay() {
    const Outcome outcome = run({}, false);
    QVERIFY2(outcome.complains(), qPrintable(outcome.err));
    QVERIFY2(outcome.err.contains(QStringLiteral("--screenshots")), qPrintable(outcome.err));
  }

  void saysSoWhereTheDisplayDoesNotAnswer() {
    const Outcome outcome =
        run({QStringLiteral("-platform"), QStringLiteral("xcb"), QStringLiteral("-display"), QStringLiteral(":987")},
            false);
    QVERIFY(outcome.code > 0);  // not a crash
    QVERIFY(!outcome.err.isEmpty());
  }

  void complainsInOneLine_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("named");
    const auto row = [](const QStringList& arguments, const char* named) {
      QTest::newRow(qPrintable(arguments.join(QLatin1Char(' ')))) << arguments << QString::fromUtf8(named);
    };
    row({QStringLiteral("--set"), QStringLiteral("block-size")}, "block-size");
    row({QStringLiteral("--set"), QStringLiteral("block-size=0")}, "block-size");
    row({QStringLiteral("--set"), QStringLiteral("magic=on")}, "magic");
    row({QStringLiteral("--scenario"), QStringLiteral("/nowhere/s.json")}, "/nowhere/s.json");
    row({QStringLiteral("--theme"), QStringLiteral("pink")}, "pink");
    row({QStringLiteral("--after"), QStringLiteral("soon")}, "soon");
    row({QStringLiteral("one.gguf"), QStringLiteral("two.gguf")}, "two.gguf");
    row({QStringLiteral("--nonsense")}, "nonsense");
    row({QStringLiteral("--screenshots"), QStringLiteral("/tmp/x"), QStringLiteral("/nowhere/model.gguf")},
        "/nowhere/model.gguf");
  }
  void complainsInOneLine() {
    QFETCH(QStringList, arguments);
    QFETCH(QString, named);
    const Outcome outcome = run(arguments);
    QVERIFY2(outcome.complains(), qPrintable(outcome.err));
    QVERIFY2(outcome.err.contains(named), qPrintable(outcome.err));
  }

  void takesPictures_data() {
    QTest::addColumn<QString>("theme");
    QTest::newRow("dark") << QStringLiteral("dark");
    QTest::newRow("light") << QStringLiteral("light");
  }
  void takesPictures() {
    QFETCH(QString, theme);
    const QTemporaryDir folder;
    const Outcome outcome = run({QStringLiteral("synthetic:tiny"), QStringLiteral("--screenshots"), folder.path(),
                                 QStringLiteral("--after"), QStringLiteral("0.5"), QStringLiteral("--theme"), theme,
                                 QStringLiteral("--set"), QStringLiteral("block-size=8")},
                                false);
    QCOMPARE(outcome.err, QString());
    QCOMPARE(outcome.code, 0);
    const QStringList pictures = QDir(folder.path()).entryList({QStringLiteral("*.png")});
    for (const char* name : {"window", "kv-map", "batch-lanes", "utilisation", "requests", "token-stream"}) {
      QVERIFY2(pictures.contains(QString::fromLatin1(name) + QStringLiteral(".png")), name);
    }
    const QImage window(folder.filePath(QStringLiteral("window.png")));
    QCOMPARE(window.size(), QSize(1400, 900));
    QCOMPARE(window.pixelColor(2, 2).lightness() < 128, theme == QStringLiteral("dark"));
  }

 private:
  // With offscreen windows, or with no display at all.
  Outcome run(const QStringList& arguments, bool windows = true) {
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM", "XDG_RUNTIME_DIR"}) {
      environment.remove(QString::fromLatin1(name));
    }
    if (windows) environment.insert(QStringLiteral("QT_QPA_PLATFORM"), QStringLiteral("offscreen"));
    environment.insert(QStringLiteral("XDG_CONFIG_HOME"), m_settings.path());
    QProcess process;
    process.setProcessEnvironment(environment);
    process.start(QStringLiteral(INFEROSCOPE_BINARY_DIR "/inferoscope"), arguments);
    if (!process.waitForFinished(kPatience) || process.exitStatus() != QProcess::NormalExit) return {};
    return {process.exitCode(), QString::fromUtf8(process.readAllStandardOutput()),
            QString::fromUtf8(process.readAllStandardError())};
  }

  QTemporaryDir m_settings;
};

QTEST_GUILESS_MAIN(TestWorkbench)
#include "tst_workbench.moc"
