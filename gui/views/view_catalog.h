// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/views/view.h"

#include <QKeySequence>
#include <QString>

#include <span>

namespace inferoscope::gui {

// One view: the dock, its menu entry, its place in the saved layout and its tests follow from this row.
struct ViewRow {
  const char* id;  // "kv-map": object name, file name of its screenshot
  View* (*make)(Selection& selection, QWidget* parent);
  Qt::DockWidgetArea area;
  const char* shortcut;     // "Alt+1"
  const char* title;        // translated where shown
  const char* explanation;  // one sentence: tool tip of the menu entry
};

std::span<const ViewRow> viewCatalog();

}  // namespace inferoscope::gui
