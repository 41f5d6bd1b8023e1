// SPDX-License-Identifier: GPL-3.0-or-later
// How long the workbench takes to answer a click, in milliseconds, while the engine computes on all cores: from the
// click, which another thread puts into the window's event queue at odd times, until the view is painted anew.
// Goal: 100 ms. Usage: bench_click [MODEL] [CLICKS]
#include "gui/main_window.h"
#include "gui/views/view.h"

#include <QApplication>
#include <QMouseEvent>
#include <QStandardPaths>
#include <QTimer>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

using namespace inferoscope;
using Clock = std::chrono::steady_clock;

namespace {

constexpr QEvent::Type kClick = static_cast<QEvent::Type>(QEvent::User + 1);

// Turns the posted event into a click on a view, and waits for the paint that follows.
class Clicker : public QObject {
 public:
  explicit Clicker(QWidget& view) : m_view(view) { view.installEventFilter(this); }

  void post() {
    m_posted = Clock::now();
    m_waiting = true;
    QCoreApplication::postEvent(this, new QEvent(kClick));
  }
  bool waiting() const { return m_waiting; }
  const std::vector<double>& times() const { return m_times; }

 protected:
  bool event(QEvent* event) override {
    if (event->type() != kClick) return QObject::event(event);
    const QPoint at(20 + static_cast<int>(m_times.size() % 20) * 12, m_view.height() / 3);
    for (const QEvent::Type type : {QEvent::MouseButtonPress, QEvent::MouseButtonRelease}) {
      QMouseEvent mouse(type, at, m_view.mapToGlobal(at), Qt::LeftButton, Qt::LeftButton, {});
      QCoreApplication::sendEvent(&m_view, &mouse);
    }
    m_view.update();
    m_clicked = true;
    return true;
  }
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() != QEvent::Paint || !m_clicked) return false;
    m_view.removeEventFilter(this);
    QCoreApplication::sendEvent(watched, event);  // paint first, then stop the clock
    m_view.installEventFilter(this);
    m_times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - m_posted).count());
    m_clicked = false;
    m_waiting = false;
    return true;
  }

 private:
  QWidget& m_view;
  Clock::time_point m_posted;
  std::atomic<bool> m_waiting = false;
  bool m_clicked = false;
  std::vector<double> m_times;
};

void clickAtOddTimes(Clicker& clicker, int num_clicks) {
  std::mt19937 random(1);
  for (int i = 0; i < num_clicks; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(60 + random() % 140));
    clicker.post();
    while (clicker.waiting()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  QMetaObject::invokeMethod(qApp, &QCoreApplication::quit, Qt::QueuedConnection);
}

}  // namespace

int main(int argc, char** argv) {
  QStandardPaths::setTestModeEnabled(true);
  QApplication app(argc, argv);
  QApplication::setStyle(QStringLiteral("Fusion"));
  const QString model = argc > 1 ? QString::fromLocal8Bit(argv[1]) : QStringLiteral("synthetic:smollm2-135m");
  const int num_clicks = argc > 2 ? std::max(1, std::atoi(argv[2])) : 100;
  gui::Session session;
  gui::MainWindow window(session, core::builtinScenarios());
  window.resize(1920, 1080);
  window.show();
  window.openModel(model);
  auto* view = window.findChild<QWidget*>(QStringLiteral("kv-map"))->findChild<gui::View*>();  // of its only lane
  Clicker clicker(*view);
  std::jthread clicks;
  QObject::connect(&session, &gui::Session::frameReady, &window, [&](const gui::Frame& frame) {
    if (!clicks.joinable() && frame.snapshot->step_index > 5)
      clicks = std::jthread(clickAtOddTimes, std::ref(clicker), num_clicks);
  });
  app.exec();
  std::vector<double> times = clicker.times();
  std::ranges::sort(times);
  std::printf("%zu clicks: median %.1f ms, p95 %.1f ms, worst %.1f ms\n", times.size(), times[times.size() / 2],
              times[times.size() * 95 / 100], times.back());
  return 0;
}
