// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/settings.h"

#include "core/model/model_store.h"

#include <QCoreApplication>
#include <QFile>
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

constexpr QLatin1String kGeometry("layout/geometry");
constexpr QLatin1String kState("layout/state");
constexpr QLatin1String kRecent("models/recent");

// A write that the system didn't get to finish may leave them; to QSettings they are no error.
bool holdsZeros(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) && file.readAll().contains('\0');
}

}  // namespace

QString mendSettings() {
  QString path;
  {
    const Settings settings;
    path = settings.fileName();
    if (settings.status() != QSettings::FormatError && !holdsZeros(path)) return {};
  }
  const QString aside = path + QStringLiteral(".broken");
  QFile::remove(aside);
  if (!QFile::rename(path, aside)) return QCoreApplication::translate("Settings", "%1 can't be read").arg(path);
  return QCoreApplication::translate("Settings",
                                     "The settings couldn't be read: all is as on a first start. The old file is %1.")
      .arg(aside);
}

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
  const QFileInfo file(source);
  const QString name = file.exists() ? file.absoluteFilePath() : source;
  QStringList models = recentModels();
  models.removeAll(name);
  models.prepend(name);
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
