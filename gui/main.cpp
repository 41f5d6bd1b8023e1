// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/knobs.h"
#include "core/error.h"
#include "core/model/model_store.h"
#include "gui/main_window.h"
#include "gui/screenshots.h"
#include "gui/session/session.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QPalette>
#include <QScreen>
#include <QStyle>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

using namespace inferoscope;

namespace {

constexpr int kLeastWidth = 1200;
constexpr QSize kLargestWindow(1920, 1080);

int complain(const QString& what) {
  std::fprintf(stderr, "inferoscope: %s\n", qPrintable(what));
  return 2;
}

bool has(int argc, char** argv, std::string_view option) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view given = argv[i];
    if (given == option || given.starts_with(std::string(option) + "=")) return true;
  }
  return false;
}

bool displayAvailable() {
  return qEnvironmentVariableIsSet("DISPLAY") || qEnvironmentVariableIsSet("WAYLAND_DISPLAY") ||
         qEnvironmentVariableIsSet("QT_QPA_PLATFORM");
}

// Qt aborts where there is no display: answered here, in one line. Pictures and help need none.
bool choosePlatform(int argc, char** argv) {
  const bool words_only =
      has(argc, argv, "--help") || has(argc, argv, "-h") || has(argc, argv, "--version") || has(argc, argv, "-v");
  const bool given = displayAvailable() || has(argc, argv, "-platform") || has(argc, argv, "--platform");
  if (given && !words_only) return true;
  if (!words_only && !has(argc, argv, "--screenshots")) return false;
  qputenv("QT_QPA_PLATFORM", "offscreen");
  return true;
}

// Qt's talk of what its offscreen platform lacks and of a missing runtime folder is of no use to a person. What is
// fatal to Qt, such as a display that doesn't answer, ends the program with a code rather than a core dump.
void printMessage(QtMsgType type, const QMessageLogContext&, const QString& text) {
  for (const char* noise : {"This plugin does not support", "QStandardPaths: XDG_RUNTIME_DIR not set"}) {
    if (text.startsWith(QLatin1String(noise))) return;
  }
  std::fprintf(stderr, "inferoscope: %s\n", qPrintable(text.simplified()));
  if (type == QtFatalMsg) std::_Exit(1);
}

QPalette darkPalette() {
  QPalette palette(QColor(53, 53, 57), QColor(42, 42, 46));
  palette.setColor(QPalette::Base, QColor(30, 30, 33));
  palette.setColor(QPalette::AlternateBase, QColor(38, 38, 42));
  palette.setColor(QPalette::Highlight, QColor(48, 110, 170));
  palette.setColor(QPalette::HighlightedText, Qt::white);
  palette.setColor(QPalette::ToolTipBase, QColor(53, 53, 57));
  palette.setColor(QPalette::ToolTipText, QColor(230, 230, 230));
  palette.setColor(QPalette::PlaceholderText, QColor(160, 160, 165));
  palette.setColor(QPalette::Link, QColor(110, 170, 230));
  for (const QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
    palette.setColor(role, QColor(230, 230, 230));
    palette.setColor(QPalette::Disabled, role, QColor(130, 130, 135));
  }
  return palette;
}

struct Options {
  QString model;
  std::optional<core::Scenario> scenario;
  QStringList knobs;  // id=value
  bool reset_layout = false;
  QString theme;
  QString compare;  // preset id
  QString screenshots;
  double seconds = 5;
};

