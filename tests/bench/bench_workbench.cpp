// SPDX-License-Identifier: GPL-3.0-or-later
// What the workbench costs: tokens a second of wall time of one scenario without an end, in turn by the engine alone
// and with the window attached, all views open, at equal threads; and the CPU time of the GUI thread a second. Goals:
// 90% of the engine alone, 100 ms. Usage: bench_workbench [MODEL] [SECONDS] [REPEATS]
#include "core/backend/module_backend.h"
#include "core/engine/experiment.h"
#include "core/model/model_store.h"
#include "gui/main_window.h"

#include <QApplication>
#include <QDockWidget>
#include <QElapsedTimer>
#include <QStandardPaths>
#include <QTimer>

#include <sys/resource.h>
#include <algorithm>
#include <cstdio>
#include <vector>

using namespace inferoscope;

namespace {

core::Scenario busyScenario() {
  core::Scenario scenario;
  scenario.id = "busy";
  scenario.arrivals.concurrency = 4;
  scenario.arrivals.think_time_s = 0;
  scenario.prompt_tokens.mean = 64;
  scenario.output_tokens.mean = 192;
  scenario.ignore_end_of_turn = true;
  return scenario;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// Of the calling thread.
double cpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double engineAlone(core::Lane& lane, double for_s) {
  const std::int64_t before = lane.engine().snapshot().totals.num_output_tokens;
  QElapsedTimer timer;
  timer.start();
  while (static_cast<double>(timer.elapsed()) < 1000 * for_s) lane.step({});
  const std::int64_t tokens = lane.engine().snapshot().totals.num_output_tokens - before;
  return 1e3 * static_cast<double>(tokens) / static_cast<double>(timer.elapsed());
}

struct Attached {
  double tokens_per_s;
  double gui_cpu_ms_per_s;
};

void spinFor(double for_s) {
  QTimer::singleShot(static_cast<int>(1000 * for_s), qApp, &QCoreApplication::quit);
  QApplication::exec();
}

Attached windowAttached(gui::Session& session, double for_s) {
  session.run();
  spinFor(1);
  const std::int64_t before = session.snapshot()->totals.num_output_tokens;
  const double cpu_before = cpuSeconds();
  QElapsedTimer timer;
  timer.start();
  spinFor(for_s);
  const double elapsed_s = 1e-3 * static_cast<double>(timer.elapsed());
  const std::int64_t tokens = session.snapshot()->totals.num_output_tokens - before;
  const double cpu_s = cpuSeconds() - cpu_before;
  session.pause();
  spinFor(0.5);
  return {static_cast<double>(tokens) / elapsed_s, 1000 * cpu_s / elapsed_s};
}

void floatAllDocks(gui::MainWindow& window) {
  int i = 0;
  for (QDockWidget* dock : window.findChildren<QDockWidget*>()) {
    dock->setFloating(true);
    dock->setGeometry(20 * i, 20 * i, 640, 400);
    dock->show();
    ++i;
  }
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  QStandardPaths::setTestModeEnabled(true);
  QApplication app(argc, argv);
  QApplication::setStyle(QStringLiteral("Fusion"));
  const std::string source = argc > 1 ? argv[1] : "default";
  const double for_s = argc > 2 ? std::atof(argv[2]) : 5.0;
  const int num_repeats = argc > 3 ? std::atoi(argv[3]) : 5;

  const core::EngineOptions options;
  const std::shared_ptr<core::Backend> backend = core::makeBackend(options.device, options.threads);
  core::Lane lane(core::loadModel(source, *backend, {}, {}), backend, options);
  lane.setWorkload(busyScenario());

  gui::Session session;
  gui::MainWindow window(session, core::builtinScenarios());
  window.resize(1920, 1080);
  window.show();
  QObject::connect(&session, &gui::Session::modelLoaded, &window, [&] {
    session.pause();
    QTimer::singleShot(12000, qApp, &QCoreApplication::quit);  // the probe of the ceilings
  });
  window.openModel(QString::fromStdString(source));
  QApplication::exec();
  session.setScenario(busyScenario());
  spinFor(0.5);

  for (const bool all_open : {false, true}) {
    if (all_open) floatAllDocks(window);
    std::vector<double> shares;
    std::vector<double> cpu;
    for (int i = 0; i < num_repeats; ++i) {
      const double alone = engineAlone(lane, for_s);
      const Attached attached = windowAttached(session, for_s);
      std::printf("alone %.1f tok/s, attached %.1f tok/s, GUI %.0f ms of CPU a second\n", alone, attached.tokens_per_s,
                  attached.gui_cpu_ms_per_s);
      shares.push_back(attached.tokens_per_s / alone);
      cpu.push_back(attached.gui_cpu_ms_per_s);
    }
    std::printf("%s: %.1f%% of the engine alone, GUI %.0f ms of CPU a second (medians of %d)\n",
                all_open ? "every view in a window of its own" : "window as it opens", 100 * median(shares),
                median(cpu), num_repeats);
  }
  return 0;
}
