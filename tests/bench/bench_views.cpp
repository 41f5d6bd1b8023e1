// SPDX-License-Identifier: GPL-3.0-or-later
// How much processor time the views take for a frame, in milliseconds: median and worst of 20, after the pause that
// some make between two pictures. Goals: block map 8 ms at 100,000 blocks and 16 ms at 1,000,000; plots 8 ms; lanes,
// tables and text are far from being noticed.
#include "gui/views/view_catalog.h"
#include "tests/support/frames.h"
#include "tests/support/palettes.h"

#include <QApplication>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>
#include <thread>
#include <vector>

using namespace inferoscope;

namespace {

void measure(const gui::ViewRow& row, const char* scene, gui::Frame frame) {
  constexpr int kRepeats = 20;
  constexpr std::chrono::milliseconds kPause(300);  // longer than any view's own
  gui::Selection selection;
  const std::unique_ptr<gui::View> view(row.make(selection, nullptr));
  view->resize(1000, 600);
  view->show();
  view->showModel(tests::toyModel());
  view->showLimits(tests::toyLimits());
  std::vector<double> times;
  for (int i = 0; i < kRepeats; ++i) {
    std::this_thread::sleep_for(kPause);
    const std::clock_t start = std::clock();
    view->showFrame(frame);
    QApplication::processEvents();
    times.push_back(1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    frame = tests::nextFrame(frame);
  }
  std::ranges::sort(times);
  std::printf("%-14s %-18s %7.2f %7.2f\n", row.id, scene, times[kRepeats / 2], times.back());
}

}  // namespace

int main(int argc, char** argv) {
  const QApplication app(argc, argv);
  QApplication::setPalette(tests::darkPalette());
  std::printf("%-14s %-18s %7s %7s\n", "view", "frame", "median", "worst");
  for (const gui::ViewRow& row : gui::viewCatalog()) {
    measure(row, "full", tests::fullFrame());
    measure(row, "two lanes", tests::comparedFrame());
  }
  for (const int num_blocks : {1'000, 10'000, 100'000, 1'000'000}) {
    measure(gui::viewCatalog().front(), qPrintable(QString::number(num_blocks)), tests::blocksFrame(num_blocks));
  }
  return 0;
}