QString parse(const QApplication& app, Options& options) {
  QCommandLineParser parser;
  parser.setApplicationDescription(QStringLiteral("Shows where the time of LLM inference goes."));
  parser.addPositionalArgument(QStringLiteral("MODEL"),
                               QStringLiteral("A GGUF file, `default`, or synthetic:NAME[:FORMAT]."),
                               QStringLiteral("[MODEL]"));
  const QCommandLineOption scenario(QStringLiteral("scenario"), QStringLiteral("Workload to run."),
                                    QStringLiteral("file"));
  const QCommandLineOption set(QStringLiteral("set"), QStringLiteral("Sets a knob, e.g. block-size=32."),
                               QStringLiteral("k=v"));
  const QCommandLineOption reset(QStringLiteral("reset-layout"), QStringLiteral("Starts with the default layout."));
  const QCommandLineOption theme(QStringLiteral("theme"), QStringLiteral("dark, light, or as the system says."),
                                 QStringLiteral("name"));
  const QCommandLineOption compare(QStringLiteral("compare"),
                                   QStringLiteral("Compares the two settings of a preset, e.g. paged-contiguous."),
                                   QStringLiteral("preset"));
  const QCommandLineOption shots(QStringLiteral("screenshots"),
                                 QStringLiteral("Runs, writes pictures of the window and of each view, and quits."),
                                 QStringLiteral("folder"));
  const QCommandLineOption after(QStringLiteral("after"), QStringLiteral("Seconds to run before the pictures (5)."),
                                 QStringLiteral("seconds"));
  parser.addOptions({scenario, set, reset, theme, compare, shots, after});
  parser.addHelpOption();
  parser.addVersionOption();
  parser.process(app);

  const QStringList models = parser.positionalArguments();
  if (models.size() > 1) return QStringLiteral("one model at most, got %1").arg(models.join(QLatin1Char(' ')));
  options.model = models.isEmpty() ? QString::fromStdString(core::startupModel()) : models.first();
  options.reset_layout = parser.isSet(reset);
  options.theme = parser.value(theme);
  if (parser.isSet(theme) && options.theme != QLatin1String("dark") && options.theme != QLatin1String("light")) {
    return QStringLiteral("--theme: \"%1\" is neither dark nor light").arg(options.theme);
  }
  options.compare = parser.value(compare);
  options.screenshots = parser.value(shots);
  if (parser.isSet(after)) {
    bool ok = false;
    options.seconds = parser.value(after).toDouble(&ok);
    if (!ok || options.seconds < 0)
      return QStringLiteral("--after: \"%1\" is no number of seconds").arg(parser.value(after));
  }
  options.knobs = parser.values(set);
  if (parser.isSet(scenario)) options.scenario = core::loadScenario(parser.value(scenario).toStdString());
  return {};
}

QString setKnobs(core::EngineOptions& options, const QStringList& pairs) {
  for (const QString& pair : pairs) {
    const auto equals = pair.indexOf(QLatin1Char('='));
    if (equals < 0) return QStringLiteral("--set: \"%1\" is not of the form knob=value").arg(pair);
    const std::string problem =
        core::setKnob(options, pair.left(equals).toStdString(), pair.mid(equals + 1).toStdString());
    if (!problem.empty()) return QStringLiteral("--set: %1").arg(QString::fromStdString(problem));
  }
  return {};
}

// As large as is of use, on a screen that has room for a window of docks at all.
void fitScreen(gui::MainWindow& window) {
  const QSize room = window.screen()->availableSize();
  if (room.width() < kLeastWidth) return;
  window.resize(room.boundedTo(kLargestWindow));
  window.restoreDefaultLayout();
}

int runWorkbench(QApplication& app) {
  Options options;
  if (const QString problem = parse(app, options); !problem.isEmpty()) return complain(problem);
  if (options.theme == QLatin1String("dark")) QApplication::setPalette(darkPalette());
  if (options.theme == QLatin1String("light")) QApplication::setPalette(QApplication::style()->standardPalette());

  gui::Session session;
  gui::MainWindow window(session, core::builtinScenarios());
  fitScreen(window);
  if (!options.reset_layout && options.screenshots.isEmpty()) window.restoreLayout();
  if (options.scenario) window.useScenario(*options.scenario);
  core::EngineOptions engine = window.withScenario({});
  if (const QString problem = setKnobs(engine, options.knobs); !problem.isEmpty()) return complain(problem);
  session.applyOptions(engine);
  window.show();
  window.openModel(options.model);
  if (!options.compare.isEmpty()) window.comparePreset(options.compare);
  if (options.screenshots.isEmpty()) return QApplication::exec();

  gui::takeScreenshots(window, session, options.screenshots, options.seconds);
  return QApplication::exec();
}

}  // namespace

int main(int argc, char** argv) {
  if (!choosePlatform(argc, argv)) {
    return complain(
        QStringLiteral("no display: set DISPLAY or WAYLAND_DISPLAY, or use --screenshots DIR, or "
                       "inferoscope-cli, which needs none"));
  }
  qInstallMessageHandler(printMessage);
  QApplication app(argc, argv);
  QApplication::setApplicationName(QStringLiteral("inferoscope"));
  QApplication::setApplicationVersion(QStringLiteral(INFEROSCOPE_VERSION));
  QApplication::setStyle(QStringLiteral("Fusion"));
  try {
    return runWorkbench(app);
  } catch (const std::exception& error) {
    return complain(QString::fromUtf8(error.what()));
  }
}
