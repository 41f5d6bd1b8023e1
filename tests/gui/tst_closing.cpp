// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/main_window.h"

#include <QApplication>
#include <QProcess>
#include <QTemporaryDir>
#include <QtTest>

#include <cstdio>
#include <functional>

using namespace inferoscope;

// The window is closed while the engine is busy with this and that, in a process of its own: it must end by itself,
// soon, with 0, and without a word. Started with the name of a state, this program is that process.

namespace {

constexpr int kPatience = 120'000;  // ms; only a hang takes as long

struct State {
  const char* name;
  const char* model;  // nullptr: none
  int prompt_tokens;  // of the workload's requests
  int step_delay_ms;
  std::function<bool(gui::Session&)> reached;
};

bool running(const gui::Session& session) {
  return session.runState() == gui::RunState::kRunning;
}

const std::vector<State>& states() {
  constexpr const char* kTiny = "synthetic:tiny";
  constexpr const char* kBig = "synthetic:smollm2-135m";
  static const std::vector<State> all = {
      {"no-model", nullptr, 8, 0, [](gui::Session&) { return true; }},
      {"loading", kBig, 8, 0, [](gui::Session& s) { return s.runState() == gui::RunState::kLoading; }},
      {"probing", kTiny, 8, 0, [](gui::Session& s) { return s.model() && !s.limits().measured(); }},
      {"prefill", kBig, 2000, 0, [](gui::Session& s) { return running(s) && s.stepProgress() > 0; }},
      {"decode", kTiny, 8, 0, [](gui::Session& s) { return s.snapshot() && s.snapshot()->step_index > 20; }},
      {"paused", kTiny, 8, 0,
       [](gui::Session& s) {
         if (running(s)) s.pause();
         return s.snapshot() && s.runState() == gui::RunState::kPaused;
       }},
      {"slow-motion", kTiny, 8, 3'600'000, [](gui::Session& s) { return running(s); }},
  };
  return all;
}

int closeIn(const State& state, QApplication& app) {
  qInstallMessageHandler([](QtMsgType, const QMessageLogContext&, const QString& text) {
    if (!text.startsWith(QLatin1String("This plugin does not support"))) std::fprintf(stderr, "%s\n", qPrintable(text));
  });
  core::Scenario scenario;
  scenario.id = scenario.title = "test";
  scenario.prompt_tokens.mean = scenario.prompt_tokens.max = state.prompt_tokens;
  gui::Session session;
  session.setStepDelay(state.step_delay_ms);
  gui::MainWindow window(session, {scenario});
  window.show();
  if (state.model) window.openModel(QString::fromLatin1(state.model));
  QTimer timer;
  QObject::connect(&timer, &QTimer::timeout, &window, [&] {
    if (!state.reached(session)) return;
    timer.stop();
    std::puts("closing");
    std::fflush(stdout);
    window.close();
    window.close();
  });
  timer.start(1);
  return app.exec();
}

}  // namespace

class TestClosing : public QObject {
  Q_OBJECT

 private slots:
  void endsQuietly_data() {
    QTest::addColumn<QString>("state");
    for (const State& state : states()) QTest::newRow(state.name) << QString::fromLatin1(state.name);
  }
  void endsQuietly() {
    QFETCH(QString, state);
    const QTemporaryDir settings;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert(QStringLiteral("XDG_CONFIG_HOME"), settings.path());
    environment.insert(QStringLiteral("XDG_RUNTIME_DIR"), settings.path());
    environment.insert(QStringLiteral("XDG_CACHE_HOME"),
                       settings.path());  // a kept probe would leave nothing to close in
    QProcess process;
    process.setProcessEnvironment(environment);
    process.start(QCoreApplication::applicationFilePath(), {state});
    QVERIFY(process.waitForReadyRead(kPatience));
    QElapsedTimer since;
    since.start();
    QVERIFY(process.waitForFinished(kPatience));
    qInfo("%s: ended %lld ms after the window was closed", qPrintable(state), since.elapsed());
    QCOMPARE(process.readAllStandardError(), QByteArray());
    QCOMPARE(process.readAllStandardOutput(), QByteArray("closing\n"));  // the state was reached
    QCOMPARE(process.exitStatus(), QProcess::NormalExit);
    QCOMPARE(process.exitCode(), 0);
  }
};

int main(int argc, char** argv) {
  QApplication app(argc, argv);
  for (const State& state : states()) {
    if (argc == 2 && std::string_view(argv[1]) == state.name) return closeIn(state, app);
  }
  TestClosing test;
  return QTest::qExec(&test, argc, argv);
}

#include "tst_closing.moc"
