// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/main_window.h"
#include "gui/settings.h"
#include "gui/views/view_catalog.h"
#include "tests/support/data.h"

#include <QDir>
#include <QDropEvent>
#include <QFile>
#include <QMenu>
#include <QMenuBar>
#include <QMimeData>
#include <QSettings>
#include <QSignalSpy>
#include <QStyle>
#include <QTemporaryDir>
#include <QtTest>

#include <map>
#include <memory>

using namespace inferoscope;
using gui::MainWindow;
using gui::RunState;

namespace {

constexpr int kPatience = 60'000;  // ms; only a hang takes as long
#define WAIT_FOR(condition) QTRY_VERIFY_WITH_TIMEOUT(condition, kPatience)

QString dataFile(std::string_view name) {
  return QString::fromStdString(tests::dataPath(name));
}

// The window as a person meets it.
struct Workbench {
  explicit Workbench(QSize size = {1400, 900}) {
    window.resize(size);
    window.restoreLayout();
    window.show();
    QCoreApplication::processEvents();
  }
  QDockWidget* dock(const char* id) {
    return window.findChild<QDockWidget*>(QLatin1String(id) + QLatin1String("-dock"));
  }

  gui::Session session;
  MainWindow window{session, core::builtinScenarios()};
};

void drop(QWidget& window, const QString& file) {
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(file)});
  QDragEnterEvent enter(QPoint(300, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(&window, &enter);
  QVERIFY(enter.isAccepted());
  QDropEvent event(QPointF(300, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(&window, &event);
  QVERIFY(event.isAccepted());
}

// Where each dock is: "ask" -> bottom; hidden ones are left out.
std::map<QString, Qt::DockWidgetArea> places(MainWindow& window) {
  std::map<QString, Qt::DockWidgetArea> all;
  for (QDockWidget* dock : window.findChildren<QDockWidget*>()) {
    if (!dock->isHidden()) all[dock->objectName()] = window.dockWidgetArea(dock);
  }
  return all;
}

}  // namespace

class TestMainWindow : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() {
    QVERIFY(m_folder.isValid());
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, m_folder.path());
    QApplication::setStyle(QStringLiteral("Fusion"));
  }
  void cleanup() {
    QFile::setPermissions(settingsFolder(), QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    QDir(settingsFolder()).removeRecursively();
  }

  // ---- Docks -------------------------------------------------------------------------------------------------------

  void everyViewHasADockAndAMenuEntry() {
    Workbench w;
    QStringList entries;
    for (QAction* menu : w.window.menuBar()->actions()) {
      for (const QAction* action : menu->menu()->actions()) entries << action->text();
    }
    QCOMPARE(w.window.views().size(), gui::viewCatalog().size());
    for (const gui::ViewRow& row : gui::viewCatalog()) {
      QVERIFY2(w.dock(row.id), row.id);
      QVERIFY2(w.dock(row.id)->isVisible(), row.id);
      QVERIFY2(entries.contains(QString::fromLatin1(row.title)), row.title);
    }
  }

  void aLoadCanBeLeft() {
    Workbench w;
    w.window.openModel(QStringLiteral("synthetic:llama-3.2-1b"));
    WAIT_FOR(w.session.runState() == RunState::kLoading);
    const auto* bar = w.window.findChild<gui::LoadBar*>();
    QVERIFY(bar->isVisible());
    QTest::mouseClick(bar->findChild<QPushButton*>(), Qt::LeftButton);
    WAIT_FOR(w.session.runState() == RunState::kNoModel);
    QVERIFY(!bar->isVisible());
    QCOMPARE(w.window.message(), QString());
  }

  void shortcutsAreUnique() {
    Workbench w;
    QStringList keys;
    for (QAction* menu : w.window.menuBar()->actions()) {
      for (const QAction* action : menu->menu()->actions()) {
        if (!action->shortcut().isEmpty()) keys << action->shortcut().toString();
      }
    }
    QVERIFY(keys.size() > 8);
    QCOMPARE(keys.removeDuplicates(), 0);
  }

  void nothingIsClipped_data() {
    QTest::addColumn<QSize>("size");
    QTest::newRow("1400x900") << QSize(1400, 900);
    QTest::newRow("1280x800") << QSize(1280, 800);
  }
  void nothingIsClipped() {
    QFETCH(QSize, size);
    Workbench w(size);
    w.window.openModel(QStringLiteral("synthetic:tiny"));
    WAIT_FOR(w.session.snapshot() && w.session.snapshot()->step_index > 20);
    w.session.pause();
    WAIT_FOR(w.session.runState() == RunState::kPaused);
    QCOMPARE(w.window.size(), size);
    for (const QDockWidget* dock : w.window.findChildren<QDockWidget*>()) {
      if (dock->visibleRegion().isEmpty()) continue;
      const QSize least = dock->minimumSizeHint();
      QVERIFY2(dock->width() >= least.width() && dock->height() >= least.height(), qPrintable(dock->objectName()));
    }
    for (const QLabel* label : w.window.findChildren<QLabel*>()) {
      if (label->visibleRegion().isEmpty() || label->wordWrap()) continue;
      QVERIFY2(label->width() >= label->sizeHint().width(), qPrintable(label->text()));
    }
    for (const QPushButton* button : w.window.findChildren<QPushButton*>()) {
      if (button->visibleRegion().isEmpty()) continue;
      QVERIFY2(button->width() >= button->minimumSizeHint().width(), qPrintable(button->text()));
    }
  }

  // ---- Layout ------------------------------------------------------------------------------------------------------

  void keepsTheLayout() {
    std::map<QString, Qt::DockWidgetArea> before;
    {
      Workbench w;
      w.dock("requests")->hide();
      w.window.addDockWidget(Qt::BottomDockWidgetArea, w.dock("ask"));
      QCoreApplication::processEvents();
      before = places(w.window);
      w.window.close();
    }
    Workbench again;
    QVERIFY(!again.dock("requests")->isVisible());
    QCOMPARE(again.window.dockWidgetArea(again.dock("ask")), Qt::BottomDockWidgetArea);
    QVERIFY(places(again.window) == before);
  }

  void restoresTheDefaultLayout() {
    Workbench w;
    const auto before = places(w.window);
    w.dock("requests")->hide();
    w.dock("kv-map")->setFloating(true);
    w.window.restoreDefaultLayout();
    QCoreApplication::processEvents();
    QVERIFY(!w.dock("kv-map")->isFloating());
    QVERIFY(places(w.window) == before);
  }

  void startsWithBrokenSettings_data() {
    QTest::addColumn<QByteArray>("content");
    QTest::addColumn<bool>("kept_aside");
    QTest::newRow("0 bytes") << QByteArray() << false;
    QTest::newRow("NUL bytes") << QByteArray(200, '\0') << true;
    QTest::newRow("not a settings file") << QByteArray(
                                                "\x7f"
                                                "ELF\x02\x01 garbage\n[[[\n\xff\xfe\n")
                                         << true;
    QTest::newRow("wrong types") << QByteArray("[layout]\nstate=7\ngeometry=abc\n[models]\nrecent=@Rect(1 2 3 4)\n")
                                 << false;
    QTest::newRow("another version's layout")
        << QByteArray("[layout]\nstate=@ByteArray(\\0\\0\\0\\xff\\0\\0\\0\\t\\xfd\\0\\0\\0\\0)\n") << false;
  }
  void startsWithBrokenSettings() {
    QFETCH(QByteArray, content);
    QFETCH(bool, kept_aside);
    writeSettings(content);
    QTest::failOnWarning(QRegularExpression(QStringLiteral("Settings|restore|Dock")));
    Workbench w;
    for (const gui::ViewRow& row : gui::viewCatalog()) QVERIFY2(w.dock(row.id)->isVisible(), row.id);
    QCOMPARE(!w.window.message().isEmpty(), kept_aside);
    QCOMPARE(QFile::exists(settingsFile() + QStringLiteral(".broken")), kept_aside);
    w.window.close();
    QVERIFY(!gui::savedLayout().state.isEmpty());  // and from now on it is well
  }

  void startsWithHalfAFile() {
    {
      Workbench w;
      w.window.close();
    }
    QFile file(settingsFile());
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QByteArray whole = file.readAll();
    for (const qsizetype length : {whole.size() / 4, whole.size() / 2, whole.size() - 3}) {
      writeSettings(whole.left(length));
      Workbench w;
      for (const gui::ViewRow& row : gui::viewCatalog()) QVERIFY2(w.dock(row.id)->isVisible(), row.id);
    }
  }

  void worksWhereNothingCanBeSaved() {
    QVERIFY(QDir().mkpath(settingsFolder()));
    QFile::setPermissions(settingsFolder(), QFile::ReadOwner | QFile::ExeOwner);
    Workbench w;
    w.window.close();
  }

  // ---- Models ------------------------------------------------------------------------------------------------------

  void runsTheFirstModelAtOnce() {
    Workbench w;
    w.window.openModel(QStringLiteral("synthetic:tiny"));
    WAIT_FOR(w.session.runState() == RunState::kRunning);
    WAIT_FOR(w.session.snapshot() && w.session.snapshot()->step_index > 20);
    QVERIFY(w.window.windowTitle().contains(QStringLiteral("synthetic:tiny")));
    QVERIFY(gui::recentModels().contains(QStringLiteral("synthetic:tiny")));
  }

  void leavesTheEngineAsItWasForALaterModel() {
    Workbench w;
    w.window.openModel(QStringLiteral("synthetic:tiny"));
    WAIT_FOR(w.session.runState() == RunState::kRunning);
    w.session.pause();
    WAIT_FOR(w.session.runState() == RunState::kPaused);
    QSignalSpy limits(&w.session, &gui::Session::limitsMeasured);
    w.window.openModel(dataFile("valid/valid_tiny.gguf"));
    WAIT_FOR(limits.count() == 1);
    QCOMPARE(w.session.runState(), RunState::kPaused);
  }

  void opensAFileThatIsDropped() {
    Workbench w;
    drop(w.window, dataFile("valid/valid_tiny.gguf"));
    WAIT_FOR(w.session.model());
    QVERIFY(!w.session.model()->config.random_weights);
    QCOMPARE(gui::recentModels().value(0), dataFile("valid/valid_tiny.gguf"));
  }

  void saysWhatIsWrongAndGoesOn() {
    Workbench w;
    drop(w.window, dataFile("cases/a13_overlap.gguf"));
    WAIT_FOR(!w.window.message().isEmpty());
    QVERIFY2(w.window.message().contains(QStringLiteral("a13_overlap.gguf")), qPrintable(w.window.message()));
    w.window.openModel(dataFile("valid/valid_tiny.gguf"));
    QCOMPARE(w.window.message(), QString());
    WAIT_FOR(w.session.runState() == RunState::kRunning);
  }

  void showsARefusedKnob() {
    Workbench w;
    w.window.openModel(QStringLiteral("synthetic:tiny"));
    WAIT_FOR(w.session.runState() == RunState::kRunning);
    auto* linear = w.window.findChild<QComboBox*>(QStringLiteral("kv-format"));
    linear->setCurrentText(QStringLiteral("q8_0"));  // heads of 16 don't hold a block of 32
    const auto* words = w.window.findChild<QLabel*>(QStringLiteral("knob-message"));
    WAIT_FOR(!words->isHidden());
    QVERIFY2(words->text().contains(QStringLiteral("q8_0")), qPrintable(words->text()));
    QCOMPARE(linear->currentText(), QStringLiteral("f16"));
  }

  void answersAPromptAndChoosesIt() {
    Workbench w;
    w.window.openModel(QStringLiteral("synthetic:tiny"));
    WAIT_FOR(w.session.runState() == RunState::kRunning);
    QSignalSpy submitted(&w.session, &gui::Session::requestSubmitted);
    auto* box = w.window.findChild<QPlainTextEdit*>(QStringLiteral("prompt"));
    QTest::keyClicks(box, QStringLiteral("Hello"));
    QTest::keyClick(box, Qt::Key_Return);
    WAIT_FOR(submitted.count() == 1);
  }

 private:
  QString settingsFolder() const { return m_folder.filePath(QStringLiteral("inferoscope")); }
  QString settingsFile() const { return m_folder.filePath(QStringLiteral("inferoscope/workbench.ini")); }

  void writeSettings(const QByteArray& content) {
    QVERIFY(QDir().mkpath(settingsFolder()));
    QFile file(settingsFile());
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(content);
  }

  QTemporaryDir m_folder;
};

QTEST_MAIN(TestMainWindow)
#include "tst_main_window.moc"
