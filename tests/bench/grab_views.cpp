// SPDX-License-Identifier: GPL-3.0-or-later
// Pictures of all views from synthetic frames, in both themes, to look at: grab_views FOLDER
#include "gui/views/view_catalog.h"
#include "tests/support/frames.h"
#include "tests/support/palettes.h"

#include <QApplication>
#include <QDir>
#include <QWheelEvent>

#include <algorithm>
#include <memory>

using namespace inferoscope;

namespace {

// What a view is shown before its picture is taken.
struct Scene {
  const char* name;
  const gui::Frame* frame;  // null: no model
  bool limits;
  core::SeqId chosen;
  int wheel = 0;    // notches towards the screen
  QSize size = {};  // empty: the one that the view wishes for
};

void grab(const gui::ViewRow& row, const Scene& scene, const QString& theme, const QDir& folder) {
  gui::Selection selection;
  const std::unique_ptr<gui::View> view(row.make(selection, nullptr));
  view->resize(scene.size.isEmpty() ? view->sizeHint().expandedTo({480, 240}) : scene.size);
  view->show();
  if (scene.frame != nullptr) {
    view->showModel(tests::toyModel());
    if (scene.limits) view->showLimits(tests::toyLimits());
    view->showFrame(*scene.frame);
  }
  selection.setRequest(scene.chosen);
  if (scene.chosen.valid()) {
    const auto table = std::ranges::find(scene.frame->snapshot->tables, scene.chosen, &core::BlockTableInfo::seq);
    if (table != scene.frame->snapshot->tables.end()) selection.setBlock(table->blocks[table->blocks.size() / 2]);
  }
  for (int i = 0; i < scene.wheel; ++i) {
    const QPoint middle = view->rect().center();
    QWidget* under = view->childAt(middle) != nullptr ? view->childAt(middle) : view.get();
    QWheelEvent notch(under->mapFrom(view.get(), middle), view->mapToGlobal(middle), {}, QPoint(0, 120), {}, {},
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(under, &notch);
  }
  QApplication::processEvents();
  const QString name = QStringLiteral("%1-%2-%3.png").arg(QLatin1String(row.id), theme, QLatin1String(scene.name));
  view->grab().save(folder.filePath(name));
}

}  // namespace

int main(int argc, char** argv) {
  const QApplication app(argc, argv);
  const QDir folder(argc > 1 ? QString::fromLocal8Bit(argv[1]) : QStringLiteral("."));
  const gui::Frame first = tests::emptyFrame();
  const gui::Frame small = tests::smallFrame();
  const gui::Frame full = tests::fullFrame();
  const gui::Frame many = tests::blocksFrame(20'000);
  const gui::Frame two = tests::comparedFrame();
  const Scene scenes[] = {{"none", nullptr, false, {}},
                          {"first", &first, false, {}},
                          {"small", &small, false, {}},
                          {"full", &full, true, {}},
                          {"chosen", &full, true, full.snapshot->requests.front().seq},
                          {"zoomed", &full, true, {}, 6},
                          {"many", &many, true, {}},
                          {"narrow", &full, true, {}, 0, {260, 300}},
                          {"two", &two, true, {}, 0, {1000, 520}},
                          {"two-dock", &two, true, two.snapshot->requests.front().seq, 0, {560, 420}},
                          {"two-narrow", &two, true, {}, 0, {300, 460}},
                          {"low", &full, true, {}, 0, {640, 210}}};
  for (const bool dark : {false, true}) {
    QApplication::setPalette(dark ? tests::darkPalette() : tests::lightPalette());
    for (const gui::ViewRow& row : gui::viewCatalog()) {
      for (const Scene& scene : scenes)
        grab(row, scene, dark ? QStringLiteral("dark") : QStringLiteral("light"), folder);
    }
  }
  return 0;
}
