// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

namespace inferoscope::gui {

class MainWindow;
class Session;

// Once the workload has run for so long, writes window.png and one picture a view and panel, named by its id, and ends
// the program: 0, or 1 with a message if the model can't be loaded or a picture can't be written. Both must outlive it.
void takeScreenshots(MainWindow& window, Session& session, const QString& folder, double seconds);

}  // namespace inferoscope::gui
