// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/settings.h"

#include "core/model/model_store.h"

#include <QFileInfo>
#include <QSettings>

namespace inferoscope::gui {
namespace {

constexpr int kMostRecent = 10;

// Writes to a temporary file first and renames it.
class Settings : public QSettings {
 public:
  Settings() : QSettings(IniFormat, UserScope, QStringLiteral("inferoscope"), QStringLiteral("workbench")) {}
};

const QString kGeometry = QStringLiteral("layout/geometry");
const QString kState = QStringLiteral("layout/state");
const QString kRecent = QStringLiteral("models/recent");

}  // namespace

SavedLayout savedLayout() {
  const Settings file;
  return {file.value(kGeometry).toByteArray(), file.value(kState).toByteArray()};
}

void storeLayout(const SavedLayout& layout) {
  Settings file;
  file.setValue(kGeometry, layout.geometry);
  file.setValue(kState, layout.state);
}

QStringList recentModels() {
  return Settings().value(kRecent).toStringList().mid(0, kMostRecent);
}

void rememberModel(const QString& source) {
  QStringList models = recentModels();
  models.removeAll(source);
  models.prepend(source);
  Settings().setValue(kRecent, models.mid(0, kMostRecent));
}

QString lastModelFolder() {
  for (const QString& source : recentModels()) {
    const QFileInfo file(source);
    if (file.exists()) return file.absolutePath();
  }
  return QString::fromStdString(core::modelFolder().string());
}

}  // namespace inferoscope::gui
