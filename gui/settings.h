// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QByteArray>
#include <QString>
#include <QStringList>

namespace inferoscope::gui {

// What the workbench remembers between runs, in one file of the user's configuration folder. Whatever is broken in it
// counts as absent; a file that can't be written is no reason to fail.

// Keeps a file that can't be read aside, under another name. Empty if all is well, else what to tell a person.
QString mendSettings();

struct SavedLayout {
  QByteArray geometry;
  QByteArray state;
};
SavedLayout savedLayout();
void storeLayout(const SavedLayout& layout);

QStringList recentModels();  // newest first, ten at most; files by their whole path
void rememberModel(const QString& source);
QString lastModelFolder();

}  // namespace inferoscope::gui
