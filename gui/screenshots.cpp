// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/screenshots.h"

#include "gui/main_window.h"

#include <QApplication>
#include <QDir>
#include <QDockWidget>
#include <QTimer>

#include <cstdio>

namespace inferoscope::gui {
namespace {

void fail(const QString& reason) {
  std::fprintf(stderr, "inferoscope: %s\n", qPrintable(reason));
  QApplication::exit(1);
}

bool write(QWidget& widget, const QString& file) {
  if (widget.grab().save(file)) return true;
  fail(QStringLiteral("%1: can't be written").arg(file));
  return false;
}

// What lies behind the tab of another is not as large as people see it.
void bringForward(QDockWidget& dock) {
  dock.raise();
  QApplication::processEvents();
  QApplication::processEvents();  // what it does once it is in its place
}

void writeAll(MainWindow& window, const QString& folder) {
  const QDir dir(folder);
  if (!dir.mkpath(QStringLiteral("."))) return fail(QStringLiteral("%1: can't be made a folder").arg(folder));
  if (!write(window, dir.filePath(QStringLiteral("window.png")))) return;
  for (QDockWidget* dock : window.findChildren<QDockWidget*>()) {
    bringForward(*dock);
    if (!write(*dock->widget(), dir.filePath(dock->widget()->objectName() + QStringLiteral(".png")))) return;
  }
  QApplication::exit(0);
}

}  // namespace

void takeScreenshots(MainWindow& window, Session& session, const QString& folder, double seconds) {
  auto* timer = new QTimer(&window);
  timer->setSingleShot(true);
  timer->setInterval(static_cast<int>(seconds * 1000));
  QObject::connect(timer, &QTimer::timeout, &window, [&window, folder] { writeAll(window, folder); });
  QObject::connect(&session, &Session::loadFailed, &window, [](const QString& reason) { fail(reason); });
  // Probing comes after loading and before the first step; the time to show is counted from there.
  QObject::connect(&session, &Session::runStateChanged, timer, [timer](RunState state) {
    if (state == RunState::kRunning && !timer->isActive()) timer->start();
  });
}

}  // namespace inferoscope::gui
